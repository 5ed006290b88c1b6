"""The validator of samples: each planted fault is found, what is right is let through, and no content is told."""

from typing import Any

import pytest

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.sample_file import check_sample, occurrences

#: "Ann Lee" stands twice; "25" stands in "1925" and in the street: neither is an occurrence of its own.
DESCRIPTION = (
    "Ann Lee, 25, of 25 Elm Street, works at Kestwick Foods with Bo Ray. Ann Lee was not born in 1925; Bo is 60."
)


def entity(text: str, kind: str, category: str, nth: int = 0, occurrence: int = 0) -> dict[str, Any]:
    start = -1
    for _ in range(nth + 1):
        start = DESCRIPTION.index(text, start + 1)
    end = start + len(text)
    return {"text": text, "type": kind, "category": category, "start": start, "end": end, "occurrence": occurrence}


def right() -> dict[str, Any]:
    shared = entity("Kestwick Foods", "ORG", "company")
    return {
        "id": "q1",
        "subset": "multi",
        "domain": "general",
        "description": DESCRIPTION,
        "query": "What does her age mean for a pension?",
        "scene": "test",
        "relation": "intersection",
        "subjects": [
            {
                "id": "s1",
                "entities": [
                    entity("Ann Lee", "PER", "full_name"),
                    entity("25", "DEM", "age"),
                    entity("25 Elm Street", "LOC", "street_address"),
                    shared,
                    entity("Ann Lee", "PER", "full_name", nth=1, occurrence=1),
                ],
            },
            {"id": "s2", "entities": [shared, entity("Bo Ray", "PER", "full_name"), entity("60", "DEM", "age")]},
        ],
        "query_related": [{"text": "25", "subject": "s1"}],
        "seed": 0,
        "generator": "hand",
    }


def problems_of(row: dict[str, Any]) -> list[str]:
    return check_sample(Sample.model_validate(row))


def test_a_right_sample_has_no_problem() -> None:
    assert problems_of(right()) == []


ANN, BO = ("subjects", 0, "entities"), ("subjects", 1, "entities")


def at(row: Any, *path: str | int) -> Any:
    for step in path:
        row = row[step]
    return row


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (lambda row: at(row, *ANN, 1).update(start=10, end=12), "the text at its offsets is another"),
        (lambda row: at(row, *BO, 2).update(end=len(DESCRIPTION) + 1), "offsets outside the description"),
        (lambda row: at(row, *BO, 1).update(text="Bo Roy"), "the text at its offsets is another"),
        (lambda row: at(row, *ANN).pop(), "stands unlisted at character 68"),
        (lambda row: at(row, *ANN, 4).update(occurrence=0), "not numbered from 0"),
        (lambda row: at(row, *ANN, 1).update(type="QUANTITY"), "its type is not that of its category"),
        (lambda row: at(row, *ANN, 1).update(category="shoe_size"), "a category that the taxonomy does not know"),
        (lambda row: at(row, *ANN, 4).update(category="nickname"), "one text under two categories"),
        (lambda row: at(row, *BO).append(entity("Foods", "LOC", "landmark")), "entities overlap"),
        (lambda row: at(row, *ANN).insert(1, entity("25", "DEM", "age", occurrence=1)), "entities overlap"),
        (lambda row: at(row, "query_related", 0).update(text="Elm"), "no entity of that subject"),
        (lambda row: at(row, "query_related", 0).update(subject="s2"), "no entity of that subject"),
        (lambda row: at(row, "query_related", 0).update(text="Ann Lee"), "a name, which no answer may need"),
        (lambda row: row.update(query="What does being 25 mean for a pension?"), "the question names it"),
        (
            lambda row: row.update(
                query="Is 25 ELM STREET far?", query_related=[{"text": "25 Elm Street", "subject": "s1"}]
            ),
            "the question names it",
        ),
        (lambda row: row.update(query_related=[]), "the question needs no entity"),
        (lambda row: row.update(query_related=row["query_related"] * 2), "listed twice"),
        (lambda row: row.update(query=" "), "no question"),
        (lambda row: at(row, "subjects", 1).update(id="s1"), "two subjects have one id"),
        (lambda row: at(row, "subjects").append({"id": "s3", "entities": []}), "no entity"),
        (lambda row: row.update(subjects=[]), "no subject"),
    ],
)
def test_a_planted_fault_is_found_without_telling_content(plant: Any, found: str) -> None:
    row = right()
    plant(row)
    problems = problems_of(row)
    assert any(found in problem for problem in problems)
    assert not any(text in problem for problem in problems for text in ("Ann", "Elm", "Kestwick", "Bo R"))


@pytest.mark.parametrize(
    ("text", "within", "spans"),
    [
        ("25", "1925 25 256 25.5", [(5, 7), (12, 14)]),
        ("$40", "a$40, $400", [(1, 4)]),
        ("A+", "A++ BA+ A+", [(0, 2), (8, 10)]),
        ("Lê", "Lên Lê", [(4, 6)]),
        ("a_b", "a_b_c a_b", [(6, 9)]),
        ("", "abc", []),
    ],
)
def test_occurrences_stand_at_token_boundaries(text: str, within: str, spans: list[tuple[int, int]]) -> None:
    assert occurrences(text, within) == spans
