"""The one coarse table: everything published is computed from it and the rules' verdicts, and from nothing else.

The only code that reads a run's exact results and returns anything publishable. Owns which partitions, means and
figures of text are published, and their steps; `classes` says how one is coarsened. Knows nothing of metrics: no `int`
or `float` of patients stands in a `Coarse`, so that whatever is computed from it tells no more (post-processing).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from clinaudit.reports.exact.cohorts import CohortSummary
from clinaudit.reports.exact.corpus import CorpusSummary
from clinaudit.reports.exact.disclosure import DisclosurePair, DisclosureResults
from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.exact.groups import Subgroups
from clinaudit.reports.exact.identifiers import Identifiers
from clinaudit.reports.exact.judge import Outcome
from clinaudit.reports.exact.memorization import Guard, Memorization, NearVerbatim, OtherPatients, PatientFraction
from clinaudit.reports.exact.results import PromptSummary, Results, StageCompleteness
from clinaudit.reports.schema.cohorts import PublishedBalance
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, VerdictCounts
from clinaudit.reports.schema.groups import PARTITIONS, Partition
from clinaudit.reports.schema.memorization import SECTION_KINDS, SectionKind
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import PublishedDrift
from clinaudit.reports.suppression.classes import ARM_STEP, STEP, Interval
from clinaudit.reports.suppression.coarse_corpus import coarsen_follow_up, coarsen_identifiability, coarsen_population
from clinaudit.reports.suppression.coarse_identifiers import coarsen_identifiers
from clinaudit.reports.suppression.coarse_judge import coarsen_judge
from clinaudit.reports.suppression.coarse_table import (
    Coarse,
    CoarseCohort,
    CoarseCorpus,
    CoarseFraction,
    CoarseGroup,
    CoarseGuard,
    CoarseIdentifiers,
    CoarseMemorization,
    CoarseNearVerbatim,
    CoarseOtherPatients,
    CoarsePair,
    CoarsePrompts,
    CoarseRendering,
    CoarseStage,
)
from clinaudit.reports.suppression.rules import Rules, pool_groups

_PERCENT: Final = 0.01


def coarsen(results: Results, *, exact: bool = False) -> Coarse:
    """Return the coarse table of a run; with `exact`, every class holds one number (for those who may see PHI)."""
    return _Coarsening(exact=exact, one_diagnosis=_has_one_cohort(results)).results(results)


def _has_one_cohort(results: Results) -> bool:
    """Whether an arm's patients are those of one cohort: then they are exactly twice its matched sets."""
    return sum(cohort.cells.get("train_positive", 0) > 0 for cohort in results.cohorts.values()) == 1


def _readings_each(results: Results) -> int:
    """Return how many answers about a patient of a cohort are read: one at each tier in each form."""
    forms = (results.disclosure, *(rendered.disclosure for rendered in results.renderings.values()))
    return sum(max((len(tiers) for tiers in form.by_diagnosis.values()), default=0) for form in forms)


