"""From a tally to everything that follows from it: the results (docs/results.md).

Its only argument is a tally, so that what is published of a coarse one tells no more than that does.
"""

from collections.abc import Mapping, Sequence

from clinaudit.audit.results.gate.reading import read_figure
from clinaudit.audit.results.ranges.attacks import derive_membership, derive_ordinary, derive_queries, list_attacks
from clinaudit.audit.results.ranges.corpus import derive_population, share_of_all, without_interval
from clinaudit.audit.results.ranges.disclosure import derive_disclosure, derive_prevalence, find_sizes
from clinaudit.audit.results.ranges.identifiers import derive_identifiers
from clinaudit.audit.results.ranges.memorization import (
    HALF_PERCENT,
    derive_groups,
    derive_memorization,
    find_asked,
    find_patients,
)
from clinaudit.audit.statistics.counts import average, common_total, share_range, shares_up_to
from clinaudit.priors.fragments import FEWER_THAN
from clinaudit.priors.tiers import FRAGMENT_TIERS
from clinaudit.reports.schema.corpus import (
    UNIQUENESS_BINS,
    BalanceResults,
    CohortResults,
    CorpusResults,
    IdentifiabilityResults,
    SubgroupResults,
)
from clinaudit.reports.schema.decision import GateDecision
from clinaudit.reports.schema.disclosure import PairResults
from clinaudit.reports.schema.judge import (
    VERDICT_CLASSES,
    AnswersResults,
    ConfusionResults,
    JudgeResults,
    VerdictClass,
)
from clinaudit.reports.schema.memorization import MemorizationResults
from clinaudit.reports.schema.numbers import NOBODY, CountRange, EstimateRange, add, exactly
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import (
    PromptResults,
    RenderingResults,
    RunResults,
    StageResults,
    view_rendering,
)
from clinaudit.reports.tally.tally import (
    AnswersTally,
    BalanceTally,
    CorpusTally,
    IdentifiabilityTally,
    JudgeTally,
    PairTally,
    PromptTally,
    RenderingTally,
    StageTally,
    SubgroupTally,
    Tally,
)

#: By tier and arm.
Sizes = Mapping[tuple[str, Arm], CountRange]
#: Patients in one matched set, and in one where nobody was held out.
_OF_SET, _OF_PAIR = 4, 2


def derive(tally: Tally) -> RunResults:
    """Return everything that follows from a tally: exact figures of an exact one, what is published of a coarse one."""
    prevalence = {
        diagnosis: derive_prevalence(cohort.candidates["present"], cohort.candidates["absent"])
        for diagnosis, cohort in tally.cohorts.items()
    }
    disclosure = derive_disclosure(tally.disclosure, prevalence)
    sizes = _sizes(tally)
    results = RunResults(
        completeness={name: _stage(name, stage, tally) for name, stage in tally.completeness.items()},
        corpus=None if tally.corpus is None else _corpus(tally.corpus, is_exact=tally.is_exact),
        memorization=_memorization(tally, sizes, is_exact=tally.is_exact),
        disclosure=disclosure,
        identifiers=None if tally.identifiers is None else derive_identifiers(tally.identifiers, sizes),
        renderings={
            name: RenderingResults(
                memorization=_memorization(rendered, own, is_exact=tally.is_exact),
                disclosure=derive_disclosure(rendered.disclosure, prevalence),
                identifiers=None if rendered.identifiers is None else derive_identifiers(rendered.identifiers, own),
            )
            for name, rendered in tally.renderings.items()
            for own in [_sizes(rendered)]
        },
        prompts={
            tier: {arm: _prompts(own, *_bounds_of_fitting(tally, sizes, tier, arm)) for arm, own in arms.items()}
            for tier, arms in tally.prompts.items()
        },
        queries={
            tier: {arm: derive_queries(own, *_bounds_of_fitting(tally, sizes, tier, arm)) for arm, own in arms.items()}
            for tier, arms in tally.queries.items()
        },
        ordinary=None if tally.ordinary is None else derive_ordinary(tally.ordinary),
        not_scored=tally.not_scored,
        membership=None if tally.membership is None else derive_membership(tally.membership),
        cohorts={
            diagnosis: CohortResults(
                status=cohort.status,
                reason=cohort.reason,
                sets=_sets(tally.disclosure.by_diagnosis.get(diagnosis, {}), tally, diagnosis),
                prevalence=prevalence[diagnosis],
                mention_rate=average_over_tiers(
                    list(disclosure.by_diagnosis.get(diagnosis, {}).values()), "mention_rate"
                ),
                balance=[_balance(row) for row in cohort.balance],
                excluded={reason: count.range for reason, count in cohort.excluded.items()},
                evidence=cohort.evidence.value,
            )
            for diagnosis, cohort in tally.cohorts.items()
        },
        subgroups=None if tally.subgroups is None else _subgroups(tally.subgroups, sizes),
        judge_quality=None if tally.judge is None else derive_judge(tally.judge),
        warnings=list(tally.warnings),
        narrowed=list(tally.narrowed),
        training=None if tally.training is None else list(tally.training.value),
        release=tally.release,
    )
    results = results.model_copy(update={"attacks": list_attacks(results, release=tally.release)})
    if tally.decision is None:
        return results
    return results.model_copy(update={"decision": read_again(tally.decision.value, results)})


