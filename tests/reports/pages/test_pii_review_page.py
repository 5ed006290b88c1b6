"""The page of the review: samples stay text, its own script alone may run, and what it opens is private."""

import base64
import hashlib
import json
import re
import stat
from pathlib import Path

import pytest
from support.hostile_text import PAYLOADS
from support.pages import Page
from support.pii.marked_samples import sample_of

from clinaudit.audit.pii.review.review_file import draw_samples, write_review_page
from clinaudit.errors import BadInputError


def test_a_hostile_sample_is_data_and_the_policy_lets_one_script_run(tmp_path: Path) -> None:
    samples = [sample_of(f"[A age*|34] {text}", key=f"s{at}", query=text) for at, text in enumerate(PAYLOADS)]
    write_review_page(samples, tmp_path / "page", digest="d")
    text = (tmp_path / "page" / "review.html").read_text()
    page = Page(text)
    policy = next(attrs["content"] for attrs in page.all("meta") if "http-equiv" in attrs) or ""
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 2
    assert base64.b64encode(hashlib.sha256(scripts[1].encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none'; ")
    data = json.loads(scripts[0])
    assert [sample["query"] for sample in data["samples"]] == list(PAYLOADS)
    assert data["samples"][0]["entities"] == [{"start": 0, "end": 2, "category": "age", "subject": "A", "needed": True}]


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    write_review_page([sample_of("[A age|34]")], tmp_path / "page", digest="d")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "page", tmp_path / "page" / "review.html")]
    assert modes == [0o700, 0o600]


def test_an_older_page_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "page"
    write_review_page([sample_of("[A age|34]")], out, digest="d")
    before = (out / "review.html").read_bytes()
    with pytest.raises(BadInputError, match="none is overwritten"):
        write_review_page([sample_of("[A age|35]")], out, digest="e")
    assert (out / "review.html").read_bytes() == before


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work").chmod(0o755)
    (tmp_path / "work" / "thesis.txt").write_text("")
    with pytest.raises(BadInputError, match="holds files, and none is overwritten"):
        write_review_page([sample_of("[A age|34]")], tmp_path / "work", digest="d")
    assert stat.S_IMODE((tmp_path / "work").stat().st_mode) == 0o755


def test_a_draw_is_of_its_seed_and_keeps_the_order() -> None:
    samples = [sample_of("[A age|34]", key=f"s{at}") for at in range(40)]
    drawn = draw_samples(samples, 10, seed=1)
    assert drawn == draw_samples(samples, 10, seed=1) != draw_samples(samples, 10, seed=2)
    assert drawn == sorted(drawn, key=samples.index)
    assert len({sample.id for sample in drawn}) == 10
    assert draw_samples(samples, 99, seed=1) == samples
