"""The exact report's numbers: the same records as the published ones, with ranges of no width (PHI).

Owns which exact number replaces which range, and the parts that only the exact report has. Computes nothing.
"""

from collections.abc import Mapping
from typing import Any, Final

from clinaudit.audit.ranges.disclosure import average_over_tiers
from clinaudit.audit.ranges.results import publish, read_again
from clinaudit.reports.exact.disclosure import Disclosure, DisclosureDelta, DisclosurePair, MeanOverDiagnoses
from clinaudit.reports.exact.estimate import exact_estimate
from clinaudit.reports.exact.judge import CorrectedMetrics, CorrectedPair
from clinaudit.reports.exact.results import Results
from clinaudit.reports.schema.disclosure import PublishedDisclosure, PublishedMeans, PublishedPair
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.report_content import (
    Decile,
    DriftCounts,
    ExactParts,
    GroupMeans,
    PaperView,
    PatientSpread,
    Percentiles,
    PropensityBin,
    RegionLength,
    Spread,
    TestResult,
    UnguardedText,
)
from clinaudit.reports.schema.results import PublishedResults
from clinaudit.reports.suppression.classes import exactly
from clinaudit.reports.suppression.coarse import coarsen

_METRICS: Final = tuple(DisclosureDelta.model_fields)
_MOMENTS: Final = (
    "notes_per_patient",
    "tokens_per_patient",
    "notes_per_practice",
    "patients_per_practice",
    "age",
)


def exact_results(results: Results) -> PublishedResults:
    """Return the exact results in the records of the published ones: counts and estimates are ranges of no width."""
    shown = publish(coarsen(results, exact=True))
    disclosure = PublishedDisclosure(
        by_diagnosis={
            diagnosis: {
                tier: _pair(shown.disclosure.by_diagnosis[diagnosis][tier], pair) for tier, pair in tiers.items()
            }
            for diagnosis, tiers in results.disclosure.by_diagnosis.items()
        },
        mean={tier: _means(means) for tier, means in results.disclosure.mean.items()},
    )
    cohorts = {
        name: cohort.model_copy(
            update={
                "mention_rate": average_over_tiers(list(disclosure.by_diagnosis.get(name, {}).values()), "mention_rate")
            }
        )
        for name, cohort in shown.cohorts.items()
    }
    completeness = {
        # Of sets that are left out some are judged all the same: the sizes give a range.
        name: shown.completeness[name].model_copy(update={"planned": exactly(stage.planned)})
        for name, stage in results.completeness.items()
    }
    measured = shown.model_copy(
        update={
            "completeness": completeness,
            "disclosure": disclosure,
            "cohorts": cohorts,
        }
    )
    if measured.decision is None:
        return measured
    return measured.model_copy(update={"decision": read_again(measured.decision, measured)})


