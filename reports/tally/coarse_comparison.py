"""What may be published of an exact comparison: its counts of patients as classes (docs/comparing-runs.md).

The only module that reads exact comparison records and returns anything publishable. Everything else of a published
comparison is made of both runs' published results. p-values and paired intervals stay in the evidence.
"""

from collections.abc import Collection, Mapping

from clinaudit.reports.schema.comparison import (
    NOT_PUBLISHED,
    HealthCheck,
    LevelCounts,
    PairedPatients,
    PublishedForgetting,
)
from clinaudit.reports.schema.exact_comparison import Forgetting, HitChanges
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.tally.classes import ARM_STEP, class_of, is_enough, two_digits


def coarsen_hits(hits: HitChanges) -> PairedPatients:
    """Return the four cells of who had a match in which run, and the unpaired, as classes of an arm's patients."""
    return PairedPatients(
        **{name: class_of(getattr(hits, name), step=ARM_STEP) for name in PairedPatients.model_fields}
    )


def coarsen_forgetting(forgetting: Forgetting, *, group_sizes: Mapping[str, int]) -> PublishedForgetting:
    """Return the publishable part of a deletion certificate, without the share of the controls (a function of classes).

    Of 1 to 10 named patients nothing but the verdict over all is published: whoever asked for them to be forgotten may
    know how many they are, and a known total gives a small cell away. `group_sizes` are the patients that each health
    check rests on.
    """
    is_few = not is_enough(forgetting.named)
    patients = {} if is_few else {verdict: class_of(number) for verdict, number in forgetting.patients.items()}
    above = forgetting.leaked_before
    return PublishedForgetting(
        verdict=forgetting.verdict,
        named=class_of(forgetting.named) if is_few else _sum(patients.values()),
        patients=patients,
        before=None if is_few else LevelCounts(above=class_of(above), within=class_of(forgetting.named - above)),
        controls=_coarsen_controls(forgetting),
        controls_above_level=EstimateRange(reason=forgetting.controls_above_level.reason),
        collapsed=forgetting.collapsed,
        health=[_coarsen_check(check, group_sizes.get(check.group, 0)) for check in forgetting.health],
        # A reason is shown where somebody has it: of few named patients that is a count.
        reasons=list(forgetting.run_reasons if is_few else forgetting.reasons),
        beside=list(forgetting.beside),
        collateral={} if is_few else _coarsen_collateral(forgetting.collateral),
    )


def _sum(cells: Collection[CountRange]) -> CountRange:
    return CountRange(low=sum(cell.low for cell in cells), high=sum(cell.high for cell in cells))


def _coarsen_controls(forgetting: Forgetting) -> LevelCounts | None:
    if not forgetting.controls:
        return None
    return LevelCounts(
        above=class_of(forgetting.controls_above, step=ARM_STEP),
        within=class_of(forgetting.controls - forgetting.controls_above, step=ARM_STEP),
    )


def _coarsen_collateral(collateral: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, CountRange]]:
    return {
        group: {name: class_of(count, step=ARM_STEP) for name, count in bins.items()}
        for group, bins in collateral.items()
    }


def _coarsen_check(check: HealthCheck, patients: int) -> HealthCheck:
    """Give measured values of text to two digits where more than twenty patients stand behind them.

    A share of generations is a function of how many patients have one such generation: it is never given.
    """
    if check.unit == "tokens" and patients and is_enough(patients, step=ARM_STEP):
        values = {name: _two_digits(getattr(check, name)) for name in ("a", "b", "limit")}
        return check.model_copy(update=values)
    withheld = check.a is not None or check.b is not None
    reason = check.reason or (NOT_PUBLISHED if withheld else None)
    return check.model_copy(update={"a": None, "b": None, "limit": None, "reason": reason})


def _two_digits(value: float | None) -> float | None:
    return None if value is None else two_digits(value)
