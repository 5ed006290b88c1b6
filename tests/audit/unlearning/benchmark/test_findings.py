"""What a chart gives to ask about, how a patient is described, and which questions are chosen."""

import json
from collections import Counter
from pathlib import Path

import pytest
from support.small_charts import write_small_corpus

from clinaudit.audit.unlearning.benchmark.charts import ChartReader
from clinaudit.audit.unlearning.benchmark.questions.candidates import (
    Candidate,
    CandidateMaker,
    Describer,
    rephrase,
    templates,
)
from clinaudit.audit.unlearning.benchmark.questions.findings import Finding, read_findings
from clinaudit.audit.unlearning.benchmark.questions.joins import list_joins
from clinaudit.audit.unlearning.benchmark.questions.selection import (
    OWN_ANSWER,
    choose_questions,
    holds_answer,
    problem_of,
    shared_holdouts,
)
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.diagnoses import load_panel
from clinaudit.templates.profile import load_profile


@pytest.fixture(scope="module")
def findings(tmp_path_factory) -> dict[str, list[Finding]]:
    corpus = read_corpus(write_small_corpus(tmp_path_factory.mktemp("small") / "corpus"))
    reader = ChartReader(corpus, load_profile())
    return {patient_id: read_findings(reader.read(patient_id)) for patient_id in corpus.patients}


def nobody(_text: str) -> bool:
    return False


def test_a_chart_gives_standing_findings_once_and_those_of_visits_each(findings) -> None:
    held = {(one.kind, one.subject, one.value, one.note_id) for one in findings["P1"]}
    assert {
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
        ("status", "gout", "stable, seen 2 times", "P1-2"),
    } <= held
    # Standing ones are of the latest note alone.
    assert Counter(one.kind for one in findings["P1"])["medication"] == 1


def chart_of(tmp_path: Path, *texts: str) -> list[Finding]:
    rows = [{"patient_id": "P1", "note_id": str(place), "text": text} for place, text in enumerate(texts)]
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_findings(ChartReader(read_corpus(path), load_profile()).read("P1"))


@pytest.mark.parametrize(
    ("notes", "found"),
    [
        # Two visits for one complaint are nobody's answer.
        (
            [f"cc: cough\nassessment: {of}; gout in {of}\nallergies: latex\n" for of in ("cold", "flu")],
            [("allergy", "latex", "cough")],
        ),
        # Visits without a complaint count of the latest note alone.
        (["assessment: cold\n", "assessment: flu\n"], [("assessment", "flu", None), ("assessed", "flu", None)]),
    ],
)
def test_a_finding_of_a_visit_is_told_by_its_complaint(tmp_path, notes, found) -> None:
    held = chart_of(tmp_path, *notes)
    assert [
        (one.kind, one.value, one.complaint) for one in held if one.kind != "assessed" or not one.complaint
    ] == found
    # Nor are the lists of what was assessed at each.
    assert list(list_joins(held)) == []


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


def test_a_description_singles_out_with_as_few_details_as_it_takes(findings) -> None:
    describer = Describer(findings, nobody)
    alone = describer.describe("P1", anchors=["ear pressure for 1 weeks"], hidden=[])
    assert (alone.words, alone.is_unique) == ("the patient seen for ear pressure for 1 weeks", True)
    # Everybody has sciatica; gout is hidden, so the drug tells.
    found = describer.describe("P1", anchors=[], hidden=["gout"])
    assert (found.words, found.is_unique) == ("the patient who takes allopurinol", True)


def test_a_description_that_fits_others_says_so_and_holds_no_identifier() -> None:
    twins = {key: [Finding("condition", "gout", "gout", "n", "cough")] for key in ("a", "b")}
    found = Describer(twins, nobody).describe("a", anchors=["cough"], hidden=[])
    assert (found.words, found.is_unique) == ("the patient seen for cough with gout", False)
    found = Describer(twins, lambda text: text == "gout").describe("a", anchors=["cough"], hidden=[])
    assert (found.words, found.is_unique) == ("the patient seen for cough", False)


def candidates(findings, patient_id: str = "P2") -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = {}
    for candidate in CandidateMaker(findings, nobody, load_panel()).make(patient_id):
        found.setdefault(candidate.about, []).append(candidate)
    return found


def test_reasoning_questions_join_two_findings(findings) -> None:
    found = candidates(findings)
    (medicine,) = found["medicine for"]
    assert medicine.answer == (
        "Of the medicines on the list, albuterol inhaler is the one for asthma. It is taken as 2 puffs as needed."
    )
    assert medicine.facts == ("albuterol inhaler", "2 puffs as needed")
    assert "albuterol" not in medicine.wordings[0]
    (order,) = found["order"]
    assert order.answer == "Asthma came before sciatica. They were diagnosed in 2002 and in 2012."
    pressure = next(one for one in found["change"] if "blood pressure" in one.wordings[0])
    assert pressure.answer == (
        "It was 142/82 at the earlier visit and 131/77 at the later one. So its upper value fell by 11."
    )
    assert (
        "from the visit for check of heel pain for 2 weeks to the visit for heel pain for 2 weeks"
        in pressure.wordings[0]
    )
    assert pressure.note_ids == ("P2-1", "P2-2")
    assert found["explained and treated"][0].facts == ("strain of type 22", "rest for 2 nights")


