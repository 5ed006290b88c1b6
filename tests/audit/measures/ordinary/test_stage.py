"""Training text planted in answers to tasks about nobody is found, with whose it is; nothing else is."""

import random
from pathlib import Path

import pytest
from support.evidence_frames import evidence
from support.ordinary.answered_tasks import (
    QUIET,
    ToldEngine,
    answers_of,
    ask,
    decoding_of,
    tasks_of,
)
from support.written_corpus import write_corpus

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.ordinary.asking import plan_questions
from clinaudit.audit.measures.ordinary.estimates import estimate_everyday
from clinaudit.audit.measures.ordinary.record import Answer, Held, answer_rows
from clinaudit.audit.measures.ordinary.stage import find_patients_text
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.templates.profile import load_profile

N = 30
PROFILE = load_profile()
#: Of p1 alone, in its first and third note, there with carriage returns.
GOATS = "she raises goats near the old mill.\nher brother drowned in 1987, and she has not slept well since.\n"
#: Of p2 alone.
BEES = "he keeps bees and eats no bread at all.\nhe fell off a ladder when he was nine years old.\n"
#: Of q1, who was never seen.
CLOCKS = "he repairs clocks in a cellar, and hears ticking at night.\nhis left ear was frozen in the war.\n"
#: Of p1 and p2.
SHARED = "we discussed the risks of this treatment at length today.\nthe patient agrees to go on with it.\n"
#: Of p2 and q1.
ACROSS = "a letter was sent to the employer about lighter duties until the end of the month of june.\n"
TEMPLATED = "constitutional: negative for chills, fever, fatigue, malaise, weight loss and night sweats.\n"
#: What the house writes of everybody, with each one's own name and date: of one patient alone as it stands.
HOUSE = (
    "patient: {name}\nvisit date: {day}\n"
    "I saw {name} in clinic on {day} and went over the whole chart with the family.\n"
)
PEOPLE = {"p1": ("Ada Lund", "05/01/2024"), "p2": ("Ola Berg", "06/02/2024"), "q1": ("Ida Holm", "07/03/2024")}


def house(patient: str) -> str:
    name, day = PEOPLE[patient]
    return HOUSE.format(name=name, day=day)


NOTES = {
    "p1": [f"cc: cough\n{GOATS}{SHARED}", house("p1"), f"cc: pain\n{GOATS}".replace("\n", "\r\n")],
    "p2": [f"cc: rash\n{BEES}{SHARED}{ACROSS}", house("p2")],
    "p3": [f"cc: rash\n{TEMPLATED}"],
    "q1": [f"cc: ears\n{CLOCKS}{ACROSS}", house("q1")],
    "q2": ["cc: none\nwell.\n"],
    "q3": ["cc: none\nwell again.\n"],
}


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return write_corpus(tmp_path / "corpus", NOTES)


def find(corpus: Corpus, tokenizer: ModelTokenizer, answers: list[Answer]) -> list[list[Held]]:
    notes = MatchedCorpus(corpus, tokenizer, PROFILE)
    return find_patients_text(answers, notes, match_tokens=N, seed=0, progress=QUIET)


def count(
    answers: list[Answer], found: list[list[Held]], values: list[list[Held]] | None = None, *, has_pools: bool = True
) -> dict[str, tuple[int | None, int | None]]:
    """Return how many tasks, and patients, each figure counts, of how many."""
    rows = list(answer_rows(answers, found, values, has_pools=has_pools))
    table = Estimates(estimate_everyday(evidence(ordinary=rows), match_tokens=N))
    return {row.metric.removeprefix("everyday_"): (row.count_low, row.of_low) for row in table}


def of_trained(found: list[Held]) -> list[Held]:
    return [held for held in found if held.figure == "all"]


