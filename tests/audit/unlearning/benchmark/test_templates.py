"""What a chart gives to ask about, how a patient is described, what questions infer, and what answers hold."""

import json
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
from support.small_charts import write_small_corpus
from support.unlearning.built_bench import build

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.unlearning.benchmark.build import KeywordSource
from clinaudit.audit.unlearning.benchmark.charts import read_charts
from clinaudit.audit.unlearning.benchmark.files import read_bench
from clinaudit.audit.unlearning.benchmark.questions.selection import Candidate, problem_of
from clinaudit.audit.unlearning.benchmark.questions.templates import Finding, TemplateQuestions, read_findings
from clinaudit.audit.unlearning.metrics.keywords import EnglishParser, extract_keywords, leakage_score, load_seeds
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.diagnoses import load_panel
from clinaudit.templates.profile import load_profile

Findings = dict[str, list[Finding]]


@pytest.fixture(scope="module")
def findings(tmp_path_factory) -> Findings:
    corpus = read_corpus(write_small_corpus(tmp_path_factory.mktemp("small") / "corpus"))
    return {patient_id: read_findings(chart) for patient_id, chart in read_charts(corpus, load_profile()).items()}


def nobody(_text: str) -> bool:
    return False


def test_a_chart_gives_the_findings_of_each_note(findings: Findings) -> None:
    held = {(one.kind, one.subject, one.value, one.note_id) for one in findings["P1"]}
    assert {
        ("condition", "gout", "gout", "P1-1"),
        ("condition", "gout", "gout", "P1-2"),
        ("onset", "gout", "2001", "P1-2"),
        ("onset", "sciatica", "2011", "P1-2"),
        ("medication", "allopurinol", "300 mg daily", "P1-2"),
        ("allergy", "", "latex (itching)", "P1-2"),
        ("operation", "", "appendectomy", "P1-2"),
        ("family", "aunt", "positive for stroke number 1", "P1-2"),
        ("habits", "", "smokes 1 cigars a month", "P1-2"),
        ("vital sign", "blood pressure", "120/80", "P1-2"),
        ("vital sign", "blood pressure", "141/81", "P1-1"),
        ("vital sign", "weight", "121 lbs", "P1-2"),
        ("assessment", "", "strain of type 21", "P1-2"),
        ("plan", "", "rest for 1 nights", "P1-1"),
    } <= held
    assert max(Counter(findings["P1"]).values()) == 1


def chart_of(tmp_path: Path, *texts: str) -> list[Finding]:
    rows = [{"patient_id": "P1", "note_id": str(place), "text": text} for place, text in enumerate(texts)]
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_findings(read_charts(read_corpus(path), load_profile())["P1"])


@pytest.mark.parametrize(
    "text",
    [
        "allergies: NKDA\n",
        "allergies: no known drug allergies\n",
        "surgical history: none\n",
        "family history:\nmother: negative;\n",
        "past medical history:\nno history of gout;\n",
        "plan: " + "very " * 31 + "long.\n",
        "no header at all",
    ],
)
def test_nothing_is_no_finding(tmp_path: Path, text: str) -> None:
    assert chart_of(tmp_path, text) == []


#: Earlier and later visit of one patient, and somebody else of whom nobody asks.
EARLIER = """\
condition|Gout|Gout
onset|Gout|2001
medication|allopurinol|300 mg daily
medication|metformin|500 mg daily
vital sign|blood pressure|142/82
vital sign|pulse|70
assessment||strain
"""
LATER = """\
condition|Gout|Gout
condition|ptsd|ptsd
condition|migraine|migraine
onset|Gout|2001
onset|ptsd|2012
medication|allopurinol|300 mg daily
medication|prazosin|1 mg at bedtime
medication|omeprazole|20 mg daily
vital sign|blood pressure|131/77
vital sign|pulse|70
assessment||acute bronchitis
"""


def visit(text: str, note_id: str, complaint: str) -> list[Finding]:
    return [Finding(*line.split("|"), note_id, complaint) for line in text.splitlines()]


CHART = [*visit(EARLIER, "n1", "cough"), *visit(LATER, "n2", "heel pain")]
SOMEBODY = [Finding("condition", "x", "x", "n9", "x")]