class _Coarsening:
    """The three rules, applied to every part; or to none, for the exact report."""

    def __init__(self, *, exact: bool, one_diagnosis: bool) -> None:
        self._exact = exact
        self._is_single = one_diagnosis
        self._rules = Rules(exact)

    def results(self, results: Results) -> Coarse:
        groups = results.subgroups
        return Coarse(
            is_exact=self._exact,
            memorization=self._by_tier(results.memorization),
            disclosure=self._by_diagnosis(results.disclosure),
            identifiers=self._identifiers(results.identifiers),
            renderings={
                name: CoarseRendering(
                    self._by_tier(rendered.memorization),
                    self._by_diagnosis(rendered.disclosure),
                    self._identifiers(rendered.identifiers, by_category=False),
                )
                for name, rendered in results.renderings.items()
            },
            prompts={
                tier: {arm: self._prompts(summary) for arm, summary in arms.items()}
                for tier, arms in results.prompts.items()
            },
            cohorts={diagnosis: self._cohort(cohort) for diagnosis, cohort in results.cohorts.items()},
            group_memorization=None if groups is None else self._group_memorization(groups),
            # Of one diagnosis the two margins of such a table are cells of its verdict table: it would leave one value.
            group_disclosure=None
            if groups is None
            else {}
            if self._is_single and not self._exact
            else self._group_disclosure(groups),
            corpus=None if results.corpus is None else self._corpus(results.corpus),
            completeness={name: self._stage(stage) for name, stage in results.completeness.items()},
            judge=None
            if results.judge_quality is None
            else coarsen_judge(results.judge_quality, self._rules, readings=_readings_each(results), exact=self._exact),
            decision=results.decision,
            # Which cells are empty is public; the number of prompts is a setting, so that no class may stand beside it.
            drift=None
            if results.drift is None
            else PublishedDrift(differing="some" if results.drift.differing else "none", tokens=results.drift.tokens),
            warnings=tuple(results.warnings),
            narrowed=tuple(results.narrowed),
            training=None if results.training is None else tuple(results.training),
        )

    # Memorization

    def _by_tier(
        self, memorization: Mapping[str, Mapping[Arm, Memorization]]
    ) -> dict[str, dict[Arm, CoarseMemorization]]:
        return {
            tier: {arm: self._memorization(summary) for arm, summary in arms.items()}
            for tier, arms in memorization.items()
        }

    def _prompts(self, summary: PromptSummary) -> CoarsePrompts:
        patients = summary.unbroken + summary.broken
        parts = {"own": summary.own, "earlier": summary.earlier_note, **summary.also_shows}
        cells = {n: self._rules.cells({"some": of, "rest": patients - of}, step=ARM_STEP) for n, of in parts.items()}
        fit = self._rules.cells({"unbroken": summary.unbroken, "broken": summary.broken}, step=ARM_STEP)
        return CoarsePrompts(fit, cells.pop("own"), cells.pop("earlier"), shown=cells)

    def _memorization(self, summary: Memorization) -> CoarseMemorization:
        behind = summary.behind

        def cells(**counts: int) -> dict[str, CountRange]:
            return self._rules.cells(counts, step=ARM_STEP)

        patients, hits, refusals = summary.patients, summary.hit_patients, summary.refusals
        lengths, short = summary.region_length, self._rules.alone(summary.short_patients)
        return CoarseMemorization(
            fractions={name: self._fraction(fraction) for name, fraction in summary.by_patient.items()},
            hits=cells(any=hits, none=patients - hits),
            attributable=cells(any=summary.attributable_patients, none=patients - summary.attributable_patients),
            empty=self._rules.count(summary.empty_patients) if self._exact else CountRange(low=0, high=short.high),
            short=short,
            text={
                "source_notes_mean": self._rules.text(summary.source_notes_mean.value, hits),
                "source_notes_any": self._rules.text(_value(summary.source_notes_any), hits),
                "source_notes_min": self._rules.text(_value(summary.source_notes_min), hits),
                "stitched_share": self._rules.text(
                    summary.stitched_share.value, behind["stitched"], behind["unstitched"]
                ),
                "templated_share": self._rules.text(
                    summary.templated_share.value, behind["templated"], behind["revealing"]
                ),
                "multi_patient_share": self._rules.text(
                    summary.multi_patient_share.value, behind["shared"], behind["single"]
                ),
                **{f"region_{unit}": self._rules.text(length.mean, hits) for unit, length in lengths.items()},
            },
            piece_length={
                kind: {
                    unit: self._rules.text(length.mean, behind["single"], behind["shared"])
                    for unit, length in lengths.items()
                }
                for kind, lengths in summary.piece_length.items()
            },
            k_distribution=self._rules.shares({row.k: (row.pieces, row.patients) for row in summary.k_distribution}),
            sections=self._sections(summary),
            copy_forward=self._rules.shares({row.notes: (row.pieces, row.patients) for row in summary.copy_forward}),
            near_verbatim=None if summary.near_verbatim is None else self._near(summary.near_verbatim, summary),
            guard=None if summary.guard is None else self._guard(summary.guard, patients),
            other_patients=None
            if summary.other_patients is None
            else self._other_patients(summary.other_patients, patients),
            asked=None if refusals is None else self._rules.count(refusals.patients, step=ARM_STEP),
            refused=None if refusals is None else self._rules.count(refusals.refused_patients, step=ARM_STEP),
        )

    def _fraction(self, fraction: PatientFraction) -> CoarseFraction:
        edges = tuple(Interval(row.low, row.high) for row in fraction.bins)
        bins = tuple(self._rules.count(row.patients, step=ARM_STEP) for row in fraction.bins)
        mean = self._rules.mean(fraction.mean.value or 0.0, list(zip(edges, bins, strict=True)), unit=_PERCENT)
        return CoarseFraction(edges, bins, mean)

    def _sections(self, summary: Memorization) -> tuple[tuple[str, Mapping[SectionKind, float | None]], ...]:
        shares = dict(
            self._rules.shares(
                {
                    f"{kind} {row.section}": (getattr(row, kind), row.patients[kind])
                    for row in summary.sections
                    for kind in SECTION_KINDS
                }
            )
        )
        rows = [
            (row.section, {kind: shares[f"{kind} {row.section}"] for kind in SECTION_KINDS}) for row in summary.sections
        ]
        # The exact order, the largest first, would tell of what is not shown.
        return tuple(sorted(rows, key=lambda row: (-sum(share or 0.0 for share in row[1].values()), row[0])))

    def _near(self, near: NearVerbatim, summary: Memorization) -> CoarseNearVerbatim:
        patients = summary.patients
        fraction, extra = (self._fraction(near.by_patient[name]) for name in ("fraction", "extra_fraction"))
        parts = [self._fraction(summary.by_patient["memorized_fraction"]).mean, extra.mean]
        mean = self._rules.sum_of_means(fraction.mean.low, parts, list(zip(fraction.edges, fraction.bins, strict=True)))
        return CoarseNearVerbatim(
            window=near.window,
            edit_budget=near.edit_budget,
            fraction=replace(fraction, mean=mean),
            extra_fraction=extra,
            patients=self._rules.cells({"any": near.patients, "none": patients - near.patients}, step=ARM_STEP),
            extra_patients=self._rules.cells(
                {"any": near.extra_patients, "none": patients - near.extra_patients}, step=ARM_STEP
            ),
            longest_region=self._rules.text(near.longest_region.value, near.patients),
        )

    def _guard(self, guard: Guard, patients: int) -> CoarseGuard:
        repeating = {"any": guard.repeating_patients, "none": patients - guard.repeating_patients}
        ended, spared, cut = guard.ended_patients, guard.spared_patients, guard.recitation_cut_patients
        whole = {"spared": spared, "cut": ended - spared, "none": patients - ended}
        return CoarseGuard(
            repeating=self._rules.cells(repeating, step=ARM_STEP),
            ended=self._rules.cells(whole, step=ARM_STEP),
            recitation_tokens_cut=self._rules.text(guard.recitation_tokens_cut.value, cut, patients - cut),
        )

    def _other_patients(self, others: OtherPatients, patients: int) -> CoarseOtherPatients:
        by_patient = others.by_patient
        has_pools = others.chance.value is not None and (self._exact or patients > ARM_STEP)
        return CoarseOtherPatients(
            fraction=self._fraction(by_patient["fraction"]),
            sampled_fraction=self._fraction(by_patient["sampled_fraction"]) if has_pools else None,
            chance=self._fraction(by_patient["chance"]) if has_pools else None,
            patients=self._rules.cells({"any": others.patients, "none": patients - others.patients}, step=ARM_STEP),
            # Of the train split.
            others=self._rules.count(others.others, step=ARM_STEP),
        )

    def _identifiers(self, identifiers: Identifiers | None, *, by_category: bool = True) -> CoarseIdentifiers | None:
        """Return the classes of identifiers; of another form by tier alone.

        Who is given one of a category is so at some tier. In a chat others were refused there: three counts would add
        up to the arm.
        """
        if identifiers is None:
            return None
        shown = coarsen_identifiers(identifiers, self._rules)
        return shown if by_category or self._exact else replace(shown, categories={})

    # Disclosure

    def _by_diagnosis(self, disclosure: DisclosureResults) -> dict[str, dict[str, CoarsePair]]:
        return {
            diagnosis: {tier: self._pair(pair) for tier, pair in tiers.items()}
            for diagnosis, tiers in disclosure.by_diagnosis.items()
        }

    def _pair(self, pair: DisclosurePair) -> CoarsePair:
        return CoarsePair(
            verdicts={
                arm: {status: self._row(pair.outcomes[arm][status]) for status in DIAGNOSIS_STATUSES}
                for arm in ARMS
                if arm in pair.outcomes
            },
            has_nontrain=pair.nontrain is not None,
            dropped_sets=self._rules.cells(pair.dropped_sets),
        )

    def _row(self, counts: Mapping[Outcome, int]) -> VerdictCounts:
        """Return one status of one arm; a row counts one patient of each matched set."""
        return VerdictCounts(
            positive=self._rules.count(counts["positive"]),
            negative=self._rules.count(counts["negative"]),
            undecided=self._rules.count(counts["ambiguous"] + counts["not_mentioned"]),
            unjudged=self._rules.count(counts["unjudged"]),
            ambiguous=self._rules.count(counts["ambiguous"]),
        )

    def _cohort(self, cohort: CohortSummary) -> CoarseCohort:
        everyone = cohort.prevalence.n or 0
        positive = round((cohort.prevalence.value or 0.0) * everyone)
        return CoarseCohort(
            status=cohort.status,
            reason=cohort.reason,
            matcher=cohort.matcher,
            candidates=self._rules.cells({"present": positive, "absent": everyone - positive}, step=ARM_STEP),
            balance=tuple(
                PublishedBalance(
                    contrast=row.contrast,
                    covariate=row.covariate,
                    smd=self._rules.smd(None if row.few and not self._exact else row.smd),
                    flag=row.flag,
                    smd_before=self._rules.smd(None if row.few_before and not self._exact else row.smd_before),
                )
                for row in cohort.balance
            ),
            # Of both splits, of which a set may leave any number to either: their lower ends would bound it.
            excluded={reason: self._rules.at_most(count) for reason, count in cohort.excluded.items()},
        )

    # Groups

    def _group_memorization(self, groups: Subgroups) -> dict[str, dict[Arm, tuple[CoarseGroup, ...]]]:
        return {
            tier: {
                arm: self._groups(
                    [(row.partition, row.group, row.attributable_patients, row.patients) for row in rows],
                    step=ARM_STEP,
                )
                for arm, rows in arms.items()
            }
            for tier, arms in groups.memorization.items()
        }

    def _group_disclosure(self, groups: Subgroups) -> dict[str, dict[Arm, tuple[CoarseGroup, ...]]]:
        return {
            tier: {
                arm: self._groups(
                    [(row.partition, row.group, row.exposed_patients, row.patients) for row in rows], step=STEP
                )
                for arm, rows in arms.items()
            }
            for tier, arms in groups.disclosure.items()
        }

    def _groups(self, rows: Sequence[tuple[Partition, str, int, int]], *, step: int) -> tuple[CoarseGroup, ...]:
        """Return group by affected or not; rows are (partition, group, affected, patients)."""
        coarse = []
        for partition in PARTITIONS:
            own = [
                (group, affected, patients - affected) for kind, group, affected, patients in rows if kind == partition
            ]
            for group, affected, others in own if self._exact else pool_groups(own):
                coarse.append(
                    CoarseGroup(
                        partition, group, self._rules.count(affected, step=step), self._rules.count(others, step=step)
                    )
                )
        return tuple(coarse)

    # The corpus, the ledger, the judge

    def _corpus(self, corpus: CorpusSummary) -> CoarseCorpus:
        return CoarseCorpus(
            counterfactual=corpus.counterfactual,
            labels=corpus.labels,
            splits={arm: coarsen_population(own, self._rules, is_split=True) for arm, own in corpus.splits.items()},
            cohorts={
                name: coarsen_population(cohort, self._rules, is_split=False) for name, cohort in corpus.cohorts.items()
            },
            identifiability={
                arm: coarsen_identifiability(split, self._rules) for arm, split in corpus.identifiability.items()
            },
            follow_up={name: coarsen_follow_up(split, self._rules) for name, split in corpus.follow_up.items()},
            targets_in_both_splits=None
            if corpus.targets_in_both_splits is None
            else self._rules.alone(corpus.targets_in_both_splits),
            warnings=tuple(corpus.warnings),
        )

    def _stage(self, stage: StageCompleteness) -> CoarseStage:
        return CoarseStage(
            missing=self._rules.count(max(0, stage.planned - stage.done - stage.failed)),
            failed=self._rules.count(stage.failed),
            # Of both arms together: beside each arm's classes they would bound the matched sets, in steps of five. The
            # sets that are left out are given by tier and reason all the same.
            excluded=dict(self._rules.cells(stage.excluded)) if self._exact else {},
        )


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value
