"""The unsuppressed `Results` of a random world, measured by the program's own code where that is quick enough.

Disclosure, its tests and its means, subgroups' bounds, the gate: the program's. Intervals of memorization are a
stand-in for the bootstrap that tells as much: they grow with one over the root of the patients who make a mean up.
Knows nothing of what is published.
"""

import math
from functools import cache

import numpy as np
from support.results.random_worlds import (
    ARMS,
    COPY_BINS,
    CORPUS_PARTITIONS,
    FRACTION_BINS,
    GROUPS,
    K_BINS,
    KINDS,
    MISSING,
    OUTCOMES,
    REFERS,
    ROWS,
    SECTIONS,
    UNSURE,
    VERDICTS,
    World,
    population_of,
)

from clinaudit.audit.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.disclosure.readings import Reading
from clinaudit.audit.disclosure.train_delta import adjust_holm, measure_disclosure
from clinaudit.audit.gate.evaluation import evaluate
from clinaudit.audit.gate.policy import load_policy
from clinaudit.audit.statistics.agreement import cohen_kappa, krippendorff_alpha
from clinaudit.audit.statistics.intervals import clopper_pearson, clopper_pearson_of_mean, wilson
from clinaudit.audit.statistics.patient_distribution import THRESHOLDS, tail_size
from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.corpus import CorpusSummary, Moments, PopulationSummary
from clinaudit.reports.schema.disclosure import DisclosurePair, DisclosureResults, MeanOverDiagnoses
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.groups import (
    Decile,
    FractionBin,
    GroupDisclosure,
    GroupMemorization,
    OverlapBin,
    PatientDistribution,
    ShareAbove,
    Subgroups,
)
from clinaudit.reports.schema.judge import Agreement, ConfusionRow, JudgeQuality
from clinaudit.reports.schema.memorization import (
    CopyForwardBin,
    KBin,
    LengthSummary,
    Memorization,
    NearVerbatim,
    PaperView,
    SectionComposition,
)
from clinaudit.reports.schema.results import Results, StageCompleteness

_NOTHING = Estimate(value=None, n=0, reason="there was nothing to count")
_NO_LENGTHS = LengthSummary(mean=None, median=None, p90=None, max=None)
_LENGTHS = LengthSummary(mean=61.5, median=48.0, p90=120.0, max=412)
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
        memorization={tier: {arm: _memorization(world, tier, arm) for arm in ARMS} for tier in world.tiers},
        disclosure=DisclosureResults(by_diagnosis=adjust_holm(pairs), mean=means),
        cohorts={diagnosis: _cohort(world, diagnosis) for diagnosis in world.diagnoses},
        subgroups=_subgroups(world),
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


# Memorization


def _mean(total: int, patients: int, contributing: int) -> Estimate:
    if not patients:
        return _NOTHING
    value = total / 1000 / patients
    half = 2 * value / math.sqrt(contributing) if contributing else 0.0
    return Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half), n=patients)


def _memorization(world: World, tier: str, arm: str) -> Memorization:
    def count(name: str) -> int:
        return world.counts[f"mem/{tier}/{arm}/{name}"]

    patients = world.value(world.patients(tier, arm))
    hit, revealed = count("hit"), count("revealed")
    memorized = _mean(count("hit_sum"), patients, hit)
    attributable = _mean(count("revealed_sum"), patients, revealed)
    tokens = {kind: sum(count(f"{kind}/{section}/units") for section in SECTIONS) for kind in KINDS}
    templated = tokens["templated_single"] + tokens["templated_shared"]
    pieces = {k: count(f"k/{k}/units") for k in K_BINS}
    near = count("hit_sum") + count("extra_sum")
    return Memorization(
        generations=patients,
        patients=patients,
        empty=count("empty"),
        shorter_than_ngram=count("short"),
        memorized_fraction=memorized,
        memorized_fraction_without_echo=memorized,
        attributable_fraction=attributable,
        attributable_fraction_bounds=clopper_pearson_of_mean(count("revealed_sum") / 1000, patients),
        attributable_patients=revealed,
        memorized_fraction_bounds=clopper_pearson_of_mean(count("hit_sum") / 1000, patients),
        hit_rate=wilson(hit, patients),
        source_notes_mean=Estimate(value=2.81, low=2.5, high=3.1, n=hit) if hit else _NOTHING,
        stitched_share=wilson(count("stitched"), count("regions")),
        templated_share=wilson(templated, sum(tokens.values())),
        multi_patient_share=wilson(sum(pieces.values()) - pieces["1"], sum(pieces.values())),
        region_length=dict.fromkeys(("tokens", "characters"), _LENGTHS if hit else _NO_LENGTHS),
        k_distribution=[KBin(k=k, pieces=units, patients=count(f"k/{k}/patients")) for k, units in pieces.items()],
        sections=[
            SectionComposition(
                section=section,
                **{kind: count(f"{kind}/{section}/units") for kind in KINDS},
                patients={kind: count(f"{kind}/{section}/patients") for kind in KINDS},
            )
            for section in SECTIONS
            if any(count(f"{kind}/{section}/units") for kind in KINDS)
        ],
        copy_forward=[
            CopyForwardBin(notes=name, pieces=count(f"copy/{name}/units"), patients=count(f"copy/{name}/patients"))
            for name in COPY_BINS
        ],
        dropped_tokens=3 * min(hit, 1),
        paper_view=PaperView(
            rows=count("rows"), memorized_fraction=memorized, hit_rate=wilson(count("hit_rows"), count("rows"))
        ),
        distribution=_distribution([count(f"bin/{k}") for k in range(len(FRACTION_BINS))], patients),
        near_verbatim=NearVerbatim(
            window=30,
            edit_budget=3,
            fraction=_mean(min(near, 1000 * patients), patients, count("near")),
            extra_fraction=_mean(count("extra_sum"), patients, count("extra")),
            longest_region=Estimate(value=112.5, low=90.5, high=130.5, n=patients),
            longest_region_length=_LENGTHS,
            patients=count("near"),
            extra_patients=count("extra"),
        ),
    )


