"""The people of a world's tally: corpus, cohorts with the balance of their covariates, subgroups.

Knows nothing of generations, nor of how anything is published.
"""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri
from support.results import random_worlds as shape
from support.results.counted_leaves import CountedLeaves
from support.results.filled_evidence import NOT_FILLED
from support.results.random_worlds import World, add, minus

from clinaudit.audit.measures.cohorts.balance import COVARIATES, Flag, measure_balance
from clinaudit.audit.measures.population.description import AGES_OF_BAND
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.reports.schema.corpus import FOLLOW_UP_YEARS, PARTITIONS
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.tally.classes import ARM_STEP, COHORT_STEP, STEP, Interval
from clinaudit.reports.tally.leaves import Count, Inside, OfText, StandardizedDifference
from clinaudit.reports.tally.tally import (
    BalanceTally,
    CohortTally,
    CorpusTally,
    FollowUpTally,
    IdentifiabilityTally,
    PopulationTally,
    SubgroupTally,
)

_YEAR_DAYS = 365.25
#: Mean and standard deviation of the covariates.
_COVARIATES = {"age": (52.0, 16.0), "notes": (14.0, 6.0)}
_FLAGS: tuple[Flag, ...] = ("balanced", "imbalanced", "poorly_matched")


def tally_corpus(leaves: CountedLeaves) -> CorpusTally:
    """Return the corpus: both splits, and the cohorts."""
    world = leaves.world

    def identifiability(arm: str) -> IdentifiabilityTally:
        cells = {kind: leaves.partition(of) for kind, of in world.identifiable(arm).items()}
        return IdentifiabilityTally(
            tagged={shape.STYLE: cells[shape.STYLE]},
            uniqueness={tier: cells[tier] for tier in world.tiers},
            lengths=cells["length"],
            ids=cells["ids"],
        )

    def follow_up(arm: str) -> FollowUpTally:
        cells = {cell: add(f"follow/{arm}/{cell}") for cell in (*shape.FOLLOW_UP_DAYS, "unknown")}
        edges = {name: Interval(*years) for name, years in FOLLOW_UP_YEARS.items()}
        spans = leaves.with_mean(cells, edges, add(f"follow/{arm}/sum"), scale=_YEAR_DAYS)
        return FollowUpTally(spans, NOT_FILLED)

    return CorpusTally(
        counterfactual=True,
        labels="table",
        splits={arm: _population(leaves, arm) for arm in shape.ARMS},
        cohorts={diagnosis: _population(leaves, diagnosis) for diagnosis in world.diagnoses},
        identifiability={arm: identifiability(arm) for arm in shape.ARMS},
        follow_up={arm: follow_up(arm) for arm in shape.ARMS},
        targets_in_both_splits=leaves.alone(add(shape.BOTH)),
        warnings=("Some notes have no date.",),
    )


def _population(leaves: CountedLeaves, name: str) -> PopulationTally:
    """Return the description of a split (an arm's name) or of a cohort (a diagnosis)."""
    world, is_split = leaves.world, name in shape.ARMS
    step = ARM_STEP if is_split else COHORT_STEP
    cells = {
        partition: {group: world.population(name, partition, group) for group in groups}
        for partition, groups in shape.GROUPS.items()
        if partition in shape.CORPUS_PARTITIONS
    }
    patients = add(*cells["sex"].values())
    notes, tokens = (add(f"{kind}/{name}") for kind in ("notes", "tokens"))
    whole = world.value(patients)

    def text(part: Mapping[str, int], of: Mapping[str, int]) -> OfText:
        # A cohort's text is a choice of the split's.
        return leaves.text(part, of, world.all_patients(name)) if is_split else OfText(4.0, (1,))

    sex, race = (
        leaves.partition(dict(sorted(cells[kind].items())), step=step, leaves_out=True) for kind in ("sex", "race")
    )
    everyone = world.all_patients(name) if is_split else patients
    return PopulationTally(
        age_bands=leaves.with_mean(cells["age"], AGES_OF_BAND, add(f"age/sum/{name}"), step=step),
        sex=sex,
        race=race,
        notes=Inside(world.value(notes) if is_split else 4 * whole),
        tokens=Inside(world.value(tokens) if is_split else 4000 * whole),
        text={
            "notes_per_patient": text(notes, everyone),
            "tokens_per_patient": text(tokens, everyone),
            "tokens_per_note": text(tokens, notes),
        },
        practices=Inside(leaves.known(Count.of(1, step=STEP)), is_split),
        practice_patients=Inside(leaves.count(everyone, step=step), is_split),
        is_placed=True,
        evidence=NOT_FILLED,
    )


