"""From values by patient to rows of the table of estimates: shares, means over patients, differences, pools of chance.

Owns which interval a row gets: the Beta quantiles of a sum (`beta_bounds`), and MOVER for a difference of two of these;
and who is in the pool of which target (docs/methods.md, section 2).
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from clinaudit.audit.statistics.intervals import newcombe_difference
from clinaudit.priors.corpus.patient import Split
from clinaudit.reports.estimates.frame import COLUMNS, PLACE, Estimates, Row, as_estimates, at
from clinaudit.reports.estimates.intervals import beta_bounds

NOTHING: Final = "there was nothing to count"


def share_row(metric: str, count: int, of: int, **place: str) -> Row:
    """Return the row of a share of patients (or tasks) with its interval; without a value where there is nobody."""
    return mean_row(metric, float(count), count, of, **place)


def mean_row(metric: str, total: float, above_zero: int, of: int, **place: str) -> Row:
    """Return the row of a mean over `of` patients of values from 0 to 1 that add up to `total`.

    `above_zero` is how many patients have more than none.
    """
    row = at(metric, **place)._replace(count_low=above_zero, count_high=above_zero, of_low=of, of_high=of)
    if not of:
        return row._replace(reason=NOTHING)
    low, high = beta_bounds(min(total, float(of)), of)
    return row._replace(value=total / of, low=low, high=high)


def count_row(metric: str, count: int, of: int | None = None, **place: str) -> Row:
    """Return the row of a count of patients, of how many where that is known."""
    return at(metric, **place)._replace(value=float(count), count_low=count, count_high=count, of_low=of, of_high=of)


def text_rows(metric: str, figures: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of figures of text, which have a `value` alone; further columns are those of a row.

    Example: `text_rows("source_notes", pl.DataFrame({"form": ["text"], "value": [1.5], "behind": [40]}))`.
    """
    known = figures.with_columns(
        pl.lit(metric).alias("metric"),
        pl.when(pl.col("value").is_nan() | pl.col("value").is_null()).then(pl.lit(NOTHING)).alias("reason"),
        pl.col("value").cast(pl.Float64).fill_nan(None),
    )
    filled = pl.concat([as_estimates(()), known], how="diagonal_relaxed").with_columns(pl.col(pl.String).fill_null(""))
    return filled.select(pl.col(name).cast(type_) for name, type_ in COLUMNS.items())


