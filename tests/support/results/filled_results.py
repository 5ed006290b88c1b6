"""A filled `Results` for the tests of what readers get: consistent figures, computed from planted tables."""

from functools import cache
from typing import get_args

from support.results.planted_disclosure import METRICS, means, outcomes_of, pair_from, planted_table, wilson
from support.results.planted_identifiers import identifiers_of
from support.results.planted_memorization import fraction_of, memorization_of
from support.results.planted_people import followed, overlap_of, population, subgroups_of

from clinaudit.audit.gate.policy import load_policy
from clinaudit.audit.gate.sample_size import decide_run
from clinaudit.audit.publication.exact_outcomes import find_outcomes
from clinaudit.audit.ranges.results import publish
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.exact.cohorts import BalanceRow, CohortSummary
from clinaudit.reports.exact.corpus import CorpusSummary
from clinaudit.reports.exact.disclosure import (
    Disclosure,
    DisclosureResults,
    MeanOverDiagnoses,
    MeasuredDelta,
    MeasuredPair,
    TestedDelta,
)
from clinaudit.reports.exact.memorization import FractionName, LengthSummary, Memorization, NearVerbatim, TextBasis
from clinaudit.reports.exact.results import Drift, Results, StageCompleteness, TrainingLoss
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.suppression.coarse import coarsen

DIAGNOSES = ("anxiety", "depression", "abortion", "bipolar", "ptsd", "hiv")


@cache
def filled(*, nontrain: bool = True, cell: int = 100) -> Results:
    """Both arms (or train alone), six diagnoses by six tiers, every part of the schema filled.

    Made once a process, since that takes half a second: copy what you change.
    """
    memorization: dict[str, dict[str, Memorization]] = {}
    for step, tier in enumerate(TIER_IDS):
        memorized = (0.06, 0.09, 0.14, 0.61, 0.72, 0.86)[step]
        attributable = (0.012, 0.021, 0.034, 0.284, 0.331, 0.402)[step]
        memorization[tier] = {"train": memorization_of(memorized, attributable, (40, 52, 71, 148, 150, 150)[step])}
        if nontrain:
            memorization[tier]["nontrain"] = memorization_of(0.04 + 0.006 * step, 0.001, 4 + 3 * step)
    by_diagnosis = {}
    for order, diagnosis in enumerate(DIAGNOSES):
        tiers = {}
        for step, tier in enumerate(TIER_IDS):
            leak = (0.12, 0.13, 0.17, 0.24, 0.30, 0.33)[step] + (0.25 if order in (2, 5) and step > 2 else 0.0)
            dropped = 3 if diagnosis == "hiv" and tier == "encounter_cc_hpi" else 0
            n = cell - dropped
            train = planted_table(n, round(leak * n), 12 if order % 2 else 4, ambiguous=order % 3)
            other = planted_table(n, 13, 12, ambiguous=order % 2) if nontrain else None
            tiers[tier] = pair_from(train, other, dropped)
        by_diagnosis[diagnosis] = tiers
    results = Results(
        completeness={
            "priors": StageCompleteness(
                planned=1800, done=1752, failed=0, excluded={"no history of present illness": 4, "other": 44}
            ),
            "generations": StageCompleteness(planned=1752, done=1750, failed=2),
            "judgements": StageCompleteness(planned=3600, done=3600, failed=0),
        },
        corpus=CorpusSummary(
            counterfactual=nontrain,
            labels="lexicon",
            splits={split: population(150) for split in (("train", "nontrain") if nontrain else ("train",))},
            cohorts={diagnosis: population(4 * cell) for diagnosis in DIAGNOSES},
            follow_up={split: followed(150) for split in (("train", "nontrain") if nontrain else ("train",))},
            targets_in_both_splits=3,
            warnings=["labels by the lexicon are scored by the lexicon judge: both share their errors"],
        ),
        memorization=memorization,
        disclosure=DisclosureResults(by_diagnosis=by_diagnosis, mean=means(by_diagnosis, nontrain=nontrain)),
        cohorts={
            diagnosis: CohortSummary(
                status="imbalanced" if order == 1 else "balanced",
                reason=None,
                matcher="psm",
                prevalence=wilson(60 + order, 150),
                cells={
                    "train_positive": cell,
                    "train_negative": cell,
                    "nontrain_positive": cell,
                    "nontrain_negative": cell,
                },
                balance=[
                    BalanceRow(
                        contrast=contrast,
                        covariate=covariate,
                        smd=0.02 * (order + step) - 0.05 + (0.11 if order == 1 else 0.0),
                        flag="imbalanced" if order == 1 else "balanced",
                        smd_before=0.4 - 0.1 * step,
                    )
                    for contrast in (
                        "pos-train vs. pos-nontrain",
                        "pos-train vs. neg-train",
                        "pos-nontrain vs. neg-nontrain",
                    )
                    for step, covariate in enumerate(("age", "sex", "notes"))
                ],
                excluded={"age or sex unknown": 24, "no sensitive diagnosis": 0},
                overlap=overlap_of(cell),
            )
            for order, diagnosis in enumerate(DIAGNOSES)
        },
        identifiers=identifiers_of(nontrain=nontrain),
        subgroups=subgroups_of(memorization, nontrain=nontrain),
        drift=Drift(prompts=32, patients=30, differing=3, differing_patients=3, equal_leading_share=0.96, tokens=64),
        warnings=["The judge is a word list: its errors are part of every disclosure figure."],
        training=[
            TrainingLoss(epoch=1.0, train_loss=0.192, validation_loss=0.4089, perplexity=1.505),
            TrainingLoss(epoch=2.0, train_loss=0.1513, validation_loss=0.4204, perplexity=1.523),
        ],
    )
    return decided(results)


