"""The validator of samples: each planted fault is found, what is right is let through, and no content is told."""

from typing import Any

import pytest

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.validation import check_sample, occurrences

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


def shift_offsets(row: dict[str, Any]) -> None:
    row["subjects"][0]["entities"][1]["start"] += 1
    row["subjects"][0]["entities"][1]["end"] += 1


def go_beyond_the_end(row: dict[str, Any]) -> None:
    row["subjects"][1]["entities"][2]["end"] = len(DESCRIPTION) + 1


def write_another_text(row: dict[str, Any]) -> None:
    row["subjects"][1]["entities"][1]["text"] = "Bo Roy"


def leave_out_an_occurrence(row: dict[str, Any]) -> None:
    row["subjects"][0]["entities"].pop()


def number_occurrences_wrongly(row: dict[str, Any]) -> None:
    row["subjects"][0]["entities"][4]["occurrence"] = 0


def give_another_type(row: dict[str, Any]) -> None:
    row["subjects"][0]["entities"][1]["type"] = "QUANTITY"


def give_an_unknown_category(row: dict[str, Any]) -> None:
    row["subjects"][0]["entities"][1]["category"] = "shoe_size"


def give_one_text_two_categories(row: dict[str, Any]) -> None:
    row["subjects"][0]["entities"][4]["category"] = "nickname"


def let_entities_overlap(row: dict[str, Any]) -> None:
    row["subjects"][1]["entities"].append(entity("Foods", "LOC", "landmark"))


def let_one_subject_hold_a_span_twice(row: dict[str, Any]) -> None:
    row["subjects"][0]["entities"].insert(1, {**entity("25", "DEM", "age"), "occurrence": 1})


def need_what_is_not_told(row: dict[str, Any]) -> None:
    row["query_related"] = [{"text": "Elm", "subject": "s1"}]


def need_what_another_tells(row: dict[str, Any]) -> None:
    row["query_related"] = [{"text": "25", "subject": "s2"}]


def need_a_name(row: dict[str, Any]) -> None:
    row["query_related"] = [{"text": "Ann Lee", "subject": "s1"}]


def name_the_answer(row: dict[str, Any]) -> None:
    row["query"] = "What does being 25 mean for a pension?"


def name_the_answer_in_capitals(row: dict[str, Any]) -> None:
    row["query_related"] = [{"text": "25 Elm Street", "subject": "s1"}]
    row["query"] = "Is 25 ELM STREET far?"


def need_nothing(row: dict[str, Any]) -> None:
    row["query_related"] = []


def need_it_twice(row: dict[str, Any]) -> None:
    row["query_related"] *= 2


def ask_nothing(row: dict[str, Any]) -> None:
    row["query"] = " "


def give_one_id_twice(row: dict[str, Any]) -> None:
    row["subjects"][1]["id"] = "s1"


def tell_nothing_of_somebody(row: dict[str, Any]) -> None:
    row["subjects"].append({"id": "s3", "entities": []})


def leave_out_everybody(row: dict[str, Any]) -> None:
    row["subjects"] = []


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (shift_offsets, "the text at its offsets is another"),
        (go_beyond_the_end, "offsets outside the description"),
        (write_another_text, "the text at its offsets is another"),
        (leave_out_an_occurrence, "stands unlisted at character 68"),
        (number_occurrences_wrongly, "not numbered from 0"),
        (give_another_type, "its type is not that of its category"),
        (give_an_unknown_category, "a category that the taxonomy does not know"),
        (give_one_text_two_categories, "one text under two categories"),
        (let_entities_overlap, "entities overlap"),
        (let_one_subject_hold_a_span_twice, "entities overlap"),
        (need_what_is_not_told, "no entity of that subject"),
        (need_what_another_tells, "no entity of that subject"),
        (need_a_name, "a name, which no answer may need"),
        (name_the_answer, "the question names it"),
        (name_the_answer_in_capitals, "the question names it"),
        (need_nothing, "the question needs no entity"),
        (need_it_twice, "listed twice"),
        (ask_nothing, "no question"),
        (give_one_id_twice, "two subjects have one id"),
        (tell_nothing_of_somebody, "no entity"),
        (leave_out_everybody, "no subject"),
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
