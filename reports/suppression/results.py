"""The published copy of the results: small cells suppressed, once for every output (docs/results.md, "Small cells").

Everything outside `evidence/` is made from what `suppress` returns. Owns which figure rests on which patients.
`small_cells` holds the arithmetic, `disclosure` the status × outcome tables, `memorization` the
bins, sections and means of verbatim memorization.

What is guaranteed. No published count of patients is 1 to 10. No breakdown with a shown total has fewer than two
hidden cells, nor hidden cells of fewer than 11 patients together. A rate whose count or complement is hidden is
published only as the range of that count. Figures that rest on fewer than 11 patients (a tier in an arm, regions
that few patients have) are withheld whole, and so are minima and maxima, which always rest on one patient. A mean that
fewer than 11 patients make up is published as an upper bound; a count of pieces or tokens by K, notes or section only
where at least 11 patients are known to stand behind it, dropped tokens only where there are none. What follows from a
hidden figure (a mean over diagnoses, a delta, a rule's observation) is made from the published ranges.

What is not guaranteed. benchmarks/suppression_attacker.py attacks random result sets by integer programming. Against
all that is linear in 500 of them, three of 234,713 hidden counts keep fewer than three values (docs/results.md). Areas
under curves, tests and means have been attacked on few sets, corrected figures, a second matcher's deltas and a second
run of the same corpus not at all.
How many targets are in no set of a cohort follows from sizes that are shown, however few they are.
Generations stand for patients, scaled by generations a patient, where one patient has several prompts. Shares of
regions and means of region lengths are shown where more than ten patients have a region, however few of them the
figure differs by. Warnings and reasons are other modules' words; they must hold no counts of patients.
"""

from collections.abc import Collection, Mapping

from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.corpus import CorpusSummary
from clinaudit.reports.schema.decision import Decision, RuleOutcome
from clinaudit.reports.schema.disclosure import DisclosurePair, DisclosureResults, MeanOverDiagnoses, SecondMatcher
from clinaudit.reports.schema.estimate import ARMS, REASON, Arm, Estimate
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results, StageCompleteness
from clinaudit.reports.suppression.cohorts import suppress_cohort, suppress_second_matcher
from clinaudit.reports.suppression.corpus import group_sizes, suppress_corpus
from clinaudit.reports.suppression.disclosure import suppress_pair
from clinaudit.reports.suppression.groups import find_hidden_groups, suppress_subgroups
from clinaudit.reports.suppression.judge import suppress_corrected, suppress_judge
from clinaudit.reports.suppression.means import suppress_mean
from clinaudit.reports.suppression.memorization import suppress_memorization, tells_small_sum
from clinaudit.reports.suppression.small_cells import suppress_breakdown, suppress_count, withhold, without_numbers
from clinaudit.reports.suppression.tier_sizes import (
    count_missing,
    find_few_unread,
    find_hidden_splits,
    find_hidden_tiers,
)

#: So many units, of which a set has four, leave five values for at most ten sets that were dropped: six to ten.
_FEW_UNITS = 24


