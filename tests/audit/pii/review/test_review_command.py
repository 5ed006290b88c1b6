"""`clinaudit pii review`: a page, then agreement; nothing overwritten, nothing open to others."""

import hashlib
import json
import stat
from pathlib import Path

import pytest
from support.pii.marked_samples import review, review_of, sample_of

from clinaudit.audit.commands.main import run

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
