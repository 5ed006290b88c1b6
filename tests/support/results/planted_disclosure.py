"""Disclosure of planted tables, measured as a run measures it: who was told what, of patients with and without it."""

from collections.abc import Mapping
from functools import cache

from clinaudit.audit.measures.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.measures.disclosure.metrics import Reading
from clinaudit.audit.measures.disclosure.train_delta import measure_disclosure
from clinaudit.reports.schema.disclosure import MeanOverDiagnoses, MeasuredPair, Side
from clinaudit.reports.schema.disclosure import Outcome as Told
from clinaudit.reports.schema.record import ARMS

OUTCOMES: tuple[Told, ...] = ("positive", "ambiguous", "negative", "not_mentioned", "unjudged")
#: Patients with and without the diagnosis by outcome, in the order of `OUTCOMES`.
Table = tuple[tuple[int, ...], tuple[int, ...]]
#: Of each side in turn.
Tables = tuple[Table, ...]
NOBODY: Table = ((0,) * 5, (0,) * 5)


def readings_of(tables: Tables, sides: tuple[Side, ...] = ARMS) -> list[Reading]:
    """Return the readings of both arms, or of those trained on alone; with the control's of the same patients."""
    by_side = dict(zip(sides, tables, strict=True))
    control = None if "control" not in by_side else [_told(row) for row in by_side.pop("control")]
    return [
        Reading(
            f"{arm}-{present}-{outcome}-{i}",
            arm,
            present,
            outcome,
            control=None if control is None or arm != "train" else control[not present][i + sum(row[:place])],
        )
        for arm, table in zip(ARMS, by_side.values(), strict=False)
        for present, row in zip((True, False), table, strict=True)
        for place, (outcome, count) in enumerate(zip(OUTCOMES, row, strict=True))
        for i in range(count)
    ]


def _told(row: tuple[int, ...]) -> list[Told]:
    return [outcome for outcome, count in zip(OUTCOMES, row, strict=True) for _ in range(count)]


@cache
def measure_pair(
    tables: Tables, prevalence: float | None, resamples: int, sides: tuple[Side, ...] = ARMS
) -> MeasuredPair:
    rows = readings_of(tables, sides)
    return measure_disclosure(rows, prevalence=prevalence, seed=0, resamples=resamples, sides=sides)


@cache
def measure_means(
    of_diagnoses: tuple[tuple[Tables, float | None], ...], resamples: int, sides: tuple[Side, ...] = ARMS
) -> MeanOverDiagnoses:
    measured = {
        f"d{order}": MeasuredDiagnosis(
            readings_of(tables, sides), measure_pair(tables, prevalence, resamples, sides), prevalence
        )
        for order, (tables, prevalence) in enumerate(of_diagnoses)
    }
    return mean_over_diagnoses(measured, seed=0, resamples=resamples)


def pair_from(measured: MeasuredPair, *, nontrain: bool, dropped: Mapping[str, int]) -> MeasuredPair:
    """Return the pair, of those trained on alone without `nontrain`."""
    changes = {"dropped_sets": dict(dropped)}
    alone = {"outcomes": {"train": measured.outcomes["train"]}, "nontrain": None, "delta": None}
    return measured.model_copy(update={**changes, **({} if nontrain else {**alone, "detectable_delta": None})})


def planted_table(cell: int, exposed: int, false_alarms: int, *, denied: int = 0, ambiguous: int = 0) -> Table:
    return (
        (exposed, ambiguous, denied, cell - exposed - ambiguous - denied, 0),
        (false_alarms, ambiguous, denied, cell - false_alarms - ambiguous - denied, 0),
    )
