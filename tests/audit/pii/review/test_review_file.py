"""A review is read only where it fits the samples, and nothing is quoted; `clinaudit pii review` overwrites nothing."""

import hashlib
import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.pii.marked_samples import review, review_of, sample_of

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.review.review_file import Review, read_reviews, read_sample_file
from clinaudit.errors import BadInputError

MARKED = "[A full_name|Mae Ott] is [A age|34]."
SAMPLES = {"s1": sample_of(MARKED)}


AGAIN = "download the review again from the page"
OUTSIDE = "a.json, row 1, column entities: marks places that overlap, are empty or lie outside the text"
SHARED = {"start": 0, "end": 4, "category": "company", "subject": "A"}


def write(folder: Path, given: Review, name: str = "a") -> Path:
    path = folder / f"{name}.json"
    path.write_text(given.model_dump_json())
    return path


def problems_of(*paths: Path, samples: Mapping[str, Sample] = SAMPLES) -> tuple[str, ...]:
    with pytest.raises(BadInputError) as error:
        read_reviews(paths, samples, digest="d")
    assert not any(words in error.value.render() for words in ("Ott", "Secret"))
    return error.value.problems


def changed(folder: Path, *entities: dict[str, Any], **keys: Any) -> Path:
    """A review with other entities, and other keys."""
    document = json.loads(review("Ann", review_of(MARKED)).model_dump_json()) | keys
    document["reviews"][0]["entities"] = list(entities)
    path = folder / "a.json"
    path.write_text(json.dumps(document))
    return path


def changed_sample(key: str = "s1", **first: Any) -> dict[str, Any]:
    """The sample with other fields of its first entity."""
    sample: dict[str, Any] = json.loads(sample_of(MARKED, key=key).model_dump_json())
    sample["subjects"][0]["entities"][0] |= first
    return sample


def sample_problems(folder: Path, *rows: Any) -> tuple[str, ...]:
    path = folder / "samples.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    with pytest.raises(BadInputError) as error:
        read_sample_file(path)
    assert "Ott" not in error.value.render()
    return error.value.problems


def test_a_review_is_read_as_it_was_written_and_holds_no_words(tmp_path: Path) -> None:
    given = review("Ann", review_of(MARKED))
    assert read_reviews([write(tmp_path, given)], SAMPLES, digest="d") == [given]
    assert "Ott" not in given.model_dump_json()


def test_a_place_may_be_shared_in_one_category_alone(tmp_path: Path) -> None:
    shared = changed(tmp_path, SHARED, SHARED | {"subject": "B"})
    assert len(read_reviews([shared], SAMPLES, digest="d")[0].reviews[0].entities) == 2
    for other in ({"subject": "B", "category": "school"}, {}):
        assert problems_of(changed(tmp_path, SHARED, SHARED | other)) == (OUTSIDE,)


@pytest.mark.parametrize("places", [[(0, 7), (5, 8)], [(0, 99)], [(4, 4)], [(-5, -1)], [(7, 3)]])
def test_places_that_do_not_fit_are_refused(tmp_path: Path, places: list[tuple[int, int]]) -> None:
    given = [SHARED | {"start": start, "end": end} for start, end in places]
    assert problems_of(changed(tmp_path, *given)) == (OUTSIDE,)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"reviewer": "Secret", "extra": 7}, f"a.json: has a key that is not known there; {AGAIN}"),
        ({"reviewer": 7}, f"a.json, column reviewer: is not text; {AGAIN}"),
        (
            {"reviewer": "Secret\u001b[2J"},
            f"a.json, column reviewer: is blank, or holds a character that cannot be printed; {AGAIN}",
        ),
        (
            {"samples": "e"},
            "a.json: reviews other samples (another digest); give the file that the page was made of",
        ),
    ],
)
def test_what_is_no_review_or_of_other_samples_is_refused(tmp_path: Path, keys: dict[str, Any], problem: str) -> None:
    assert problems_of(changed(tmp_path, **keys)) == (problem,)


def test_who_reviews_nothing_or_another_sample_or_twice_is_refused(tmp_path: Path) -> None:
    none = "a.json: reviews no sample; let its reviewer check some, and download it again"
    assert problems_of(write(tmp_path, review("Ann"))) == (none,)
    twice = [write(tmp_path, review("Ann", review_of(MARKED)), name) for name in "xy"]
    assert problems_of(*twice) == ("y.json: is of the reviewer of x.json; give one file a reviewer",)
    unknown = write(tmp_path, review("Ann", review_of(MARKED, key="s9")))
    assert problems_of(unknown) == ("a.json, row 1: is of no sample",)
    assert problems_of(tmp_path / "none.json") == ("none.json: does not exist",)


