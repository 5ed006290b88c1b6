"""Charts of groups of patients: how many of each group have own text repeated, trained on beside never seen.

Owns which numbers a chart shows, and the order of groups.
"""

import re
from collections.abc import Sequence

from clinaudit.reports.figures.bars import SERIES, BarFigure, BarRow, Cell, share_bar
from clinaudit.reports.schema.groups import PARTITIONS, Partition, PublishedGroup
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import PublishedResults
from clinaudit.reports.tables.groups import affected_text
from clinaudit.reports.wording.captions import PARTITION_TITLES, group_title, groups_caption, shown_tier
from clinaudit.reports.wording.names import ARM_WORDS, asker_words
from clinaudit.reports.wording.numbers import NOT_MEASURED, is_measured


def groups_figure(results: PublishedResults) -> BarFigure:
    """Return the patients of each group who have any own text, a heading a partition."""
    measured = {} if results.subgroups is None else results.subgroups.memorization
    tier = shown_tier(measured)
    by_arm = {} if tier is None else measured[tier]
    arms = [arm for arm in ARMS if by_arm.get(arm)]
    rows: list[BarRow] = []
    for partition in PARTITIONS:
        groups = {arm: _of(partition, by_arm[arm]) for arm in arms}
        names = sorted({name for found in groups.values() for name in found}, key=_place)
        if len(names) > 1:
            rows.append(BarRow(PARTITION_TITLES[partition], ()))
            cells = {name: tuple(_cell(groups[arm].get(name), arm) for arm in arms) for name in names}
            rows += [BarRow(group_title(name), cells[name]) for name in names]
    caption = groups_caption(by_arm.get("train", []))
    if caption and tier is not None:
        caption = f"Asked by {asker_words(tier)}. {caption}"
    columns = ("Patients with any own text", *(ARM_WORDS[arm].capitalize() for arm in arms))
    return BarFigure("groups", "Who is affected", caption, columns, tuple(rows))


def _of(partition: Partition, groups: Sequence[PublishedGroup]) -> dict[str, PublishedGroup]:
    return {group.group: group for group in groups if group.partition == partition and group.patients.high}


def _cell(group: PublishedGroup | None, arm: Arm) -> Cell:
    if group is None:
        return Cell((), "nobody")
    if not is_measured(group.share):
        return Cell((), NOT_MEASURED)
    text = affected_text(group)
    return Cell((share_bar(group.share, series=SERIES[arm], text=text),))


def _place(name: str) -> tuple[int, int, str]:
    """Return where a group stands: by its first number, those with "<" first, names after numbers."""
    first = re.search(r"\d+", name)
    return (0, -1 if name.startswith("<") else int(first[0]), name) if first else (1, 0, name)
