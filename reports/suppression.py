"""The published copy of the results: small cells suppressed, once for every output (contract, section 6).

Everything outside `evidence/` is made from what `suppress` returns. Owns which figure rests on which patients.
`small_cells` holds the arithmetic, `suppressed_disclosure` the status × outcome tables, `suppressed_memorization` the
bins, sections and means of verbatim memorization.

What is guaranteed. No published count of patients is 1 to 10. No breakdown with a shown total has fewer than two
hidden cells, nor hidden cells of fewer than 11 patients together. A rate whose count or complement is hidden is
published only as the range of that count. Figures that rest on fewer than 11 patients (a tier in an arm, regions
that few patients have) are withheld whole, and so are minima and maxima, which always rest on one patient. A mean that
fewer than 11 patients make up is published as an upper bound; a count of pieces or tokens by K, notes or section only
where at least 11 patients are known to stand behind it, dropped tokens only where there are none. What follows from a
hidden figure (a mean over diagnoses, a delta, a rule's observation) is made from the published ranges.

What is not guaranteed. tests/suppression_attacker.py attacks random result sets by integer programming. Against all
that is linear nearly every hidden count keeps three values; bins of the distribution do not always. Areas under curves,
tests and means have been attacked on few sets, corrected figures, a second matcher's deltas and a second run of the
same corpus not at all.
How many targets are in no set of a cohort follows from sizes that are shown, however few they are.
Generations stand for patients, scaled by generations a patient, where one patient has several prompts. Shares of
regions and means of region lengths are shown where more than ten patients have a region, however few of them the
figure differs by. Warnings and reasons are other modules' words; they must hold no counts of patients.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from clinaudit.reports.patient_groups import ARMS
from clinaudit.reports.results import (
    Arm,
    CohortSummary,
    CorpusSummary,
    Decision,
    DisclosurePair,
    DisclosureResults,
    Estimate,
    MeanOverDiagnoses,
    Memorization,
    Moments,
    PopulationSummary,
    Results,
    RuleOutcome,
    SecondMatcher,
    StageCompleteness,
)
from clinaudit.reports.small_cells import (
    REASON,
    blur,
    is_small,
    publish_breakdown,
    publish_count,
    withhold,
    without_numbers,
)
from clinaudit.reports.suppressed_cohorts import has_small_cell, publish_cohort, publish_second_matcher
from clinaudit.reports.suppressed_disclosure import publish_pair
from clinaudit.reports.suppressed_groups import (
    Hidden,
    find_hidden_groups,
    find_partitions_with_few_missing,
    find_target_groups,
    publish_subgroups,
)
from clinaudit.reports.suppressed_judge import publish_corrected, publish_judge
from clinaudit.reports.suppressed_means import publish_mean
from clinaudit.reports.suppressed_memorization import publish_memorization
from clinaudit.reports.tier_sizes import count_left_over, find_few_unread, find_hidden_tiers

_PARTITION_FIELDS = {"age": "age_bands", "sex": "sex", "race": "race"}
_NO_MOMENTS = Moments(mean=None, sd=None, min=None, max=None)


def suppress(results: Results) -> Results:
    """Return the copy of `results` that may leave `evidence/`; takes the unsuppressed ones, once."""
    quality, second = results.judge_quality, results.second_matcher
    splits = _split_sizes(results.corpus)
    hidden_tiers = find_hidden_tiers(results)
    hidden_splits = _find_hidden_splits(results)
    cohorts = {
        diagnosis: publish_cohort(
            cohort, splits=splits, second_sets=_second_sets(second, diagnosis), hides_split=bool(hidden_splits)
        )
        for diagnosis, cohort in results.cohorts.items()
    }
    memorization = {
        tier: {arm: publish_memorization(figures, hides_sizes=tier in hidden_tiers) for arm, figures in arms.items()}
        for tier, arms in results.memorization.items()
    }
    pairs = {
        diagnosis: {
            tier: publish_pair(
                pair,
                set_count=_set_count(results.cohorts.get(diagnosis)),
                prevalence=cohorts[diagnosis].prevalence if diagnosis in cohorts else None,
            )
            for tier, pair in tiers.items()
        }
        for diagnosis, tiers in results.disclosure.by_diagnosis.items()
    }
    means = {
        tier: publish_mean(
            mean,
            [tiers[tier] for tiers in results.disclosure.by_diagnosis.values() if tier in tiers],
            [tiers[tier] for tiers in pairs.values() if tier in tiers],
        )
        for tier, mean in results.disclosure.mean.items()
    }
    shown = {
        diagnosis: {
            tier: pair.model_copy(
                update={"corrected": publish_corrected(results.disclosure.by_diagnosis[diagnosis][tier], pair, quality)}
            )
            for tier, pair in tiers.items()
        }
        for diagnosis, tiers in pairs.items()
    }
    sizes = _group_sizes(results.corpus)
    hidden = find_hidden_groups(results.subgroups, sizes)
    few_missing = find_partitions_with_few_missing(results.subgroups, sizes)
    hides_units = bool(hidden_tiers) or _hides_generations(results, memorization) or _hides_sets(pairs)
    published = results.model_copy(
        update={
            "completeness": {
                stage: _publish_stage(units, hides_units=hides_units) for stage, units in results.completeness.items()
            },
            "corpus": None
            if results.corpus is None
            else _publish_corpus(results, results.corpus, hidden, few_missing, hidden_splits),
            "memorization": memorization,
            "disclosure": DisclosureResults(by_diagnosis=shown, mean=means),
            "judge_quality": None if quality is None else publish_judge(quality),
            "cohorts": cohorts,
            "second_matcher": None if second is None else publish_second_matcher(second),
            "subgroups": None
            if results.subgroups is None
            else publish_subgroups(
                results.subgroups,
                splits=sizes,
                hidden=hidden,
                hidden_sizes={(tier, arm) for tier in hidden_tiers for arm in ARMS},
                hidden_judged=find_few_unread(results),
            ),
        }
    )
    return published.model_copy(update={"decision": _publish_decision(results, published)})


def _publish_stage(stage: StageCompleteness, *, hides_units: bool) -> StageCompleteness:
    """Hide few excluded, and the units planned where less what is shown they would give a hidden count."""
    missing = None if stage.planned is None or stage.done is None else stage.planned - stage.done - stage.failed
    if missing == sum(count or 0 for count in stage.excluded.values()):
        excluded = publish_breakdown(stage.excluded)
    else:
        excluded = {reason: publish_count(count) for reason, count in stage.excluded.items()}
    if not hides_units and None not in excluded.values():
        return stage
    return stage.model_copy(update={"planned": None, "done": None, "missing": missing, "excluded": excluded})


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


def _find_hidden_splits(results: Results) -> frozenset[str]:
    """Return the splits that have 1 to 10 patients more than the targets in them."""
    splits = () if results.corpus is None else results.corpus.splits
    return frozenset(split for split in splits if is_small(count_left_over(results, split)))


def _group_sizes(corpus: CorpusSummary | None) -> dict[tuple[Arm, str], dict[str, int | None]]:
    """Return the sizes of the groups of each split that is described."""
    if corpus is None:
        return {}
    return {
        (arm, partition): counts
        for arm in ARMS
        if arm in corpus.splits and not is_small(corpus.splits[arm].patients)
        for partition, counts in _partitions(corpus.splits[arm]).items()
    }


def _partitions(population: PopulationSummary) -> dict[str, dict[str, int | None]]:
    return {partition: getattr(population, field) for partition, field in _PARTITION_FIELDS.items()}


def _publish_corpus(
    results: Results,
    corpus: CorpusSummary,
    hidden: Hidden,
    few_missing: Collection[tuple[Arm, str]],
    hidden_splits: Collection[str],
) -> CorpusSummary:
    by_arm = {arm: {partition: hidden.get((arm, partition), ()) for partition in _PARTITION_FIELDS} for arm in ARMS}
    targets = find_target_groups(results.subgroups)
    # A cohort's patients are of both arms: with one of them, they would give the other.
    in_any = {
        partition: {
            group
            for arm in ARMS
            for group in by_arm[arm][partition]
            if results.subgroups is None or (arm, partition, group) in targets
        }
        for partition in _PARTITION_FIELDS
    }
    splits = {name: _publish_population(split, by_arm[_arm_of_split(name)]) for name, split in corpus.splits.items()}
    return corpus.model_copy(
        update={
            "splits": {
                name: _without_size(split)
                if name in hidden_splits
                else _without_lone_groups(split, _arm_of_split(name), targets, few_missing)
                for name, split in splits.items()
            },
            "cohorts": {
                name: _withhold_population()
                if name in results.cohorts and has_small_cell(results.cohorts[name])
                else _without_partitions(_publish_population(population, in_any), targets, few_missing)
                for name, population in corpus.cohorts.items()
            },
        }
    )


def _publish_population(population: PopulationSummary, hidden: Mapping[str, Collection[str]]) -> PopulationSummary:
    if population.patients is None or is_small(population.patients):
        return _withhold_population()
    counts = {
        partition: publish_breakdown(counts, hidden_elsewhere=hidden[partition])
        for partition, counts in _partitions(population).items()
    }
    return population.model_copy(
        update={
            "notes_per_patient": _without_extremes(population.notes_per_patient),
            "tokens_per_patient": _without_extremes(population.tokens_per_patient),
            "age": _round_moments(_without_extremes(population.age)),
            "age_bands": counts["age"],
            "sex": counts["sex"],
            "race": counts["race"],
        }
    )


def _without_partitions(
    population: PopulationSummary,
    targets: Collection[tuple[Arm, str, str]],
    few_missing: Collection[tuple[Arm, str]],
) -> PopulationSummary:
    """Hide groups of an arm's partition with few missing: a cohort's less the other arm's would be this one's.

    One group alone is the arm's cells, which are shown.
    """
    sizes = Counter((arm, partition) for arm, partition, _ in targets)
    told = {(of, group) for arm, of, group in targets if (arm, of) in few_missing and sizes[arm, of] > 1}
    return _hide_groups(population, told)


def _without_lone_groups(
    population: PopulationSummary,
    arm: Arm,
    targets: Collection[tuple[Arm, str, str]],
    few_missing: Collection[tuple[Arm, str]],
) -> PopulationSummary:
    """Hide a split's partition with few missing where all targets are of one group: its size is that of the arm."""
    told = set()
    for partition, counts in _partitions(population).items():
        groups = [group for of_arm, of, group in targets if (of_arm, of) == (arm, partition)]
        # A split of one group is all of it.
        is_whole = sum(bool(count) for count in counts.values()) == 1
        if len(groups) == 1 and (arm, partition) in few_missing and not is_whole:
            told |= {(partition, group) for group in counts}
    return _hide_groups(population, told)


