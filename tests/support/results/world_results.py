"""The unsuppressed `Results` of a random world, measured by the program's own code where that is quick enough.

Disclosure, its tests and its means, subgroups' bounds, the gate: the program's. Memorization is measured in
`world_memorization.py`. Knows nothing of what is published.
"""

from functools import cache

import numpy as np
from support.results.random_worlds import (
    ARMS,
    CORPUS_PARTITIONS,
    GROUPS,
    MISSING,
    OUTCOMES,
    REFERS,
    ROWS,
    UNSURE,
    VERDICTS,
    World,
    population_of,
)
from support.results.world_memorization import measure_memorization, measure_subgroups

from clinaudit.audit.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.disclosure.readings import Reading
from clinaudit.audit.disclosure.train_delta import adjust_holm, measure_disclosure
from clinaudit.audit.gate.evaluation import evaluate
from clinaudit.audit.gate.policy import load_policy
from clinaudit.audit.statistics.agreement import cohen_kappa, krippendorff_alpha
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.corpus import CorpusSummary, Moments, PopulationSummary
from clinaudit.reports.schema.disclosure import DisclosurePair, DisclosureResults, MeanOverDiagnoses
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.groups import OverlapBin
from clinaudit.reports.schema.judge import Agreement, ConfusionRow, JudgeQuality
from clinaudit.reports.schema.results import Results, StageCompleteness

#: Two resamples: intervals that follow from the table alone, at little cost.
_RESAMPLES = 2

#: `(5,)` counts by outcome, of patients with and without the diagnosis.
Rows = tuple[tuple[int, ...], tuple[int, ...]]


def measure(world: World) -> Results:
    """Return what a run would write of this world into its evidence."""
    prevalences = {diagnosis: _prevalence(world, diagnosis) for diagnosis in world.diagnoses}
    pairs = {
        diagnosis: {
            tier: _measure_pair(
                _rows(world, diagnosis, tier, "train"),
                _rows(world, diagnosis, tier, "nontrain"),
                prevalences[diagnosis].value,
            ).model_copy(update={"dropped_sets": _dropped(world, diagnosis, tier)})
            for tier in world.tiers
        }
        for diagnosis in world.diagnoses
    }
    means = {
        tier: _measure_means(
            tuple(tuple(_rows(world, diagnosis, tier, arm) for arm in ARMS) for diagnosis in world.diagnoses),
            tuple(prevalences[diagnosis].value for diagnosis in world.diagnoses),
        )
        for tier in world.tiers
    }
    results = Results(
        completeness=_completeness(world),
        corpus=CorpusSummary(
            counterfactual=True,
            labels="table",
            splits={arm: _population(world, arm) for arm in ARMS},
            cohorts={diagnosis: _population(world, diagnosis) for diagnosis in world.diagnoses},
            warnings=[],
        ),
        memorization={tier: {arm: measure_memorization(world, tier, arm) for arm in ARMS} for tier in world.tiers},
        disclosure=DisclosureResults(by_diagnosis=adjust_holm(pairs), mean=means),
        cohorts={diagnosis: _cohort(world, diagnosis) for diagnosis in world.diagnoses},
        subgroups=measure_subgroups(world),
        judge_quality=_judge(world),
    )
    return results.model_copy(update={"decision": evaluate(load_policy(), results, planned_missing=False)})


# Disclosure


def _rows(world: World, diagnosis: str, tier: str, arm: str) -> Rows:
    place = f"table/{diagnosis}/{tier}/{arm}"
    first, second = (tuple(world.counts[f"{place}/{row}/{outcome}"] for outcome in OUTCOMES) for row in ROWS)
    return first, second


def _readings(rows: Rows, arm: str) -> list[Reading]:
    return [
        Reading(f"{arm}-{row}-{outcome}-{i}", arm, row == "1", outcome)
        for row, cells in zip(ROWS, rows, strict=True)
        for outcome, count in zip(OUTCOMES, cells, strict=True)
        for i in range(count)
    ]


@cache
def _measure_pair(train: Rows, nontrain: Rows, prevalence: float | None) -> DisclosurePair:
    readings = [*_readings(train, "train"), *_readings(nontrain, "nontrain")]
    return measure_disclosure(readings, prevalence=prevalence, seed=0, resamples=_RESAMPLES)


@cache
def _measure_means(tables: tuple[tuple[Rows, ...], ...], prevalences: tuple[float | None, ...]) -> MeanOverDiagnoses:
    return mean_over_diagnoses(
        {
            f"d{order}": MeasuredDiagnosis(
                [reading for arm, rows in zip(ARMS, arms, strict=True) for reading in _readings(rows, arm)],
                _measure_pair(*arms, prevalence),
                prevalence,
            )
            for order, (arms, prevalence) in enumerate(zip(tables, prevalences, strict=True))
        },
        seed=0,
        resamples=_RESAMPLES,
    )


