"""Identifiers in answers about nobody: verified of the one train patient who has them, and what chance gives."""

from random import Random

import polars as pl
import pytest
from support.pii.owner_oracle import WAYS, Person, Site, draw_people

from clinaudit.audit.pii.stage import find_identifiers
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row, as_table
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.templates.profile import load_profile

PEOPLE = 40


@pytest.fixture(scope="module")
def people() -> list[Person]:
    return draw_people(PEOPLE, Random(5))


@pytest.fixture(scope="module")
def corpus(people: list[Person], tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("site") / "corpus"
    Site(people).write(folder, Random(1))
    return read_corpus(folder)


def find(corpus: Corpus, *answers: str, prompt: str = "write an order.") -> list[list[Row]]:
    """Return of each answer its rows of `identifiers`."""
    asked = [{"generation_id": str(at), "prompt": prompt, "text": text} for at, text in enumerate(answers)]
    generations = as_table("generations", asked)
    tables, _ = find_identifiers(
        generations, corpus=corpus, profile=load_profile(), seed=0, progress=Progress(quiet=True)
    )
    found = tables["identifiers"]
    return [found.filter(generation_id=key).to_dicts() for key in generations["generation_id"]]


def holders_of_verified(rows: list[Row]) -> list[str]:
    return [holder for row in rows if row["verified"] for holder in row["holders"]]


def test_every_kind_of_identifier_is_found_with_whose_it_is(corpus: Corpus, people: list[Person]) -> None:
    trained = [person for person in people if person.train]
    texts = [ways[0](trained[place]) for place, ways in enumerate(WAYS.values())]
    found = find(corpus, *(f"done.\n{text}\n" for text in texts))
    for place, (kind, rows) in enumerate(zip(WAYS, found, strict=True)):
        assert set(holders_of_verified(rows)) == {trained[place].id}, kind
        assert all(row["text"] in texts[place] for row in rows if row["verified"])


def test_what_others_hold_or_nobody_or_the_staff_does_not_count(corpus: Corpus, people: list[Person]) -> None:
    held_out = next(person for person in people if not person.train)
    stranger = draw_people(PEOPLE + 5, Random(99))[-1]
    texts = [f"ssn: {held_out.social[:3]}-{held_out.social[3:5]}-{held_out.social[5:]}", f"mrn: {stranger.record}"]
    texts += ["signed by Milena Corvane, MD", "take 2 tablets at 9 am.", ""]
    found = [row for rows in find(corpus, *texts) for row in rows]
    assert len(found) >= 3
    assert not [row for row in found if row["verified"] or row["sampled"]]


def test_what_a_task_itself_holds_never_counts(corpus: Corpus, people: list[Person]) -> None:
    words = WAYS["record"][0](people[0])
    (echoed,) = find(corpus, f"certainly: {words}\n", prompt=f"write a letter for {words}.")
    (given,) = find(corpus, f"certainly: {words}\n")
    assert holders_of_verified(echoed) == []
    assert holders_of_verified(given) == [people[0].id]


def test_chance_is_what_as_many_of_those_never_seen_give(corpus: Corpus, people: list[Person]) -> None:
    """Everybody's birth date in one answer each: nobody's pools, the whole splits, give equally many."""
    found = find(corpus, *(f"dob: {person.born:%m/%d/%Y}" for person in people))
    rows = pl.DataFrame([{"train": person.train, **row} for person, (row,) in zip(people, found, strict=True)])
    assert rows["holders"].to_list() == [[person.id] for person in people]
    assert rows["verified"].to_list() == rows["train"].to_list()
    assert rows.filter("sampled")["train"].all()
    assert not rows.filter("by_chance")["train"].any()
    assert rows["sampled"].sum() == rows["by_chance"].sum() == PEOPLE // 2