def _without_size(population: PopulationSummary) -> PopulationSummary:
    """Hide how many patients a split has, and what it could be had back from."""
    every = {(partition, group) for partition, counts in _partitions(population).items() for group in counts}
    means = dict.fromkeys(("notes_per_patient", "tokens_per_patient"), _NO_MOMENTS)
    return _hide_groups(population, every).model_copy(update={"patients": None, **means})


def _hide_groups(population: PopulationSummary, told: Collection[tuple[str, str]]) -> PopulationSummary:
    """Hide how many patients are in these groups (partition and name); nobody tells of nobody."""
    return population.model_copy(
        update={
            _PARTITION_FIELDS[partition]: {
                group: None if count and (partition, group) in told else count for group, count in counts.items()
            }
            for partition, counts in _partitions(population).items()
        }
    )


def _withhold_population() -> PopulationSummary:
    return PopulationSummary(
        notes=None,
        patients=None,
        tokens=None,
        practices=None,
        notes_per_patient=_NO_MOMENTS,
        tokens_per_patient=_NO_MOMENTS,
        age=_NO_MOMENTS,
        age_bands={},
        sex={},
        race={},
    )


def _without_extremes(moments: Moments) -> Moments:
    return moments.model_copy(update={"min": None, "max": None})


def _arm_of_split(split: str) -> Arm:
    return "train" if split == "train" else "nontrain"


