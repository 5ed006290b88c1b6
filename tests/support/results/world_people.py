"""The patients of a world as the corpus has them: their description, the balance of cohorts, subgroups.

Knows nothing of generations, nor of what is published.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from scipy.special import ndtri
from support.results.random_worlds import AGES, ARMS, GROUPS, MISSING, REFERS, ROWS, UNSURE, World
from support.results.world_memorization import fill, list_groups, list_metrics, repeat_groups, spread_evenly

from clinaudit.audit.cohorts.balance import Flag, measure_balance
from clinaudit.audit.cohorts.propensity import Covariates
from clinaudit.audit.disclosure.readings import Reading
from clinaudit.audit.population.description import UNKNOWN, describe_population
from clinaudit.audit.population.subgroups import measure_subgroups as measure_groups
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts
from clinaudit.reports.exact.cohorts import BalanceRow, CohortSummary
from clinaudit.reports.exact.corpus import PopulationSummary
from clinaudit.reports.exact.groups import OverlapBin, Subgroups
from clinaudit.reports.exact.results import StageCompleteness
from clinaudit.reports.schema.numbers import Estimate

#: The bands' ages where none is known.
_NO_AGES = (0, 0)
#: Mean and standard deviation of the covariates.
_COVARIATES = {"age": (52.0, 16.0), "notes": (14.0, 6.0)}


def measure_population(world: World, name: str) -> PopulationSummary:
    """Return the description of a split (an arm's name) or of a cohort (a diagnosis)."""

    def list_groups_of(partition: str) -> list[str]:
        groups = GROUPS[partition]
        return repeat_groups(groups, [world.value(world.population(name, partition, group)) for group in groups])

    sexes, races, bands = (list_groups_of(partition) for partition in ("sex", "race", "age"))
    patients = len(sexes)
    ends = [AGES.get(band, _NO_AGES) for band in bands]
    ages = fill(world.counts[f"age/sum/{name}"], [low for low, _ in ends], [high for _, high in ends])
    is_split = name in ARMS
    notes = spread_evenly(world.counts[f"notes/{name}"] if is_split else 4 * patients, patients)
    tokens = spread_evenly(world.counts[f"tokens/{name}"] if is_split else 4000 * patients, patients)
    ids = [str(i) for i in range(patients)]
    note = SimpleNamespace(practice="practice")
    by_id = {
        patient_id: SimpleNamespace(race=None if race == UNKNOWN else race)
        for patient_id, race in zip(ids, races, strict=True)
    }
    corpus = SimpleNamespace(
        notes_of=lambda patient_id: [note] * notes[int(patient_id)], patient=lambda patient_id: by_id[patient_id]
    )
    facts = {
        patient_id: SimpleNamespace(sex=sex, age=None if band == UNKNOWN else age)
        for patient_id, sex, band, age in zip(ids, sexes, bands, ages, strict=True)
    }
    return describe_population(
        ids,
        corpus=cast("Corpus", corpus),
        facts=cast("dict[str, PatientFacts]", facts),
        tokens=dict(zip(ids, tokens, strict=True)),
    )


def measure_completeness(world: World) -> dict[str, StageCompleteness]:
    """Return what was planned, done and excluded: prompts, generations, verdicts."""
    planned = sum(
        # Of whom the model refused to answer, they were asked about all the same.
        world.value(world.patients(tier, arm)) + world.counts[f"mem/{tier}/{arm}/refused"]
        for tier in world.tiers
        for arm in ARMS
    )
    excluded = {}
    for tier in world.tiers:
        excluded[f"{tier}: {MISSING}"] = sum(world.counts[f"total/missing/{tier}/{arm}"] for arm in ARMS)
        excluded[f"{tier}: {REFERS}"] = sum(
            world.counts[f"pair/{d}/{tier}/own/{REFERS}/{arm}"] for d in world.diagnoses for arm in ARMS
        )
    verdicts = sum(
        4 * world.counts[f"total/cell/{d}"] - world.value(world.own(d, tier))
        for d in world.diagnoses
        for tier in world.tiers
    )
    return {
        "priors": StageCompleteness(
            planned=planned, done=planned, failed=0, excluded={why: count for why, count in excluded.items() if count}
        ),
        "generations": StageCompleteness(planned=planned, done=planned, failed=0),
        "judgements": StageCompleteness(planned=verdicts, done=verdicts, failed=0),
    }


def measure_prevalence(world: World, diagnosis: str) -> Estimate:
    """Return the share of d-positives among the train candidates."""
    positive, negative = (world.counts[f"candidates/{diagnosis}/train/{row}"] for row in ROWS)
    return wilson(positive, positive + negative)


def measure_cohort(world: World, diagnosis: str) -> CohortSummary:
    """Return the summary of a matched cohort, with the balance of its covariates."""
    cell = world.counts[f"total/cell/{diagnosis}"]
    excluded = {reason: world.counts[f"excluded/{diagnosis}/{reason}"] for reason in UNSURE}
    balance = measure_balance(
        [_covariates(world, diagnosis, arm, row, cell, "") for arm in ARMS for row in ROWS],
        [
            _covariates(world, diagnosis, arm, row, world.counts[f"candidates/{diagnosis}/{arm}/{row}"], "_before")
            for arm in ARMS
            for row in ROWS
        ],
    )
    return CohortSummary(
        status=_worst_flag(balance),
        reason=None,
        matcher="psm",
        prevalence=measure_prevalence(world, diagnosis),
        cells={f"{arm}_{status}": cell for arm in ARMS for status in ("positive", "negative")},
        balance=balance,
        excluded={reason: count for reason, count in excluded.items() if count},
        overlap=[
            OverlapBin(
                arm=arm,
                low=0.0,
                high=1.0,
                positive_candidates=world.counts[f"candidates/{diagnosis}/{arm}/1"],
                negative_candidates=world.counts[f"candidates/{diagnosis}/{arm}/0"],
                positive_matched=cell,
                negative_matched=cell,
            )
            for arm in ARMS
        ],
    )


def _worst_flag(balance: Sequence[BalanceRow]) -> Flag:
    order: tuple[Flag, ...] = ("balanced", "imbalanced", "poorly_matched")
    return max((row.flag for row in balance), key=order.index)


def _covariates(world: World, diagnosis: str, arm: str, row: str, size: int, when: str) -> Covariates:
    """Return age, 1 for female, and number of notes of the members (or candidates) of one cell: `(size, 3)`."""
    columns: dict[str, Any] = {"sex": np.arange(size) < world.counts[f"female{when}/{diagnosis}/{arm}/{row}"]}
    profile = ndtri((np.arange(size) + 0.5) / size)
    # Of one spread whatever the size: the SMD is the difference of the shifts.
    profile /= profile.std(ddof=1)
    for covariate, (mean, spread) in _COVARIATES.items():
        shift = world.fixed[f"shift{when}/{diagnosis}/{arm}/{row}/{covariate}"]
        columns[covariate] = mean + spread * (profile + shift)
    return np.column_stack([columns[covariate] for covariate in ("age", "sex", "notes")]).astype(np.float64)


def measure_subgroups(world: World) -> Subgroups:
    """Return memorization and disclosure by group."""
    metrics = []
    groups: dict[str, dict[str, str]] = {partition: {} for partition in GROUPS}
    readings: dict[str, list[Reading]] = {tier: [] for tier in world.tiers}
    for tier in world.tiers:
        for arm in ARMS:
            metrics += list_metrics(world, tier, arm)
            for partition, own in list_groups(world, tier, arm).items():
                groups[partition] |= own
            readings[tier] += _list_readings(world, tier, arm, groups)
    return measure_groups(metrics, readings, cast("Any", groups))


def _list_readings(world: World, tier: str, arm: str, groups: dict[str, dict[str, str]]) -> list[Reading]:
    """Return a reading of each patient with a diagnosis and a verdict on it, and note their groups."""
    place = f"mem/{tier}/{arm}/{{}}".format
    asked, exposed = world.counts[place("asked")], world.counts[place("exposed")]
    ids = [f"{tier}/{arm}/asked/{rank:04d}" for rank in range(asked)]
    for partition, names in GROUPS.items():
        of_group = f"{partition}/{arm}/{{}}/{tier}/{{}}".format
        stated = [world.counts[of_group("exposed", group)] for group in names]
        others = [world.counts[of_group("asked", group)] - count for group, count in zip(names, stated, strict=True)]
        listed = [group for counts in (stated, others) for group in repeat_groups(names, counts)]
        groups[partition] |= dict(zip(ids, listed, strict=True))
    return [
        Reading(patient_id, cast("Any", arm), True, "positive" if rank < exposed else "not_mentioned")
        for rank, patient_id in enumerate(ids)
    ]
