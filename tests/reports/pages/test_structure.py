"""Report and annex of every kind of run, parsed: well-formed, nothing from outside, links that lead somewhere."""

import re
from collections.abc import Callable
from functools import cache, partial

import pytest
from support.full_report import full_report
from support.pages import Page

from clinaudit.reports.estimates.frame import Estimates, as_estimates
from clinaudit.reports.pages.html import css_string
from clinaudit.reports.pages.report import render_annex, render_report
from clinaudit.reports.schema.run_results import RunReport, RunResults

REPORTS: dict[str, Callable[[], RunReport]] = {
    "full": full_report,
    "pass": partial(full_report, "pass"),
    "chat": partial(full_report, "inconclusive", forms=("text", "chat"), seed=2),
    "train-only": partial(full_report, nontrain=0),
    "exact": partial(full_report, is_exact=True),
    "empty": lambda: RunReport(RunResults(), Estimates(as_estimates([])), {}),
}
RENDER = {"report": render_report, "annex": render_annex}
PHI = "Contains PHI: exact figures"
AGGREGATES = "Aggregates only: no note text and no patient ids"
EVERY = pytest.mark.parametrize(("page", "variant"), [(page, variant) for variant in REPORTS for page in RENDER])


@cache
def text_of(page: str, variant: str) -> str:
    return RENDER[page](REPORTS[variant]())


@cache
def page_of(page: str, variant: str) -> Page:
    return Page(text_of(page, variant))


@EVERY
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


@EVERY
def test_links_lead_somewhere_ids_are_unique_and_headings_skip_no_level(page: str, variant: str) -> None:
    parsed = page_of(page, variant)
    assert len(parsed.ids) == len(set(parsed.ids))
    targets = {link["href"] or "" for link in parsed.all("a")}
    assert {target[1:] for target in targets if target.startswith("#")} <= set(parsed.ids)
    # Pages of the same folder; the texts are beside the exact annex alone.
    others = {target.partition("#")[0] for target in targets} - {"", *(f"{name}.html" for name in RENDER)}
    assert others == ({"evidence.html"} if (page, variant) == ("annex", "exact") else set())
    assert parsed.headings.count(1) == 1
    assert parsed.headings[0] == 1
    assert all(now <= before + 1 for before, now in zip(parsed.headings, parsed.headings[1:], strict=False))


@EVERY
def test_missing_figures_are_words(page: str, variant: str) -> None:
    assert not re.search(r"\b(nan|inf|null|None|Undefined)\b", page_of(page, variant).words)


@EVERY
def test_every_screen_and_printed_page_says_whether_it_is_phi(page: str, variant: str) -> None:
    text, words = text_of(page, variant), page_of(page, variant).words
    is_exact = variant == "exact"
    assert (PHI in words) is is_exact
    footer = re.findall(r'@bottom-left \{ content: "(.*?)"', text)
    assert footer
    assert all(css_string(PHI)[1:-1] in said if is_exact else css_string(AGGREGATES)[1:-1] == said for said in footer)


@pytest.mark.parametrize("page", RENDER)
def test_the_identity_stands_in_the_head_of_every_printed_page(page: str) -> None:
    for variant, named in (("full", "Model Invented notes 7B"), ("empty", "Model ________")):
        assert f'content: "{css_string(named)[1:-1]}' in text_of(page, variant)


@pytest.mark.parametrize("page", RENDER)
def test_equal_reports_give_equal_bytes(page: str) -> None:
    assert RENDER[page](full_report()) == text_of(page, "full")


def test_a_string_of_css_cannot_be_ended_from_within() -> None:
    assert (
        css_string('a"; } </style>\n\\')
        == r'"a\000022 \00003b  \00007d  \00003c \00002f style\00003e \00000a \00005c "'
    )


def test_the_annex_has_a_part_for_each_section_and_only_the_exact_one_leads_to_the_texts() -> None:
    assert {"own-text", "diagnoses", "cohorts", "the-judge", "methods", "glossary"} <= set(page_of("annex", "full").ids)
    assert "evidence.html" not in text_of("annex", "full")
    assert 'href="evidence.html#tier=public&amp;arm=train&amp;form=text"' in text_of("annex", "exact")
