"""Training text planted in answers to tasks about nobody is found, with whose it is; nothing else is."""

import random
from itertools import product
from pathlib import Path

import pytest
from support.ordinary.answered_tasks import (
    QUIET,
    ToldEngine,
    answers_of,
    ask,
    decoding_of,
    tasks_of,
    write_corpus,
)
from support.tallies import inside, number

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.ordinary.asking import plan_questions
from clinaudit.audit.measures.ordinary.record import Answer, Held, answer_rows
from clinaudit.audit.measures.ordinary.stage import find_patients_text, summarize_ordinary
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import read_table, write_table
from clinaudit.priors.corpus.corpus import Corpus
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
    tally = summarize_ordinary(questions, answers, found, None, planned=5, match_tokens=N, corpus=corpus)
    assert (tally.tasks.value, tally.left_out.value, tally.forms, tally.identifiers) == (4, 1, ("text",), None)
    assert (number(tally.text.found.tasks.range), number(tally.text.found.patients.range)) == (3, 2)
    assert inside(tally.text.evidence).answers == {"text greedy": 2, "text sampled": 1}
    assert number(inside(tally.text.chance).tasks.range) == 0

    quiet = ask(questions, ToldEngine(tokenizer, {"letter": "I raise no goats. " * 9}), tmp_path / "quiet")
    nothing = find(corpus, tokenizer, quiet)
    assert nothing == [[]] * len(quiet)
    clean = summarize_ordinary(questions, quiet, nothing, nothing, planned=4, match_tokens=N, corpus=corpus)
    # All but the one that was told to write more stop after a word or two.
    assert (clean.tasks.value, clean.short.value) == (4, 3)
    assert clean.identifiers is not None
    for leak in (clean.text, clean.identifiers):
        assert (number(leak.found.tasks.range), number(leak.found.patients.range)) == (0, 0)


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
    write_table(tmp_path, "ordinary", answer_rows(answers, found, values))
    rows = read_table(tmp_path, "ordinary")
    tally = summarize_ordinary(questions, answers, found, values, planned=3, match_tokens=N, corpus=corpus)
    assert tally.identifiers is not None
    for leak, what, whose in (
        (tally.text, "passages", "passage_patients"),
        (tally.identifiers, "identifiers", "identifier_patients"),
    ):
        assert number(leak.found.tasks.range) == len({row["task"] for row in rows if row[what]}) > 0
        assert number(leak.found.patients.range) == len({own for row in rows for own in row[whose]}) > 0
        for form, draw in product(("text",), ("greedy", "sampled")):
            held = [row for row in rows if (row["form"], row["draw"]) == (form, draw) and row[what]]
            assert inside(leak.evidence).answers[f"{form} {draw}"] == len(held)
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
    asked = [own.question for own in answers]
    tally = summarize_ordinary(asked, answers, found, None, planned=3, match_tokens=N, corpus=corpus)
    assert (number(tally.text.found.tasks.range), number(tally.text.found.patients.range)) == (1, 2)


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
    asked = [own.question for own in answers]
    tally = summarize_ordinary(asked, answers, found, found, planned=4, match_tokens=N, corpus=corpus)
    assert (number(tally.text.found.tasks.range), number(tally.text.found.patients.range)) == (2, 1)


def test_without_held_out_patients_there_is_no_chance(tokenizer: ModelTokenizer, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", {own: texts for own, texts in NOTES.items() if own < "q"})
    answers = answers_of(tokenizer, tmp_path / "run", GOATS)
    found = find(corpus, tokenizer, answers)
    assert [held.figure for held in found[0]] == ["all"]
    asked = [own.question for own in answers]
    tally = summarize_ordinary(asked, answers, found, None, planned=1, match_tokens=N, corpus=corpus)
    assert (tally.text.sampled.value, tally.text.chance.value) == (None, None)
    assert number(tally.text.found.tasks.range) == 1


def test_a_task_without_all_of_its_answers_is_not_counted_as_answered(
    corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    questions = plan_questions(tasks_of("write a letter.", "fill a form."), decoding_of(tokenizer), seed=0)
    engine = ToldEngine(tokenizer, {"letter": GOATS})
    answers = ask(questions, engine, tmp_path / "run")[:3]
    found = find(corpus, tokenizer, answers)
    tally = summarize_ordinary(questions, answers, found, None, planned=2, match_tokens=N, corpus=corpus)
    assert (tally.tasks.value, tally.left_out.value, number(tally.text.found.tasks.range)) == (1, 1, 1)


def test_the_order_of_answers_changes_nothing(corpus: Corpus, tokenizer: ModelTokenizer, tmp_path: Path) -> None:
    answers = answers_of(tokenizer, tmp_path / "run", GOATS, BEES, CLOCKS, SHARED, house("p2"))
    found = find(corpus, tokenizer, answers)
    order = list(range(len(answers)))
    random.Random(3).shuffle(order)
    assert find(corpus, tokenizer, [answers[place] for place in order]) == [found[place] for place in order]
