"""Identifiers in the answers by tier and arm, and by HIPAA's identifier and arm, as CSV. The paper has no such table.

Owns what stands in which row. Nothing is less chance: what chance gives has columns of its own.
"""

from collections.abc import Iterator

from clinaudit.reports.exports.paper.csv_table import CsvTable, Row, Value, count_cells, estimate_cells
from clinaudit.reports.schema.hipaa import HIPAA_IDENTIFIERS
from clinaudit.reports.schema.identifiers import PublishedIdentifierFigures, PublishedIdentifiers
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import PublishedResults
from clinaudit.reports.wording.identifiers import identifier_figures
from clinaudit.reports.wording.names import HIPAA_TITLES

_COUNTS = ("patients", "own_patients", "other_patients", "verified_patients")
_SHARES = ("own", "other", "sampled", "chance", "verified")
_RATES = ("verified_per_1000", "corrected_per_1000", "sampled_per_1000", "chance_per_1000")


def identifiers_by_tier(results: PublishedResults) -> CsvTable:
    """Return patients, shares and rates by tier and arm, all of HIPAA's identifiers together."""
    rows: list[Row] = [
        {"tier": tier, "arm": arm, **_figures(figures)} for tier, arm, figures in identifier_figures(results)
    ]
    return CsvTable("identifiers_by_tier", rows)


def identifiers_by_kind(results: PublishedResults) -> CsvTable:
    """Return the same by HIPAA's identifier and arm, with how many planted ones were found, or why none was sought."""
    rows = [] if results.identifiers is None else list(_kinds(results.identifiers))
    return CsvTable("identifiers_by_kind", rows)


def _kinds(identifiers: PublishedIdentifiers) -> Iterator[Row]:
    recalls = {row.identifier: row for row in identifiers.recall}
    for name in HIPAA_IDENTIFIERS:
        place: dict[str, Value] = {"identifier": name, "title": HIPAA_TITLES[name]}
        arms = identifiers.categories.get(name, {})
        recall = recalls.get(name)
        found: dict[str, Value] = {
            "not_tested": identifiers.not_tested.get(name),
            "planted": None if recall is None else recall.planted,
            "planted_found": None if recall is None else recall.found,
            **estimate_cells("recall", None if recall is None else recall.recall, interval=True),
        }
        if not arms:
            yield {**place, "arm": None, **found}
        yield from ({**place, "arm": arm, **found, **_figures(arms[arm])} for arm in ARMS if arm in arms)


def _figures(figures: PublishedIdentifierFigures) -> dict[str, Value]:
    cells: dict[str, Value] = {}
    for name in _COUNTS:
        cells |= count_cells(name, getattr(figures, name))
    for name in (*_SHARES, *_RATES):
        cells |= estimate_cells(name, getattr(figures, name), interval=True)
    return cells
