"""The parts “Repeated text”, “Diagnoses”, “Can it be trusted?” and the annex, as they are written into the page."""

import re

import pytest
from support.results.filled_published import VARIANTS, content

from clinaudit.reports.pages import annex
from clinaudit.reports.pages.report import render_report
from clinaudit.reports.schema.results import ReportContent

PARTS = ("repeated-text", "diagnoses", "trust", "annex")
#: Words of the field, and what stands for a number of patients that is not said.
FIELD_WORDS = re.compile(r"\b(tiers?|arms?|cohorts?|K|stitched|propensity|AUROC|nontrain)\b")


def part(page: str, name: str) -> str:
    """Return one part of a page."""
    start = page.index(f'<section id="{name}"')
    return page[start : page.index("</section>", start)]


def words(html: str) -> str:
    """Return what a reader sees."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: render_report(make()) for name, make in VARIANTS.items()}


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_words_of_the_field_stand_in_the_annex_alone(pages: dict[str, str], variant: str) -> None:
    for name in ("repeated-text", "diagnoses", "trust"):
        text = words(part(pages[variant], name))
        assert not FIELD_WORDS.findall(text), name
        assert "suppressed" not in text
        assert not re.findall(r"\b[a-z]+_[a-z_]+\b", text), name


def test_the_annex_is_one_fold_that_holds_the_others(pages: dict[str, str]) -> None:
    text = part(pages["full"], "annex")
    assert text.count("<details") == text.count("</details>") > 8
    first = text.index("<details")
    assert text.index("<summary>") > first
    assert "<details open" not in text


def test_paper_has_no_folds() -> None:
    page = render_report(content(), for_paper=True)
    start = page.index('<section id="annex"')
    assert "<details" not in page[start:]


def test_roc_curves_and_p_values_are_of_the_exact_report_alone(pages: dict[str, str]) -> None:
    assert "Tests of the excess" in pages["exact"]
    assert "<polyline" in pages["exact"]
    for name in ("full", "pass"):
        assert "Tests of the excess" not in pages[name]
        assert "<polyline" not in pages[name]
        assert "worst-off tenth" not in pages[name]


def test_bars_hold_their_numbers_once_for_a_readers_ear(pages: dict[str, str]) -> None:
    stated = part(pages["full"], "diagnoses")
    assert stated.count('role="img"') == 6 * 6 * 2
    assert stated.count('class="track" aria-hidden="true"') == stated.count('class="track"')


def test_an_annex_of_nothing_keeps_methods_and_words() -> None:
    parts = annex.context(ReportContent(VARIANTS["empty"]().results, {}))["parts"]
    assert isinstance(parts, list)
    assert [item.id for item in parts] == ["methods", "glossary"]


def test_warnings_of_run_and_corpus_are_shown(pages: dict[str, str]) -> None:
    text = words(part(pages["full"], "trust"))
    assert "The judge is a word list" in text
    assert "One note was read as Latin-1." in text