def _corpus(tally: CorpusTally, *, is_exact: bool) -> CorpusResults:
    both = tally.targets_in_both_splits
    return CorpusResults(
        counterfactual=tally.counterfactual,
        labels=tally.labels,
        splits={name: derive_population(split, is_exact=is_exact) for name, split in tally.splits.items()},
        cohorts={name: derive_population(cohort, is_exact=is_exact) for name, cohort in tally.cohorts.items()},
        identifiability={arm: _identifiability(of) for arm, of in tally.identifiability.items()},
        targets_in_both_splits=None if both is None else both.range,
        warnings=list(tally.warnings),
    )


def _balance(row: BalanceTally) -> BalanceResults:
    smd, before = (None if of.value is None else of.value.value for of in (row.smd, row.smd_before))
    return BalanceResults(contrast=row.contrast, covariate=row.covariate, smd=smd, flag=row.flag, smd_before=before)


def _sizes(form: Tally | RenderingTally) -> Sizes:
    """Return the patients of each tier and arm, as all that counts them allows: one range for every figure of them."""
    identified = {} if form.identifiers is None else form.identifiers.tiers
    sizes: dict[tuple[str, Arm], CountRange] = {}
    for tier, arms in form.memorization.items():
        for arm, summary in arms.items():
            found = identified.get(tier, {}).get(arm)
            counts = [] if found is None else [found.patients.range]
            if isinstance(form, Tally) and _all_fit(form, tier, arm):
                scored = form.queries.get(tier, {}).get(arm)
                counts += [add(of.cells.values()) for of in scored.partitions if not scored.of_split] if scored else []
            # Of refusals each figure counts those that hold what it is about: the patients are not the same.
            if summary.refusals is None or not summary.refusals.refused.range.high:
                sizes[tier, arm] = find_patients(summary, *counts)
    return sizes


def _is_complete(tally: Tally) -> bool:
    stage = tally.completeness.get("generations")
    return stage is not None and not stage.missing.range.high


def _all_fit(tally: Tally, tier: str, arm: Arm) -> bool:
    """Whether every patient of an arm was asked with a prompt that is the beginning of the patient's note."""
    prompts = tally.prompts.get(tier, {}).get(arm)
    fits = tier in FRAGMENT_TIERS and prompts is not None and not prompts.fit["broken"].high
    return fits and _is_complete(tally)


def _bounds_of_fitting(tally: Tally, sizes: Sizes, tier: str, arm: Arm) -> list[CountRange]:
    """Return what an arm's size says of its patients whose prompt fits: nothing where some prompts are not answered."""
    size = sizes.get((tier, arm))
    if size is None or not _is_complete(tally):
        return []
    return [size if _all_fit(tally, tier, arm) else _up_to(size)]


