"""From the coarse table to everything published (docs/results.md).

Owns which range goes into which field. Its only argument is the coarse table, so that what is published tells no more
than it does.
"""

from collections.abc import Mapping

from clinaudit.audit.gate.reading import read_figure
from clinaudit.audit.ranges.corpus import publish_follow_up, publish_population, share_of_all
from clinaudit.audit.ranges.counts import add, common_total, share_range
from clinaudit.audit.ranges.disclosure import (
    average_over_tiers,
    find_sizes,
    publish_means,
    publish_pair,
    publish_prevalence,
)
from clinaudit.audit.ranges.identifiers import publish_identifiers
from clinaudit.audit.ranges.memorization import HALF_PERCENT, find_asked, publish_groups, publish_memorization
from clinaudit.priors.fragments import FEWER_THAN
from clinaudit.reports.schema.cohorts import PublishedCohort
from clinaudit.reports.schema.corpus import UNIQUENESS_BINS, PublishedCorpus, PublishedIdentifiability
from clinaudit.reports.schema.decision import PublishedDecision
from clinaudit.reports.schema.disclosure import (
    PublishedDisclosure,
)
from clinaudit.reports.schema.groups import PublishedSubgroups
from clinaudit.reports.schema.judge import (
    VERDICT_CLASSES,
    PublishedAnswers,
    PublishedConfusionRow,
    PublishedJudgeQuality,
    PublishedSecondJudge,
    VerdictClass,
)
from clinaudit.reports.schema.memorization import PublishedMemorization
from clinaudit.reports.schema.numbers import NOBODY, CountRange, PublishedEstimate
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import (
    PublishedPrompts,
    PublishedRendering,
    PublishedResults,
    PublishedStage,
    view_rendering,
)
from clinaudit.reports.suppression.coarse_table import (
    Cells,
    Coarse,
    CoarseAnswers,
    CoarseIdentifiability,
    CoarseJudge,
    CoarseMemorization,
    CoarsePair,
    CoarsePrompts,
    CoarseStage,
)

_NOT_MEASURED = PublishedEstimate(reason="not measured")
#: Patients in one matched set.
_OF_SET = 4


def publish(coarse: Coarse) -> PublishedResults:
    """Return everything that is published of a run."""
    prevalence = {
        diagnosis: publish_prevalence(cohort.candidates["present"], cohort.candidates["absent"])
        for diagnosis, cohort in coarse.cohorts.items()
    }
    disclosure = _disclosure(coarse.disclosure, prevalence)
    # Shares of text are whole percents.
    rounding = 0.0 if coarse.is_exact else HALF_PERCENT
    results = PublishedResults(
        completeness={name: _stage(name, stage, coarse) for name, stage in coarse.completeness.items()},
        corpus=None
        if coarse.corpus is None
        else PublishedCorpus(
            counterfactual=coarse.corpus.counterfactual,
            labels=coarse.corpus.labels,
            splits={name: publish_population(s, is_exact=coarse.is_exact) for name, s in coarse.corpus.splits.items()},
            cohorts={
                name: publish_population(cohort, is_exact=coarse.is_exact)
                for name, cohort in coarse.corpus.cohorts.items()
            },
            identifiability={arm: _identifiability(of) for arm, of in coarse.corpus.identifiability.items()},
            follow_up={name: publish_follow_up(split) for name, split in coarse.corpus.follow_up.items()},
            targets_in_both_splits=coarse.corpus.targets_in_both_splits,
            warnings=list(coarse.corpus.warnings),
        ),
        memorization=_memorization(coarse.memorization, rounding=rounding),
        disclosure=disclosure,
        identifiers=None if coarse.identifiers is None else publish_identifiers(coarse.identifiers),
        renderings={
            name: PublishedRendering(
                memorization=_memorization(rendered.memorization, rounding=rounding),
                disclosure=_disclosure(rendered.disclosure, prevalence),
                identifiers=None if rendered.identifiers is None else publish_identifiers(rendered.identifiers),
            )
            for name, rendered in coarse.renderings.items()
        },
        prompts={tier: {arm: _prompts(own) for arm, own in arms.items()} for tier, arms in coarse.prompts.items()},
        cohorts={
            diagnosis: PublishedCohort(
                status=cohort.status,
                reason=cohort.reason,
                matcher=cohort.matcher,
                sets=_sets(coarse.disclosure.get(diagnosis, {}), coarse, diagnosis),
                prevalence=prevalence[diagnosis],
                mention_rate=average_over_tiers(
                    list(disclosure.by_diagnosis.get(diagnosis, {}).values()), "mention_rate"
                ),
                balance=list(cohort.balance),
                excluded=dict(cohort.excluded),
            )
            for diagnosis, cohort in coarse.cohorts.items()
        },
        subgroups=_subgroups(coarse),
        judge_quality=None if coarse.judge is None else publish_judge(coarse.judge),
        drift=coarse.drift,
        warnings=list(coarse.warnings),
        narrowed=list(coarse.narrowed),
        training=None if coarse.training is None else list(coarse.training),
    )
    if coarse.decision is None:
        return results
    return results.model_copy(update={"decision": read_again(coarse.decision, results)})


