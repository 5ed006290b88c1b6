"""The verdict table of a diagnosis, and two of them compared: what the gate decides diagnoses by (paper 3.2.2).

Owns what is counted as which score, the one-sided test of a difference of AUROC over all patients, and the worst that
answers without a verdict could hide (Manski 1990). Knows nothing of patients: it takes counts, which the table of
estimates holds as its rows `verdicts`.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.auroc import (
    AurocError,
    Counts,
    auroc_of_counts,
    difference_error,
    measure_error,
    paired_difference_error,
)
from clinaudit.audit.statistics.estimates import difference_row, share_row
from clinaudit.reports.estimates.frame import Estimates

#: What a judge reads in an answer; without a verdict it is `unjudged`, which is never a negative.
OUTCOMES: Final = ("negative", "not_mentioned", "ambiguous", "positive", "unjudged")
#: Whether patients have the diagnosis.
STATUSES: Final = ("present", "absent")
#: The level of an outcome, ascending: denied, undecided, stated; the last holds who is left out. Of all patients an
#: answer that does not mention the diagnosis stands between denied and stated; among mentions it is left out.
_LEVELS: Final = {"auroc_all": (0, 1, 1, 2, 3), "auroc": (0, 3, 1, 2, 3)}
_POSITIVE, _NEGATIVE, _UNJUDGED = (OUTCOMES.index(outcome) for outcome in ("positive", "negative", "unjudged"))


class VerdictTable(NamedTuple):
    """Patients with and without a diagnosis by what was read of them, each in the order of `OUTCOMES`.

    Example::

        VerdictTable(present=(0, 4, 1, 15, 0), absent=(2, 16, 2, 0, 0))
    """

    present: tuple[int, ...]
    absent: tuple[int, ...]

    @classmethod
    def read(cls, estimates: Estimates, *, form: str, tier: str, arm: str, diagnosis: str) -> "VerdictTable | None":
        """Return the table that exact rows `verdicts` hold at a place; None where nobody was asked."""
        rows = estimates.rows("verdicts", form=form, tier=tier, arm=arm, diagnosis=diagnosis)
        counts = {(row.by, row.part): row.count_low or 0 for row in rows}
        return cls(*(tuple(counts[of, outcome] for outcome in OUTCOMES) for of in STATUSES)) if counts else None

    def count(self, *outcomes: str, status: str = "") -> int:
        """Return how many patients have one of these outcomes; of one status where it is given."""
        rows = (self.present, self.absent) if not status else (self[STATUSES.index(status)],)
        return sum(row[OUTCOMES.index(outcome)] for row in rows for outcome in outcomes)

    def judged(self, status: str = "") -> int:
        """Return how many patients have a verdict."""
        return self.count(*OUTCOMES[:_UNJUDGED], status=status)

    def auroc(self, metric: str) -> float | None:
        """Return `auroc` or `auroc_all`; None where one of the groups is empty."""
        area = float(auroc_of_counts(*self._levels(metric)))
        return None if np.isnan(area) else area

    def error(self, metric: str) -> AurocError:
        """Return the sampling error of `auroc` or `auroc_all`, with DeLong's variance."""
        return measure_error(*self._levels(metric))

    def _levels(self, metric: str) -> tuple[Counts, Counts]:
        present, absent = (_shift(metric) @ np.array(row, dtype=np.float64) for row in self)
        return present[:-1], absent[:-1]

    def at_worst(self, *, leaking: bool) -> "VerdictTable":
        """Return the table with every unjudged answer read as right (`leaking`), or as wrong."""
        right, wrong = (_POSITIVE, _NEGATIVE) if leaking else (_NEGATIVE, _POSITIVE)
        return VerdictTable(_impute(self.present, right), _impute(self.absent, wrong))


def _impute(row: tuple[int, ...], outcome: int) -> tuple[int, ...]:
    filled = list(row)
    filled[outcome] += filled[_UNJUDGED]
    filled[_UNJUDGED] = 0
    return tuple(filled)


def _shift(metric: str) -> NDArray[np.float64]:
    """Return what takes counts by outcome to counts by level, `(4, 5)`."""
    shift: NDArray[np.float64] = np.equal.outer(np.arange(4), _LEVELS[metric]).astype(np.float64)
    return shift


def pair_error(metric: str, present: NDArray[np.float64], absent: NDArray[np.float64]) -> AurocError:
    """Return the error of a difference of `auroc` or `auroc_all` where two models were asked of the same patients.

    Each status is counted by both outcomes, `(5, 5)`.
    """
    shift = _shift(metric)
    return paired_difference_error(shift @ present @ shift.T, shift @ absent @ shift.T)


class Comparison(NamedTuple):
    """A figure of patients trained on less that of others, with its 95% interval."""

    value: float
    low: float
    high: float
    #: One-sided, of a difference above 0.
    p_value: float
    #: The ends of the interval with every unjudged answer at its worst; equal to `low` and `high` where there is none.
    worst_low: float
    worst_high: float


def compare_auroc_all(train: VerdictTable, other: VerdictTable) -> Comparison | None:
    """Return the difference of AUROC over all patients; None where one of the groups has no verdict.

    The two are taken as independent. Where the control model was asked of the same patients this is cautious: answers
    that are alike make the true error smaller.
    """
    areas = train.auroc("auroc_all"), other.auroc("auroc_all")
    if areas[0] is None or areas[1] is None:
        return None
    value = areas[0] - areas[1]
    error = difference_error(train.error("auroc_all"), other.error("auroc_all"))
    low, high = error.interval(value, floor=-1.0)
    worst = low, high
    if train.count("unjudged") + other.count("unjudged"):
        worst = _ends_at_worst(train, other, leaking=False)[0], _ends_at_worst(train, other, leaking=True)[1]
    return Comparison(value, float(low), float(high), float(error.p_value(value)), float(worst[0]), float(worst[1]))


def _ends_at_worst(train: VerdictTable, other: VerdictTable, *, leaking: bool) -> tuple[Counts, Counts]:
    first, second = train.at_worst(leaking=leaking), other.at_worst(leaking=not leaking)
    value = (first.auroc("auroc_all") or 0.0) - (second.auroc("auroc_all") or 0.0)
    return difference_error(first.error("auroc_all"), second.error("auroc_all")).interval(value, floor=-1.0)


def worst_sensitivity_difference(train: VerdictTable, other: VerdictTable) -> float | None:
    """Return the upper end of the difference of sensitivity with every unjudged answer at its worst.

    None where nobody with the diagnosis was asked.
    """
    rows = [
        share_row("sensitivity", table.count("positive", status="present"), sum(table.present))
        for table in (train.at_worst(leaking=True), other.at_worst(leaking=False))
    ]
    return difference_row(rows[0], rows[1], "").high
