"""The table of estimates as tables for readers: each a filter and a pivot of it, with the registry's words.

Owns what a table is, the order of forms, tiers and arms in all of them, which columns of a place head the rows, and
which one is spread over columns. Nothing here knows a metric by its id, so a new one is shown by itself. Knows no page.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple, Self, TypeVar

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.estimates.frame import METRICS, Estimates, Metric, Row
from clinaudit.reports.wording.figures import counts_text, row_text
from clinaudit.reports.wording.names import HIPAA_TITLES, display_title, tier_number, tier_title
from clinaudit.reports.wording.numbers import counted

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of plain text; the first column heads its row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: How to read it, or what is left out; stands below the caption, and alone where there are no rows.
    note: str = ""

    @classmethod
    def of(
        cls, caption: str, items: Iterable[Item], columns: Mapping[str, Callable[[Item], str]], note: str = ""
    ) -> Self:
        """Return a table of a row an item; `columns` holds by its heading what stands in each column."""
        rows = tuple(tuple(cell(item) for cell in columns.values()) for item in items)
        return cls(caption, tuple(columns), rows, note)


def numbered_tier_title(tier: str) -> str:
    """Return a tier's number and title."""
    place = tier_number(tier)
    return tier_title(tier) if place == tier else f"{place} {tier_title(tier)}"