def suppress(results: Results) -> Results:
    """Return the copy of `results` that may leave `evidence/`; takes the unsuppressed ones, once."""
    quality, second = results.judge_quality, results.second_matcher
    splits = _split_sizes(results.corpus)
    hidden_tiers = find_hidden_tiers(results)
    hidden_splits = find_hidden_splits(results)
    cohorts = {
        diagnosis: suppress_cohort(
            cohort, splits=splits, second_sets=_second_sets(second, diagnosis), hides_split=bool(hidden_splits)
        )
        for diagnosis, cohort in results.cohorts.items()
    }
    memorization = {
        tier: {arm: suppress_memorization(figures, hides_sizes=tier in hidden_tiers) for arm, figures in arms.items()}
        for tier, arms in results.memorization.items()
    }
    pairs = {
        diagnosis: {
            tier: suppress_pair(
                pair,
                set_count=_set_count(results.cohorts.get(diagnosis)),
                prevalence=cohorts[diagnosis].prevalence if diagnosis in cohorts else None,
            )
            for tier, pair in tiers.items()
        }
        for diagnosis, tiers in results.disclosure.by_diagnosis.items()
    }
    means = {
        tier: suppress_mean(
            mean,
            [tiers[tier] for tiers in results.disclosure.by_diagnosis.values() if tier in tiers],
            [tiers[tier] for tiers in pairs.values() if tier in tiers],
        )
        for tier, mean in results.disclosure.mean.items()
    }
    shown = {
        diagnosis: {
            tier: pair.model_copy(
                update={
                    "corrected": suppress_corrected(results.disclosure.by_diagnosis[diagnosis][tier], pair, quality)
                }
            )
            for tier, pair in tiers.items()
        }
        for diagnosis, tiers in pairs.items()
    }
    sizes = group_sizes(results.corpus)
    hides_sizes = bool(hidden_tiers) or _hides_generations(results, memorization)
    published = results.model_copy(
        update={
            "completeness": {
                stage: _suppress_stage(
                    units,
                    # The judge reads the sets that were not dropped; priors and generations are of all targets.
                    hides_units=hides_sizes or (stage == "judgements" and _hides_sets(pairs)),
                    told=_find_told_reasons(units, results, pairs),
                )
                for stage, units in results.completeness.items()
            },
            "corpus": suppress_corpus(results),
            "memorization": memorization,
            "disclosure": DisclosureResults(by_diagnosis=shown, mean=means),
            "judge_quality": None if quality is None else suppress_judge(quality),
            "cohorts": cohorts,
            "second_matcher": None if second is None else suppress_second_matcher(second),
            "subgroups": None
            if results.subgroups is None
            else suppress_subgroups(
                results.subgroups,
                splits=sizes,
                hidden=find_hidden_groups(results.subgroups, sizes),
                hidden_sizes={(tier, arm) for tier in hidden_tiers for arm in ARMS},
                hidden_judged=find_few_unread(results),
                shows_asked=len(results.disclosure.by_diagnosis) == 1,
                small_sums=[
                    (tier, arm)
                    for tier, arms in results.memorization.items()
                    for arm, figures in arms.items()
                    if tells_small_sum(figures)
                ],
            ),
        }
    )
    return published.model_copy(update={"decision": _suppress_decision(results, published)})


def _suppress_stage(stage: StageCompleteness, *, hides_units: bool, told: Collection[str]) -> StageCompleteness:
    """Hide few excluded, and the units planned where less what is shown they would give a hidden count.

    `told`: reasons that tell how many sets were dropped.
    """
    missing = None if stage.planned is None or stage.done is None else stage.planned - stage.done - stage.failed
    counts_excluded = missing == sum(count or 0 for count in stage.excluded.values())
    if counts_excluded:
        excluded = suppress_breakdown(stage.excluded, hidden_elsewhere=told)
    else:
        excluded = {
            reason: None if count and reason in told else suppress_count(count)
            for reason, count in stage.excluded.items()
        }
    if hides_units or (counts_excluded and None in excluded.values()):
        return stage.model_copy(update={"planned": None, "done": None, "missing": missing, "excluded": excluded})
    return stage.model_copy(update={"excluded": excluded})


def _find_told_reasons(
    stage: StageCompleteness, results: Results, pairs: Mapping[str, Mapping[str, DisclosurePair]]
) -> frozenset[str]:
    """Return the reasons in the ledger that would tell how many sets were dropped, where that is hidden.

    A set has four units: only many of them tell of at most ten sets that they are nearly ten. Not the reasons that the
    sizes of the tier tell anyway: as many patients are missing there.
    """
    return frozenset(
        name
        for tiers in pairs.values()
        for tier, pair in tiers.items()
        for name, count in ((f"{tier}: {reason}", count) for reason, count in pair.dropped_sets.items())
        if count is None and (stage.excluded.get(name) or 0) > _FEW_UNITS
        if stage.excluded[name] != count_missing(results, tier)
    )


