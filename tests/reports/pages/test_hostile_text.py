"""Hostile text in every field that reaches an output: what is parsed is what a harmless twin gives.

The free texts of the results are found by trying: a place whose string the schema lets be anything is free.
"""

from xml.etree import ElementTree

import pytest
from support.hostile_text import GROUPS, PAYLOADS, Document, Place, Tree, find_free_places, steers, with_text
from support.results.filled_published import published

from clinaudit.reports.exports.verdict_files import junit_xml
from clinaudit.reports.pages.report import render_report
from clinaudit.reports.schema.results import ReportContent, RunResults
from clinaudit.reports.terminal.summary import summary_text


@pytest.fixture(scope="module")
def document() -> Document:
    """The filled results, cut to one diagnosis and two tiers: the same fields, in a tenth of the places."""
    whole: Document = published().model_dump(mode="json")
    for name in ("disclosure", "memorization", "cohorts", "queries"):
        part = whole[name]["by_diagnosis"] if name == "disclosure" else whole[name]
        for key in [*part][2:]:
            del part[key]
        if name == "disclosure":
            for tiers in part.values():
                for tier in [*tiers][1:]:
                    del tiers[tier]
    return whole


@pytest.fixture(scope="module")
def free_places(document: Document) -> list[Place]:
    return find_free_places(RunResults, document)


@pytest.fixture(scope="module")
def harmless_page(document: Document, free_places: list[Place]) -> list[tuple[str, ...]]:
    return Tree(page_of(with_text(RunResults, document, free_places, " ".join(["harmless text"] * 10)))).shape


def page_of(results: RunResults) -> str:
    assert results.decision is not None
    text = results.warnings[0]
    record = {
        "settings": {"policy": results.decision.policy},
        "judge": {"model": text},
        "identity": {"model_name": text, "institution": text, "date": text},
        "digests": {"model": text},
    }
    return render_report(ReportContent(results, record))


def junit_parts(results: RunResults) -> list[tuple[str, ...]]:
    assert results.decision is not None
    return [(element.tag, *element.attrib) for element in ElementTree.fromstring(junit_xml(results.decision)).iter()]


def test_free_places_were_found(free_places: list[Place]) -> None:
    names = {place[-1] for place in free_places} | {place[-2] for place in free_places if place[-1] == "<keys>"}
    assert {"reason", "question", "policy", "race", "by_diagnosis", "warnings", "excluded"} <= names | {
        step for place in free_places for step in place
    }
    assert len(free_places) > 100


@pytest.mark.parametrize("group", GROUPS, ids=range(len(GROUPS)))
def test_the_report_parses_as_its_harmless_twin(
    document: Document, free_places: list[Place], harmless_page: list[tuple[str, ...]], group: tuple[str, ...]
) -> None:
    page = page_of(with_text(RunResults, document, free_places, " ".join(group)))
    assert Tree(page).shape == harmless_page
    assert not steers(page)


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_junit_is_that_of_a_harmless_twin_and_the_terminal_is_not_steered(
    document: Document, free_places: list[Place], payload: str
) -> None:
    hostile, harmless = (with_text(RunResults, document, free_places, text) for text in (payload, "harmless text"))
    assert junit_parts(hostile) == junit_parts(harmless)
    assert not steers(summary_text(hostile))
