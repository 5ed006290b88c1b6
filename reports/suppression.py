"""The published copy of the results: small cells suppressed, once for every output (contract, section 6).

Everything outside `evidence/` is made from what `suppress` returns. Owns which figure rests on which patients.
`small_cells` holds the arithmetic, `suppressed_disclosure` the status × outcome tables.

What is guaranteed. No published count of patients is 1 to 10. No breakdown with a shown total has fewer than two
hidden cells, nor hidden cells of fewer than 11 patients together. A rate whose count or complement is hidden is
published only as the range of that count. Figures that rest on fewer than 11 patients (a tier in an arm, regions
that few patients have) are withheld whole, and so are minima and maxima, which always rest on one patient. What
follows from a hidden figure (a mean over diagnoses, a delta, a rule's observation) is made from the published ranges.

What is not guaranteed. No attacker is simulated: a reader who combines many shown figures (completeness of a stage
minus the tiers' counts, several AUROC bands of one table, a second run of the same corpus) may narrow a hidden count
below ten candidates. Generations stand for patients, scaled by generations a patient, where one patient has several
prompts. Counts of units, tokens, regions and pieces are shown as they are, unless all rest on few patients. Warnings
and reasons are other modules' words; they must hold no counts of patients.
"""

from collections.abc import Mapping

from clinaudit.reports.results import (
    Arm,
    BalanceRow,
    CohortSummary,
    CorpusSummary,
    Decision,
    DisclosurePair,
    DisclosureResults,
    Estimate,
    KBin,
    LengthSummary,
    MeanOverDiagnoses,
    Memorization,
    Moments,
    PopulationSummary,
    Results,
    RuleOutcome,
    StageCompleteness,
)
from clinaudit.reports.small_cells import (
    LARGEST_HIDDEN,
    REASON,
    blur,
    counted,
    is_small,
    publish_breakdown,
    publish_count,
    publish_rate,
    withhold,
    without_numbers,
)
from clinaudit.reports.suppressed_disclosure import publish_mean, publish_pair

#: The 90th percentile rests on a tenth of the regions: shown from this many patients on.
_PATIENTS_FOR_P90 = 10 * (LARGEST_HIDDEN + 1)
_NO_MOMENTS = Moments(mean=None, sd=None, min=None, max=None)
_NO_LENGTHS = LengthSummary(mean=None, median=None, p90=None, max=None)
#: Figures over regions and pieces: they rest on the patients that have at least one region.
_OVER_REGIONS = ("source_notes_mean", "stitched_share", "templated_share", "multi_patient_share")
_OVER_GENERATIONS = (
    "memorized_fraction",
    "memorized_fraction_without_echo",
    "attributable_fraction",
    "attributable_fraction_bounds",
    "memorized_fraction_bounds",
)


