"""The documentation site: its checker (`make docs`) finds planted faults and nothing else."""

import pytest
from support.scripts import load_script

check_site = load_script("check_site")

CLEAN = (
    '<link rel="stylesheet" href="a.css"><h1 id="here">x</h1><a href="#here">y</a><a href="https://law.example/">z</a>'
)


def _site(folder, *, page="", css=""):
    (folder / "index.html").write_text(CLEAN + page, encoding="utf-8")
    (folder / "a.css").write_text(css, encoding="utf-8")
    return list(check_site.problems(folder))


@pytest.mark.parametrize(
    "page",
    [
        # A link loads nothing until it is followed.
        '<a href="https://elsewhere.example/">x</a>',
        "<p>a | b</p><pre><code>| a | b |</code></pre>",
        '<img src="data:image/png;base64,AA==">',
        '<link rel="canonical" href="https://elsewhere.example/">',
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


def test_a_row_that_became_part_of_no_table_is_a_problem(tmp_path):
    (problem,) = _site(tmp_path, page="<p>words\n| a | b |</p>")
    assert "part of no table" in problem