def _memorization(
    coarse: Mapping[str, Mapping[Arm, CoarseMemorization]], *, rounding: float
) -> dict[str, dict[Arm, PublishedMemorization]]:
    return {
        tier: {arm: publish_memorization(summary, rounding=rounding) for arm, summary in arms.items()}
        for tier, arms in coarse.items()
    }


def _disclosure(
    coarse: Mapping[str, Mapping[str, CoarsePair]], prevalence: Mapping[str, PublishedEstimate]
) -> PublishedDisclosure:
    pairs = {
        diagnosis: {tier: publish_pair(pair, prevalence.get(diagnosis, _NOT_MEASURED)) for tier, pair in tiers.items()}
        for diagnosis, tiers in coarse.items()
    }
    tiers = list(dict.fromkeys(tier for own in pairs.values() for tier in own))
    return PublishedDisclosure(
        by_diagnosis=pairs,
        mean={tier: publish_means([own[tier] for own in pairs.values() if tier in own]) for tier in tiers},
    )


def _identifiability(coarse: CoarseIdentifiability) -> PublishedIdentifiability:
    return PublishedIdentifiability(
        tagged={style: cells["tagged"] for style, cells in coarse.tagged.items()},
        tagged_share={style: share_of_all(cells["tagged"], cells["rest"]) for style, cells in coarse.tagged.items()},
        uniqueness={tier: dict(cells) for tier, cells in coarse.uniqueness.items()},
        fewer_than={
            tier: {
                str(least): share_of_all(
                    *(add(cells[name] for name in part) for part in (UNIQUENESS_BINS[:place], UNIQUENESS_BINS[place:]))
                )
                for place, least in enumerate(FEWER_THAN, start=1)
            }
            for tier, cells in coarse.uniqueness.items()
        },
        longer_than_trained=coarse.lengths["longer"],
        several_ids=coarse.ids["several"],
    )


def _prompts(coarse: CoarsePrompts) -> PublishedPrompts:
    unbroken, broken = coarse.fit["unbroken"], coarse.fit["broken"]
    return PublishedPrompts(
        unbroken=unbroken,
        broken=broken,
        unbroken_share=share_range(unbroken, broken),
        own=coarse.text["some"],
        own_share=share_range(coarse.text["some"], coarse.text["rest"]),
        earlier_note=coarse.note["some"],
        also_shows={name: cells["some"] for name, cells in coarse.shown.items()},
    )


def read_again(decision: PublishedDecision, results: PublishedResults) -> PublishedDecision:
    """Return a verdict with what each rule reads of these results: of the exact ones, the exact figures."""
    rules = []
    for rule in decision.rules:
        shown = view_rendering(results, rule.rendering)
        read = read_figure(shown, metric=rule.metric, tier=rule.tier, diagnosis=rule.diagnosis, arm=rule.arm)
        rules.append(rule.model_copy(update={"observed": read.observed, "decided_on": read.decided_on}))
    return decision.model_copy(update={"rules": rules})


def _stage(name: str, stage: CoarseStage, coarse: Coarse) -> PublishedStage:
    return PublishedStage(
        planned=_planned(name, stage, coarse), missing=stage.missing, failed=stage.failed, excluded=dict(stage.excluded)
    )


