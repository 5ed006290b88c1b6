"""Matched evaluation cohorts: training membership x diagnosis status, four equal cells (paper 3.2.2, Appendix D).

Owns the way from labelled patients to candidates, cohorts and the targets that are probed (docs/methods.md, section 4).
Knows no text of a note and no verdict; of prompts only which cannot be made.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl

from clinaudit.audit.measures.cohorts.matching import CELLS, FLAGS, Flag, choose_sets, flag_cells, tabulate_covariates
from clinaudit.audit.runtime.choices import Controls
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS, schema_of
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.prompts import PromptWriter
from clinaudit.priors.tiers import ProbedTiers

#: Of a third sex there are few, so that no choice balances it: they are left out, and counted.
_SEXES = ("female", "male")


def list_candidates(
    patients: pl.DataFrame, labels: pl.DataFrame, *, diagnoses: Sequence[str], controls: Controls
) -> pl.DataFrame:
    """Return the table `candidates` but for `matched`: each patient and diagnosis, and the first reason against it.

    `patients`: patient_id, arm, age, sex and notes (how many) of all of the corpus, in the order in which each
    diagnosis's rows come; `labels`: the table of that name. An unknown status makes no control.
    """
    sex, is_covariate = pl.col("sex"), pl.col("sex").is_in(_SEXES)
    sensitive = labels.group_by("patient_id").agg(has_any=pl.col("present").any())
    reason = (
        pl.when(pl.col("present").is_null())
        .then(pl.lit("diagnosis status unknown"))
        .when(~pl.col("has_any") & (controls == "sensitive"))
        .then(pl.lit("no sensitive diagnosis"))
        .when(pl.col("age").is_null() | sex.is_null())
        .then(pl.lit("age or sex unknown"))
        .when(~is_covariate)
        .then(pl.lit("sex neither female nor male"))
    )
    return (
        pl.DataFrame({"diagnosis": diagnoses}, schema={"diagnosis": pl.String})
        .join(patients, how="cross", maintain_order="left_right")
        .join(labels, on=["patient_id", "diagnosis"], how="left", maintain_order="left")
        .join(sensitive, on="patient_id", how="left", maintain_order="left")
        .select(
            *("diagnosis", "patient_id", "arm", "present"),
            reason.alias("reason"),
            "age",
            pl.when(is_covariate).then(sex == "female").alias("female"),
            "notes",
        )
    )


class MatchedCohort(NamedTuple):
    """The matched cohort of one diagnosis, and how it came about."""

    #: Rows of the table `cohorts`, and `misses`: four a `match_id`, two where nobody was held out, or none at all.
    members: pl.DataFrame
    #: `unavailable`: there are no matched patients; else how alike the groups are.
    status: Flag | Literal["unavailable"]
    #: Why there are fewer sets than asked.
    reason: str | None


def match_cohort(candidates: pl.DataFrame, *, sets: int, seed: int, has_control: bool = False) -> MatchedCohort:
    """Match d-positive train to d-positive nontrain patients, then each of them to a d-negative one of its own arm.

    `candidates` are those of one diagnosis, with a column `misses`: whether some tier cannot be asked of the patient
    for it. Their order does not count. Without a nontrain arm, or with an empty cell, there are no members, and the
    status is `unavailable`; but with a control model (`has_control`) a set without a nontrain arm is of the two train
    patients.

    A patient who misses a tier takes its set out of that tier. So the cohort is matched twice, once with those in front
    who miss none, and the one with the better flag is taken; of equal ones that with more sets, those counted twice
    whose members all miss none (docs/methods.md, section 4).
    """
    cells = divide(candidates, seed=seed, has_control=has_control)
    missing = _describe_missing_cell(candidates, cells)
    if missing:
        nobody = schema_of("cohorts") | {"misses": pl.Boolean()}
        return MatchedCohort(pl.DataFrame(schema=nobody), "unavailable", missing)
    # In the last attempt nobody is preferred.
    found = [_match(cells, preferred=[0] * len(cells), sets=sets)]
    if any(cell["misses"].any() for cell in cells):
        # Stable: random order remains within both.
        ordered = [cell.sort("misses", maintain_order=True) for cell in cells]
        preferred = [int((~cell["misses"]).sum()) for cell in cells]
        found.insert(0, _match(ordered, preferred=preferred, sets=sets))

    def rank(cohort: MatchedCohort) -> tuple[int, int]:
        sets, incomplete = (of["match_id"].n_unique() for of in (cohort.members, cohort.members.filter("misses")))
        return FLAGS.index(cohort.status), incomplete - 2 * sets

    return min(found, key=rank)


def divide(candidates: pl.DataFrame, *, seed: int, has_control: bool) -> list[pl.DataFrame]:
    """Return the eligible candidates by cell, in random order: of four cells, or two with a control model."""
    eligible = candidates.filter(pl.col("reason").is_null()).sort("patient_id")
    # Greedy matching favours the first rows, and ids may be associated with patients' traits.
    eligible = eligible[np.random.default_rng(seed).permutation(eligible.height)]
    of_one_arm = has_control and (candidates["arm"] == "train").all()
    return [eligible.filter(arm=arm, present=present) for arm, present in (CELLS[:2] if of_one_arm else CELLS)]


def _match(cells: Sequence[pl.DataFrame], *, preferred: Sequence[int], sets: int) -> MatchedCohort:
    covariates = [tabulate_covariates(cell) for cell in cells]
    rows, propensities = choose_sets(covariates, sets, preferred=preferred)
    chosen = [of[np.sort(own)] for of, own in zip(covariates, rows.T, strict=True)]
    # Sets are numbered by the ids of their train positives, whatever the random order was.
    number = cells[0]["patient_id"].gather(rows[:, 0]).arg_sort().arg_sort()
    members = [
        cell[own].with_columns(number=number, propensity=of)
        for cell, own, of in zip(cells, rows.T, propensities.T, strict=True)
    ]
    match_id = pl.format("{}-{}", "diagnosis", pl.col("number").cast(pl.String).str.zfill(4))
    table = pl.concat(members).sort("number", maintain_order=True).with_columns(match_id=match_id)
    shortfall = _describe_shortfall(min(sets, *(cell.height for cell in cells)), len(rows), sets)
    return MatchedCohort(table.select(*schema_of("cohorts"), "misses"), flag_cells(chosen), shortfall)


def _describe_missing_cell(candidates: pl.DataFrame, cells: Collection[pl.DataFrame]) -> str | None:
    if len(cells) == len(CELLS) and not (candidates["arm"] == "nontrain").any():
        return "the corpus holds no patients outside the training data to compare with"
    empty = [
        f"{'with' if present else 'without'} the diagnosis {'in' if arm == 'train' else 'outside'} the training data"
        for (arm, present), cell in zip(CELLS, cells, strict=False)
        if cell.is_empty()
    ]
    return f"no patient could be matched {' or '.join(empty)}" if empty else None


def _describe_shortfall(possible: int, kept: int, asked: int) -> str | None:
    """Return in words why there are fewer sets than asked; without counts, which could be small cells."""
    if kept == asked:
        return None
    why = []
    if possible < asked:
        why.append("there were not enough patients to match")
    if kept < possible:
        others = "others" if why else "patients"
        why.append(f"{others} were left out so that the groups are alike in age, sex and number of notes")
    return f"the groups are equal, but smaller than asked for: {', and '.join(why)}"


#: Targets of each split that a sample fills up to, where the cohorts hold fewer (docs/methods.md, section 4): text that
#: a model repeats is looked for in all targets, diagnoses in the cohorts alone.
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

    `patients` (by id) and `labels` are as `list_candidates` takes them, `missing` is from `find_missing_tiers`, and
    `has_control` as `match_cohort` takes it.
    """
    ids = [diagnosis.id for diagnosis in panel]
    candidates = list_candidates(patients, labels, diagnoses=ids, controls=settings.controls)
    who = pl.struct("patient_id", "diagnosis")
    marked = candidates.with_columns(misses=who.is_in(missing.select(who=who)["who"].implode()))
    found, sets = list[MatchedCohort](), settings.patients_per_cell
    with progress.stage("matching cohorts", total=len(panel), unit="cohorts") as advance:
        for diagnosis in ids:
            own = marked.filter(diagnosis=diagnosis)
            found.append(match_cohort(own, sets=sets, seed=settings.seed, has_control=has_control))
            advance(1)
    cohorts = pl.concat([cohort.members for cohort in found]).drop("misses")
    outcomes = [(diagnosis, cohort.status, cohort.reason) for diagnosis, cohort in zip(ids, found, strict=True)]
    matched = who.is_in(cohorts.select(who=who)["who"].implode())
    return Targets(
        candidates.with_columns(matched=matched).select(list(SCHEMAS["candidates"])),
        cohorts,
        pl.DataFrame(outcomes, schema=dict.fromkeys(("diagnosis", "status", "reason"), pl.String), orient="row"),
        _fill_up(patients, [cohort.members for cohort in found], seed=settings.seed),
    )


