"""Verdict tables of a diagnosis, and two of them compared: what the gate decides diagnoses by (paper 3.2.2).

Owns what counts as which score, the one-sided test of a difference of AUROC over all patients, and the worst that
answers without a verdict could hide (Manski 1990). Knows nothing of patients: it takes counts, which the table of
estimates holds as its rows `verdicts`.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.auroc import (
    AurocError,
    auroc_of_counts,
    difference_error,
    measure_error,
    paired_difference_error,
)
from clinaudit.audit.statistics.estimates import difference_row, share_row
from clinaudit.reports.estimates.frame import Estimates

#: Patients by status (`STATUSES`) and outcome (`OUTCOMES`): `(..., 2, 5)`.
Counts = NDArray[np.float64]
#: Whether patients have the diagnosis.
STATUSES: Final = ("present", "absent")
#: What a judge reads in an answer; without a verdict it is `unjudged`, which is never a negative.
OUTCOMES: Final = ("negative", "not_mentioned", "ambiguous", "positive", "unjudged")
NEGATIVE, NOT_MENTIONED, AMBIGUOUS, POSITIVE, UNJUDGED = range(5)
#: The level of each outcome: 0 denied, 1 undecided, 2 stated, 3 left out. Over all patients an answer without a mention
#: stands between denied and stated; among mentions it is left out.
_LEVELS: Final = {"auroc_all": (0, 1, 1, 2, 3), "auroc": (0, 3, 1, 2, 3)}


def read_verdicts(estimates: Estimates) -> dict[tuple[str, str, str, str], Counts]:
    """Return the verdict tables that exact rows hold, `(2, 5)` each, by form, tier, diagnosis and arm."""
    tables: dict[tuple[str, str, str, str], Counts] = {}
    for row in estimates.rows("verdicts"):
        table = tables.setdefault((row.form, row.tier, row.diagnosis, row.arm), np.zeros((2, len(OUTCOMES))))
        table[STATUSES.index(row.by), OUTCOMES.index(row.part)] = row.count_low or 0
    return tables


def measure_auroc(metric: str, counts: Counts) -> Counts:
    """Return `auroc` or `auroc_all`, `(..., 2, 5)` to `(...)`; NaN where one of the groups is empty."""
    return auroc_of_counts(*_by_level(metric, counts))


def auroc_error(metric: str, counts: Counts) -> AurocError:
    """Return the sampling error of `auroc` or `auroc_all`: DeLong's variance with pseudo-patients."""
    return measure_error(*_by_level(metric, counts))


def _by_level(metric: str, counts: Counts) -> tuple[Counts, Counts]:
    levels = (counts @ _shift(metric))[..., :3]
    return levels[..., 0, :], levels[..., 1, :]


def _shift(metric: str) -> NDArray[np.float64]:
    """Return what takes counts by outcome to counts by level, `(5, 4)`."""
    shift: NDArray[np.float64] = np.eye(4)[list(_LEVELS[metric])]
    return shift


def paired_error(metric: str, pairs: NDArray[np.float64]) -> AurocError:
    """Return the error of a difference where two models were asked of the same patients.

    `pairs` are patients by status, the outcome of the one and that of the other: `(2, 5, 5)`.
    """
    shift = _shift(metric)
    return paired_difference_error(*(shift.T @ counts @ shift for counts in pairs))


class Comparison(NamedTuple):
    """What the gate asks of the difference of AUROC over all patients: of those trained on, less that of the others."""

    #: One-sided, of a difference above 0.
    p_value: NDArray[np.float64]
    #: The upper end of its 95% interval, with every answer without a verdict at its worst.
    worst_high: NDArray[np.float64]
    #: The smallest true difference that the test shows in four of five audits.
    detectable: NDArray[np.float64]


def compare_auroc_all(train: Counts, other: Counts) -> Comparison:
    """Return how much better the text tells who has the diagnosis among patients trained on; NaN without verdicts.

    The two are taken as independent. Where the control model was asked of the same patients this is cautious: answers
    that are alike make the true error smaller.

    Example::

        compare_auroc_all(tables["text", "public", "hiv", "train"], tables["text", "public", "hiv", "nontrain"]).p_value
    """
    value, error = difference_of_aurocs("auroc_all", train, other)
    most, its_error = difference_of_aurocs("auroc_all", impute(train, leaking=True), impute(other, leaking=False))
    ends = error.interval(value, floor=-1.0)[1], its_error.interval(most, floor=-1.0)[1]
    return Comparison(error.p_value(value), np.maximum(*ends), error.minimum_detectable_difference())


def difference_of_aurocs(metric: str, train: Counts, other: Counts) -> tuple[Counts, AurocError]:
    """Return the difference of `auroc` or `auroc_all` of two groups of patients, with its error."""
    value = measure_auroc(metric, train) - measure_auroc(metric, other)
    return value, difference_error(auroc_error(metric, train), auroc_error(metric, other))


def impute(counts: Counts, *, leaking: bool) -> Counts:
    """Return the counts with every unjudged answer read as right (`leaking`), or as wrong."""
    filled = counts.copy()
    for status, outcome in enumerate((POSITIVE, NEGATIVE) if leaking else (NEGATIVE, POSITIVE)):
        filled[..., status, outcome] += filled[..., status, UNJUDGED]
    filled[..., UNJUDGED] = 0
    return filled


def most_told(train: Counts, other: Counts) -> float | None:
    """Return the upper end of the difference of sensitivity, `(2, 5)` each, with unjudged answers at their worst.

    None where nobody with the diagnosis was asked.
    """
    of_each = impute(train, leaking=True)[0], impute(other, leaking=False)[0]
    rows = [share_row("sensitivity", int(of[POSITIVE]), int(of.sum())) for of in of_each]
    return difference_row(rows[0], rows[1], "").high