def _planned(name: str, stage: CoarseStage, coarse: Coarse) -> CountRange:
    """Return the planned units: patients at a tier, or (for judgements) in a cohort at a tier, and what is missing."""
    if name == "judgements":
        units = [
            # Of a set that is left out, up to all but one are judged all the same.
            add([*[find_sizes(pair)] * _OF_SET, *[_up_to(add(pair.dropped_sets.values()))] * (_OF_SET - 1)])
            for disclosure in (coarse.disclosure, *(other.disclosure for other in coarse.renderings.values()))
            for own in disclosure.values()
            for pair in own.values()
        ]
    else:
        units = [
            find_asked(summary)
            for memorization in (coarse.memorization, *(other.memorization for other in coarse.renderings.values()))
            for arms in memorization.values()
            for summary in arms.values()
        ]
    # Of a patient some prompt may be missing, and others not: such a one is in the sizes already.
    return add([*units, _up_to(stage.missing), _up_to(stage.failed)])


def _up_to(count: CountRange) -> CountRange:
    return CountRange(low=0, high=count.high)


def _sets(pairs: Mapping[str, CoarsePair], coarse: Coarse, diagnosis: str) -> CountRange:
    """Return the matched sets of a cohort: at each tier those that are read and those that are left out."""
    totals = [[find_sizes(pair), *pair.dropped_sets.values()] for pair in pairs.values()]
    if totals:
        return common_total(totals)
    if coarse.corpus is not None and diagnosis in coarse.corpus.cohorts:
        cohort = coarse.corpus.cohorts[diagnosis]
        patients = publish_population(cohort, is_exact=coarse.is_exact).patients
        return CountRange(low=-(-patients.low // _OF_SET), high=patients.high // _OF_SET)
    return NOBODY


def _subgroups(coarse: Coarse) -> PublishedSubgroups | None:
    if coarse.group_memorization is None or coarse.group_disclosure is None:
        return None
    return PublishedSubgroups(
        memorization={
            tier: {arm: publish_groups(arms[arm]) for arm in _arms(arms)}
            for tier, arms in coarse.group_memorization.items()
        },
        disclosure={
            tier: {arm: publish_groups(arms[arm]) for arm in _arms(arms)}
            for tier, arms in coarse.group_disclosure.items()
        },
    )


def _arms(arms: Mapping[Arm, object]) -> list[Arm]:
    return [arm for arm in ARMS if arm in arms]


def publish_judge(coarse: CoarseJudge) -> PublishedJudgeQuality:
    """Return how well the judge reads; shares are of the texts that it could rate, with Wilson's interval."""
    matrix = coarse.matrix
    rest = [truth for truth in VERDICT_CLASSES if truth != "positive" and truth in matrix]
    agreed = add([matrix[truth][truth] for truth in matrix])
    parted = add([cell for truth in matrix for cell in _others(matrix[truth], truth)])
    second = coarse.second
    return PublishedJudgeQuality(
        judge=coarse.judge,
        labels=coarse.labels,
        texts=add([cell for row in matrix.values() for cell in row.values()]),
        matrix=[PublishedConfusionRow(truth=truth, **row) for truth, row in matrix.items()],
        sensitivity=share_range(
            add([matrix["positive"]["positive"]] if "positive" in matrix else []),
            add(_others(matrix["positive"], "positive") if "positive" in matrix else []),
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
        accuracy_by_diagnosis=dict(coarse.accuracy_by_diagnosis),
        flip_rate=coarse.flip_rate,
        hiding_rate=coarse.hiding_rate,
        second=None
        if coarse.second_judge is None
        else PublishedSecondJudge(
            second_judge=coarse.second_judge,
            agreements=second["agreements"],
            disagreements=second["disagreements"],
            unjudged=second["unjudged"],
            agreement=share_range(second["agreements"], second["disagreements"], by_wilson=True),
        ),
        answers=_answers(coarse.answers),
        run_answers=_answers(coarse.run_answers),
    )


def _answers(coarse: CoarseAnswers | None) -> PublishedAnswers | None:
    if coarse is None:
        return None
    return PublishedAnswers(answers_each=coarse.answers_each, alpha=coarse.alpha, **coarse.cells)


def _others(row: Cells, verdict: str) -> list[CountRange]:
    """Return the texts of a true class that were rated, but not with this verdict."""
    return [row[other] for other in VERDICT_CLASSES if other != verdict]


def _verdict_class(name: str) -> VerdictClass:
    return next(known for known in VERDICT_CLASSES if known == name)
