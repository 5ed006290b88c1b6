"""The documentation site: its checker (`make docs`) finds planted faults; pictures are small, used and described."""

import re
import struct
from pathlib import Path

import pytest
from support.scripts import load_script

ROOT = Path(__file__).resolve().parents[2]
#: A picture that takes longer to load than the page is worth.
MAX_PICTURE_BYTES = 300_000


check_site = load_script("check_site")

CLEAN = (
    '<link rel="stylesheet" href="a.css"><h1 id="here">x</h1><a href="#here">y</a><a href="https://law.example/">z</a>'
)


def _site(folder: Path, *, page: str = "", css: str = "") -> list[str]:
    (folder / "index.html").write_text(CLEAN + page, encoding="utf-8")
    (folder / "other.html").write_text('<h2 id="part two">x</h2>', encoding="utf-8")
    (folder / "a.css").write_text(css, encoding="utf-8")
    return list(check_site.problems(folder))


@pytest.mark.parametrize(
    "page",
    [
        '<a href="other.html#part%20two">x</a>',
        '<a href="mailto:a@b.example">x</a>',
        '<img src="data:image/png;base64,AA==">',
        '<link rel="canonical" href="https://elsewhere.example/">',
        '<a href="/other.html">x</a>',
    ],
)
def test_a_site_without_faults_has_no_problems(tmp_path, page):
    assert _site(tmp_path, page=page, css='a{background:url("data:image/svg+xml,x")}') == []


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<img src="http://cdn.example/x.png">',
        '<img src="data:image/png;base64,AA==" srcset="a.css 1x, https://cdn.example/x.png 2x">',
        '<link rel="preconnect" href="https://fonts.example">',
        '<style>@import "https://cdn.example/x.css";</style>',
        '<p style="background: url(https://cdn.example/x.png)">x</p>',
        '<svg><use xlink:href="https://cdn.example/x.svg#a"></use></svg>',
    ],
)
def test_whatever_is_loaded_from_outside_is_a_problem(tmp_path, page):
    (problem,) = _site(tmp_path, page=page)
    assert "loads from outside" in problem


@pytest.mark.parametrize(
    "page",
    [
        '<a href="missing.html">x</a>',
        '<a href="other.html#missing">x</a>',
        '<a href="../">x</a>',
        '<a href="http://plain.example/">x</a>',
        '<a href="file:///etc/passwd">x</a>',
        '<img src="missing.png">',
    ],
)
def test_a_link_that_leads_nowhere_is_a_problem(tmp_path, page):
    assert len(_site(tmp_path, page=page)) == 1


def test_pictures_are_small_and_used_and_described():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    shown = {Path(path).name: words for words, path in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", pages)}
    pictures = list((ROOT / "docs").rglob("*.png"))
    drawings = list((ROOT / "docs").rglob("*.svg"))
    assert {path.name for path in (*pictures, *drawings)} == set(shown)
    assert all(len(words) > 30 for words in shown.values())
    for path in pictures:
        head = path.read_bytes()
        assert len(head) <= MAX_PICTURE_BYTES
        assert struct.unpack(">I", head[16:20])[0] <= 1600
    for path in drawings:
        text = path.read_text(encoding="utf-8")
        assert "<title" in text
        assert "<desc" in text
        assert "prefers-color-scheme: dark" in text
        # Nothing but its own namespace is named, and nothing runs.
        assert re.findall(r"https?://[^\"'<\s]+", text) == ["http://www.w3.org/2000/svg"]
        assert "<script" not in text