def suppress(results: Results) -> Results:
    """Return the copy of `results` that may leave `evidence/`; takes the unsuppressed ones, once."""
    cohorts = {diagnosis: _publish_cohort(cohort) for diagnosis, cohort in results.cohorts.items()}
    memorization = {
        tier: {arm: _publish_memorization(figures, _most_patients(results, arm)) for arm, figures in arms.items()}
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
    published = results.model_copy(
        update={
            "completeness": {stage: _publish_stage(units) for stage, units in results.completeness.items()},
            "corpus": None if results.corpus is None else _publish_corpus(results.corpus, results.cohorts),
            "memorization": memorization,
            "disclosure": DisclosureResults(by_diagnosis=pairs, mean=means),
            "cohorts": cohorts,
        }
    )
    return published.model_copy(update={"decision": _publish_decision(results, published)})


def _publish_stage(stage: StageCompleteness) -> StageCompleteness:
    residual = stage.planned - stage.done - stage.failed
    has_shown_total = residual == sum(count or 0 for count in stage.excluded.values())
    if has_shown_total:
        excluded = publish_breakdown(stage.excluded)
    else:
        excluded = {reason: publish_count(count) for reason, count in stage.excluded.items()}
    return stage.model_copy(update={"excluded": excluded})


def _publish_corpus(corpus: CorpusSummary, cohorts: Mapping[str, CohortSummary]) -> CorpusSummary:
    return corpus.model_copy(
        update={
            "splits": {name: _publish_population(split) for name, split in corpus.splits.items()},
            "cohorts": {
                name: _withhold_population()
                if name in cohorts and _has_small_cell(cohorts[name])
                else _publish_population(population)
                for name, population in corpus.cohorts.items()
            },
        }
    )


def _publish_population(population: PopulationSummary) -> PopulationSummary:
    if population.patients is None or is_small(population.patients):
        return _withhold_population()
    return population.model_copy(
        update={
            "notes_per_patient": _without_extremes(population.notes_per_patient),
            "tokens_per_patient": _without_extremes(population.tokens_per_patient),
            "age": _without_extremes(population.age),
            "age_bands": publish_breakdown(population.age_bands),
            "sex": publish_breakdown(population.sex),
            "race": publish_breakdown(population.race),
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


def _has_small_cell(cohort: CohortSummary) -> bool:
    return any(is_small(count) for count in cohort.cells.values())


def _set_count(cohort: CohortSummary | None) -> int | None:
    return None if cohort is None else cohort.cells.get("train_positive")


def _publish_cohort(cohort: CohortSummary) -> CohortSummary:
    has_small_cell = _has_small_cell(cohort)
    return cohort.model_copy(
        update={
            "prevalence": publish_rate(cohort.prevalence),
            # The cells are equal: one that is hidden hides all.
            "cells": {cell: None if has_small_cell else count for cell, count in cohort.cells.items()},
            "balance": [_without_smd(row) for row in cohort.balance] if has_small_cell else cohort.balance,
            "excluded": {reason: publish_count(count) for reason, count in cohort.excluded.items()},
        }
    )


def _without_smd(row: BalanceRow) -> BalanceRow:
    return row.model_copy(update={"smd": None})


def _most_patients(results: Results, arm: Arm) -> int:
    return max((arms[arm].patients or 0 for arms in results.memorization.values() if arm in arms), default=0)


def _publish_memorization(figures: Memorization, targets: int) -> Memorization:
    """`targets`: most patients that any tier of the arm has; a few fewer here would be a small complement."""
    if figures.patients == 0:
        return figures
    if figures.generations is None or figures.patients is None or is_small(figures.patients):
        return _withhold_memorization(figures)
    patients_per_unit = -(-figures.generations // figures.patients)
    hit_rate = publish_rate(figures.hit_rate, patients_per_unit=patients_per_unit)
    update: dict[str, object] = {
        "empty": publish_count(figures.empty, total=figures.shorter_than_ngram),
        "shorter_than_ngram": publish_count(figures.shorter_than_ngram, total=figures.generations),
        "hit_rate": hit_rate,
        "region_length": {
            unit: lengths.model_copy(
                update={"max": None, "p90": lengths.p90 if figures.patients >= _PATIENTS_FOR_P90 else None}
            )
            for unit, lengths in figures.region_length.items()
        },
        "k_distribution": _coarse_k(figures.k_distribution),
    }
    if figures.paper_view is not None:
        update["paper_view"] = figures.paper_view.model_copy(
            update={
                "hit_rate": withhold(figures.paper_view.hit_rate)
                if hit_rate.reason == REASON
                else figures.paper_view.hit_rate
            }
        )
    hits = counted(figures.hit_rate)
    if hits is None or 0 < hits <= LARGEST_HIDDEN * patients_per_unit:
        update |= _withhold_regions(figures)
    elif hit_rate.reason == REASON:
        # Nearly all were hit: how many is hidden, what their regions look like is not.
        update |= {name: _without_n(getattr(figures, name)) for name in _OVER_REGIONS}
    if is_small(targets - figures.patients):
        update |= {name: blur(getattr(figures, name)) for name in _OVER_GENERATIONS}
        update |= {"patients": None, "generations": None, "empty": None, "shorter_than_ngram": None}
        update |= {"hit_rate": blur(hit_rate), "paper_view": None}
        update |= {name: blur(update.get(name, getattr(figures, name))) for name in _OVER_REGIONS}  # type: ignore[arg-type]
    return figures.model_copy(update=update)


def _withhold_memorization(figures: Memorization) -> Memorization:
    return figures.model_copy(
        update={
            **dict.fromkeys(("generations", "patients", "empty", "shorter_than_ngram", "paper_view")),
            **{name: withhold(getattr(figures, name)) for name in (*_OVER_GENERATIONS, "hit_rate")},
            **_withhold_regions(figures),
        }
    )


def _withhold_regions(figures: Memorization) -> dict[str, object]:
    return {
        **{name: withhold(getattr(figures, name)) for name in _OVER_REGIONS},
        "region_length": dict.fromkeys(figures.region_length, _NO_LENGTHS),
        "k_distribution": [],
        "sections": [],
        "copy_forward": [],
    }


def _without_n(estimate: Estimate) -> Estimate:
    return estimate.model_copy(update={"n": None})


def _coarse_k(bins: list[KBin]) -> list[KBin]:
    """Pool exact K from 2 to 10: it is a number of patients that share a text."""
    pooled: dict[str, int] = {}
    for bin_ in bins:
        is_exact = bin_.k.isdecimal() and 1 < int(bin_.k) <= LARGEST_HIDDEN
        label = f"2-{LARGEST_HIDDEN}" if is_exact else bin_.k
        pooled[label] = pooled.get(label, 0) + bin_.pieces
    return [KBin(k=k, pieces=pieces) for k, pieces in pooled.items()]


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