def _distribution(in_bins: list[int], patients: int) -> PatientDistribution | None:
    if not patients:
        return None
    counts = [patients - sum(in_bins), *in_bins]
    ends = [(0, 0), *FRACTION_BINS]
    # A patient's fraction is taken for two fifths of the way into its bin.
    values = [(low + 0.4 * (high - low)) / 1000 for low, high in ends]
    cumulated = np.cumsum(counts)

    def value_at(rank: int) -> float:
        return values[int(np.searchsorted(cumulated, rank, side="right"))]

    return PatientDistribution(
        bins=[
            FractionBin(low=low / 1000, high=high / 1000, patients=count)
            for (low, high), count in zip(ends, counts, strict=True)
        ],
        above=[
            ShareAbove(threshold=threshold, share=clopper_pearson(sum(in_bins[place:]), patients))
            for place, threshold in enumerate(THRESHOLDS)
        ],
        deciles=[Decile(share=k / 10, fraction=value_at(k * (patients - 1) // 10)) for k in range(1, 10)],
        worst_tenth=Estimate(value=0.31, low=0.25, high=0.4, n=tail_size(patients))
        if sum(in_bins)
        else Estimate(value=0.0, low=0.0, high=0.0, n=tail_size(patients)),
    )


def _subgroups(world: World) -> Subgroups:
    def number(partition: str, arm: str, kind: str, tier: str, group: str) -> int:
        return world.counts[f"{partition}/{arm}/{kind}/{tier}/{group}"]

    def rows(tier: str, arm: str) -> list[GroupMemorization]:
        described = []
        for partition, groups in GROUPS.items():
            for group in groups:
                size = world.value(world.at_tier(tier, arm, partition, group))
                if size:
                    hit, revealed, hit_sum, revealed_sum = (
                        number(partition, arm, kind, tier, group)
                        for kind in ("hit", "revealed", "hit_sum", "revealed_sum")
                    )
                    described.append(
                        GroupMemorization(
                            partition=partition,
                            group=group,
                            patients=size,
                            memorized_fraction=clopper_pearson_of_mean(hit_sum / 1000, size),
                            attributable_fraction=clopper_pearson_of_mean(revealed_sum / 1000, size),
                            memorized_patients=hit,
                            attributable_patients=revealed,
                        )
                    )
        return described

    def exposures(tier: str, arm: str) -> list[GroupDisclosure]:
        described = []
        for partition, groups in GROUPS.items():
            for group in groups:
                size = number(partition, arm, "asked", tier, group)
                if size:
                    described.append(
                        GroupDisclosure(
                            partition=partition,
                            group=group,
                            patients=size,
                            sensitivity=clopper_pearson_of_mean(
                                number(partition, arm, "exposed_sum", tier, group) / 1000, size
                            ),
                            exposed_patients=number(partition, arm, "exposed", tier, group),
                        )
                    )
        return described

    return Subgroups(
        memorization={tier: {arm: rows(tier, arm) for arm in ARMS} for tier in world.tiers},
        disclosure={tier: {arm: exposures(tier, arm) for arm in ARMS} for tier in world.tiers},
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
