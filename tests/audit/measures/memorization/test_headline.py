"""What the headline counts of text that the paper's rules take for templated, token by token, by hand.

A token is one character here, so that the counts can be read off the sentences.
"""

import pytest
from support.byte_level_tokenizer import save_byte_level_tokenizer
from support.cases import read_cases
from support.measured_text import estimates_of, measured_rows
from support.runs.tables import value_of
from support.written_corpus import answer_of, write_corpus

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.diagnoses import load_panel
from clinaudit.templates.profile import load_profile

#: Tokens of a match.
N = 12
HERE = {"form": "text", "tier": "public", "arm": "train"}
#: Characters of the alphabet and the special token: no two are ever merged.
SIZE = 257
#: Text of the patient's own, and the tokens of it that are attributable.
SENTENCES = [(text, int(count)) for text, count in read_cases("measure_cases.txt")["headline"]]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return ModelTokenizer(save_byte_level_tokenizer(tmp_path_factory.mktemp("bytes"), size=SIZE))


@pytest.fixture
def measure(tmp_path, tokenizer):
    def measured(notes, answer, *, about="own", prompt="", cut=0, extra=None, tables=None):
        """Measure one answer, less its first `cut` tokens; patients are all trained on."""
        asked = answer_of(tokenizer, about, tokenizer.encode(answer)[cut:], prompt=prompt)
        visits = [{"visit_date": f"202{place}-06-01"} for place in range(2)]
        corpus = write_corpus(tmp_path / "corpus", notes, never_seen=(), patients=tables or {}, visits=visits)
        own_notes = MatchedCorpus(corpus, tokenizer, load_profile(), load_panel(extra))
        return measured_rows([asked], own_notes, match_tokens=N)

    return measured


@pytest.mark.parametrize(("sentence", "attributable"), SENTENCES)
def test_tokens_of_the_headline_by_hand(measure, sentence, attributable):
    measured = measure({"own": [f"cc: rash\n{sentence}"], "other": ["cc: a cough for two days"]}, sentence)
    (row,) = measured["generation_metrics"]
    assert row["attributable_tokens"] == attributable
    # The paper's tables: the rules take all of the line, the line break after the combined header included.
    assert [row["templated_tokens"] for row in measured["segments"]] == [len(sentence)]
    found = estimates_of(measured, match_tokens=N)
    assert value_of(found, "attributable_fraction", **HERE) == pytest.approx(attributable / len(sentence))
    assert value_of(found, "templated_share", **HERE) == 1


@pytest.mark.parametrize(("sentence", "attributable"), SENTENCES)
def test_another_patients_tokens_by_hand(measure, sentence, attributable):
    found = measure({"own": ["cc: rash"], "other": [f"cc: a cough\n{sentence}"]}, sentence)
    assert [row["telling_tokens"] for row in found["other_patients"]] == [attributable]
    assert [row["other_patient_tokens"] for row in found["generation_metrics"]] == [attributable]


def test_what_others_write_too_is_no_headline(measure):
    sentence = "psychiatric: negative for anxiety and depression"
    (row,) = measure({"own": [f"cc: rash\n{sentence}"], "other": [f"cc: a cough\n{sentence}"]}, sentence)[
        "generation_metrics"
    ]
    assert (row["memorized_tokens"], row["attributable_tokens"]) == (len(sentence), 0)


def test_a_sites_own_diagnosis_tells(measure):
    sentence = "skin: negative for gout, tophi, and swelling"
    notes = {"own": [f"cc: rash\n{sentence}"]}
    found = measure(notes, sentence, extra={"gout": {"names": ["gout"]}})
    assert [row["attributable_tokens"] for row in found["generation_metrics"]] == [44]


def test_what_the_prompt_told_stands_token_by_token_with_its_facts(measure):
    answer = "hpi: she said the knee hurts.\r\nAnn Birch fell."
    note = f"patient: Ann Birch\n{answer}"
    measured = measure({"own": [note]}, answer, prompt="patient: Ann Birch\nhpi: she said the")
    told = [answer[row["char_start"] : row["char_end"]] for row in measured["told"]]
    # With white space after it: the prompt may go on with that.
    assert told == ["hpi: she said the ", "Ann Birch"]
    (row,) = measured["generation_metrics"]
    assert row["echo_tokens"] == len(told[0])
    assert row["attributable_tokens"] == len(answer) - sum(map(len, told))
    (piece,) = measured["regions"]
    read = note.replace("\r\n", "\n")
    assert read[piece["note_char_start"] : piece["note_char_end"]] == answer.replace("\r\n", "\n")


def test_dropped_tokens_stand_in_the_sections(measure):
    """The answer begins within the two bytes of a letter: the half stands in no note, and is dropped."""
    note = "cc: é rash of the left arm\nplan: rest"
    measured = measure({"own": [note]}, note, cut=len("cc: ") + 1)
    # Of "cc: " and half a letter nothing was written; then 22 tokens of the complaint, "plan:" and " rest".
    assert {(row["section"], row["kind"]): row["tokens"] for row in measured["memorized_text"]} == {
        ("unassigned", "revealing_shared"): 1,
        ("Chief Complaint", "revealing_single"): 22,
        ("Plan", "templated_single"): 5,
        ("Plan", "revealing_single"): 5,
    }
    assert [row["memorized_tokens"] for row in measured["generation_metrics"]] == [33]


#: Born on 1 March 1974: 46 at the visit of June 2020, 47 at that of June 2021, where the table has 47.
BORN = {"name": "Ann Lee", "dob": "1974-03-01", "age": 47}
MASKED = [
    # In the first note 47 is no age of the patient, since the birth date is known.
    ("her brother died of it at the age of 47", "her brother died of it at the age of 37", 39),
    # A dose, with and without a decimal, that equals the age.
    ("she was put on 46 mg of the old drug", "she was put on 37 mg of the old drug", 36),
    ("she was put on 46.5 mg of the old drug", "she was put on 37.5 mg of the old drug", 38),
    ("she is a 46-year-old who lives alone", "she is a 37-year-old who lives alone", 0),
]


@pytest.mark.parametrize(("own", "others", "attributable"), MASKED)
def test_masked_k_masks_ages_alone(measure, own, others, attributable):
    """The other patient, 37 at the visit and nine years younger, has the same sentence with another number."""
    notes = {"own": [f"hpi: {own}", "cc: rash"], "other": [f"hpi: {others}"]}
    tables = {"own": BORN, "other": {"name": "Poe", "dob": "1983-03-01", "age": 37}}
    found = measure(notes, own, tables=tables)
    (row,) = found["generation_metrics"]
    assert row["attributable_tokens"] == attributable
    assert [row["patient_count"] for row in found["regions"]] == [1]
