"""What a rule reads: a published figure; of identifiers, less what chance gives (docs/policy.md).

A date, or a name that many have, stands in the records of somebody whatever a model learned. So a patient's own
identifiers are set beside those in answers about patients never seen, and others' beside those of others never seen.
Owns which figure a rule is about.
"""

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from clinaudit.priors.renderings import CONTROL
from clinaudit.reports.schema.decision import DecidedOn
from clinaudit.reports.schema.identifiers import IdentifierResults
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.names import IDENTIFIER_METRICS, ORDINARY_TEXT, QUERIES_NEEDED

#: To which ends are rounded; what a difference has beyond them is the arithmetic's.
_DECIMALS: Final = 4


class Reading(NamedTuple):
    """What a rule reads of the published figures."""

    observed: EstimateRange
    #: None of a diagnosis, whose test decides, and where there is no figure.
    decided_on: DecidedOn | None = None
    #: Of identifiers: a figure less what chance gives, at least 0; else as it stands, what chance gives being unknown.
    is_beyond_chance: bool = False


_NOT_MEASURED: Final = Reading(EstimateRange(reason="not measured"))


class _Counted(NamedTuple):
    """A figure, and the patients whom it counts, where it is a share of patients."""

    figure: EstimateRange | None
    affected: CountRange | None = None


def read_figure(
    published: RunResults,
    *,
    metric: str,
    tier: str | None,
    diagnosis: str | None,
    arm: Arm | None,
    queries: int | None = None,
) -> Reading:
    """Return what a rule reads, of the figures of one rendering."""
    if tier is None:
        return _NOT_MEASURED
    if diagnosis is not None:
        pair = published.disclosure.by_diagnosis.get(diagnosis, {}).get(tier)
        deltas = None if pair is None else pair.delta
        return Reading((deltas or {}).get(metric, _NOT_MEASURED.observed))
    if metric in IDENTIFIER_METRICS:
        arms = {} if published.identifiers is None else published.identifiers.tiers.get(tier, {})
        by_control = published.renderings.get(CONTROL)
        asked = None if by_control is None or by_control.identifiers is None else by_control.identifiers.tiers
        return _read_identifiers(metric, arms, arm or "train", control=(asked or {}).get(tier, {}).get("train"))
    if metric == ORDINARY_TEXT:
        return _NOT_MEASURED if published.ordinary is None else _with_ends(published.ordinary.text.share)
    if metric == QUERIES_NEEDED and queries is not None:
        return _read_queries(published, tier, queries)
    memorization = published.memorization.get(tier, {}).get(arm or "train")
    figure = None if memorization is None else memorization.estimate(metric)
    return _NOT_MEASURED if figure is None else _with_ends(figure)


def _with_ends(figure: EstimateRange) -> Reading:
    if figure.low is None:
        return Reading(figure)
    return Reading(figure, DecidedOn(low=figure.confidence_low, high=figure.confidence_high))


def _read_queries(published: RunResults, tier: str, queries: int) -> Reading:
    """Return the share of patients trained on whose text comes within so many queries, less what can be guessed.

    That is the share of patients never seen; where nobody was held out, of the same patients by the control model.
    """
    arms = published.queries.get(tier, {})
    if (train := arms.get("train")) is None:
        return Reading(EstimateRange(reason=published.not_scored or "no prompt is the beginning of its note"))
    beside = arms.get("nontrain") or train
    own, chance = (
        _Counted(of.share(queries, by_control=is_control), of.count(queries, by_control=is_control))
        for of, is_control in ((train, False), (beside, beside is train))
    )
    return _less(own, chance, own, patients=train.patients, beside=beside.patients)


def _read_identifiers(
    metric: str, arms: Mapping[Arm, IdentifierResults], arm: Arm, *, control: IdentifierResults | None
) -> Reading:
    figures = arms.get(arm)
    if figures is None:
        return _NOT_MEASURED
    if metric == "own":
        # Where nobody was held out, what the control model gives of the same patients is no leak of training's.
        never_seen = arms.get("nontrain") or control
        chance = _Counted(None) if never_seen is None else _Counted(never_seen.own, never_seen.own_patients)
        own = _Counted(figures.own, figures.own_patients)
        beside = None if never_seen is None else never_seen.patients
        return _less(own, chance, own, patients=figures.patients, beside=beside)
    if metric == "other":
        measured = _Counted(figures.sampled, figures.sampled_patients)
        chance = _Counted(figures.chance, figures.chance_patients)
        alone = _Counted(figures.other, figures.other_patients)
    else:
        measured, chance = _Counted(figures.sampled_per_1000), _Counted(figures.chance_per_1000)
        alone = _Counted(figures.verified_per_1000)
    return _less(measured, chance, alone, patients=figures.patients, beside=figures.patients)


def _less(
    measured: _Counted, chance: _Counted, alone: _Counted, *, patients: CountRange, beside: CountRange | None
) -> Reading:
    """Return the difference; `alone` is what is read where chance is not known.

    The interval is that of the difference of two estimates, from their own by square-and-add (Newcombe 1998; Zou and
    Donner 2008). Of ranges, each end takes the table within the classes at which it is widest: the least figure beside
    the most that chance gives, and the other way round. `sampled` and `chance` are of the same answers, and mostly rise
    together: as of independent ones the interval is wide.
    """
    first, second = measured.figure, chance.figure
    is_beyond_chance = first is not None and second is not None and None not in (first.low, second.low)
    if first is None or second is None or not is_beyond_chance:
        figure = alone.figure or _NOT_MEASURED.observed
        measured, chance, beside = alone, _Counted(None), None
    else:
        figure = subtract(first, second)
    read = _with_ends(figure)
    if read.decided_on is None:
        return read
    counts = {
        "count": measured.affected,
        "patients": None if measured.affected is None else patients,
        "chance": chance.affected,
        "chance_patients": None if chance.affected is None else beside,
    }
    return Reading(figure, read.decided_on.model_copy(update=counts), is_beyond_chance)


def subtract(first: EstimateRange, second: EstimateRange) -> EstimateRange:
    """Return the difference of two figures, floored at 0, with the interval that `_less` says."""
    low = _end(first.low, first.confidence_low, second.high, second.confidence_high, sign=-1)
    high = _end(first.high, first.confidence_high, second.low, second.confidence_low, sign=1)
    least = 0.0 if second.high is None else _floored((first.low or 0.0) - second.high)
    most = None if first.high is None else _floored(first.high - (second.low or 0.0))
    return EstimateRange(
        value=least if least == most else None,
        # Where nothing bounds what chance gives, nothing is shown beyond it.
        low=least,
        high=most,
        confidence_low=0.0 if low is None else low,
        confidence_high=high,
    )


def _end(
    value: float | None, far: float | None, chance: float | None, chance_far: float | None, *, sign: int
) -> float | None:
    """Return one end of the interval of a difference; None where nothing bounds it."""
    if value is None or far is None or chance is None or chance_far is None:
        return None
    return _floored(value - chance + sign * math.hypot(far - value, chance_far - chance))


def _floored(difference: float) -> float:
    return max(0.0, round(difference, _DECIMALS))
