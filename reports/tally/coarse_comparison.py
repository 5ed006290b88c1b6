"""What may be published of an exact comparison: its counts of patients as classes (docs/comparing-runs.md).

The only module that reads exact comparison records and returns anything publishable. Everything else of a published
comparison is made of both runs' published results. p-values and paired intervals stay in the evidence.
"""

from collections.abc import Mapping, Sequence

from clinaudit.reports.schema.comparison import NOT_PUBLISHED, Forgetting, HealthCheck, LevelCounts, PairedPatients
from clinaudit.reports.schema.numbers import CountRange, EstimateRange, add
from clinaudit.reports.tally.classes import ARM_STEP, STEP, class_of, is_enough, two_digits


def coarsen_hits(hits: PairedPatients) -> PairedPatients:
    """Return the four cells of who had a match in which run, and the unpaired, as classes of an arm's patients."""
    counts = {name: of for name, of in iter(hits) if isinstance(of, CountRange)}
    return PairedPatients(**{name: _class_of(of, step=ARM_STEP) for name, of in counts.items()})


def _class_of(count: CountRange, *, step: int = STEP) -> CountRange:
    if count.low != count.high:
        raise ValueError("a count that is a class already")
    return class_of(count.low, step=step)


def coarsen_forgetting(
    forgetting: Forgetting, *, group_sizes: Mapping[str, int], run_reasons: Sequence[str] = ()
) -> Forgetting:
    """Return the publishable part of a deletion certificate, without the share of the controls (a function of classes).

    Of 1 to 10 named patients nothing but the verdict over all is published: whoever asked for them to be forgotten may
    know how many they are, and a known total gives a small cell away. `group_sizes` are the patients that each health
    check rests on; `run_reasons` those reasons that are true of the runs, whoever is named.
    """
    is_few = not is_enough(forgetting.named.low)
    patients = {} if is_few else {verdict: _class_of(number) for verdict, number in forgetting.patients.items()}
    return Forgetting(
        verdict=forgetting.verdict,
        named=_class_of(forgetting.named) if is_few else add(patients.values()),
        patients=patients,
        before=None if is_few else _coarsen_level(forgetting.before, step=STEP),
        controls=_coarsen_level(forgetting.controls, step=ARM_STEP),
        controls_above_level=EstimateRange(reason=forgetting.controls_above_level.reason),
        collapsed=forgetting.collapsed,
        is_trained_again=forgetting.is_trained_again,
        health=[_coarsen_check(check, group_sizes.get(check.group, 0)) for check in forgetting.health],
        # A reason is shown where somebody has it: of few named patients that is a count.
        reasons=list(run_reasons if is_few else forgetting.reasons),
        beside=list(forgetting.beside),
        collateral={} if is_few else _coarsen_collateral(forgetting.collateral),
    )


def _coarsen_level(counts: LevelCounts | None, *, step: int) -> LevelCounts | None:
    if counts is None:
        return None
    return LevelCounts(above=_class_of(counts.above, step=step), within=_class_of(counts.within, step=step))


def _coarsen_collateral(collateral: Mapping[str, Mapping[str, CountRange]]) -> dict[str, dict[str, CountRange]]:
    return {
        group: {name: _class_of(count, step=ARM_STEP) for name, count in bins.items()}
        for group, bins in collateral.items()
    }


def _coarsen_check(check: HealthCheck, patients: int) -> HealthCheck:
    """Give measured values of text to two digits where more than twenty patients stand behind them.

    A share of generations is a function of how many patients have one such generation: it is never given.
    """
    if check.unit == "tokens" and patients and is_enough(patients, step=ARM_STEP):
        values = {name: getattr(check, name) for name in ("a", "b", "limit")}
        return check.model_copy(
            update={name: None if value is None else two_digits(value) for name, value in values.items()}
        )
    withheld = check.a is not None or check.b is not None
    reason = check.reason or (NOT_PUBLISHED if withheld else None)
    return check.model_copy(update={"a": None, "b": None, "limit": None, "reason": reason})