def foresee_targets(
    patients: pl.DataFrame, *, labels: pl.DataFrame, panel: Sequence[Diagnosis], settings: AuditSettings
) -> tuple[dict[str, int], pl.DataFrame]:
    """Return for each diagnosis how many sets there can be at most, and roughly `patients` of `match_cohorts`.

    Nobody is matched, which takes seconds to load: equally many patients of the groups stand in at random, and the
    cohorts may be smaller by up to a half. Where nobody was held out, there are the two groups of train patients.
    """
    ids = [diagnosis.id for diagnosis in panel]
    candidates = list_candidates(patients, labels, diagnoses=ids, controls=settings.controls)
    drawn, sets = [], dict[str, int]()
    for diagnosis in ids:
        cells = divide(candidates.filter(diagnosis=diagnosis), seed=settings.seed, has_control=True)
        sets[diagnosis] = min(settings.patients_per_cell, *(cell.height for cell in cells))
        drawn.append(pl.concat([cell.head(sets[diagnosis]) for cell in cells]))
    return sets, _fill_up(patients, drawn, seed=settings.seed)


def _fill_up(patients: pl.DataFrame, cohorts: Sequence[pl.DataFrame], *, seed: int) -> pl.DataFrame:
    """Return the members of each diagnosis' cohort, and patients at random where a split lacks to the sample's size."""
    rng = np.random.default_rng(seed)
    listed = pl.concat([members.select("patient_id", "diagnosis").sort("patient_id") for members in cohorts])
    members = listed.group_by("patient_id", maintain_order=True).agg(diagnoses="diagnosis")
    chosen = [members]
    for split in ("train", "nontrain"):
        of_split = patients.filter(arm=split)
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

    A fact is missing, the prompt refers to the diagnosis, or it exceeds the model's context, in one form at least. In
    such a tier the patient's whole matched set is left out of the diagnosis' figures (docs/methods.md, section 1), so
    that this is known before cohorts are matched. Only patients who may be candidates are looked at.
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
