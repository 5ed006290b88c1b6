"""The cohort stage: matched cohorts, whose members are the targets that are probed (paper 3.2.2, Appendix D).

Owns the way from labelled patients to targets, the sample that fills them up where the cohorts are small (text that a
model repeats is looked for in all targets, diagnoses in the cohorts alone).
Before cohorts are matched it finds the tiers at which nothing can be asked of a patient for a diagnosis: a fact is
missing, the prompt refers to the diagnosis, or it exceeds the model's context. In such a tier the patient's whole
matched set is left out of the diagnosis' figures (docs/methods.md, section 1).
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from clinaudit.audit.measures.cohorts.cohort import divide, list_candidates, match_cohort
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import PromptWriter
from clinaudit.priors.renderings import ProbedTiers

#: Targets of each split that a sample fills up to, where the cohorts hold fewer (docs/methods.md, section 4).
SAMPLE_SIZE = 200
_MISSING: Final = {"patient_id": pl.String, "diagnosis": pl.String, "tier": pl.String}


class Targets(NamedTuple):
    """Who is probed, and the cohorts that they are of."""

    #: The tables of these names.
    candidates: pl.DataFrame
    cohorts: pl.DataFrame
    #: What became of each diagnosis' cohort: diagnosis, status, reason.
    outcomes: pl.DataFrame
    #: Who is probed: patient_id, and the diagnoses of the cohorts it is in, none for a patient of the sample.
    patients: pl.DataFrame


def match_cohorts(
    patients: pl.DataFrame,
    *,
    labels: pl.DataFrame,
    panel: Sequence[Diagnosis],
    settings: AuditSettings,
    has_control: bool,
    missing: pl.DataFrame,
    progress: Progress,
) -> Targets:
    """Match a cohort for each diagnosis of the panel, and fill the targets of each split up at random (seeded).

    `patients` are all of the corpus, sorted by id, with the columns arm, age, sex and notes (how many); `labels` is the
    table of that name, `missing` as from `find_missing_tiers`. Patients of whom no tier is missing for a diagnosis are
    preferred for its cohort. Where the control model answers, too (`has_control`), and nobody was held out, those
    trained on are matched among themselves.
    """
    ids = [diagnosis.id for diagnosis in panel]
    candidates = list_candidates(patients, labels, diagnoses=ids, controls=settings.controls)
    who = ["patient_id", "diagnosis"]
    missed = missing.select(who).unique().with_columns(misses=pl.lit(value=True))
    marked = candidates.join(missed, on=who, how="left", maintain_order="left").with_columns(
        pl.col("misses").fill_null(value=False)
    )
    found = []
    with progress.stage("matching cohorts", total=len(panel), unit="cohorts") as advance:
        for diagnosis in ids:
            found.append(
                match_cohort(
                    marked.filter(pl.col("diagnosis") == diagnosis),
                    sets=settings.patients_per_cell,
                    seed=settings.seed,
                    refined=not settings.no_refine,
                    has_control=has_control,
                )
            )
            advance(1)
    cohorts = pl.concat([cohort.members for cohort in found]).drop("misses")
    matched = cohorts.select(*who, matched=pl.lit(value=True))
    outcomes = [(diagnosis, cohort.status, cohort.reason) for diagnosis, cohort in zip(ids, found, strict=True)]
    return Targets(
        candidates.join(matched, on=who, how="left", maintain_order="left")
        .with_columns(pl.col("matched").fill_null(value=False))
        .select(list(SCHEMAS["candidates"])),
        cohorts,
        pl.DataFrame(outcomes, schema=dict.fromkeys(("diagnosis", "status", "reason"), pl.String), orient="row"),
        _fill_up(patients, [cohort.members for cohort in found], seed=settings.seed),
    )


def foresee_targets(
    patients: pl.DataFrame, *, labels: pl.DataFrame, panel: Sequence[Diagnosis], settings: AuditSettings
) -> tuple[dict[str, int], pl.DataFrame]:
    """Return for each diagnosis how many sets there can be at most, and roughly `patients` of `match_cohorts`.

    Nobody is matched, which takes seconds to load: equally many patients of the groups stand in at random, and the
    cohorts may be smaller by up to a half (`clinaudit.audit.measures.cohorts.balance`). Where nobody was held out,
    there are the two groups that are matched where a control model answers.
    """
    ids = [diagnosis.id for diagnosis in panel]
    candidates = list_candidates(patients, labels, diagnoses=ids, controls=settings.controls)
    drawn = []
    sets = {}
    for diagnosis in ids:
        cells = divide(candidates.filter(pl.col("diagnosis") == diagnosis), seed=settings.seed, has_control=True)
        sets[diagnosis] = min(settings.patients_per_cell, *(cell.height for cell in cells))
        drawn += [pl.concat([cell.head(sets[diagnosis]) for cell in cells])]
    return sets, _fill_up(patients, drawn, seed=settings.seed)


def _fill_up(patients: pl.DataFrame, cohorts: Sequence[pl.DataFrame], *, seed: int) -> pl.DataFrame:
    """Return the members with their diagnoses, and patients at random, as many as a split lacks to the sample's size.

    Both are in the order of the diagnoses and then of ids; `cohorts` holds the members of each diagnosis.
    """
    rng = np.random.default_rng(seed)
    members = (
        pl.concat([members.select("patient_id", "diagnosis").sort("patient_id") for members in cohorts])
        .group_by("patient_id", maintain_order=True)
        .agg(diagnoses="diagnosis")
    )
    chosen = [members]
    for split in ("train", "nontrain"):
        of_split = patients.filter(pl.col("arm") == split)
        others = of_split.join(members, on="patient_id", how="anti", maintain_order="left")
        lacking = max(0, SAMPLE_SIZE - (of_split.height - others.height))
        sample = others[np.sort(rng.permutation(others.height)[:lacking])]
        chosen.append(sample.select("patient_id", diagnoses=pl.lit([], pl.List(pl.String))))
    return pl.concat(chosen)


def find_missing_tiers(
    facts: Mapping[str, PatientFacts],
    *,
    labels: pl.DataFrame,
    panel: Sequence[Diagnosis],
    probed: ProbedTiers,
    writer: PromptWriter,
    progress: Progress,
) -> pl.DataFrame:
    """Return which of the tiers asked cannot be made, of whom and for which diagnosis: patient_id, diagnosis, tier.

    A tier with two forms counts as missing if either cannot be made. Only patients who may be candidates are
    looked at: of known age and sex, and of known status for a diagnosis.
    """
    asked = [(tier, form) for tier in probed.tiers for form in probed.written_forms]
    known_status = labels.filter(
        pl.col("present").is_not_null(), pl.col("diagnosis").is_in([diagnosis.id for diagnosis in panel])
    )
    diagnoses_of = dict(known_status.group_by("patient_id", maintain_order=True).agg("diagnosis").iter_rows())
    rows: list[tuple[str, str, str]] = []
    with progress.stage("finding who can be asked", total=len(facts), unit="patients") as advance:
        for patient_id, known in facts.items():
            diagnoses = diagnoses_of.get(patient_id)
            if diagnoses and known.age is not None and known.sex:
                rows += [
                    (patient_id, diagnosis, tier.id)
                    for tier, form in asked
                    for prior in writer.write(known, tier, diagnoses, form)
                    if prior.excluded
                    for diagnosis in prior.diagnoses
                ]
            advance(1)
    return pl.DataFrame(rows, schema=_MISSING, orient="row").unique(maintain_order=True)
