"""What rules on identifiers are decided by: a figure less what chance gives (docs/policy.md).

A date, or a name that many have, stands in the records of somebody whatever a model learned. So a patient's own
identifiers are set beside those in answers about patients never seen, and others' beside those of others never seen.
Owns these differences, of exact figures and of published ranges. Knows nothing of limits.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clinaudit.audit.gate.policy import IdentifierMetric
from clinaudit.audit.statistics.binned_mean import bounds_of_bins
from clinaudit.audit.statistics.intervals import newcombe_difference
from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.exact.identifiers import IdentifierBin, IdentifierFigures
from clinaudit.reports.schema.identifiers import PublishedIdentifierFigures
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.record import Arm

_QUERIES = 1000
#: To which published ends are rounded outwards; what a difference has beyond them is the arithmetic's.
_DECIMALS = 4
_NOT_MEASURED = Estimate(value=None, reason="not measured")


class Excess(NamedTuple):
    """A figure less what chance gives, at least 0; or as it stands, where what chance gives is not known."""

    figure: Estimate
    is_beyond_chance: bool


class PublishedExcess(NamedTuple):
    """The same from published ranges: the widest ends."""

    figure: PublishedEstimate
    is_beyond_chance: bool


def measure_excess(metric: IdentifierMetric, arms: Mapping[Arm, IdentifierFigures], arm: Arm) -> Excess:
    """Return what a rule is decided by, from the figures of one tier.

    The interval is that of the difference of two estimates, from their own by square-and-add (Newcombe 1998; Zou and
    Donner 2008). `sampled` and `chance` are of the same answers, and mostly rise together: as of independent ones the
    interval is wide.
    """
    figures = arms.get(arm)
    if figures is None:
        return Excess(_NOT_MEASURED, is_beyond_chance=False)
    if metric == "own":
        never_seen = arms.get("nontrain")
        return _less(figures.own, None if never_seen is None else never_seen.own, figures.own)
    if metric == "other":
        return _less(figures.sampled, figures.chance, figures.other)
    return _less(
        _rate_of(figures.sampled_by_patient, figures.sampled_per_1000),
        _rate_of(figures.chance_by_patient, figures.chance_per_1000),
        _rate_of(figures.by_patient, figures.verified_per_1000),
    )


def _less(figure: Estimate, chance: Estimate | None, alone: Estimate) -> Excess:
    if chance is None or chance.value is None or figure.value is None:
        return Excess(alone, is_beyond_chance=False)
    ends: tuple[float, float | None]
    if chance.high is None:
        # Nothing bounds what chance gives: nothing is shown beyond it.
        ends = 0.0, None if figure.high is None else figure.high - (chance.low or 0.0)
    elif figure.high is None:
        ends = (figure.low or 0.0) - chance.high, None
    else:
        ends = newcombe_difference(figure, chance)
    low, high = max(0.0, ends[0]), None if ends[1] is None else max(0.0, ends[1])
    difference = max(0.0, figure.value - chance.value)
    return Excess(Estimate(value=difference, low=low, high=high, n=figure.n), is_beyond_chance=True)


def _rate_of(bins: Sequence[IdentifierBin], rate: Estimate) -> Estimate:
    """Return a rate per 1,000 queries with bounds that are conservative, and not degenerate where nobody has any."""
    bounds = bounds_of_bins([(row.low, row.high, row.patients) for row in bins])
    if rate.value is None or bounds is None:
        return rate
    low, high = bounds
    return Estimate(
        value=rate.value,
        low=min(rate.value, _QUERIES * low),
        high=None if high is None else max(rate.value, _QUERIES * high),
        n=rate.n,
    )


def publish_excess(
    metric: IdentifierMetric, arms: Mapping[Arm, PublishedIdentifierFigures], arm: Arm
) -> PublishedExcess:
    """Return the range of what a rule is decided by, from the published ranges of one tier.

    Of one table alone the interval is that of `measure_excess`. Of several it is the difference of the ends, within
    which square-and-add lies whatever the table.
    """
    figures = arms.get(arm)
    if figures is None:
        return PublishedExcess(PublishedEstimate(reason="not measured"), is_beyond_chance=False)
    if metric == "own":
        never_seen = arms.get("nontrain")
        return _published_less(figures.own, None if never_seen is None else never_seen.own, figures.own)
    if metric == "other":
        return _published_less(figures.sampled, figures.chance, figures.other)
    if figures.chance is not None and figures.chance_per_1000 is None:
        # What chance gives of values is not published: nothing is shown beyond it, and nothing bounds it.
        return PublishedExcess(PublishedEstimate(low=0.0, confidence_low=0.0), is_beyond_chance=True)
    return _published_less(figures.sampled_per_1000, figures.chance_per_1000, figures.verified_per_1000)


def _as_estimate(shown: PublishedEstimate) -> Estimate:
    return Estimate(value=shown.low, low=shown.confidence_low, high=shown.confidence_high)


def _exactly(excess: Excess) -> PublishedExcess:
    value, low, high, *_ = (
        None if end is None else round(end, _DECIMALS)
        for end in (excess.figure.value, excess.figure.low, excess.figure.high)
    )
    shown = PublishedEstimate(value=value, low=value, high=value, confidence_low=low, confidence_high=high)
    return PublishedExcess(shown, excess.is_beyond_chance)


def _published_less(
    figure: PublishedEstimate | None, chance: PublishedEstimate | None, alone: PublishedEstimate
) -> PublishedExcess:
    if figure is None or chance is None or chance.low is None or figure.low is None:
        return PublishedExcess(alone, is_beyond_chance=False)

    if figure.low == figure.high and chance.low == chance.high:
        return _exactly(_less(_as_estimate(figure), _as_estimate(chance), _as_estimate(alone)))

    def floored(end: float | None, other: float | None) -> float | None:
        return None if end is None or other is None else max(0.0, round(end - other, _DECIMALS))

    return PublishedExcess(
        PublishedEstimate(
            # Where nothing bounds what chance gives, nothing is shown beyond it.
            low=floored(figure.low, chance.high) or 0.0,
            high=floored(figure.high, chance.low),
            confidence_low=floored(figure.confidence_low, chance.confidence_high) or 0.0,
            confidence_high=floored(figure.confidence_high, chance.confidence_low),
        ),
        is_beyond_chance=True,
    )