def compositions(
    metric: str,
    rows: pl.DataFrame,
    by: str,
    weight: pl.Expr,
    places: Sequence[str],
    *,
    parts: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return of each place the share of `weight` that each `part` has, with the patients behind it.

    `rows` have the columns of `places`, a text `part` and `patient_id`. `parts` are all that there are, in their order,
    those without a row among them. Example: `compositions("k_distribution", pieces, "k", pl.len(), PLACES)`.
    """
    of_part = [*places, "part"]
    found = rows.group_by(of_part, maintain_order=True).agg(
        weight.alias("weight"), pl.col("patient_id").n_unique().alias("behind")
    )
    if parts is not None:
        every = found.select(places).unique(maintain_order=True).join(pl.DataFrame({"part": parts}), how="cross")
        found = every.join(found, on=of_part, how="left", maintain_order="left").with_columns(
            pl.col("weight", "behind").fill_null(0)
        )
    share = pl.col("weight") / pl.col("weight").sum().over(places)
    return text_rows(metric, found.with_columns(pl.lit(by).alias("by"), share.alias("value")))


def means_over_patients(
    rows: pl.DataFrame, values: Sequence[str], by: Sequence[str], *, unit: str = "patient_id"
) -> pl.DataFrame:
    """Return the estimates of several columns, each patient counting once with the mean over its rows.

    `values` are columns named by their metrics, from 0 to 1 (or true and false); `by` are columns of the place. A row
    of which a value is null is left out for that metric. Example: `means_over_patients(answers, ["judged"], PLACES)`.
    """
    return _estimate(rows, values, by, unit, pl.mean)


def shares_of_patients(
    rows: pl.DataFrame, values: Sequence[str], by: Sequence[str], *, unit: str = "patient_id"
) -> pl.DataFrame:
    """Return the estimates of several true-or-false columns: the share of patients with any row of which it is true."""
    return _estimate(rows, values, by, unit, pl.max)


def _estimate(
    rows: pl.DataFrame, values: Sequence[str], by: Sequence[str], unit: str, of_patient: Callable[[str], pl.Expr]
) -> pl.DataFrame:
    found = []
    for metric in values:
        of_each = (
            rows.filter(pl.col(metric).is_not_null())
            .group_by([*by, unit])
            .agg(of_patient(metric).cast(pl.Float64).alias("own"))
            # So that a sum does not depend on the order in which patients came.
            .sort([*by, unit])
        )
        nowhere: list[tuple[tuple[object, ...], pl.DataFrame]] = [((), of_each)] if of_each.height else []
        for place, group in of_each.group_by(by, maintain_order=True) if by else nowhere:
            own = group["own"]
            where = {column: str(value) for column, value in zip(by, place, strict=True)}
            found.append(mean_row(metric, float(own.sum()), int((own > 0).sum()), group.height, **where))
    return as_estimates(found)


def difference_row(first: Row, second: Row, arm: str) -> Row:
    """Return `first - second` at the place of the first, under the `arm` that names both ("train-nontrain"), by MOVER.

    Without an interval of both there is a value alone.
    """
    row = at(**dict(zip(PLACE, first.place, strict=True)) | {"arm": arm})
    if first.value is None or second.value is None:
        return row._replace(reason=first.reason if first.value is None else second.reason)
    row = row._replace(value=first.value - second.value)
    if None in (first.low, first.high, second.low, second.high):
        return row
    low, high = newcombe_difference(first, second)
    return row._replace(low=low, high=high)


def add_differences(
    table: pl.DataFrame, pairs: Sequence[tuple[str, str]] = (("train", "nontrain"), ("train", "control"))
) -> pl.DataFrame:
    """Return the table, and beside it a row for each pair of arms of which both sides stand in it."""
    estimates = Estimates(table)
    more = [
        difference_row(row, other, f"{one}-{another}")
        for one, another in pairs
        for row in estimates
        if row.arm == one and (other := estimates.find(**dict(zip(PLACE, row.place, strict=True)) | {"arm": another}))
    ]
    return pl.concat([table.select(list(COLUMNS)), as_estimates(more)])


SPLITS: tuple[Split, Split] = ("train", "nontrain")
#: Whom an answer is about: a patient of a split, or nobody, as an everyday task.
Target = Split | Literal["nobody"]
#: What one train patient other than the target holds, and no other patient of the corpus; what one patient of the
#: target's train pool holds, and none of its nontrain pool; and the reverse.
PoolFigure = Literal["all", "sampled", "chance"]
#: Patients of a pool from which on it shows what chance gives [choice].
FEWEST_IN_POOL: Final = 50


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """Patients of each split in a random order; a target's pools are the first of them other than the target.

    These are the pools of `chance`: as many patients of either split (docs/methods.md, section 2).
    """

    #: Places of patients among those of their split (`Corpus.scan_order`), shape (patients,). There is one more than a
    #: pool has, where the split has one: a target is replaced.
    drawn: Mapping[Split, npt.NDArray[np.int64]]
    #: Patients in each pool of a target of this split, or of nobody; 0 where there are none to compare.
    size: Mapping[Target, int]

    def reach(self, target: Target, rank: int | None) -> tuple[int, int]:
        """Return up to which rank the drawn patients of each of `SPLITS` are in a target's pools.

        `target` is the target's split, and `rank` its own among the drawn patients of that split; None where it is not
        drawn.
        """
        more = rank is not None and rank < self.size[target]
        train, nontrain = (self.size[target] + (more and target == one) for one in SPLITS)
        return train, nontrain


def pool_size(patients: Mapping[Split, int], target: Target) -> int:
    """Return how many patients other than the target both splits have; `patients` is the number of each split's."""
    return max(0, min(patients[split] - (split == target) for split in SPLITS))


def draw_pools(patients: Mapping[Split, int], *, seed: int) -> Pools:
    """Draw pools as large as the other patients of either split allow; `patients` is the number of each split's."""
    rng = np.random.default_rng(seed)
    targets: tuple[Target, ...] = (*SPLITS, "nobody")
    size = {target: pool_size(patients, target) for target in targets}
    most = size["nobody"] + 1 if size["nobody"] else 0
    return Pools({split: rng.permutation(patients[split])[:most] for split in SPLITS}, size)


Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return the items of each key, keys and items in the order in which they come."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found