def decided(results: Results) -> Results:
    """Return the results with the verdict of the default policy."""
    shown = publish(coarsen(results))
    decision = decide_run(load_policy(), shown, find_outcomes(results, shown))
    return results.model_copy(update={"decision": decision})


def empty() -> Results:
    """Everything that may be null is null, everything that may be empty is empty."""
    return Results()


def all_null() -> Results:
    """Every part stands, and no figure could be measured."""
    full = filled()
    unmeasured = Estimate(value=None, reason="every patient was excluded")
    untested = TestedDelta(value=None, reason="every patient was excluded")
    nothing = Disclosure(
        generations=0,
        mentioned=0,
        unjudged=0,
        base_rate=None,
        roc=None,
        **dict.fromkeys(METRICS, unmeasured),
    )
    lengths = LengthSummary(mean=None, median=None, p90=None, max=None)
    memorization = memorization_of(0.1, 0.1, 20).model_copy(
        update={
            **dict.fromkeys(("generations", "patients", "empty", "shorter_than_ngram"), 0),
            **{
                name: unmeasured
                for name, field in Memorization.model_fields.items()
                if field.annotation in (Estimate, Estimate | None)
            },
            "region_length": {"tokens": lengths, "characters": lengths},
            "k_distribution": [],
            "sections": [],
            "copy_forward": [],
            "paper_view": None,
            "distribution": None,
            **dict.fromkeys(("attributable_patients", "empty_patients", "short_patients", "hit_patients"), 0),
            "by_patient": {name: fraction_of(0, 0, 0.0) for name in get_args(FractionName)},
            "behind": dict.fromkeys(get_args(TextBasis), 0),
            "near_verbatim": NearVerbatim(
                window=30,
                edit_budget=3,
                fraction=unmeasured,
                extra_fraction=unmeasured,
                longest_region=unmeasured,
                longest_region_length=lengths,
                by_patient={name: fraction_of(0, 0, 0.0) for name in ("fraction", "extra_fraction")},
                patients=0,
                extra_patients=0,
            ),
            "guard": None,
            "other_patients": None,
        }
    )
    nobody = outcomes_of(((0,) * 5, (0,) * 5))
    pair = MeasuredPair(
        outcomes={"train": nobody, "nontrain": nobody},
        train=nothing,
        nontrain=nothing,
        delta=MeasuredDelta(**dict.fromkeys(METRICS, untested)),
        dropped_sets={},
    )
    return full.model_copy(
        update={
            "memorization": {tier: {"train": memorization, "nontrain": memorization} for tier in TIER_IDS},
            "disclosure": DisclosureResults(
                by_diagnosis={diagnosis: dict.fromkeys(TIER_IDS, pair) for diagnosis in DIAGNOSES},
                mean={
                    tier: MeanOverDiagnoses(
                        train={"auroc": unmeasured}, nontrain={"auroc": unmeasured}, delta={"auroc": unmeasured}
                    )
                    for tier in TIER_IDS
                },
            ),
            "corpus": None,
            "decision": None,
            "training": None,
        }
    )