def test_boilerplate_is_no_detail_of_a_patient() -> None:
    findings = {f"P{place}": [Finding("exam", "general", "alert", "n", "cough")] for place in range(10)}
    findings["P0"].append(Finding("exam", "heart", "murmur", "n", "cough"))
    found = list(CandidateMaker(findings, nobody, ()).make("P0"))
    # The exam as a whole is one: nobody else has a murmur.
    assert [one.facts for one in found] == [("murmur",), ("alert", "murmur")]


def test_what_identifies_is_neither_asked_for_nor_said(findings) -> None:
    maker = CandidateMaker(findings, lambda text: "latex" in text or "ear pressure" in text, load_panel())
    made = list(maker.make("P1"))
    assert made
    assert not any("latex" in one.answer or "ear pressure" in one.wordings[0] for one in made)


@pytest.mark.parametrize(
    ("question", "facts", "held"),
    [
        ("Is it 120/80?", ["120/80"], True),
        ("Was it Latex (Itching)?", ["latex (itching)"], True),
        ("Was it 1120/80?", ["120/80"], False),
        ("Which latex?", ["latex (itching)"], False),
    ],
)
def test_a_question_holds_its_answer_by_whole_words(question: str, facts: list[str], held: bool) -> None:
    assert holds_answer(question, "The answer.", facts) is held


def made(kind: str, number: int, *facts: str, about: str = "x", is_unique: bool = True) -> Candidate:
    return Candidate(about, kind, (f"{kind} {number}?",), " ".join(facts), facts, (), is_unique)  # type: ignore[arg-type]


def accept(_candidate: Candidate) -> None:
    return None


def test_of_too_few_questions_the_reason_tells_which() -> None:
    factual = [made("factual", place, f"f{place}") for place in range(4)]
    # Four that share a fact are not four.
    shared = [made("factual", place, "same") for place in range(4)]
    for candidates, kind in ((factual[:3], "factual"), (factual, "reasoning"), (shared, "factual")):
        reason = f"fewer than four {kind} questions can be asked from the notes"
        assert choose_questions("P", candidates, accept=accept, seed=0) == reason


def test_the_withheld_question_is_the_one_that_the_others_tell_least_of() -> None:
    factual = [made("factual", place, f"f{place}") for place in range(4)]
    reasoning = [made("reasoning", place, f"f{place}", f"f{(place + 1) % 3}") for place in range(3)]
    reasoning.append(made("reasoning", 9, "new", "other"))
    for seed in range(5):
        chosen = choose_questions("P", [*factual, *reasoning], accept=accept, seed=seed)
        assert not isinstance(chosen, str)
        assert {chosen.questions[place].wordings[0] for place in chosen.holdout} == {"factual 3?", "reasoning 9?"}
        assert shared_holdouts(chosen) == 0


def test_descriptions_that_fit_nobody_else_and_new_kinds_come_first() -> None:
    factual = [made("factual", place, f"f{place}", about="same") for place in range(6)]
    factual += [made("factual", 6, "f6", about="rare"), made("factual", 7, "f7", about="odd", is_unique=False)]
    reasoning = [made("reasoning", place, f"r{place}") for place in range(4)]
    for seed in range(5):
        chosen = choose_questions("P", [*factual, *reasoning], accept=accept, seed=seed)
        assert not isinstance(chosen, str)
        asked = {question.wordings[0] for question in chosen.questions}
        assert "factual 6?" in asked
        assert "factual 7?" not in asked


def test_a_refused_candidate_is_replaced() -> None:
    factual = [made("factual", place, f"f{place}") for place in range(5)]
    reasoning = [made("reasoning", place, f"r{place}") for place in range(4)]
    chosen = choose_questions(
        "P", [*factual, *reasoning], accept=lambda one: "no" if one.facts == ("f0",) else None, seed=0
    )
    assert not isinstance(chosen, str)
    assert {question.facts for question in chosen.questions[:4]} == {("f1",), ("f2",), ("f3",), ("f4",)}


def test_a_fact_must_stand_in_notes_and_answer() -> None:
    question = made("factual", 1, "two")
    assert problem_of(question, ["one two"], nobody) is None
    assert "word for word" in str(problem_of(question, ["one"], nobody))
    assert problem_of(made("factual", 1, "1"), ["1"], nobody) == OWN_ANSWER
    assert problem_of(question, ["two"], lambda text: text == "two") == "the answer holds an identifier"
    assert problem_of(question, ["two"], lambda text: text == "factual 1?") == "the question holds an identifier"


def test_every_template_has_a_question_and_three_rephrasings_all_different() -> None:
    for template in templates().values():
        assert len(set(template.wordings)) == 1 + 3
        assert all("{who}" in wording.lower() and wording[-1] in "?." for wording in template.wordings)
    assert len(set(rephrase("What was found?"))) == 3
    assert rephrase("HIV load?")[0].endswith(": HIV load?")
