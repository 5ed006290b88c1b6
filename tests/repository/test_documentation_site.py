"""The documentation site: the checker finds planted faults, and the real site builds strictly and has none."""

import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
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
def test_a_site_without_faults_has_no_problems(tmp_path: Path, page: str) -> None:
    assert _site(tmp_path, page=page, css='a{background:url("data:image/svg+xml,x")}') == []


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<script src="//cdn.example/x.js"></script>',
        '<img src="http://cdn.example/x.png">',
        '<img src="data:image/png;base64,AA==" srcset="a.css 1x, https://cdn.example/x.png 2x">',
        '<link rel="preconnect" href="https://fonts.example">',
        '<link rel="icon" href="https://cdn.example/x.ico">',
        '<style>@import "https://cdn.example/x.css";</style>',
        '<p style="background: url(https://cdn.example/x.png)">x</p>',
        '<iframe src="https://cdn.example/"></iframe>',
        '<video poster="https://cdn.example/x.png"></video>',
        '<svg><use xlink:href="https://cdn.example/x.svg#a"></use></svg>',
    ],
)
def test_whatever_is_loaded_from_outside_is_a_problem(tmp_path: Path, page: str) -> None:
    (problem,) = _site(tmp_path, page=page)
    assert "loads from outside" in problem


@pytest.mark.parametrize("css", ["a{src:url(https://fonts.example/x.woff2)}", "@import 'https://fonts.example/x.css';"])
def test_a_style_sheet_that_loads_from_outside_is_a_problem(tmp_path: Path, css: str) -> None:
    (problem,) = _site(tmp_path, css=css)
    assert "loads from outside" in problem


@pytest.mark.parametrize(
    "page",
    [
        '<a href="missing.html">x</a>',
        '<a href="other.html#missing">x</a>',
        '<a href="#missing">x</a>',
        '<a href="../">x</a>',
        '<a href="http://plain.example/">x</a>',
        '<a href="file:///etc/passwd">x</a>',
        '<img src="missing.png">',
    ],
)
def test_a_link_that_leads_nowhere_is_a_problem(tmp_path: Path, page: str) -> None:
    assert len(_site(tmp_path, page=page)) == 1


def test_a_row_that_became_part_of_no_table_is_a_problem(tmp_path: Path) -> None:
    assert len(_site(tmp_path, page="<p>| <code>x</code> | y |</p>")) == 1
    assert _site(tmp_path, page="<p>x</p><pre><code>| x | y |</code></pre>") == []


def test_an_empty_folder_is_no_site(tmp_path: Path) -> None:
    assert len(list(check_site.problems(tmp_path))) == 1


needs_mkdocs = pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed; `make docs` does it"
)


def _pages(folder: Path) -> Path:
    """Copy the pages into a folder, and write that of the commands beside them, as `make docs` does."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    write = [sys.executable, ROOT / "scripts" / "write-command-docs", folder / "docs" / "commands.md"]
    subprocess.run(write, check=True)
    return folder


def _build(folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@needs_mkdocs
def test_the_site_builds_strictly_and_has_no_problems(tmp_path: Path) -> None:
    built = _build(_pages(tmp_path))
    assert built.returncode == 0, built.stderr
    site = tmp_path / "site"
    assert list(check_site.problems(site)) == []
    assert len(list(site.rglob("*.html"))) > len(list((ROOT / "docs").rglob("*.md")))
    assert "--max-new-tokens" in (site / "commands.html").read_text(encoding="utf-8")


@needs_mkdocs
def test_a_link_to_an_anchor_that_is_gone_ends_the_build(tmp_path: Path) -> None:
    with (_pages(tmp_path) / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write("\n[gone](policy.md#no-such-place)\n")
    built = _build(tmp_path)
    assert built.returncode != 0
    assert "no-such-place" in built.stderr


def test_pictures_are_small_and_used_and_described() -> None:
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


def test_pins_of_the_site_are_those_of_the_other_locks() -> None:
    pins = {
        name: dict(
            line.split("==")
            for line in (ROOT / "requirements" / f"{name}.lock").read_text().splitlines()
            if "==" in line
        )
        for name in ("cpu", "dev", "docs")
    }
    for name, version in pins["docs"].items():
        assert name not in pins["cpu"]
        assert pins["dev"].get(name, version) == version