#: A part with this sign in it has two names: the first heads a row, the second a column.
TWO_NAMES: Final = "|"
FORM_TITLES: Final = {"text": "Plain text", "chat": "In a chat", "drawn": "Drawn answers"}
#: What a measurement may hold of an arm, in the order of columns.
ARM_TITLES: Final = {
    "train": "Trained on",
    "nontrain": "Never seen",
    "validation": "Validation",
    "control": "Control model",
    "train-nontrain": "Trained on − never seen",
    "train-control": "Trained on − control",
}
_HEADS: Final = {"tier": "Who asks", "form": "Form", "arm": "Patients", "diagnosis": "Diagnosis"}
#: Kinds of parts that do not say themselves what they are.
_BY_WORDS: Final = {
    "above": "share of their text",
    "k": "how many patients hold it",
    "copies": "how many of the patient's notes hold it",
    "queries": "how many",
    "category": "HIPAA's list",
    "sharing": "how many",
    "present": "what was read of those who have it",
    "absent": "what was read of those who do not have it",
}
_ORDERS: Final[Mapping[str, Sequence[str]]] = {"form": list(FORM_TITLES), "tier": TIER_IDS, "arm": list(ARM_TITLES)}
#: What a table spreads over more columns than this is turned.
_MOST_COLUMNS: Final = 8
_OF_PLACE: Final = ("tier", "form", "arm", "diagnosis", "part")
#: Units of which a bar is drawn below the number.
_DRAWN: Final = ("share", "mean", "text")


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure: its number, how many patients it is of, its bar from 0 to 1, and where its texts stand."""

    text: str
    detail: str = ""
    bar: float | None = None
    #: Address within the evidence page, in the exact report alone.
    link: str = ""


@dataclass(frozen=True, slots=True)
class EstimateTable:
    """One metric (with one kind of parts), or figures of a section that stand alone."""

    id: str
    section: str
    title: str
    #: What the metric is, and its place in the paper.
    note: str
    #: Heads of the columns that head a row, then those of the figures.
    row_heads: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Cell, ...]], ...]


class _Group(NamedTuple):
    """Rows of one metric and one kind of parts that fill the same columns of the place."""

    metric: Metric
    by: str
    rows: list[Row]
    #: What tells it from other groups of the metric, in words.
    of: str


def estimate_tables(estimates: Estimates, *, is_exact: bool = False) -> list[EstimateTable]:
    """Return all of the table of estimates, in the order of the registry; `is_exact` links figures to their texts.

    Tables of one row share a table with others of their section that have the same columns.
    """
    found: list[EstimateTable] = []
    for section, groups in groupby(_groups(estimates), lambda group: group.metric.section):
        made = [_table(group, is_exact=is_exact) for group in groups]
        found += [table for table in made if table.row_heads]
        lone: dict[tuple[str, ...], list[EstimateTable]] = {}
        for table in made:
            if not table.row_heads:
                lone.setdefault(table.heads, []).append(table)
        found += [_together(section, alike) for alike in lone.values()]
    return found


def _groups(estimates: Estimates) -> Iterator[_Group]:
    for metric in METRICS.values():
        alike: dict[tuple[str, bool, bool], list[Row]] = {}
        for row in estimates.rows(metric.id):
            alike.setdefault((row.by, bool(row.tier), bool(row.diagnosis)), []).append(row)
        for (by, has_tier, has_diagnosis), rows in alike.items():
            has_twin = sum(key[0] == by for key in alike) > 1
            of = " and ".join([*(["tier"] * has_tier), *(["diagnosis"] * has_diagnosis)]) if has_twin else ""
            yield _Group(metric, by, rows, of)


def _table(group: _Group, *, is_exact: bool) -> EstimateTable:
    """Return one row a place, one column a part, a diagnosis or an arm."""
    metric, by, rows, of = group
    varying = [column for column in _OF_PLACE if len({getattr(row, column) for row in rows}) > 1]
    across = "part" if "part" in varying else "diagnosis" if "diagnosis" in varying else "arm"
    has_two = across == "part" and any(TWO_NAMES in row.part for row in rows)
    if not has_two and len({getattr(row, across) for row in rows}) > _MOST_COLUMNS:
        across = "arm"
    down = [column for column in _OF_PLACE if column in varying and (column != across or has_two)]

    def names(row: Row) -> tuple[tuple[str, ...], str]:
        """Return what heads the row, and the column, of a figure."""
        first, _, second = row.part.partition(TWO_NAMES)
        heads = tuple(first if column == "part" and has_two else getattr(row, column) for column in down)
        return heads, second if has_two else getattr(row, across)

    reasons = list(dict.fromkeys(row.reason for row in rows if row.reason))
    cells = {names(row): _cell(row, metric, reasons, is_exact=is_exact) for row in rows}
    columns = _ordered(across, [column for _, column in cells])
    orders = [_ordered(column, [heads[at] for heads, _ in cells]) for at, column in enumerate(down)]
    places = sorted(
        {heads for heads, _ in cells},
        key=lambda heads: [order.index(name) for order, name in zip(orders, heads, strict=True)],
    )
    fixed = [
        _title(column, getattr(rows[0], column), by)
        for column in _OF_PLACE
        if column not in varying and column != across and getattr(rows[0], column) not in ("", "text")
    ]
    said = [f"by {_BY_WORDS.get(by, by.replace('_', ' '))}"] if by else []
    return EstimateTable(
        "-".join(filter(None, (metric.id, by, of.replace(" ", "-")))),
        metric.section,
        ", ".join([metric.title, *said, *([f"by {of}"] if of else []), *fixed]),
        " ".join([_note(metric), *(f"{_mark(reasons, reason)} {_sentence(reason)}" for reason in reasons)]),
        tuple(_HEADS.get(column) or display_title(by) for column in down),
        tuple(_title(across, column, by) or "Figure" for column in columns),
        tuple(
            (
                tuple(_title(column, name, by) or "All" for column, name in zip(down, heads, strict=True)),
                tuple(cells.get((heads, column), Cell("")) for column in columns),
            )
            for heads in places
        ),
    )


def _together(section: str, alike: Sequence[EstimateTable]) -> EstimateTable:
    """Return tables of one row, of the same columns, as one."""
    rows = tuple(((table.title, table.note), table.rows[0][1]) for table in alike)
    name = f"{alike[0].id}-together"
    return EstimateTable(name, section, section, "", ("What", "What it says"), alike[0].heads, rows)


def _cell(row: Row, metric: Metric, reasons: Sequence[str], *, is_exact: bool) -> Cell:
    """Return a figure; of one that is not there a dash, with the number of its reason, which stands above the table."""
    counts, mark = counts_text(row), f" {_mark(reasons, row.reason)}" if row.reason else ""
    if metric.unit == "count":
        return Cell(counts or f"–{mark}")
    if metric.unit == "design":
        return Cell(counts or f"–{mark}" if row.value is None else f"{row.value:,.10g}")
    if row.value is None and row.low is None:
        return Cell(f"–{mark}", counts)
    is_drawn = metric.is_percent and metric.unit in _DRAWN and "-" not in row.arm
    behind = "" if row.behind is None else f"of {counted(row.behind, 'patient')}"
    link = evidence_address(row) if is_exact else ""
    return Cell(row_text(row), counts or behind, row.value if is_drawn else None, link)


def _mark(reasons: Sequence[str], reason: str) -> str:
    return f"[{reasons.index(reason) + 1}]"


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."


def evidence_address(row: Row) -> str:
    """Return where the evidence page shows the texts of a figure: "#tier=public&arm=train"; empty where it has none.

    The control model's texts are not the audited model's, and a difference is of two arms.
    """
    if row.arm not in ("train", "nontrain") or not row.tier:
        return ""
    diagnosis = row.diagnosis if row.diagnosis != "mean" else ""
    given = {"tier": row.tier, "arm": row.arm, "form": row.form, "diagnosis": diagnosis}
    return "#" + "&".join(f"{key}={name}" for key, name in given.items() if name)


def _note(metric: Metric) -> str:
    paper = metric.paper if metric.paper.startswith(("Figure", "Table", "Appendix")) else f"section {metric.paper}"
    chance = {"never seen": " Patients never seen show what is chance.", "exchanged": " Chance: the splits exchanged."}
    return (
        metric.sentence.replace("`", "")
        + chance.get(metric.chance, "")
        + (f" In the paper: {paper}." if metric.paper else "")
    )


def _ordered(column: str, names: Sequence[str]) -> list[str]:
    """Return the distinct names of a column, known ones in their order, others as they came."""
    found = list(dict.fromkeys(names))
    known = [name for name in _ORDERS.get(column, ()) if name in found]
    return [*known, *(name for name in found if name not in known)]


def _title(column: str, name: str, by: str) -> str:
    if column == "part" and by == "category":
        return f"({name}) {HIPAA_TITLES.get(name, name)}"
    titles = {"form": FORM_TITLES, "arm": ARM_TITLES}.get(column, {})
    if column == "tier" and name:
        return numbered_tier_title(name)
    return titles.get(name) or display_title(name.replace(TWO_NAMES, ", "))
