"""Tables of subgroups for the annex: who has own text repeated, and of whom a diagnosis is stated.

Owns what stands in which column.
"""

from collections.abc import Mapping

from clinaudit.reports.schema.groups import GroupResults
from clinaudit.reports.schema.numbers import NOBODY, exact_estimate
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table, list_tiers, numbered_tier_title
from clinaudit.reports.wording.captions import PARTITION_TITLES, group_title
from clinaudit.reports.wording.names import ARM_WORDS
from clinaudit.reports.wording.numbers import estimate_text, part_text

_MEANS = {"Memorized fraction": "memorized_fraction", "Own text": "attributable_fraction"}


def subgroup_tables(results: RunResults) -> list[Table]:
    """Return the affected of each group, a table an arm, a column a tier; a group of nobody has no row."""
    if results.subgroups is None:
        return []
    families = {
        "Patients with any own text": results.subgroups.memorization,
        "Patients of whom a diagnosis that they have is stated": results.subgroups.disclosure,
    }
    tables = [_table(results, title, found, arm) for title, found in families.items() for arm in ARMS]
    return [table for table in tables if table.rows]


def affected_text(group: GroupResults) -> str:
    """Return "41–50 of 51–60", or "all of 51–60"."""
    is_all = group.share.low is not None and group.share.low >= 1
    return part_text(group.affected, group.patients, rest=NOBODY if is_all else None)


def _table(
    results: RunResults, title: str, measured: Mapping[str, Mapping[Arm, list[GroupResults]]], arm: Arm
) -> Table:
    tiers = [tier for tier in list_tiers(results) if measured.get(tier, {}).get(arm)]
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for tier in tiers:
        for group in measured[tier][arm]:
            if group.patients.high:
                name = (PARTITION_TITLES[group.partition], group_title(group.group))
                cells.setdefault(name, {})[tier] = affected_text(group)
    rows = tuple((*name, *(found.get(tier, "–") for tier in tiers)) for name, found in cells.items())
    return Table(f"{title}, {ARM_WORDS[arm]}", ("By", "Group", *map(numbered_tier_title, tiers)), rows)


def group_means_tables(results: RunResults) -> list[Table]:
    """Return the mean fractions of each group, a table a fraction and arm; of exact results alone."""
    measured = None if results.subgroups is None else results.subgroups.evidence
    means = {} if measured is None else measured.memorization
    tables = []
    for title, fraction in _MEANS.items():
        for arm in ARMS:
            tiers = [tier for tier in list_tiers(results) if means.get(tier, {}).get(arm)]
            cells: dict[tuple[str, str, str], dict[str, str]] = {}
            for tier in tiers:
                for group in means[tier][arm]:
                    name = (PARTITION_TITLES[group.partition], group_title(group.group), f"{group.patients:,}")
                    cells.setdefault(name, {})[tier] = estimate_text(
                        exact_estimate(getattr(group, fraction)), share=True
                    )
            rows = tuple((*name, *(found.get(tier, "–") for tier in tiers)) for name, found in cells.items())
            heads = ("By", "Group", "Patients", *map(numbered_tier_title, tiers))
            tables.append(Table(f"{title}, mean over the group, {ARM_WORDS[arm]}", heads, rows))
    return [table for table in tables if table.rows]
