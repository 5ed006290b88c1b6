"""The one table that everything measured ends in, and the metrics of its rows (docs/results.md, "results.csv").

Owns its columns, how a row is found, and the registry: every metric, said once, in `metrics.toml`. A row is one figure
at one place; a difference is a row of its own. Exact rows have equal ends of their counts; published rows may have none
(`publication`). A new metric is one entry in the registry and one formula, a function from evidence tables to rows, in
the room of its measure (CONTRIBUTING, "Add a metric"). Column heads, tables, CSV, terminal, docs, and what a
policy may limit and asks follow.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import polars as pl

#: Where a figure holds; empty where a column does not apply.
PLACE: Final = ("metric", "form", "tier", "arm", "diagnosis", "by", "part")
#: The columns in their order, with their types.
COLUMNS: Final[Mapping[str, pl.DataType]] = {
    **dict.fromkeys(PLACE, pl.String()),
    "value": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "reason": pl.String(),
    "count_low": pl.Int64(),
    "count_high": pl.Int64(),
    "of_low": pl.Int64(),
    "of_high": pl.Int64(),
    "behind": pl.Int64(),
}


class Row(NamedTuple):
    """One row, as `COLUMNS` has it.

    Example::

        Row("own_identifiers", form="text", tier="public", arm="train", value=0.1, low=0.05, high=0.17,
            count_low=13, count_high=13, of_low=130, of_high=130)
    """

    #: Id in the registry.
    metric: str
    #: How was asked: text, chat, drawn.
    form: str = ""
    tier: str = ""
    #: train, nontrain, control, or a difference such as train-nontrain.
    arm: str = ""
    diagnosis: str = ""
    #: Of what kind a part is (section, k, age, ...), and which.
    by: str = ""
    part: str = ""
    #: The figure and the ends of its 95% interval; None with a `reason`.
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    #: Of a share of patients: how many, of how many asked; of a mean: how many have more than none, of how many.
    count_low: int | None = None
    count_high: int | None = None
    of_low: int | None = None
    of_high: int | None = None
    #: Patients behind a figure that has no count: of text, a mean age, a difference of sexes.
    behind: int | None = None

    @property
    def place(self) -> tuple[str, ...]:
        """Where the figure holds, as `PLACE` has it."""
        return tuple(getattr(self, column) for column in PLACE)


def at(metric: str, **place: str) -> Row:
    """Return a row without a figure at a place, to be given its figure by `_replace`; columns not named are empty.

    Raises `ValueError` for what is no column of a place.
    """
    if strange := place.keys() - set(PLACE):
        raise ValueError(f"no column of a place: {', '.join(sorted(strange))}")
    return Row._make((metric, *(place.get(column, "") for column in PLACE[1:]), *Row(metric)[len(PLACE) :]))


def as_estimates(rows: Iterable[Row | Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a frame of `COLUMNS`; a mapping may leave out what does not apply."""
    listed = [row if isinstance(row, Row) else Row(**row) for row in rows]
    return pl.DataFrame(listed, schema=dict(COLUMNS), orient="row")


def one_table(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of several frames as one table; raises `ValueError` where two rows stand at one place."""
    table = pl.concat([as_estimates(()), *(part.select(list(COLUMNS)) for part in parts)])
    if table.select(PLACE).is_duplicated().any():
        raise ValueError("two estimates stand at one place")
    return table


@dataclass(frozen=True, eq=False)
class Estimates:
    """The table, as pages, gate and comparison read it: a figure by its place, or the rows of a metric.

    Example::

        estimates.find("attributable_fraction", form="text", tier="public", arm="train")
    """

    frame: pl.DataFrame

    @cached_property
    def _rows(self) -> dict[tuple[str, ...], Row]:
        return {row.place: row for row in map(Row._make, self.frame.iter_rows())}

    @cached_property
    def _by_metric(self) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in self._rows.values():
            found.setdefault(row.metric, []).append(row)
        return found

    def __iter__(self) -> Iterator[Row]:
        """Yield every row."""
        return iter(self._rows.values())

    def find(self, metric: str, **place: str) -> Row | None:
        """Return the row at exactly this place, columns not named being empty; None where there is none."""
        return self._rows.get(at(metric, **place).place)

    def rows(self, metric: str, **place: str) -> list[Row]:
        """Return the metric's rows that agree with the columns named, in the order of the table."""
        asked = place.items()
        return [row for row in self._by_metric.get(metric, ()) if all(getattr(row, key) == of for key, of in asked)]

    def values_of(self, column: str, metric: str = "", **place: str) -> list[str]:
        """Return the distinct values of a column that are not empty, in order; of one metric where it is named."""
        rows = self.rows(metric, **place) if metric else self
        return list(dict.fromkeys(of for row in rows if (of := getattr(row, column))))


#: `share`: of patients (or tasks), with its count. `mean`: over patients, of a share of their text. `text`: a figure of
#: text (a composition, a length) that has a value alone. `auroc`. `rate`: of verdicts at a prevalence, a value alone.
#: `smd`: a standardized difference. `count`: a count of patients that came out of a measurement. `design`: a number
#: that was chosen (sizes of arms and cohorts, tasks), which stands as it is. `quality`: of the tool itself, on labelled
#: or planted text.
Unit = Literal["share", "mean", "text", "auroc", "rate", "smd", "count", "design", "quality"]
#: What is taken off as chance: the figure of patients never seen, that with the splits exchanged, or none.
Chance = Literal["never seen", "exchanged", ""]
#: What is given away: the patient's own text, others' text, ...
RuleKind = Literal["own", "others", "identifiers", "queries", "diagnoses", "everyday", "membership"]


@dataclass(frozen=True, slots=True)
class Metric:
    """What the registry says of a metric: title, unit, sentence, place in the paper."""

    id: str
    title: str
    unit: Unit
    sentence: str
    paper: str = ""
    chance: Chance = ""
    #: What a rule of a policy asks, and of what kind it is; without a question no policy may limit the metric.
    question: str = ""
    kind: RuleKind = "own"
    #: The first screen's words about a failure of one's own text.
    told: str = "{title}: {figure}"
    #: Of others' data: the metrics that hold the same in pools of equal size, and with the splits exchanged.
    pools: tuple[str, ...] = ()
    #: The metric whose patients these are some of, so that the difference of both is a count, too.
    part_of: str = ""
    #: Heads its tables; the file says it at the first metric of a section.
    section: str = ""
    #: Shown as a number with a unit of its own (a length, years), not as percent.
    is_number: bool = False

    @property
    def may_be_limited(self) -> bool:
        """Whether a policy may limit it."""
        return bool(self.question)

    @property
    def is_percent(self) -> bool:
        """Whether a value is a share, which is shown as percent."""
        return self.unit in ("share", "mean", "rate", "quality", "text") and not self.is_number


def _read() -> Iterator[Metric]:
    section = ""
    said = tomllib.loads(Path(__file__).with_name("metrics.toml").read_text(encoding="utf-8"))
    for name, keys in said.items():
        section = keys.get("section", section)
        yield Metric(name, **{**keys, "section": section, "pools": tuple(keys.get("pools", ()))})


METRICS: Final[dict[str, Metric]] = {metric.id: metric for metric in _read()}