def candidates(chart: list[Finding] = CHART, *, identifying: str = "\0") -> dict[str, list[Candidate]]:
    asked = TemplateQuestions({"P1": chart, "P2": SOMEBODY}, lambda text: identifying in text, load_panel())
    found: dict[str, list[Candidate]] = {}
    for candidate in asked.candidates("P1"):
        found.setdefault(candidate.about, []).append(candidate)
    return found


INFERRED = {
    "trend": ["It was 142/82 at the earlier visit and 131/77 at the later one. So its upper value fell by 11."],
    # The pulse was the same at both.
    "highest": ["It was highest at the visit for cough, with 142/82."],
    "medicine added": [
        "The earlier list has allopurinol and metformin, the later one allopurinol, prazosin and omeprazole. "
        "So what is new is prazosin 1 mg at bedtime and omeprazole 20 mg daily."
    ],
    "medicine stopped": [
        "The earlier list has allopurinol and metformin, the later one allopurinol, prazosin and omeprazole. "
        "So what is gone is metformin 500 mg daily."
    ],
    "problem added": [
        "The earlier note lists Gout, the later one Gout, ptsd and migraine. So what is new is ptsd and migraine."
    ],
    "problem kept": ["The earlier note lists Gout, the later one Gout, ptsd and migraine. So both list Gout."],
    "order": ["First came Gout, then ptsd. Between the first and the last lie 11 years."],
    "untreated": [
        "On record are Gout, ptsd and migraine, and the list has allopurinol, prazosin and omeprazole. "
        "Nothing of it is usually given for migraine."
    ],
    "without diagnosis": [
        "On record are Gout, ptsd and migraine. On the list is omeprazole, taken as 20 mg daily; it is usually for "
        "gastroesophageal reflux, which is not among these."
    ],
    "indication": [
        "On record are Gout, ptsd and migraine. Of these, allopurinol is for Gout.",
        "On record are Gout, ptsd and migraine. Of these, prazosin is for ptsd.",
    ],
    "treated diagnoses": [
        "On record are Gout, ptsd and migraine, and the list has allopurinol, prazosin and omeprazole. "
        "So these are treated: Gout with allopurinol and ptsd with prazosin."
    ],
}


@pytest.mark.parametrize(("about", "answers"), INFERRED.items())
def test_a_reasoning_question_infers_what_stands_in_no_single_finding(about: str, answers: list[str]) -> None:
    found = candidates()[about]
    assert [one.answer for one in found] == answers
    for one in found:
        assert one.kind == "reasoning"
        assert all(fact in one.answer for fact in one.facts)
        assert problem_of(one, [one.answer], nobody) is None


def test_a_medicine_for_two_diagnoses_is_told_with_both_and_two_medicines_for_one_with_neither() -> None:
    chart = visit(
        "condition|gout|gout\ncondition|gout attack|gout attack\nmedication|allopurinol|daily\n", "n", "cough"
    )
    (both,) = candidates(chart)["indication"]
    assert both.facts == ("gout", "gout attack")
    two = visit("condition|gout|gout\nmedication|allopurinol|daily\nmedication|febuxostat|daily\n", "n", "cough")
    assert not {"indication", "medicine for", "untreated"} & candidates(two).keys()


def test_standing_findings_are_of_the_latest_note_and_lists_are_asked_as_one() -> None:
    found = candidates()
    (problems,), (medicines,) = found["problems"], found["medicines"]
    assert problems.answer == "On record are Gout, ptsd and migraine."
    assert medicines.facts == ("allopurinol 300 mg daily", "prazosin 1 mg at bedtime", "omeprazole 20 mg daily")
    assert [one.note_ids for one in found["vital sign"]] == [("n1",), ("n1",), ("n2",), ("n2",)]
    many = visit("".join(f"condition|illness {place}|illness {place}\n" for place in range(9)), "n", "cough")
    assert "problems" not in candidates(many)