def _memorization(
    form: Tally | RenderingTally, sizes: Sizes, *, is_exact: bool
) -> dict[str, dict[Arm, MemorizationResults]]:
    # Shares of text are whole percents.
    rounding = 0.0 if is_exact else HALF_PERCENT
    return {
        tier: {arm: derive_memorization(own, sizes.get((tier, arm)), rounding=rounding) for arm, own in arms.items()}
        for tier, arms in form.memorization.items()
    }


def _identifiability(tally: IdentifiabilityTally) -> IdentifiabilityResults:
    return IdentifiabilityResults(
        tagged={style: halves["tagged"] for style, halves in tally.tagged.items()},
        tagged_share={style: share_of_all(halves["tagged"], halves["rest"]) for style, halves in tally.tagged.items()},
        uniqueness={tier: dict(bins.cells) for tier, bins in tally.uniqueness.items()},
        fewer_than={
            tier: {
                least: without_interval(share)
                for least, share in shares_up_to(FEWER_THAN, asked, add(asked.values())).items()
            }
            for tier, bins in tally.uniqueness.items()
            for asked in [{name: bins[name] for name in UNIQUENESS_BINS}]
        },
        longer_than_trained=tally.lengths["longer"],
        several_ids=tally.ids["several"],
    )


def _prompts(tally: PromptTally, *fitting: CountRange) -> PromptResults:
    broken = tally.fit["broken"]
    unbroken = common_total([[tally.fit["unbroken"]], *([bounds] for bounds in fitting)])
    return PromptResults(
        unbroken=unbroken,
        broken=broken,
        unbroken_share=share_range(unbroken, broken),
        own=tally.own["own"],
        own_share=share_range(tally.own["own"], tally.own["rest"]),
        earlier_note=tally.earlier["earlier"],
        also_shows={name: halves["some"] for name, halves in tally.shown.items()},
    )


def read_again(decision: GateDecision, results: RunResults) -> GateDecision:
    """Return a verdict with what each rule reads of these results: of the exact ones, the exact figures."""
    rules = []
    for rule in decision.rules:
        shown = view_rendering(results, rule.rendering)
        read = read_figure(
            shown,
            metric=rule.metric,
            tier=rule.tier,
            diagnosis=rule.diagnosis,
            arm=rule.arm,
            queries=rule.limit.queries,
        )
        rules.append(rule.model_copy(update={"observed": read.observed, "decided_on": read.decided_on}))
    return decision.model_copy(update={"rules": rules})


def average_over_tiers(pairs: Sequence[PairResults], metric: str) -> dict[Arm, EstimateRange]:
    """Return the mean of a metric's ranges over the tiers that have it, by arm (the paper's Table 1)."""
    by_arm: dict[Arm, list[Mapping[str, EstimateRange]]] = {
        "train": [pair.train for pair in pairs],
        "nontrain": [pair.nontrain for pair in pairs if pair.nontrain is not None],
    }
    averaged = {arm: average([row[metric] for row in rows if metric in row]) for arm, rows in by_arm.items()}
    # No interval: the tiers ask the same patients.
    return {arm: without_interval(estimate) for arm, estimate in averaged.items() if estimate is not None}


def _stage(name: str, stage: StageTally, tally: Tally) -> StageResults:
    planned, excluded = stage.planned.value, stage.excluded.value
    return StageResults(
        planned=_planned(name, stage, tally) if planned is None else exactly(planned),
        missing=stage.missing.range,
        excluded={} if excluded is None else dict(excluded.cells),
    )


def _planned(name: str, stage: StageTally, tally: Tally) -> CountRange:
    """Return the planned units: patients at a tier, or (for judgements) in a cohort at a tier, and what is missing."""
    forms: list[Tally | RenderingTally] = [tally, *tally.renderings.values()]
    if name == "judgements":
        units = [
            # Of a set that is left out, up to all but one are judged all the same.
            add([*[find_sizes(pair)] * read, *[_up_to(add(pair.dropped_sets.cells.values()))] * (read - 1)])
            for form in forms
            for own in form.disclosure.by_diagnosis.values()
            for pair in own.values()
            for read in [pair.read_of_a_set()]
        ]
    else:
        units = [
            find_asked(summary) for form in forms for arms in form.memorization.values() for summary in arms.values()
        ]
    # Of a patient some prompt may be missing, and others not: such a one is in the sizes already.
    return add([*units, _up_to(stage.missing.range)])


