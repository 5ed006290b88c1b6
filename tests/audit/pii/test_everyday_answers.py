"""Identifiers in answers about nobody: verified of the one train patient who has them, and what chance gives."""

from pathlib import Path
from random import Random

import pytest
from support.evidence_frames import evidence
from support.ordinary.answered_tasks import QUIET, ToldEngine, answers_of, ask, decoding_of, tasks_of
from support.pii.owner_oracle import WAYS, Person, Site, draw_people

from clinaudit.audit.measures.ordinary.asking import plan_questions
from clinaudit.audit.measures.ordinary.estimates import estimate_everyday
from clinaudit.audit.measures.ordinary.record import Answer, Held, answer_rows
from clinaudit.audit.pii.stage import find_in_answers
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.templates.profile import load_profile

PEOPLE = 40


@pytest.fixture(scope="module")
def tokenizer(tokenizer_directory: Path) -> ModelTokenizer:
    return ModelTokenizer(tokenizer_directory)


@pytest.fixture(scope="module")
def people() -> list[Person]:
    return draw_people(PEOPLE, Random(5))


@pytest.fixture(scope="module")
def corpus(people: list[Person], tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("site") / "corpus"
    Site(people).write(folder, Random(1))
    return read_corpus(folder)


def find(corpus: Corpus, answers: list[Answer], *, seed: int = 0) -> list[list[Held]]:
    return find_in_answers(answers, corpus=corpus, profile=load_profile(), seed=seed, progress=QUIET)


def test_every_kind_of_identifier_is_found_with_whose_it_is(
    corpus: Corpus, people: list[Person], tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    trained = [person for person in people if person.train]
    texts = [ways[0](trained[place]) for place, ways in enumerate(WAYS.values())]
    found = find(corpus, answers_of(tokenizer, tmp_path / "run", *(f"done.\n{text}\n" for text in texts)))
    for place, (kind, own) in enumerate(zip(WAYS, found, strict=True)):
        alone = [held for held in own if held.figure == "all"]
        assert [held.patient_id for held in alone] == [trained[place].id], kind
        assert alone[0].text in texts[place]
        assert alone[0].note_id is None


def test_what_others_hold_or_nobody_or_the_staff_does_not_count(
    corpus: Corpus, people: list[Person], tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    held_out = next(person for person in people if not person.train)
    stranger = draw_people(PEOPLE + 5, Random(99))[-1]
    texts = [f"ssn: {held_out.social[:3]}-{held_out.social[3:5]}-{held_out.social[5:]}", f"mrn: {stranger.record}"]
    texts += ["signed by Milena Corvane, MD", "take 2 tablets at 9 am.", ""]
    found = find(corpus, answers_of(tokenizer, tmp_path / "run", *texts))
    assert not [held for own in found for held in own if held.figure != "chance"]


def test_a_value_of_two_train_patients_is_neithers(tokenizer: ModelTokenizer, tmp_path: Path) -> None:
    first, second, third = draw_people(3, Random(2))
    first.train = second.train = True
    second.phone = first.phone
    Site([first, second, third]).write(tmp_path / "corpus", Random(1))
    answers = answers_of(
        tokenizer, tmp_path / "run", f"phone: {first.phone}", f"phone: {first.phone} mrn: {first.record}"
    )
    shared, with_own = find(read_corpus(tmp_path / "corpus"), answers)
    assert [held for held in shared if held.figure == "all"] == []
    assert [held.patient_id for held in with_own if held.figure == "all"] == [first.id]


def test_what_a_task_itself_holds_never_counts(
    corpus: Corpus, people: list[Person], tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    words = WAYS["record"][0](people[0])
    tasks = tasks_of(f"write a letter for {words}.", "write an order.")
    questions = [own for own in plan_questions(tasks, decoding_of(tokenizer), seed=0) if own.draw == "greedy"]
    answers = ask(questions, ToldEngine(tokenizer, {"write": f"certainly: {words}\n"}), tmp_path / "run")
    echoed, given = find(corpus, answers)
    assert echoed == []
    assert [held.patient_id for held in given if held.figure == "all"] == [people[0].id]


def test_chance_is_what_as_many_of_those_never_seen_give(
    corpus: Corpus, people: list[Person], tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    """Everybody's birth date in one answer each: the pools, one smaller than the split, give equally many."""
    answers = answers_of(tokenizer, tmp_path / "run", *(f"dob: {person.born:%m/%d/%Y}" for person in people))
    found = find(corpus, answers)
    by_figure = {
        figure: [held.patient_id for own in found for held in own if held.figure == figure]
        for figure in ("all", "sampled", "chance")
    }
    trained = {person.id for person in people if person.train}
    assert (set(by_figure["all"]), len(by_figure["all"])) == (trained, len(trained))
    assert set(by_figure["sampled"]) <= trained
    assert set(by_figure["chance"]).isdisjoint(trained)
    assert len(by_figure["sampled"]) == len(by_figure["chance"]) == PEOPLE // 2 - 1
    # Whose a value is stands in the row of the answer that holds it.
    for own, person in zip(found, people, strict=True):
        assert {held.patient_id for held in own} <= {person.id}
    rows = list(answer_rows(answers, [[] for _ in answers], found))
    row = Estimates(estimate_everyday(evidence(ordinary=rows), match_tokens=1)).find("everyday_identifiers")
    assert row is not None
    assert (row.count_low, row.of_low) == (20, PEOPLE)
