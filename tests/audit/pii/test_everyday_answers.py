"""Identifiers in answers about nobody: verified of the one train patient who has them, and what chance gives."""

from pathlib import Path
from random import Random

import polars as pl
import pytest
from support.ordinary.answered_tasks import QUIET, ToldEngine, answers_of, ask, tasks_of
from support.pii.owner_oracle import WAYS, Person, Site, draw_people

from clinaudit.audit.measures.ordinary.estimates import estimate_everyday
from clinaudit.audit.pii.stage import find_identifiers
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import Row, as_table
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


def find(corpus: Corpus, answers: pl.DataFrame, *, seed: int = 0) -> list[list[Row]]:
    """Return the rows of each answer."""
    found = find_identifiers(answers, corpus=corpus, profile=load_profile(), seed=seed, progress=QUIET)
    rows = list(found.rows.iter_rows(named=True) if isinstance(found.rows, pl.DataFrame) else found.rows)
    return [[row for row in rows if row["generation_id"] == name] for name in answers["generation_id"]]


def owners(rows: list[Row]) -> list[str]:
    """Return the patients trained on of whom a value is verified."""
    return [row["holders"][0] for row in rows if row["verified"]]


def test_every_kind_of_identifier_is_found_with_whose_it_is(
    corpus: Corpus, people: list[Person], tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    trained = [person for person in people if person.train]
    texts = [ways[0](trained[place]) for place, ways in enumerate(WAYS.values())]
    found = find(corpus, answers_of(tokenizer, tmp_path / "run", *(f"done.\n{text}\n" for text in texts)))
    for place, (kind, own) in enumerate(zip(WAYS, found, strict=True)):
        assert owners(own) == [trained[place].id], kind
        assert own[0]["owner"] == "other_train"
        assert own[0]["text"] in texts[place]


def test_what_others_hold_or_nobody_or_the_staff_does_not_count(
    corpus: Corpus, people: list[Person], tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    held_out = next(person for person in people if not person.train)
    stranger = draw_people(PEOPLE + 5, Random(99))[-1]
    texts = [f"ssn: {held_out.social[:3]}-{held_out.social[3:5]}-{held_out.social[5:]}", f"mrn: {stranger.record}"]
    texts += ["signed by Milena Corvane, MD", "take 2 tablets at 9 am.", ""]
    found = find(corpus, answers_of(tokenizer, tmp_path / "run", *texts))
    assert not [row for own in found for row in own if row["verified"] or row["sampled"]]


def test_a_value_of_two_train_patients_is_neithers(tokenizer: ModelTokenizer, tmp_path: Path) -> None:
    first, second, third = draw_people(3, Random(2))
    first.train = second.train = True
    second.phone = first.phone
    Site([first, second, third]).write(tmp_path / "corpus", Random(1))
    answers = answers_of(
        tokenizer, tmp_path / "run", f"phone: {first.phone}", f"phone: {first.phone} mrn: {first.record}"
    )
    shared, with_own = find(read_corpus(tmp_path / "corpus"), answers)
    assert (owners(shared), owners(with_own)) == ([], [first.id])


def test_what_a_task_itself_holds_never_counts(
    corpus: Corpus, people: list[Person], tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    words = WAYS["record"][0](people[0])
    tasks = tasks_of(f"write a letter for {words}.", "write an order.")
    answers = ask(tasks, ToldEngine(tokenizer, {"write": f"certainly: {words}\n"}), tmp_path / "run", draws=False)
    echoed, given = find(corpus, answers)
    assert {row["owner"] for row in echoed} == {"echo"}
    assert (owners(echoed), owners(given)) == ([], [people[0].id])


def test_chance_is_what_as_many_of_those_never_seen_give(
    corpus: Corpus, people: list[Person], tokenizer: ModelTokenizer, tmp_path: Path
) -> None:
    """Everybody's birth date in one answer each: the pools, one smaller than the split, give equally many."""
    answers = answers_of(tokenizer, tmp_path / "run", *(f"dob: {person.born:%m/%d/%Y}" for person in people))
    found = find(corpus, answers)
    by_figure = {
        column: [row["holders"][0] for own in found for row in own if row[column]]
        for column in ("verified", "sampled", "by_chance")
    }
    trained = {person.id for person in people if person.train}
    assert (set(by_figure["verified"]), len(by_figure["verified"])) == (trained, len(trained))
    assert set(by_figure["sampled"]) <= trained
    assert set(by_figure["by_chance"]).isdisjoint(trained)
    assert len(by_figure["sampled"]) == len(by_figure["by_chance"]) == PEOPLE // 2 - 1
    tables = {name: as_table(name, []) for name in ("generation_metrics", "other_patients")}
    metrics = answers.select("generation_id").with_columns(tokens=pl.lit(9), **dict.fromkeys(_COUNTS, pl.lit(0)))
    tables |= {"generations": answers, "generation_metrics": metrics}
    tables["identifiers"] = as_table("identifiers", [row for own in found for row in own])
    frames = {name: table.lazy() for name, table in tables.items()}
    row = Estimates(estimate_everyday(frames, match_tokens=1)).find("everyday_identifiers")
    assert row is not None
    assert (row.count_low, row.of_low) == (20, PEOPLE)


_COUNTS = ("other_patient_tokens", "other_patient_sampled_tokens", "other_patient_chance_tokens")