def exact_parts(results: Results) -> ExactParts:
    """Return what only the exact report shows."""
    pairs = results.disclosure.by_diagnosis
    summaries, corpus = results.memorization, results.corpus
    groups = {} if results.subgroups is None else results.subgroups.memorization
    drift = results.drift
    return ExactParts(
        drift=None
        if drift is None
        else DriftCounts(
            prompts=drift.prompts, differing=drift.differing, equal_leading_share=drift.equal_leading_share
        ),
        roc={
            diagnosis: {
                tier: {
                    arm: side.roc
                    for arm, side in (("train", pair.train), ("nontrain", pair.nontrain))
                    if side is not None and side.roc is not None
                }
                for tier, pair in tiers.items()
            }
            for diagnosis, tiers in pairs.items()
        },
        corrected={
            diagnosis: {tier: _corrected(pair.corrected) for tier, pair in tiers.items() if pair.corrected is not None}
            for diagnosis, tiers in pairs.items()
        },
        tests={
            diagnosis: {tier: test for tier, pair in tiers.items() if (test := _test(pair)) is not None}
            for diagnosis, tiers in pairs.items()
        },
        spread={
            tier: {
                arm: PatientSpread(
                    deciles=[Decile(share=row.share, fraction=row.fraction) for row in summary.distribution.deciles],
                    worst_tenth=exact_estimate(summary.distribution.worst_tenth),
                )
                for arm, summary in arms.items()
                if summary.distribution is not None
            }
            for tier, arms in summaries.items()
        },
        groups={
            tier: {
                arm: [
                    GroupMeans(
                        partition=row.partition,
                        group=row.group,
                        patients=row.patients,
                        memorized_fraction=exact_estimate(row.memorized_fraction),
                        attributable_fraction=exact_estimate(row.attributable_fraction),
                    )
                    for row in rows
                ]
                for arm, rows in arms.items()
            }
            for tier, arms in groups.items()
        },
        paper_view={
            tier: {
                arm: PaperView(
                    rows=summary.paper_view.rows,
                    memorized_fraction=exact_estimate(summary.paper_view.memorized_fraction),
                    hit_rate=exact_estimate(summary.paper_view.hit_rate),
                )
                for arm, summary in arms.items()
                if summary.paper_view is not None
            }
            for tier, arms in summaries.items()
        },
        unguarded={
            tier: {
                arm: UnguardedText(
                    memorized_fraction=exact_estimate(guard.by_patient["unguarded_memorized_fraction"].mean),
                    attributable_fraction=exact_estimate(guard.by_patient["unguarded_attributable_fraction"].mean),
                    hit_patients_share=exact_estimate(guard.unguarded_hit_patients_share),
                )
                for arm, summary in arms.items()
                if (guard := summary.guard) is not None
            }
            for tier, arms in summaries.items()
        },
        overlap={
            diagnosis: [PropensityBin(**row.model_dump()) for row in cohort.overlap]
            for diagnosis, cohort in results.cohorts.items()
        },
        populations={}
        if corpus is None
        else {
            name: {
                field: Spread(**moments.model_dump())
                for field in _MOMENTS
                if (moments := getattr(population, field)) is not None
            }
            for name, population in {**corpus.splits, **corpus.cohorts}.items()
        },
        follow_up={}
        if corpus is None
        else {
            name: {
                field: Percentiles(**getattr(split, field).model_dump()) for field in ("span_years", "notes_per_year")
            }
            for name, split in corpus.follow_up.items()
        },
        region_lengths={
            tier: {
                arm: {
                    unit: RegionLength(**length.model_dump(exclude={"mean"}))
                    for unit, length in summary.region_length.items()
                }
                for arm, summary in arms.items()
            }
            for tier, arms in summaries.items()
        },
    )


def _pair(shown: PublishedPair, pair: DisclosurePair) -> PublishedPair:
    detectable = pair.detectable_delta
    return shown.model_copy(
        update={
            "train": _metrics(pair.train),
            "nontrain": None if pair.nontrain is None else _metrics(pair.nontrain),
            "delta": None if pair.delta is None else _metrics(pair.delta),
            "detectable_delta": shown.detectable_delta
            if detectable is None
            else PublishedEstimate(value=detectable, low=detectable, high=detectable),
        }
    )


def _metrics(record: Disclosure | DisclosureDelta) -> dict[str, PublishedEstimate]:
    return {metric: exact_estimate(getattr(record, metric)) for metric in _METRICS}


def _corrected(pair: CorrectedPair) -> dict[str, dict[str, PublishedEstimate]]:
    sides = {"train": pair.train, "nontrain": pair.nontrain, "delta": pair.delta}
    return {
        side: {metric: exact_estimate(getattr(record, metric)) for metric in CorrectedMetrics.model_fields}
        for side, record in sides.items()
        if record is not None
    }


def _means(means: MeanOverDiagnoses) -> PublishedMeans:
    sides: Mapping[str, Any] = {"train": means.train, "nontrain": means.nontrain, "delta": means.delta}
    return PublishedMeans(
        **{side: {metric: exact_estimate(estimate) for metric, estimate in own.items()} for side, own in sides.items()}
    )


def _test(pair: DisclosurePair) -> TestResult | None:
    delta = None if pair.delta is None else pair.delta.auroc_all
    if delta is None or delta.p_value is None or delta.p_holm is None:
        return None
    return TestResult(p_value=delta.p_value, p_holm=delta.p_holm)