def test_one_entity_both_needed_and_not_is_refused(tmp_path: Path) -> None:
    torn = write(tmp_path, review("Ann", review_of("[A age*|34] [A age|34]", key="s2")))
    found = problems_of(torn, samples={"s2": sample_of("[A age|34] [A age|34]", key="s2")})
    assert found == ("a.json, row 1, column entities: holds one entity both as needed and as not needed",)


def test_samples_that_are_not_sound_are_named_by_row_without_content(tmp_path: Path) -> None:
    twins = changed_sample("s3")
    twins["subjects"] *= 2
    assert sample_problems(
        tmp_path, changed_sample(), changed_sample("s2", start=1), changed_sample(), "nothing", twins
    ) == (
        "samples.jsonl, row 2: the text at an entity's place is another",
        "samples.jsonl, row 3, column id: stood in row 1 already",
        "samples.jsonl, row 4: is not a JSON object on one line (a line a record, no list around them)",
        "samples.jsonl, row 5: two subjects have one id",
    )


ONE = "[A full_name|Mae Ott] is [A age*|34], from [A city|Bern]."
MORE = "[A full_name|Mae Ott] is [A age*|34], [A city|from Bern]."
TWO = "[A nickname|Bud] earns [A monthly_income*|$4,200]."


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    made = [sample_of(ONE, key="s1"), sample_of(TWO, key="s2"), sample_of(TWO, key="s3")]
    path.write_text("".join(f"{sample.model_dump_json()}\n" for sample in made), encoding="utf-8")
    return path


def write_reviews(samples: Path) -> list[str]:
    digest = hashlib.sha256(samples.read_bytes()).hexdigest()
    options = []
    for name, first in (("Ann", MORE), ("Bo", MORE), ("Cy", ONE)):
        given = review(name, review_of(first, key="s1", changed=first is MORE), review_of(TWO, key="s2"), digest=digest)
        path = samples.with_name(f"review-{name}.json")
        path.write_text(given.model_dump_json())
        options += ["--reviews", str(path)]
    return options


def test_it_writes_the_page_to_a_private_folder(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = samples.with_name("page")
    assert run(["pii", "review", str(samples), "--out", str(out)]) == 0
    assert "3 samples to be checked" in capsys.readouterr().out
    assert [path.name for path in out.iterdir()] == ["review.html"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (out, out / "review.html")] == [0o700, 0o600]


def test_the_agreement_is_printed_and_written_without_words(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = samples.with_name("agreement.json")
    assert run(["pii", "review", str(samples), "--out", str(out), *write_reviews(samples)]) == 0
    # Six items: four on which all agree, and two on which one of three differs (1 pair of 3).
    shown = capsys.readouterr().out
    assert (
        "identifiers: 77.8% of the answers agree (6 items, 2 samples); Fleiss' kappa not measured: too few samples"
        in shown
    )
    document = json.loads(out.read_text())
    assert (document["samples"], document["reviewers"], document["done"]) == (3, ["Ann", "Bo", "Cy"], [2, 2, 2])
    assert document["agreement"]["detection"]["observed"] == pytest.approx(7 / 9, abs=1e-6)
    assert not any(words in shown + out.read_text() for words in ("Mae", "Ott", "Bern", "$4,200"))
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@pytest.mark.parametrize("taken", ["page", "agreement.json", "a link", "other work"])
def test_nothing_that_exists_is_written_over(samples: Path, taken: str, capsys: pytest.CaptureFixture[str]) -> None:
    reviews = write_reviews(samples)
    out = samples.with_name(taken)
    if taken == "a link":
        out.symlink_to(samples.with_name("elsewhere"))
    elif taken == "other work":
        out.mkdir(mode=0o755)
        (out / "thesis.txt").write_text("")
    command = ["pii", "review", str(samples), "--out", str(out), *([] if taken == "page" else reviews)]
    assert taken not in ("page", "agreement.json") or run(command) == 0
    held = {path: path.read_bytes() for path in samples.parent.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert run(command) == 3
    printed = capsys.readouterr()
    assert "overwritten" in printed.err
    # It is said before any work is done.
    assert not printed.out
    assert {path: path.read_bytes() for path in samples.parent.rglob("*") if path.is_file()} == held


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--reviews", "a.json"], 2, "two reviews or more"),
        (["--reviews", "a.json", "--reviews", "b.json"], 3, "a.json: does not exist"),
    ],
)
def test_what_cannot_be_done_is_said(
    samples: Path, options: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pii", "review", str(samples), "--out", str(samples.with_name("out")), *options]) == status
    assert words in capsys.readouterr().err
    assert not samples.with_name("out").exists()
