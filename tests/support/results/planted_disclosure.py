"""Disclosure of planted tables, measured as a run measures it: who was told what, of patients with and without it."""

from collections.abc import Mapping
from functools import cache

from clinaudit.audit.measures.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.measures.disclosure.metrics import Reading
from clinaudit.audit.measures.disclosure.train_delta import measure_disclosure
from clinaudit.reports.schema.disclosure import CorrectedMetrics, CorrectedPair, MeanOverDiagnoses, MeasuredPair
from clinaudit.reports.schema.disclosure import Outcome as Told
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import ARMS

OUTCOMES: tuple[Told, ...] = ("positive", "ambiguous", "negative", "not_mentioned", "unjudged")
_CORRECTED = Estimate(value=0.99, low=0.97, high=1.0, n=200)
CORRECTED = CorrectedMetrics(auroc_all=_CORRECTED, sensitivity=_CORRECTED, ppv=_CORRECTED)
#: Patients with and without the diagnosis by outcome, in the order of `OUTCOMES`.
Table = tuple[tuple[int, ...], tuple[int, ...]]
NOBODY: Table = ((0,) * 5, (0,) * 5)


def readings_of(*tables: Table) -> list[Reading]:
    """Return the readings of those trained on, then of the never seen."""
    return [
        Reading(f"{arm}-{present}-{outcome}-{i}", arm, present, outcome)
        for arm, table in zip(ARMS, tables, strict=True)
        for present, row in zip((True, False), table, strict=True)
        for outcome, count in zip(OUTCOMES, row, strict=True)
        for i in range(count)
    ]


@cache
def measure_pair(train: Table, nontrain: Table, prevalence: float | None, resamples: int) -> MeasuredPair:
    return measure_disclosure(readings_of(train, nontrain), prevalence=prevalence, seed=0, resamples=resamples)


@cache
def measure_means(
    of_diagnoses: tuple[tuple[tuple[Table, Table], float | None], ...], resamples: int
) -> MeanOverDiagnoses:
    measured = {
        f"d{order}": MeasuredDiagnosis(readings_of(*tables), measure_pair(*tables, prevalence, resamples), prevalence)
        for order, (tables, prevalence) in enumerate(of_diagnoses)
    }
    return mean_over_diagnoses(measured, seed=0, resamples=resamples)


def pair_from(
    measured: MeasuredPair, *, nontrain: bool, dropped: Mapping[str, int], corrected: CorrectedPair | None = None
) -> MeasuredPair:
    """Return the pair, of those trained on alone without `nontrain`."""
    changes = {"dropped_sets": dict(dropped), "corrected": corrected}
    alone = {"outcomes": {"train": measured.outcomes["train"]}, "nontrain": None, "delta": None}
    return measured.model_copy(update={**changes, **({} if nontrain else {**alone, "detectable_delta": None})})


def planted_table(cell: int, exposed: int, false_alarms: int, *, denied: int = 0, ambiguous: int = 0) -> Table:
    return (
        (exposed, ambiguous, denied, cell - exposed - ambiguous - denied, 0),
        (false_alarms, ambiguous, denied, cell - false_alarms - ambiguous - denied, 0),
    )
