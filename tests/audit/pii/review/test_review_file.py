"""A review is read only where it fits the samples, and nothing of it is quoted."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.pii.marked_samples import review, review_of, sample_of

from clinaudit.audit.pii.review.review_file import Review, read_reviews, read_sample_file
from clinaudit.errors import BadInputError

MARKED = "[A full_name|Mae Ott] is [A age|34]."
SAMPLES = {"s1": sample_of(MARKED)}


def write(folder: Path, name: str, given: Review) -> Path:
    path = folder / name
    path.write_text(given.model_dump_json())
    return path


def problems_of(paths: list[Path]) -> tuple[str, ...]:
    with pytest.raises(BadInputError) as error:
        read_reviews(paths, SAMPLES, digest="d")
    return error.value.problems


def changed(folder: Path, *entities: dict[str, Any]) -> Path:
    """A review with other entities."""
    document = json.loads(review("Ann", review_of(MARKED)).model_dump_json())
    document["reviews"][0]["entities"] = list(entities)
    path = folder / "a.json"
    path.write_text(json.dumps(document))
    return path


def sample_problems(folder: Path, *rows: str) -> tuple[str, ...]:
    path = folder / "samples.jsonl"
    path.write_text("\n".join(rows))
    with pytest.raises(BadInputError) as error:
        read_sample_file(path)
    assert "Ott" not in error.value.render()
    return error.value.problems


def test_a_review_is_read_as_it_was_written(tmp_path: Path) -> None:
    given = review("Ann", review_of(MARKED))
    assert read_reviews([write(tmp_path, "a.json", given)], SAMPLES, digest="d") == [given]


def test_it_holds_places_and_no_words() -> None:
    assert "Ott" not in review("Ann", review_of(MARKED)).model_dump_json()


OUTSIDE = ("a.json, row 1, column entities: marks places that overlap or lie outside the text",)


def test_a_place_may_be_shared_in_one_category_alone(tmp_path: Path) -> None:
    entity = {"start": 0, "end": 4, "category": "company", "subject": "A"}
    shared = changed(tmp_path, entity, {**entity, "subject": "B"})
    assert len(read_reviews([shared], SAMPLES, digest="d")[0].reviews[0].entities) == 2
    for other in ({"subject": "B", "category": "school"}, {}):
        assert problems_of([changed(tmp_path, entity, {**entity, **other})]) == OUTSIDE


@pytest.mark.parametrize("places", [[(0, 7), (5, 8)], [(0, 99)], [(4, 4)]])
def test_places_that_do_not_fit_are_refused(tmp_path: Path, places: list[tuple[int, int]]) -> None:
    given = [{"start": start, "end": end, "category": "age", "subject": "A"} for start, end in places]
    assert problems_of([changed(tmp_path, *given)]) == OUTSIDE


def test_what_is_no_review_or_another_samples_or_nobodys_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "b.json"
    broken.write_text('{"review": "1.0", "samples": "d", "reviewer": "Secret Name", "reviews": 7}')
    assert problems_of([broken]) == ("b.json, column reviews: is not a list; download the review again from the page",)
    torn = tmp_path / "t.json"
    torn.write_text(broken.read_text().replace("Secret Name", "Secret\\u001b[2J").replace("7", "[]"))
    assert problems_of([torn]) == (
        "t.json, column reviewer: is blank, or holds a character that cannot be printed; download the review again from"
        " the page",
    )
    assert problems_of([write(tmp_path, "n.json", review("Ann"))]) == (
        "n.json: reviews no sample; let its reviewer check some, and download it again",
    )
    other = write(tmp_path, "o.json", review("Ann", digest="e"))
    assert "another digest" in problems_of([other])[0]
    twice = [write(tmp_path, f"{name}.json", review("Ann", review_of(MARKED))) for name in "xy"]
    assert problems_of(twice) == ("y.json: is of the reviewer of x.json; give one file a reviewer",)
    unknown = write(tmp_path, "u.json", review("Ann", review_of(MARKED, key="s9")))
    assert problems_of([unknown]) == ("u.json, row 1: is of no sample",)
    assert problems_of([tmp_path / "none.json"]) == ("none.json: does not exist",)


def test_one_entity_both_needed_and_not_is_refused(tmp_path: Path) -> None:
    torn = write(tmp_path, "t.json", review("Ann", review_of("[A age*|34] [A age|34]", key="s2")))
    with pytest.raises(BadInputError) as error:
        read_reviews([torn], {"s2": sample_of("[A age|34] [A age|34]", key="s2")}, digest="d")
    assert error.value.problems == (
        "t.json, row 1, column entities: holds one entity both as needed and as not needed",
    )


@pytest.mark.parametrize("subject", ["", " ", "A, B", "A" * 21])
def test_a_subject_that_no_review_can_name_is_refused_before_anybody_works(tmp_path: Path, subject: str) -> None:
    sample = json.loads(sample_of(MARKED).model_dump_json())
    sample["subjects"][0]["id"] = subject
    what = "is blank, longer than 20 characters, or holds a comma"
    assert sample_problems(tmp_path, json.dumps(sample)) == (f"samples.jsonl, row 1: a subject's id {what}",)
    entity = {"start": 0, "end": 4, "category": "company", "subject": subject}
    assert problems_of([changed(tmp_path, entity)]) == (
        f"a.json, column reviews: reviews[0].entities[0].subject {what}; download the review again from the page",
    )


@pytest.mark.parametrize("place", [(5, 5), (-5, -1), (3, 900), (7, 3)])
def test_a_place_that_is_none_of_the_text_is_refused(tmp_path: Path, place: tuple[int, int]) -> None:
    sample = json.loads(sample_of(MARKED).model_dump_json())
    start, end = place
    sample["subjects"][0]["entities"].append(
        {"text": sample["description"][start:end], "type": "PER", "category": "nickname", "start": start, "end": end}
    )
    (problem,) = sample_problems(tmp_path, json.dumps(sample))
    assert "an entity's place lies outside the text, or is empty" in problem


def test_two_subjects_of_one_id_are_refused(tmp_path: Path) -> None:
    sample = json.loads(sample_of(MARKED).model_dump_json())
    sample["subjects"] *= 2
    assert sample_problems(tmp_path, json.dumps(sample)) == ("samples.jsonl, row 1: two subjects have one id",)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "other ending"])
def test_a_review_that_is_no_plain_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("a.txt" if kind == "other ending" else "a.json")
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.write_text(review("Ann", review_of(MARKED)).model_dump_json())
    what = "its name must end in one of .json" if kind == "other ending" else "is not a regular file"
    assert problems_of([path]) == (f"{path.name}: {what}",)


def test_a_key_that_is_not_known_is_not_quoted(tmp_path: Path) -> None:
    document = json.loads(review("Ann", review_of(MARKED)).model_dump_json())
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**document, "Mae Ott": 1}))
    assert problems_of([path]) == (
        "a.json: has a key that is not known there; download the review again from the page",
    )


def test_samples_that_are_not_sound_are_named_by_row_without_content(tmp_path: Path) -> None:
    good = sample_of(MARKED)
    moved = json.loads(sample_of(MARKED, key="s2").model_dump_json())
    moved["subjects"][0]["entities"][0]["start"] = 1
    good_row = good.model_dump_json()
    assert sample_problems(tmp_path, good_row, json.dumps(moved), good_row, "nothing") == (
        "samples.jsonl, row 2: the text at an entity's place is another",
        "samples.jsonl, row 3, column id: stood in row 1 already",
        "samples.jsonl, row 4: is not a JSON object on one line (a line a record, no list around them)",
    )
