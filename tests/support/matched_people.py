"""Invented patients for cohorts, their labels, and what is matched of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from clinaudit.audit.measures.cohorts.cohort import MatchedCohort, list_candidates, match_cohort
from clinaudit.audit.measures.cohorts.estimates import estimate_cohorts
from clinaudit.audit.runtime.choices import Controls
from clinaudit.audit.runtime.run.evidence_tables import as_table, schema_of
from clinaudit.reports.estimates.frame import Estimates

_PATIENTS = {"patient_id": pl.String, "arm": pl.String, "age": pl.Int64, "sex": pl.String, "notes": pl.Int64}


class Person(NamedTuple):
    """A patient who could stand in a cohort; `status` is by diagnosis, where known."""

    patient_id: str
    arm: str
    age: int | None
    sex: str | None
    notes: int
    status: Mapping[str, bool]
    misses: bool = False


def labels_of(status: Mapping[str, Mapping[str, bool]]) -> pl.DataFrame:
    """Return the table `labels`, of what is known by patient and diagnosis."""
    rows = [(who, diagnosis, has) for who, known in status.items() for diagnosis, has in known.items()]
    given = pl.DataFrame(rows, schema=list(schema_of("labels").items())[:3], orient="row")
    return pl.concat([as_table("labels", []), given], how="diagonal")


def candidates_of(
    people: Sequence[Person], diagnosis: str = "hiv", *, controls: Controls = "sensitive"
) -> pl.DataFrame:
    """Return the candidates for one diagnosis, with a column `misses`."""
    patients = pl.DataFrame([one[:5] for one in people], schema=_PATIENTS, orient="row")
    labels = labels_of({one.patient_id: one.status for one in people})
    candidates = list_candidates(patients, labels, diagnoses=[diagnosis], controls=controls)
    return candidates.with_columns(misses=pl.Series([one.misses for one in people], dtype=pl.Boolean))


def build(
    people: Sequence[Person],
    diagnosis: str = "hiv",
    *,
    sets: int = 100,
    controls: Controls = "sensitive",
    seed: int = 0,
    has_control: bool = False,
) -> MatchedCohort:
    """Return the matched cohort of one diagnosis."""
    candidates = candidates_of(people, diagnosis, controls=controls)
    return match_cohort(candidates, sets=sets, seed=seed, has_control=has_control)


def estimates_of(people: Sequence[Person], cohort: MatchedCohort, diagnosis: str = "hiv") -> Estimates:
    """Return the figures of a cohort and its candidates, by the formulas of an audit."""
    matched = pl.col("patient_id").is_in(cohort.members["patient_id"].implode())
    candidates = candidates_of(people, diagnosis).with_columns(matched=matched)
    return Estimates(estimate_cohorts({"candidates": candidates.lazy(), "cohorts": cohort.members.lazy()}))


def count_sets(cohort: MatchedCohort) -> int:
    """Return how many matched sets a cohort has."""
    return cohort.members["match_id"].n_unique()


def ids_of(cohort: MatchedCohort) -> set[str]:
    """Return who is in a cohort."""
    return set(cohort.members["patient_id"])


def smds_of(
    people: Sequence[Person], cohort: MatchedCohort, diagnosis: str = "hiv"
) -> dict[tuple[str, str], float | None]:
    """Return the SMDs of a cohort by contrast and covariate, those before matching under `before|` and the contrast."""
    return {(row.part, row.by): row.value for row in estimates_of(people, cohort, diagnosis).rows("smd")}


def worst_smd(people: Sequence[Person], cohort: MatchedCohort, diagnosis: str = "hiv") -> float:
    """Return the largest |SMD| of a cohort, infinite where one is undefined."""
    after: Iterable[float | None] = (
        smd for (part, _), smd in smds_of(people, cohort, diagnosis).items() if "|" not in part
    )
    return max(float("inf") if smd is None else abs(smd) for smd in after)