def _split_sizes(corpus: CorpusSummary | None) -> dict[Arm, int | None]:
    return {} if corpus is None else {arm: corpus.splits[arm].patients for arm in ARMS if arm in corpus.splits}


def _second_sets(second: SecondMatcher | None, diagnosis: str) -> int | None:
    matching = None if second is None else second.diagnoses.get(diagnosis)
    return None if matching is None else matching.sets


def _round_moments(moments: Moments) -> Moments:
    """Give one decimal: to six, a mean over those whose age is known tells how many they are."""
    mean, sd = (None if figure is None else round(figure, 1) for figure in (moments.mean, moments.sd))
    return moments.model_copy(update={"mean": mean, "sd": sd})


def _set_count(cohort: CohortSummary | None) -> int | None:
    return None if cohort is None else cohort.cells.get("train_positive")


def _publish_decision(original: Results, published: Results) -> Decision | None:
    if original.decision is None:
        return None
    rules = [_publish_rule(rule, original, published) for rule in original.decision.rules]
    return original.decision.model_copy(update={"rules": rules})


def _publish_rule(rule: RuleOutcome, original: Results, published: Results) -> RuleOutcome:
    """Give the rule's observation as its figure is published; a figure that cannot be found is withheld."""
    before, after = _observed_figure(rule, original), _observed_figure(rule, published)
    if before == after and (before is not None or rule.observed.value is None):
        return rule
    reason = without_numbers(rule.reason, instead=_RULE_REASONS[rule.status])
    if after is None or rule.observed.value is None:
        observed = withhold(rule.observed)
    elif after.value is not None:
        observed = blur(rule.observed)
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
    # The contract's disclosure rule limits the delta of `auroc_all`, and may call it by that name alone.
    return "delta" in words or not {"train", "nontrain"} & set(words)


def _arm(words: list[str]) -> Arm:
    return "nontrain" if "nontrain" in words else "train"