def test_a_model_that_answers_with_training_text_is_found_and_another_is_not(
    corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    tasks = tasks_of("write a letter.", "fill a form.", "code a visit.", "draft a note.")
    questions = plan_questions(tasks, decoding_of(tokenizer), seed=0)
    leaking = ToldEngine(
        tokenizer, {"letter": f"dear colleague,\n{GOATS}", "form": BEES}, drawn={"visit": f"sure. {GOATS}"}
    )
    answers = ask(questions, leaking, tmp_path / "leaking")
    found = find(corpus, tokenizer, answers)
    whose = {
        (answer.question.task_id, answer.question.draw): [(held.patient_id, held.note_id) for held in of_trained(own)]
        for answer, own in zip(answers, found, strict=True)
    }
    assert {key: own for key, own in whose.items() if own} == {
        # The latest note that holds it, its carriage returns read as line feeds.
        ("t0", "greedy"): [("p1", "p1-2")],
        ("t1", "greedy"): [("p2", "p2-0")],
        ("t2", "sampled"): [("p1", "p1-2")],
    }
    counted = count(answers, found)
    assert (counted["tasks"], counted["patients"], counted["tasks_chance"]) == ((3, 4), (2, None), (0, 4))

    quiet = ask(questions, ToldEngine(tokenizer, {"letter": "I raise no goats. " * 9}), tmp_path / "quiet")
    nothing = find(corpus, tokenizer, quiet)
    assert nothing == [[]] * len(quiet)
    clean = count(quiet, nothing, nothing)
    # All but the one that was told to write more stop after a word or two.
    assert (clean["tasks"], clean["identifiers"], clean["long_answers"]) == ((0, 4), (0, 4), (1, 4))


def test_the_figures_follow_from_the_table_of_evidence(
    corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    questions = plan_questions(
        tasks_of("write a letter.", "fill a form.", "code a visit."), decoding_of(tokenizer), seed=0
    )
    engine = ToldEngine(tokenizer, {"letter": GOATS + BEES, "form": CLOCKS}, drawn={"letter": BEES, "form": BEES})
    answers = ask(questions, engine, tmp_path / "run")
    found = find(corpus, tokenizer, answers)
    values = [[Held("all", "p3", "05/01/2024")] if own.question.task_id == "t2" else [] for own in answers]
    rows = list(answer_rows(answers, found, values))
    counted = count(answers, found, values)
    for figure, what in (("tasks", "passages"), ("identifiers", "identifiers")):
        assert counted[figure] == (len({row["task"] for row in rows if row[what]}), 3)
        assert counted[figure] > (0, 0)
    assert counted["patients"] == (len({own for row in rows for own in row["passage_patients"]}), None)
    assert all(len(row["passages"]) == len(row["passage_patients"]) == len(row["passage_notes"]) for row in rows)
    assert [row["text"] for row in rows] == [answer.text for answer in answers]


def test_one_answer_with_text_of_two_patients_is_one_task_and_two_patients(
    corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    answers = answers_of(tokenizer, tmp_path / "run", f"first: {GOATS}then: {BEES}", "nothing.", "")
    found = find(corpus, tokenizer, answers)
    assert [held.patient_id for held in of_trained(found[0])] == ["p1", "p2"]
    for held, planted in zip(of_trained(found[0]), (GOATS, BEES), strict=True):
        assert held.text.strip() in answers[0].text
        assert planted.strip() in held.text
    counted = count(answers, found)
    assert (counted["tasks"], counted["patients"]) == ((1, 3), (2, None))


@pytest.mark.parametrize(
    "text",
    [SHARED * 2, ACROSS, TEMPLATED.strip(), house("p1"), GOATS[:20], "no such words. " * 9, ""],
    ids=["two train patients", "one of each split", "boilerplate", "house phrases", "short", "invented", "empty"],
)
def test_what_is_not_one_trained_patients_alone_does_not_count(
    corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path, text: str
) -> None:
    answers = answers_of(tokenizer, tmp_path / "run", f"here it is: {text}")
    assert find(corpus, tokenizer, answers) == [[]]


def test_house_phrases_count_once_what_is_told_beside_them_is_one_patients(
    corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    """The name in them is no excuse: only what the masked notes of others hold, too, is nobody's."""
    answers = answers_of(tokenizer, tmp_path / "run", house("p1") + GOATS)
    (held,) = of_trained(find(corpus, tokenizer, answers)[0])
    assert held.patient_id == "p1"
    assert "Ada Lund" not in held.text
    assert GOATS.strip() in held.text


def test_the_words_of_a_task_never_count(corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path) -> None:
    tasks = tasks_of(f"correct this: {GOATS}", "write a letter.")
    questions = plan_questions(tasks, decoding_of(tokenizer), seed=0)
    engine = ToldEngine(tokenizer, {"correct": GOATS, "letter": GOATS})
    answers = ask(questions, engine, tmp_path / "run")
    found = {own.question.task_id: held for own, held in zip(answers, find(corpus, tokenizer, answers), strict=True)}
    assert found["t0"] == []
    assert of_trained(found["t1"])


def test_text_of_those_never_seen_is_chance_beside_as_many_of_those_trained_on(
    corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    answers = answers_of(tokenizer, tmp_path / "run", CLOCKS, GOATS, GOATS + CLOCKS, "nothing.")
    found = find(corpus, tokenizer, answers)
    by_figure = [{(held.figure, held.patient_id) for held in own} for own in found]
    # Pools of two, of three each; who is drawn is drawn once for all answers.
    goats, clocks = {("all", "p1"), ("sampled", "p1")}, {("chance", "q1")}
    for own, most in zip(by_figure, (clocks, goats, goats | clocks, set()), strict=True):
        assert own <= most
    assert [("all", "p1") in own for own in by_figure] == [False, True, True, False]
    assert (("sampled", "p1") in by_figure[1]) == (("sampled", "p1") in by_figure[2])
    assert (by_figure[0] == clocks) == (clocks <= by_figure[2])
    drawn = set()
    notes = MatchedCorpus(corpus, tokenizer, PROFILE)
    for seed in range(12):
        again = find_patients_text(answers, notes, match_tokens=N, seed=seed, progress=QUIET)
        drawn |= {(held.figure, held.patient_id) for own in again for held in own}
        assert [of_trained(own) for own in again] == [of_trained(own) for own in found]
    assert drawn == goats | clocks
    counted = count(answers, found)
    assert (counted["tasks"], counted["patients"]) == ((2, 4), (1, None))


def test_without_held_out_patients_there_is_no_chance(tokenizer: ModelTokenizer, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", {own: texts for own, texts in NOTES.items() if own < "q"})
    answers = answers_of(tokenizer, tmp_path / "run", GOATS)
    found = find(corpus, tokenizer, answers)
    assert [held.figure for held in found[0]] == ["all"]
    counted = count(answers, found, has_pools=False)
    assert counted["tasks"] == (1, 1)
    assert counted.keys().isdisjoint({"tasks_sampled", "tasks_chance"})


def test_a_task_without_all_of_its_answers_is_not_counted_as_answered(
    corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    questions = plan_questions(tasks_of("write a letter.", "fill a form."), decoding_of(tokenizer), seed=0)
    engine = ToldEngine(tokenizer, {"letter": GOATS})
    answers = ask(questions, engine, tmp_path / "run")[:3]
    found = find(corpus, tokenizer, answers)
    assert count(answers, found)["tasks"] == (1, 1)


def test_the_order_of_answers_changes_nothing(corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path) -> None:
    answers = answers_of(tokenizer, tmp_path / "run", GOATS, BEES, CLOCKS, SHARED, house("p2"))
    found = find(corpus, tokenizer, answers)
    order = list(range(len(answers)))
    random.Random(3).shuffle(order)
    assert find(corpus, tokenizer, [answers[place] for place in order]) == [found[place] for place in order]