def _hides_generations(results: Results, published: Mapping[str, Mapping[Arm, Memorization]]) -> bool:
    """Whether the size of any tier in any arm is hidden: the sum of all would give it back."""
    return any(
        figures.generations is None and results.memorization[tier][arm].generations is not None
        for tier, arms in published.items()
        for arm, figures in arms.items()
    )


def _hides_sets(published: Mapping[str, Mapping[str, DisclosurePair]]) -> bool:
    """Whether it is hidden of any pair why sets were dropped."""
    return any(None in pair.dropped_sets.values() for tiers in published.values() for pair in tiers.values())


def _split_sizes(corpus: CorpusSummary | None) -> dict[Arm, int | None]:
    return {} if corpus is None else {arm: corpus.splits[arm].patients for arm in ARMS if arm in corpus.splits}


def _second_sets(second: SecondMatcher | None, diagnosis: str) -> int | None:
    matching = None if second is None else second.diagnoses.get(diagnosis)
    return None if matching is None else matching.sets


def _set_count(cohort: CohortSummary | None) -> int | None:
    return None if cohort is None else cohort.cells.get("train_positive")


def _suppress_decision(original: Results, published: Results) -> Decision | None:
    if original.decision is None:
        return None
    rules = [_suppress_rule(rule, original, published) for rule in original.decision.rules]
    return original.decision.model_copy(update={"rules": rules})


def _suppress_rule(rule: RuleOutcome, original: Results, published: Results) -> RuleOutcome:
    """Give the rule's observation as its figure is published; a figure that cannot be found is withheld."""
    before, after = _observed_figure(rule, original), _observed_figure(rule, published)
    if before == after and (before is not None or rule.observed.value is None):
        return rule
    reason = without_numbers(rule.reason, instead=_RULE_REASONS[rule.status])
    if after is None or rule.observed.value is None:
        observed = withhold(rule.observed)
    elif after.value is not None:
        observed = Estimate(value=after.value, low=after.low, high=after.high)
    else:
        observed = Estimate(value=None, low=after.low, high=after.high, reason=after.reason or REASON)
    return rule.model_copy(update={"observed": observed, "reason": reason})


_RULE_REASONS = {
    "pass": "within the limit on the unsuppressed figures",
    "fail": "beyond the limit on the unsuppressed figures",
    "inconclusive": "not enough data to tell, on the unsuppressed figures",
}


def _observed_figure(rule: RuleOutcome, results: Results) -> Estimate | None:
    """Find the figure that a rule limits: `metric` names its field, with `delta` or an arm's name beside it."""
    words = rule.metric.replace("/", ".").replace(" ", ".").split(".")
    place: object
    if rule.diagnosis is not None and rule.tier is not None:
        pair: DisclosurePair | None = results.disclosure.by_diagnosis.get(rule.diagnosis, {}).get(rule.tier)
        place = None if pair is None else pair.delta if _is_delta(words) else getattr(pair, _arm(words))
    elif rule.tier in results.memorization:
        place = results.memorization[rule.tier].get(_arm(words))
    else:
        place = results.disclosure.mean.get(rule.tier or "")
    for word in words:
        if isinstance(place, MeanOverDiagnoses):
            side = place.delta if _is_delta(words) else getattr(place, _arm(words))
            figure = side.get(word)
        else:
            figure = getattr(place, word, None)
        if isinstance(figure, Estimate):
            return figure
    return None


def _is_delta(words: list[str]) -> bool:
    # A disclosure rule limits the delta of `auroc_all`, and may call it by that name alone (docs/policy.md, "Keys").
    return "delta" in words or not {"train", "nontrain"} & set(words)


def _arm(words: list[str]) -> Arm:
    return "nontrain" if "nontrain" in words else "train"
