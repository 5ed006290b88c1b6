"""Files of samples and predictions, read; planted faults of samples, found; and what samples hold, counted by hand."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cases import read_rows
from support.pii.marked_samples import sample_of, statistics_of

from clinaudit.audit.pii.benchmark.sample import (
    Entity,
    Sample,
    check_sample,
    find_occurrences,
    iter_samples,
    occurrences,
)
from clinaudit.errors import BadInputError

ROWS = read_rows("pii/rows.txt")
MARKED = "[A full_name|Mae Ott] is [A age*|34], from [A city|Bern]."
Change = Callable[[dict[str, Any]], object]


def row_of(key: str = "s1") -> dict[str, Any]:
    row: dict[str, Any] = json.loads(sample_of(MARKED, key=key).model_dump_json())
    return row


def changed(change: Change) -> str:
    row = row_of("s2")
    change(row)
    return json.dumps(row)


def problems_of(path: Path) -> tuple[str, ...]:
    with pytest.raises(BadInputError) as error:
        list(iter_samples(path))
    for secret in ("Mae", "Ott", "Bern", "Secret"):
        assert secret not in error.value.render()
    return error.value.problems


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.gz"])
def test_samples_are_read_back(tmp_path: Path, name: str) -> None:
    content = b"\xef\xbb\xbf" + b"".join(json.dumps(row_of(key)).encode() + b"\r\n\n" for key in ("s1", "s2"))
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert list(iter_samples(path)) == [sample_of(MARKED, key=key) for key in ("s1", "s2")]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("Mae Ott", ": is not a JSON object on one line (a line a record, no list around them)"),
        ("[1]", ": is not a JSON object on one line (a line a record, no list around them)"),
        (json.dumps(row_of("s1")), ", column id: stood in row 1 already"),
        (changed(lambda row: row.pop("id")), ", column id: is missing"),
        (changed(lambda row: row.update(id=["Secret"])), ", column id: is not text"),
        (changed(lambda row: row.update(id=" ")), ", column id: is blank, longer than 200 characters, or holds one"),
        (changed(lambda row: row.update(id="x" * 201)), ", column id: is blank, longer than 200 characters, or holds"),
        (changed(lambda row: row.update(id="a\nb")), ", column id: is blank, longer than 200 characters, or holds one"),
        (changed(lambda row: row.update(id="\ud800Secret")), ", column id: holds half a surrogate pair"),
        (changed(lambda row: row.update(ID="Secret")), ", column id: is given more than once"),
        ('{"id": "s2", "id": "Secret"}', ": gives one key twice"),
        (changed(lambda row: row.update(subset=["Secret"])), ", column subset: is "),
        (changed(lambda row: row.update(subjects={})), ", column subjects: is not a list"),
        (changed(lambda row: row.update(subjects=["Secret"])), ", column subjects: subjects[0] is not an object"),
        (changed(lambda row: row["subjects"][0].pop("entities")), ", column subjects: subjects[0].entities is missing"),
        (
            changed(lambda row: row["subjects"][0]["entities"][1].update(type="Secret")),
            ", column subjects: subjects[0].entities[1].type is none of 'PER', 'CODE', 'LOC'",
        ),
        (
            changed(lambda row: row["subjects"][0]["entities"][1].update(text=34)),
            ", column subjects: subjects[0].entities[1].text is not text",
        ),
        (
            changed(lambda row: row["subjects"][0]["entities"][1].update(text="\ud800")),
            ", column subjects: holds half a surrogate pair",
        ),
        (changed(lambda row: row.update(query_related=None)), ", column query_related: is not a list"),
        (
            changed(lambda row: row.update(query_related=[{"subject": "A"}])),
            ", column query_related: query_related[0].text is missing",
        ),
    ],
)
def test_a_bad_row_is_named_by_its_field(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f"{json.dumps(row_of())}\n{line}\n", encoding="utf-8")
    (problem,) = problems_of(path)
    assert problem.startswith(f"s.jsonl, row 2{what}")


@pytest.mark.parametrize("within", ["the row", "an entity"])
def test_keys_that_no_sample_has_are_refused(tmp_path: Path, within: str) -> None:
    row = row_of()
    (row if within == "the row" else row["subjects"][0]["entities"][0])["Secret"] = "Secret"
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(row))
    assert "key" in problems_of(path)[0]


def test_what_a_check_says_is_told_of_its_row(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({**row_of(), "query": "34?"}))
    with pytest.raises(BadInputError) as error:
        list(iter_samples(path))
    assert error.value.problems == ("s.jsonl, row 1: needed entity 0: the question names it",)


def test_means_and_types_are_counted_by_hand() -> None:
    one = sample_of("[A full_name|Ann Lee], [A age*|41], of [A city|Oslo].")
    other = sample_of("[A nickname|Bo], [A city*|Oslo].", key="q2")
    both = sample_of("[A full_name|A1] x [B full_name|B2]", key="q3")
    found = statistics_of([one, other, both])
    assert list(found) == ["all", "single", "multi"]
    single = found["single"]
    assert (single.samples, single.subjects, single.entities, single.needed_entities) == (2, 1.0, 2.5, 1.0)
    assert (single.description_chars, single.query_chars) == ((21 + 9) / 2, len("What should be done?"))
    assert {name: number for name, number in single.types.items() if number} == {"PER": 2, "DEM": 1, "LOC": 2}
    assert (found["multi"].subjects, found["multi"].entities) == (2.0, 2.0)


def test_an_entity_that_stands_twice_counts_once_a_subject() -> None:
    sample = sample_of("[A full_name|Ann] and Ann")
    again = Entity(text="Ann", type="PER", category="full_name", start=8, end=11, occurrence=1, name_origin="en_US")
    subject = sample.subjects[0].model_copy(update={"entities": [*sample.subjects[0].entities, again]})
    twice = sample.model_copy(update={"subjects": [subject, subject.model_copy(update={"id": "s9"})]})
    assert {subset: row.entities for subset, row in statistics_of([twice]).items()} == {"single": 2}


#: "Ann Lee" stands twice; "25" stands in "1925" and in the street: neither is an occurrence of its own.
RIGHT = (
    "[A full_name|Ann Lee], [A age*|25], of [A street_address|25 Elm Street], works at [AB company|Kestwick Foods] "
    "with [B full_name|Bo Ray]. [A full_name|Ann Lee] was not born in 1925; Bo is [B age|60]."
)


def right() -> dict[str, Any]:
    sample: dict[str, Any] = sample_of(RIGHT, query="What does her age mean for a pension?").model_dump()
    return sample


def faults_of(row: dict[str, Any]) -> list[str]:
    return check_sample(Sample.model_validate(row))


def test_a_right_sample_has_no_problem() -> None:
    assert faults_of(right()) == []


ANN, BO = ("subjects", 0, "entities"), ("subjects", 1, "entities")


def at(row: Any, *path: str | int) -> Any:
    for step in path:
        row = row[step]
    return row


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (lambda row: at(row, *ANN, 1).update(start=10, end=12), "the text at an entity's place is another"),
        (
            lambda row: at(row, *BO, 2).update(end=len(row["description"]) + 1),
            "overlap, are empty or lie outside the text",
        ),
        (lambda row: at(row, *BO, 1).update(text="Bo Roy"), "the text at an entity's place is another"),
        (lambda row: at(row, *ANN).pop(), "stands unlisted at character 68"),
        (lambda row: at(row, *ANN, 4).update(occurrence=0), "not numbered from 0"),
        (lambda row: at(row, *ANN, 1).update(type="QUANTITY"), "its type is not that of its category"),
        (lambda row: at(row, *ANN, 1).update(category="shoe_size"), "a category that the taxonomy lacks"),
        (lambda row: at(row, *ANN, 4).update(category="nickname"), "one text under two categories"),
        (lambda row: at(row, *BO).append(at(row, *BO, 0) | {"text": "Foods", "start": 49}), "places that overlap"),
        (lambda row: at(row, *ANN).insert(1, at(row, *ANN, 1) | {"occurrence": 1}), "places that overlap"),
        (lambda row: at(row, "query_related", 0).update(text="Elm"), "a needed entity is none of the entities"),
        (lambda row: at(row, "query_related", 0).update(subject="B"), "a needed entity is none of the entities"),
        (lambda row: at(row, "query_related", 0).update(text="Ann Lee"), "a name, which no answer may need"),
        (lambda row: row.update(query="What does being 25 mean for a pension?"), "the question names it"),
        (
            lambda row: row.update(
                query="Is 25 ELM STREET far?", query_related=[{"text": "25 Elm Street", "subject": "A"}]
            ),
            "the question names it",
        ),
        (lambda row: row.update(query_related=[]), "the question needs no entity"),
        (lambda row: row.update(query_related=row["query_related"] * 2), "listed twice"),
        (lambda row: row.update(query=" "), "no question"),
        (lambda row: at(row, "subjects", 1).update(id="A"), "two subjects have one id"),
        (lambda row: at(row, "subjects").append({"id": "s3", "entities": []}), "no entity"),
        (lambda row: row.update(subjects=[], query_related=[]), "no subject"),
    ],
)
def test_a_planted_fault_is_found_without_telling_content(plant: Any, found: str) -> None:
    row = right()
    plant(row)
    problems = faults_of(row)
    assert any(found in problem for problem in problems)
    assert not any(text in problem for problem in problems for text in ("Ann", "Elm", "Kestwick", "Bo R"))


@pytest.mark.parametrize(("text", "within", "spans"), ROWS["where a text stands as a token"])
def test_occurrences_stand_at_token_boundaries(text: str, within: str, spans: list[list[int]]) -> None:
    assert list(map(list, occurrences(text, within))) == spans


@pytest.mark.parametrize(("entities", "text", "expected"), ROWS["where entities stand apart"])
def test_entities_stand_apart_the_longest_first(entities: list[str], text: str, expected: list[list[object]]) -> None:
    found = find_occurrences(entities, text)
    assert [[start, entity] for (start, _), entity in found] == expected
    assert [text[start:end] for (start, end), _ in found] == [entity for _, entity in expected]
