"""Every page of every kind of run, parsed: well-formed, nothing from outside, links that lead somewhere."""

import re
from collections.abc import Callable
from functools import cache

import pytest
from support.compared_results import compared
from support.full_report import REPORTS
from support.pages import Page
from support.pii.filled_bench import bare_bench, filled_bench
from support.unlearning.filled_evaluation import bare_evaluation, filled_evaluation

from clinaudit.reports.pages.benchmarks import render_pii_bench, render_unlearning
from clinaudit.reports.pages.certificate import render_comparison
from clinaudit.reports.pages.html import css_string
from clinaudit.reports.pages.report import render_annex, render_report

#: Page and variant -> its text.
OF_RUNS: dict[tuple[str, str], Callable[[], str]] = {
    (page, variant): lambda render=render, make=make: render(make())  # type: ignore[misc]
    for page, render in {"report": render_report, "annex": render_annex}.items()
    for variant, make in REPORTS.items()
}
PAGES = OF_RUNS | {
    ("comparison", "published"): lambda: render_comparison(compared()),
    ("comparison", "exact"): lambda: render_comparison(compared(exact=True)),
    ("filters", "full"): lambda: render_pii_bench(filled_bench()),
    ("filters", "bare"): lambda: render_pii_bench(bare_bench()),
    ("unlearning", "full"): lambda: render_unlearning(filled_evaluation()),
    ("unlearning", "bare"): lambda: render_unlearning(bare_evaluation()),
}
PHI = "Contains PHI: exact figures"
AGGREGATES = "Aggregates only: no note text and no patient ids"


@cache
def text_of(page: str, variant: str) -> str:
    return PAGES[page, variant]()


@cache
def page_of(page: str, variant: str) -> Page:
    return Page(text_of(page, variant))


@pytest.mark.parametrize(("page", "variant"), PAGES)
def test_well_formed_without_a_script_or_anything_from_outside(page: str, variant: str) -> None:
    text, parsed = text_of(page, variant), page_of(page, variant)
    assert parsed.open == []
    names = {name for name, _ in parsed.tags}
    assert not names & {"script", "link", "iframe", "object", "embed", "img", "base", "form", "image", "use"}
    for _, attrs in parsed.tags:
        assert not any(name.startswith("on") or name == "src" for name in attrs)
    assert set(re.findall(r"[a-z]+://[^\s\"'<>)]*", text)) <= {"http://www.w3.org/2000/svg"}
    assert "url(" not in text.replace("url(#", "")
    assert "@import" not in text
    metas = [meta["content"] for meta in parsed.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert metas == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


@pytest.mark.parametrize(("page", "variant"), PAGES)
def test_links_lead_somewhere_ids_are_unique_and_headings_skip_no_level(page: str, variant: str) -> None:
    parsed = page_of(page, variant)
    assert len(parsed.ids) == len(set(parsed.ids))
    targets = {link["href"] or "" for link in parsed.all("a")}
    assert {target[1:] for target in targets if target.startswith("#")} <= set(parsed.ids)
    # Pages of the same folder; the texts are beside the exact annex alone.
    others = {target.partition("#")[0] for target in targets} - {"", "report.html", "annex.html"}
    assert others == ({"evidence.html"} if (page, variant) == ("annex", "exact") else set())
    assert parsed.headings.count(1) == 1
    assert parsed.headings[0] == 1
    assert all(now <= before + 1 for before, now in zip(parsed.headings, parsed.headings[1:], strict=False))


@pytest.mark.parametrize(("page", "variant"), OF_RUNS)
def test_missing_figures_are_words_and_every_screen_and_printed_page_says_whether_it_is_phi(
    page: str, variant: str
) -> None:
    text, words = text_of(page, variant), page_of(page, variant).words
    assert not re.search(r"\b(nan|inf|null|None|Undefined)\b", words)
    is_exact = variant.startswith("exact")
    assert (PHI in words) is is_exact
    footer = re.findall(r'@bottom-left \{ content: "(.*?)"', text)
    assert footer
    assert all(css_string(PHI)[1:-1] in said if is_exact else css_string(AGGREGATES)[1:-1] == said for said in footer)


@pytest.mark.parametrize("page", ["report", "annex"])
def test_each_printed_page_names_the_model_and_equal_reports_give_equal_bytes(page: str) -> None:
    for variant, named in (("full", "Model Invented notes 7B"), ("empty", "Model ________")):
        assert f'content: "{css_string(named)[1:-1]}' in text_of(page, variant)
    assert PAGES[page, "full"]() == text_of(page, "full")


def test_a_string_of_css_cannot_be_ended_from_within() -> None:
    assert (
        css_string('a"; } </style>\n\\')
        == r'"a\000022 \00003b  \00007d  \00003c \00002f style\00003e \00000a \00005c "'
    )


def test_the_annex_has_a_part_for_each_section_and_only_the_exact_one_leads_to_the_texts() -> None:
    assert {"own-text", "diagnoses", "cohorts", "the-judge", "methods", "glossary"} <= set(page_of("annex", "full").ids)
    assert "evidence.html" not in text_of("annex", "full")
    assert 'href="evidence.html#tier=public&amp;arm=train&amp;form=text"' in text_of("annex", "exact")