def find_prevalence(world: World, diagnosis: str) -> Estimate:
    """Return the share of d-positives among the train candidates."""
    positive, negative = (world.counts[f"candidates/{diagnosis}/train/{row}"] for row in shape.ROWS)
    return wilson(positive, positive + negative)


def tally_cohort(leaves: CountedLeaves, diagnosis: str) -> CohortTally:
    """Return a matched cohort, with the balance of its covariates."""
    world, cell = leaves.world, leaves.world.counts[f"total/cell/{diagnosis}"]
    cells = list(itertools.product(shape.ARMS, shape.ROWS))
    pools = [world.counts[f"candidates/{diagnosis}/{arm}/{row}"] for arm, row in cells]
    balance = measure_balance(
        [_covariates(world, f"{diagnosis}/{arm}/{row}", cell, "") for arm, row in cells],
        [
            _covariates(world, f"{diagnosis}/{arm}/{row}", pool, "_before")
            for (arm, row), pool in zip(cells, pools, strict=True)
        ],
    )
    excluded = {reason: add(f"excluded/{diagnosis}/{reason}") for reason in shape.UNSURE}
    for sum_ in excluded.values():
        if not world.value(sum_):
            leaves.nobody(sum_)
    return CohortTally(
        status=max((row.flag for row in balance), key=_FLAGS.index),
        reason=None,
        candidates=leaves.partition(
            {
                status: add(f"candidates/{diagnosis}/train/{row}")
                for row, status in zip(shape.ROWS, DIAGNOSIS_STATUSES, strict=True)
            }
        ),
        balance=tuple(
            BalanceTally(
                contrast=row.contrast,
                covariate=row.covariate,
                flag=row.flag,
                smd=Inside(StandardizedDifference(row.smd), is_public=not row.few),
                smd_before=Inside(StandardizedDifference(row.smd_before), is_public=not row.few_before),
            )
            for row in balance
        ),
        excluded={reason: leaves.of_both_splits(sum_) for reason, sum_ in excluded.items() if world.value(sum_)},
        evidence=NOT_FILLED,
    )


def _covariates(world: World, place: str, size: int, when: str) -> Any:
    """Return age, 1 for female, and number of notes of the members (or candidates) of one cell: `(size, 3)`."""
    columns: dict[str, Any] = {"sex": np.arange(size) < world.counts[f"female{when}/{place}"]}
    profile = ndtri((np.arange(size) + 0.5) / size)
    # Of one spread whatever the size: the SMD is the difference of the shifts.
    profile /= profile.std(ddof=1)
    for covariate, (mean, spread) in _COVARIATES.items():
        columns[covariate] = mean + spread * (profile + world.fixed[f"shift{when}/{place}/{covariate}"])
    return np.column_stack([columns[covariate] for covariate in COVARIATES]).astype(np.float64)


def tally_subgroups(leaves: CountedLeaves) -> SubgroupTally:
    """Return memorization and disclosure by group."""
    world = leaves.world

    def groups(tier: str, arm: str, affected: str, *, step: int) -> dict[Any, Any]:
        found = {}
        for partition in PARTITIONS:
            place = f"{partition}/{arm}/{{}}/{tier}/{{}}".format
            cells = {}
            for group in shape.GROUPS[partition]:
                part, asked = add(place(affected, group)), add(place("asked", group))
                whole = asked if affected == "exposed" else world.at_tier(tier, arm, partition, group)
                cells[group] = part, minus(whole, part)
            found[partition] = leaves.groups(cells, step=step)
        return found

    def by_tier(affected: str, *, step: int) -> Any:
        return {tier: {arm: groups(tier, arm, affected, step=step) for arm in shape.ARMS} for tier in world.tiers}

    return SubgroupTally(
        memorization=by_tier("attributable", step=ARM_STEP),
        disclosure=Inside(by_tier("exposed", step=STEP), is_public=len(world.diagnoses) != 1),
        evidence=NOT_FILLED,
    )
