"""Populations of the corpus from their tallies (docs/results.md, "corpus")."""

import math
from collections.abc import Mapping

from clinaudit.audit.statistics.counts import common_total, ranged, share_range
from clinaudit.reports.schema.corpus import PopulationResults
from clinaudit.reports.schema.numbers import CountRange, EstimateRange, add
from clinaudit.reports.tally.classes import MeanClass
from clinaudit.reports.tally.tally import PopulationTally


def derive_population(tally: PopulationTally, *, is_exact: bool) -> PopulationResults:
    """Return a split, or a cohort."""
    partitions = {"age_bands": tally.age_bands.cells, "sex": tally.sex.cells, "race": tally.race.cells}
    patients = common_total(list(cells.values()) for cells in partitions.values())
    practices, visited = (
        None if count is None else count.range for count in (tally.practices.value, tally.practice_patients.value)
    )
    return PopulationResults(
        patients=patients,
        notes=tally.notes.value,
        tokens=tally.tokens.value,
        **{name: figure.value for name, figure in tally.text.items()},
        practices=practices,
        notes_per_practice=None
        if practices is None
        else _notes_per_practice(tally, patients, practices, is_exact=is_exact),
        patients_per_practice=None if practices is None or visited is None else _quotient(visited, practices),
        age=_mean_age(tally.age_bands.mean),
        **{name: dict(cells) for name, cells in partitions.items()},
        shares={name: derive_shares(cells, patients) for name, cells in partitions.items()},
        evidence=tally.evidence.value,
    )


def _mean_age(mean: MeanClass | None) -> EstimateRange:
    """Return a mean in whole years, or its range."""
    if mean is None:
        return EstimateRange(reason="not measured")
    estimate = ranged(mean.low, mean.high)
    return estimate if mean.whole is None else estimate.model_copy(update={"value": mean.whole})


def derive_shares(cells: Mapping[str, CountRange], total: CountRange | None) -> dict[str, EstimateRange]:
    """Return the share of each cell of a partition."""
    others = {name: add(count for other, count in cells.items() if other != name) for name in cells}
    return {name: share_of_all(count, others[name], total=total) for name, count in cells.items()}


def share_of_all(part: CountRange, rest: CountRange, *, total: CountRange | None = None) -> EstimateRange:
    """Return the range of a share without an interval: it is of the whole corpus or cohort, and nothing was drawn."""
    return without_interval(share_range(part, rest, total=total))


def without_interval(share: EstimateRange) -> EstimateRange:
    """Return a share alone."""
    return share.model_copy(update={"confidence_low": None, "confidence_high": None})


def _notes_per_practice(
    tally: PopulationTally, patients: CountRange, practices: CountRange, *, is_exact: bool
) -> EstimateRange:
    """Return notes a practice: notes a patient, to two digits, times patients, over practices."""
    per_patient = tally.text["notes_per_patient"].value
    if per_patient is None:
        return EstimateRange(reason="few patients")
    if not tally.is_placed:
        return EstimateRange(reason="some notes name no practice")
    half = 0.0 if is_exact else 0.5 * 10.0 ** (math.floor(math.log10(per_patient) + 1e-12) - 1)
    ends = _quotient(patients, practices)
    if ends.low is None or ends.high is None:
        return ends
    return ranged((per_patient - half) * ends.low, (per_patient + half) * ends.high)


def _quotient(part: CountRange, whole: CountRange) -> EstimateRange:
    if not whole.low:
        return EstimateRange(reason="there was nothing to count")
    return ranged(part.low / whole.high, part.high / whole.low)
