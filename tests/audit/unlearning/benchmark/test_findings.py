"""What a chart gives to ask about, how a patient is described, which questions are chosen, and what answers hold."""

import json
import re
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
from support.cases import read_cases
from support.small_charts import write_small_corpus

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.unlearning.benchmark.build import BuildRequest, KeywordSource, build_bench
from clinaudit.audit.unlearning.benchmark.charts import ChartReader
from clinaudit.audit.unlearning.benchmark.files import read_bench
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
from clinaudit.audit.unlearning.metrics.keywords import extract_keywords, load_seeds, packaged_parser
from clinaudit.audit.unlearning.metrics.words import leakage_score
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


def candidates(findings) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = {}
    for candidate in CandidateMaker(findings, nobody, load_panel()).make("P2"):
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


SEEN_FOR = "cough"


def finding(kind: str, subject: str, value: str) -> Finding:
    return Finding(kind, subject, value, "n1", SEEN_FOR)


CHART = [
    finding("condition", "Gout", "Gout"),
    finding("condition", "ptsd", "ptsd"),
    finding("medication", "allopurinol", "300 mg daily"),
    finding("medication", "prazosin", "1 mg at bedtime"),
    finding("assessment", "", "acute bronchitis"),
    finding("assessed", "acute bronchitis", "acute bronchitis"),
    finding("assessed", "asthma", "asthma"),
    finding("review", "respiratory", "wheezes at night"),
    finding("review", "psychiatric", "positive for anxiety"),
    finding("family", "aunt", "positive for stroke"),
]


def asked(about: str) -> list[Candidate]:
    maker = CandidateMaker({"P1": CHART, "P2": [finding("condition", "x", "x")]}, lambda _: False, load_panel())
    return [one for one in maker.make("P1") if one.about == about]


@pytest.mark.parametrize(("about", "marked"), read_cases("unlearning/answer_cases.txt")["lists"])
def test_lists_are_asked_as_one_and_their_answer_names_all(about: str, marked: str) -> None:
    (candidate,) = asked(about)
    assert candidate.answer == marked.replace("[", "").replace("]", "")
    assert candidate.facts == tuple(re.findall(r"\[(.*?)\]", marked))
    assert not any(holds_answer(wording, candidate.answer, candidate.facts) for wording in candidate.wordings)


def test_a_medicine_tells_of_its_diagnosis() -> None:
    answers = {one.wordings[0].split(" take ")[1].split(",")[0]: one.answer for one in asked("indication")}
    assert answers == {
        "allopurinol": "Allopurinol is the medicine for Gout. It is taken as 300 mg daily.",
        "prazosin": "Prazosin is the medicine for ptsd. It is taken as 1 mg at bedtime.",
    }


def test_a_list_too_long_for_an_answer_is_not_cut() -> None:
    many = [finding("condition", f"illness {place}", f"illness {place}") for place in range(9)]
    found = [one.about for one in CandidateMaker({"P1": many}, lambda _: False, ()).make("P1")]
    assert "problems" not in found


def answered(kind: str, about: str, answer: str, question: str = "") -> Candidate:
    wording = question or f"{about} {answer}?"
    return Candidate(about, kind, (wording,), answer, (answer,), (), True)  # type: ignore[arg-type]


def test_answers_with_terms_are_chosen_first_then_kinds_not_asked_yet() -> None:
    factual = [
        answered("factual", "a", "gout ptsd hiv", "1?"),
        answered("factual", "a", "gout ptsd flu", "2?"),
        answered("factual", "b", "ptsd cold", "3?"),
        answered("factual", "c", "pulse", "4?"),
        answered("factual", "d", "weight", "5?"),
        # What the question says itself is no term of the answer.
        answered("factual", "e", "hiv only", "hiv, 6?"),
    ]
    reasoning = [answered("reasoning", str(place), f"fact{place}") for place in range(4)]
    chosen = choose_questions(
        "P", [*factual, *reasoning], accept=lambda _: None, seed=1, terms={("gout",), ("ptsd",), ("hiv",)}
    )
    assert not isinstance(chosen, str)
    # A second question of a kind counts half of its two terms: one of a kind not asked yet goes first.
    assert [one.answer for one in chosen.questions[:3]] == ["gout ptsd hiv", "ptsd cold", "gout ptsd flu"]
    assert chosen.questions[3].about in {"c", "d", "e"}


@pytest.mark.slow
def test_reference_answers_of_the_demo_hold_their_keywords(tmp_path: Path) -> None:
    """The mean leakage score of the answers themselves was 0.05: whatever a model said, there was nothing to find."""
    write_demo_corpus(tmp_path / "corpus", seed=7, patients_per_arm=24)
    seeds = load_seeds()
    parser = packaged_parser(seeds.lexicon)
    source = KeywordSource("seeds", lambda bench: extract_keywords(bench, parser, seeds=seeds), seeds.of_patient)
    build_bench(BuildRequest(corpus=tmp_path / "corpus", out=tmp_path / "bench"), Progress(quiet=True), keywords=source)
    bench = read_bench(tmp_path / "bench")
    keywords: dict[str, list] = {}
    for keyword in bench.keywords:
        keywords.setdefault(keyword.qa_id, []).append(keyword)
    scores = {
        kind: [
            score
            for one in bench.questions
            if one.kind == kind and one.use != "rephrased"
            if (score := leakage_score(keywords.get(one.qa_id, ()), one.answer)) is not None
        ]
        for kind in ("factual", "reasoning")
    }
    assert fmean([*scores["factual"], *scores["reasoning"]]) >= 0.3
    assert fmean(scores["factual"]) >= 0.2