def _dropped(world: World, diagnosis: str, tier: str) -> dict[str, int]:
    counts = {reason: world.counts[f"pair/{diagnosis}/{tier}/dropped/{reason}"] for reason in (MISSING, REFERS)}
    return {reason: count for reason, count in counts.items() if count}


# People


def _population(world: World, name: str) -> PopulationSummary:
    def tally(partition: str) -> dict[str, int]:
        return {group: world.value(population_of(world, name, partition, group)) for group in GROUPS[partition]}

    counts = {partition: tally(partition) for partition in CORPUS_PARTITIONS}
    patients = sum(counts["age"].values())
    known = patients - counts["age"]["unknown"]
    mean = world.counts[f"age/sum/{name}"] / known if known else None
    return PopulationSummary(
        notes=4 * patients,
        patients=patients,
        tokens=4000 * patients,
        practices=6,
        notes_per_patient=Moments(mean=4.0, sd=1.5, min=1, max=9),
        tokens_per_patient=Moments(mean=4000.0, sd=800.0, min=900, max=9000),
        age=Moments(mean=mean, sd=None if mean is None else 16.1, min=18, max=90),
        age_bands=counts["age"],
        sex={group: count for group, count in counts["sex"].items() if count},
        race={group: count for group, count in counts["race"].items() if count},
    )


def _completeness(world: World) -> dict[str, StageCompleteness]:
    planned = sum(world.value(world.patients(tier, arm)) for tier in world.tiers for arm in ARMS)
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


def _candidates(world: World, diagnosis: str, arm: str, row: str) -> int:
    return sum(world.counts[f"overlap/{diagnosis}/{arm}/{row}/candidates/{k}"] for k in range(world.overlap_bins))


def _prevalence(world: World, diagnosis: str) -> Estimate:
    positive, negative = (_candidates(world, diagnosis, "train", row) for row in ROWS)
    return wilson(positive, positive + negative)


def _cohort(world: World, diagnosis: str) -> CohortSummary:
    bins = world.overlap_bins
    excluded = {reason: world.counts[f"overlap/{diagnosis}/excluded/{reason}"] for reason in UNSURE}
    cell = world.counts[f"total/cell/{diagnosis}"]
    place = f"overlap/{diagnosis}/{{}}/{{}}/{{}}/{{}}".format
    return CohortSummary(
        status="balanced",
        reason=None,
        matcher="psm",
        prevalence=_prevalence(world, diagnosis),
        cells={f"{arm}_{status}": cell for arm in ARMS for status in ("positive", "negative")},
        balance=[],
        excluded={reason: count for reason, count in excluded.items() if count},
        overlap=[
            OverlapBin(
                arm=arm,
                low=k / bins,
                high=(k + 1) / bins,
                **{
                    f"{status}_{kind}": world.counts[place(arm, row, kind, k)]
                    for status, row in (("positive", "1"), ("negative", "0"))
                    for kind in ("candidates", "matched")
                },
            )
            for arm in ARMS
            for k in range(bins)
        ],
    )


# The judge


def _judge(world: World) -> JudgeQuality:
    table = np.array(
        [[world.counts[f"judge/{truth}/{verdict}"] for verdict in (*VERDICTS, "unjudged")] for truth in VERDICTS]
    )
    judged = table[:, :-1]
    right, texts, others = int(np.trace(judged)), int(judged.sum()), judged[1:]
    kappa, alpha = (float(rate(judged.astype(float))) for rate in (cohen_kappa, krippendorff_alpha))
    return JudgeQuality(
        judge="lexicon",
        labels="site",
        texts=int(table.sum()),
        matrix=[
            ConfusionRow(truth=truth, **dict(zip((*VERDICTS, "unjudged"), map(int, row), strict=True)))
            for truth, row in zip(VERDICTS, table, strict=True)
        ],
        sensitivity=wilson(int(judged[0, 0]), int(judged[0].sum())),
        specificity=wilson(int(others.sum() - others[:, 0].sum()), int(others.sum())),
        agreement=Agreement(
            agreement=wilson(right, texts),
            kappa=Estimate(value=kappa, low=kappa - 0.1, high=kappa + 0.1, n=texts),
            alpha=Estimate(value=alpha, low=alpha - 0.1, high=alpha + 0.1, n=texts),
        ),
        accuracy_by_class={truth: wilson(int(judged[i, i]), int(judged[i].sum())) for i, truth in enumerate(VERDICTS)},
        accuracy_by_diagnosis={"hiv": wilson(right, texts)},
        flip_rate=wilson(3, 60),
        hiding_rate=wilson(1, 60),
    )
