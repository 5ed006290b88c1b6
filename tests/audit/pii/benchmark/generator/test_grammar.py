"""The generator's tables: both parts tell and ask everything, share no sentence, and no fixed word is an entity."""

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from support.cases import read_rows

from clinaudit.audit.pii.benchmark.generator import grammar as module
from clinaudit.audit.pii.benchmark.generator.grammar import (
    Part,
    facts,
    grammar,
    part_of,
    scenarios,
    vocabulary,
)
from clinaudit.audit.pii.benchmark.sample import Domain, occurrences

ROWS = read_rows("pii/rows.txt")

PARTS: tuple[Part, ...] = ("scored", "training")
DOMAINS: tuple[Domain, ...] = ("general", "clinical")
#: Fields whose texts are no sentence templates, so that they are in both parts.
IN_BOTH = {"told", "rule", "shares", "kinds", "tags", "nouns", "asker", "leads", "links"}
#: So few words in a row say nothing yet: "in the matter of", "my name is".
LONGEST_SHARED_RUN = 4
both_parts = pytest.mark.parametrize("part", PARTS)


def table(name: str) -> dict[str, Any]:
    return tomllib.loads(files(module.__package__).joinpath(f"{name}.toml").read_text("utf-8"))


def texts_in(cell: object, *, without: set[str]) -> Iterator[str]:
    """Every string of a table but those of some fields."""
    if isinstance(cell, str):
        yield cell
    elif isinstance(cell, dict):
        for name, field in cell.items():
            if name not in without:
                yield from texts_in(field, without=without)
    elif isinstance(cell, list):
        for row in cell:
            yield from texts_in(row, without=without)


def facts_of(domain: Domain) -> set[str]:
    return {*facts(domain, "person"), *facts(domain, "clinician")}


def templates() -> list[str]:
    tables = ("clauses", "scenes", "encounters", "threads", "turns", "questions")
    return [text for name in tables for text in texts_in(table(name), without=IN_BOTH)]


def words_of(template: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+", re.sub(r"\{\w+\}", " ", template).casefold()))


@pytest.mark.parametrize(("template", "part"), ROWS["a template stays in its part"])
def test_a_template_stays_in_its_part(template: str, part: Part) -> None:
    """Written down when the split was made: another hash would give other samples of every seed."""
    assert part_of(template) == part


def test_about_a_third_is_held_out_and_no_sentence_is_in_both_parts() -> None:
    by_part = {part: {words_of(text) for text in templates() if part_of(text) == part} for part in PARTS}
    assert 0.3 < len(by_part["training"]) / len({words for found in by_part.values() for words in found}) < 0.4
    assert by_part["scored"] & by_part["training"] == set()
    length = LONGEST_SHARED_RUN + 1
    runs = [
        {words[at : at + length] for words in found for at in range(len(words) - length + 1)}
        for found in by_part.values()
    ]
    assert runs[0] & runs[1] == set()


@both_parts
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_part_tells_and_asks_every_fact_in_every_scenario(part: Part, domain: Domain) -> None:
    read = grammar(part)
    least = 2 if part == "scored" else 1
    for key in facts_of(domain):
        clauses = read.clauses[key]
        found = [clauses.of("formal", "person"), clauses.of("casual", "person"), clauses.asked]
        assert min(map(len, found)) >= least, key
        assert clauses.of("casual", "clinician"), key
    assert all(read.clauses[key].of("casual", "clinician") for key in facts(domain, "clinician"))
    asked = {key for needs in scenarios(domain).values() for key in needs}
    assert facts_of(domain) <= asked <= set(read.clauses)
    assert all(len(read.wordings[scenario]) >= least for scenario in scenarios(domain))
    for scene in read.scenes[domain]:
        assert min(len(scene.openings), len(scene.closings)) >= least, scene.id
        assert len(scene.fillers) >= 3 * least, scene.id
    assert {one.relation for one in read.encounters[domain]} == {"intersection", "hierarchy", "none"}
    assert all(one.settings for one in read.encounters[domain])
    assert all(read.shared[one.shares] for one in read.encounters[domain] if one.shares)
    assert all(thread.openings and thread.remarks for thread in read.threads)
    assert all(read.members[place] for place in ("begins", "goes_on", "ends"))


def closed_values() -> set[str]:
    """The values that are single words or phrases of a list, and so could stand in a text by chance."""
    words = vocabulary()
    lists = ("sexual_orientation", "blood_type", "nationality", "ethnicity", "race", "religion", "politics", "nick")
    lists += ("gender_female", "gender_male", "gender_other", "condition", "disability", "drug")
    values = {value for name in lists for value in words["texts"][name]}
    values |= {value for group in words["occupation"] for value in group["names"]}
    return values | {text for row in words["education"] for text in texts_in(row, without=set())}


def test_no_fixed_word_is_a_value_that_could_be_drawn_and_none_is_a_number() -> None:
    tables = ("clauses", "scenes", "encounters", "threads", "turns")
    texts = [text for name in tables for text in texts_in(table(name), without={"asked", "rule", "shares", "kinds"})]
    assert [value for value in sorted(closed_values()) if occurrences(value, "\n".join(texts))] == []
    assert [text for text in texts if re.search(r"\d", text)] == []