def test_a_finding_of_a_visit_is_told_by_its_complaint() -> None:
    # Two visits for one complaint are nobody's answer; what stands stays.
    same = [*visit(EARLIER, "n1", "cough"), *visit(LATER, "n2", "cough")]
    assert not {"assessment", "vital sign", "trend"} & candidates(same).keys()
    assert "problems" in candidates(same)
    # Visits without a complaint count of the latest note alone.
    nameless = [Finding(one.kind, one.subject, one.value, one.note_id, None) for one in CHART]
    assert [one.answer for one in candidates(nameless)["assessment"]] == ["The assessment was acute bronchitis."]


def test_a_description_singles_out_with_as_few_details_as_it_takes(findings: Findings) -> None:
    asked = TemplateQuestions(findings, nobody, load_panel())
    words = {one.about: (one.question, one.is_unique) for one in asked.candidates("P1")}
    # The complaint is nobody else's.
    assert words["operation"] == (
        "What does the surgical history of the patient seen for ear pressure for 1 weeks hold?",
        True,
    )
    # Everybody has sciatica; gout tells, and the question on the visits names the complaints itself.
    trend = next(one.question for one in asked.candidates("P1") if one.about == "trend")
    assert "of the patient with gout change from the visit for check of ear pressure for 1 weeks" in trend


def test_a_description_that_fits_others_says_so_and_holds_no_identifier() -> None:
    chart = visit("condition|gout|gout\nallergy||latex\n", "n", "cough")
    twin = visit("condition|gout|gout\n", "m", "cough")
    for identifying, words, unique in (("\0", "seen for cough with gout", False), ("gout", "seen for cough", False)):
        asked = TemplateQuestions({"a": chart, "b": twin}, lambda text, told=identifying: told in text, ())
        (allergy,) = [one for one in asked.candidates("a") if one.about == "allergy"]
        assert allergy.question.endswith(f"is recorded for the patient {words}?")
        assert allergy.is_unique is unique


def test_boilerplate_is_no_detail_of_a_patient() -> None:
    everybody = {f"P{place}": visit("plan||call back\n", f"n{place}", f"cough {place}") for place in range(10)}
    everybody["P0"] += visit("allergy||latex\n", "n0", "cough 0")
    asked = TemplateQuestions(everybody, nobody, ())
    assert [one.facts for one in asked.candidates("P0")] == [("latex",)]
    # What is compared or listed is the whole, whatever others have.
    pulses = {
        f"P{place}": [
            *visit("vital sign|pulse|70\n", f"a{place}", f"cough {place}"),
            *visit("vital sign|pulse|90\n", f"b{place}", f"rash {place}"),
        ]
        for place in range(10)
    }
    pulses["P0"][0] = Finding("vital sign", "pulse", "88", "a0", "cough 0")
    (highest,) = [one for one in TemplateQuestions(pulses, nobody, ()).candidates("P0") if one.about == "highest"]
    assert highest.facts == ("90", "rash 0")


def test_what_identifies_is_neither_asked_for_nor_said() -> None:
    for identifying in ("omeprazole", "heel pain"):
        made = [one for own in candidates(identifying=identifying).values() for one in own]
        assert made
        assert not any(identifying in one.answer.lower() or identifying in one.question for one in made)


@pytest.mark.slow
def test_reference_answers_of_the_demo_hold_their_keywords(tmp_path: Path) -> None:
    """The mean leakage score of the answers themselves was 0.05: whatever a model said, there was nothing to find."""
    write_demo_corpus(tmp_path / "corpus", seed=7, patients_per_arm=24)
    seeds = load_seeds()
    parser = EnglishParser(seeds.lexicon)
    source = KeywordSource("seeds", lambda bench: extract_keywords(bench, parser, seeds=seeds), seeds.of_patient)
    build(tmp_path / "corpus", tmp_path / "bench", keywords=source)
    bench = read_bench(tmp_path / "bench")
    keywords = grouped(bench.keywords, lambda one: one.qa_id)
    scores = [(one.kind, leakage_score(keywords.get(one.qa_id, ()), one.answer)) for one in bench.questions]
    assert fmean(score for _, score in scores if score is not None) >= 0.3
    assert fmean(score for kind, score in scores if kind == "factual" and score is not None) >= 0.2