def _up_to(count: CountRange) -> CountRange:
    return CountRange(low=0, high=count.high)


def _sets(pairs: Mapping[str, PairTally], tally: Tally, diagnosis: str) -> CountRange:
    """Return the matched sets of a cohort: at each tier those that are read and those that are left out."""
    totals = [[find_sizes(pair), *pair.dropped_sets.cells.values()] for pair in pairs.values()]
    if totals:
        return common_total(totals)
    if tally.corpus is not None and diagnosis in tally.corpus.cohorts:
        patients = derive_population(tally.corpus.cohorts[diagnosis], is_exact=tally.is_exact).patients
        size = _OF_SET if tally.corpus.counterfactual else _OF_PAIR
        return CountRange(low=-(-patients.low // size), high=patients.high // size)
    return NOBODY


def _subgroups(tally: SubgroupTally, sizes: Sizes) -> SubgroupResults:
    return SubgroupResults(
        memorization={
            tier: {arm: derive_groups(arms[arm], sizes.get((tier, arm))) for arm in ARMS if arm in arms}
            for tier, arms in tally.memorization.items()
        },
        disclosure={
            tier: {arm: derive_groups(arms[arm]) for arm in ARMS if arm in arms}
            for tier, arms in (tally.disclosure.value or {}).items()
        },
        evidence=tally.evidence.value,
    )


def derive_judge(tally: JudgeTally) -> JudgeResults:
    """Return how well the judge reads; shares are of the texts that it could rate, with Wilson's interval."""
    matrix = {truth: {verdict: count.range for verdict, count in row.items()} for truth, row in tally.matrix.items()}
    rest = [truth for truth in VERDICT_CLASSES if truth != "positive" and truth in matrix]
    agreed = add([matrix[truth][truth] for truth in matrix])
    parted = add([cell for truth in matrix for cell in _others(matrix[truth], truth)])
    positives = matrix.get("positive")
    return JudgeResults(
        judge=tally.judge,
        labels=tally.labels,
        texts=add([cell for row in matrix.values() for cell in row.values()]),
        matrix=[ConfusionResults(truth=truth, **row) for truth, row in matrix.items()],
        sensitivity=share_range(
            add([] if positives is None else [positives["positive"]]),
            add([] if positives is None else _others(positives, "positive")),
            by_wilson=True,
        ),
        specificity=share_range(
            add([cell for truth in rest for cell in _others(matrix[truth], "positive")]),
            add([matrix[truth]["positive"] for truth in rest]),
            by_wilson=True,
        ),
        agreement=share_range(agreed, parted, by_wilson=True),
        accuracy_by_class={
            _verdict_class(truth): share_range(row[truth], add(_others(row, truth)), by_wilson=True)
            for truth, row in matrix.items()
        },
        accuracy_by_diagnosis={of: share.value for of, share in (tally.accuracy_by_diagnosis.value or {}).items()},
        flip_rate=tally.flip_rate.value,
        hiding_rate=tally.hiding_rate.value,
        answers=_answers(tally.answers.value),
        run_answers=_answers(tally.run_answers),
        evidence=tally.evidence.value,
    )


def _answers(tally: AnswersTally | None) -> AnswersResults | None:
    if tally is None:
        return None
    alpha = tally.alpha.value
    return AnswersResults(
        answers_each=tally.answers_each.value,
        alpha=None if alpha is None else alpha.value,
        **{name: count.range for name, count in tally.cells.items()},
    )


def _others(row: Mapping[str, CountRange], verdict: str) -> list[CountRange]:
    """Return the texts of a true class that were rated, but not with this verdict."""
    return [row[other] for other in VERDICT_CLASSES if other != verdict]


def _verdict_class(name: str) -> VerdictClass:
    return next(known for known in VERDICT_CLASSES if known == name)
