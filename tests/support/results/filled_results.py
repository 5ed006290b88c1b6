"""A filled tally for the tests of what readers get: consistent counts, computed from planted tables."""

from dataclasses import replace
from functools import cache

from support.results.planted_disclosure import (
    NOBODY,
    measure_means,
    measure_pair,
    pair_from,
    planted_table,
)
from support.results.planted_identifiers import identifiers_of
from support.results.planted_memorization import memorization_of
from support.results.planted_ordinary import plant_ordinary
from support.results.planted_people import population, subgroups_of
from support.results.planted_queries import queries_of

from clinaudit.audit.assembly.results import tally_stage
from clinaudit.audit.measures.cohorts.balance import BalanceRow
from clinaudit.audit.measures.cohorts.cohort import CohortSummary, tally_cohort
from clinaudit.audit.measures.disclosure.stage import tally_pair
from clinaudit.audit.measures.disclosure.train_delta import adjust_holm
from clinaudit.audit.measures.memorization.summary import summarize_memorization
from clinaudit.audit.results.gate.policy import load_policy
from clinaudit.audit.results.gate.sample_size import decide_run
from clinaudit.audit.results.publication.run_verdict import find_outcomes
from clinaudit.audit.results.ranges.results import derive
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.disclosure import (
    MeanOverDiagnoses,
)
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.results import RunResults, TrainingLoss
from clinaudit.reports.tally.leaves import Alone, Inside, Setting
from clinaudit.reports.tally.tally import (
    CorpusTally,
    DisclosureTally,
    MemorizationTally,
    Tally,
    publishable,
)

_PREVALENCE, _RESAMPLES = 0.3, 20
DIAGNOSES = ("anxiety", "depression", "abortion", "bipolar", "ptsd", "hiv")


@cache
def filled(*, nontrain: bool = True, cell: int = 100, diagnoses: tuple[str, ...] = DIAGNOSES) -> Tally:
    """Both arms (or train alone), diagnoses by six tiers, every part of the schema filled.

    Made once a process, since that takes seconds: copy what you change.
    """
    memorization: dict[str, dict[str, MemorizationTally]] = {}
    for step, tier in enumerate(TIER_IDS):
        memorized = (0.06, 0.09, 0.14, 0.61, 0.72, 0.86)[step]
        attributable = (0.012, 0.021, 0.034, 0.284, 0.331, 0.402)[step]
        memorization[tier] = {"train": memorization_of(memorized, attributable, (40, 52, 71, 148, 150, 150)[step])}
        if nontrain:
            memorization[tier]["nontrain"] = memorization_of(0.04 + 0.006 * step, 0.001, 4 + 3 * step)
    tables = {}
    placed = [(DIAGNOSES.index(diagnosis), diagnosis) for diagnosis in diagnoses]
    for order, diagnosis in placed:
        for step, tier in enumerate(TIER_IDS):
            leak = (0.12, 0.13, 0.17, 0.24, 0.30, 0.33)[step] + (0.25 if order in (2, 5) and step > 2 else 0.0)
            n = cell - _dropped(diagnosis, tier)
            guessed, wrongly = min(13, n - 2), min(12, n - 2)
            train = planted_table(n, round(leak * n), wrongly if order % 2 else 4, ambiguous=order % 3)
            tables[diagnosis, tier] = train, planted_table(n, guessed, wrongly, ambiguous=order % 2)
    measured = adjust_holm({pair: measure_pair(of, _PREVALENCE, _RESAMPLES) for pair, of in tables.items()})
    of_all = {
        tier: measure_means(tuple((tables[name, tier], _PREVALENCE) for name in diagnoses), _RESAMPLES)
        for tier in TIER_IDS
    }
    tally = Tally(
        completeness={
            "priors": tally_stage(planned=1800, done=1752, excluded={"no history of present illness": 4, "other": 44}),
            "generations": tally_stage(planned=1752, done=1750),
            "judgements": tally_stage(planned=3600, done=3600),
        },
        corpus=CorpusTally(
            counterfactual=nontrain,
            labels="lexicon",
            splits={
                split: population(150, is_split=True) for split in (("train", "nontrain") if nontrain else ("train",))
            },
            cohorts={diagnosis: population(4 * cell, is_split=False) for diagnosis in diagnoses},
            identifiability={},
            targets_in_both_splits=Alone.of(3),
            warnings=("labels by the lexicon are scored by the lexicon judge: both share their errors",),
        ),
        memorization=memorization,
        disclosure=DisclosureTally(
            by_diagnosis={
                diagnosis: {
                    tier: tally_pair(
                        pair_from(
                            measured[diagnosis, tier],
                            nontrain=nontrain,
                            dropped={"chief complaint refers to it": _dropped(diagnosis, tier)},
                        )
                    )
                    for tier in TIER_IDS
                }
                for diagnosis in diagnoses
            },
            mean={
                tier: Inside(mean if nontrain else mean.model_copy(update={"nontrain": {}, "delta": {}}))
                for tier, mean in of_all.items()
            },
        ),
        cohorts={
            diagnosis: tally_cohort(
                CohortSummary(
                    status="imbalanced" if order == 1 else "balanced",
                    reason=None,
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
                )
            )
            for order, diagnosis in placed
        },
        identifiers=identifiers_of(nontrain=nontrain),
        queries=queries_of(nontrain=nontrain),
        ordinary=plant_ordinary(),
        subgroups=subgroups_of(memorization, nontrain=nontrain),
        warnings=("The judge is a word list: its errors are part of every disclosure figure.",),
        training=Setting(
            (
                TrainingLoss(epoch=1.0, train_loss=0.192, validation_loss=0.4089, perplexity=1.505),
                TrainingLoss(epoch=2.0, train_loss=0.1513, validation_loss=0.4204, perplexity=1.523),
            )
        ),
    )
    return decided(tally)


def _dropped(diagnosis: str, tier: str) -> int:
    return 3 if (diagnosis, tier) == ("hiv", "encounter_cc_hpi") else 0


def decided(tally: Tally) -> Tally:
    """Return the tally with the verdict of the default policy."""
    shown = derive(publishable(tally))
    decision = decide_run(load_policy(), shown, find_outcomes(derive(tally), shown))
    return replace(tally, decision=Setting(decision))


#: By tally and whether they are exact: each takes seconds.
_derived: dict[tuple[int, bool], tuple[Tally, RunResults]] = {}


def published_of(tally: Tally) -> RunResults:
    """Return what is published of a tally."""
    return _derive_once(tally, is_exact=False)


def exact_of(tally: Tally) -> RunResults:
    """Return the exact results of a tally."""
    return _derive_once(tally, is_exact=True)


def _derive_once(tally: Tally, *, is_exact: bool) -> RunResults:
    key = id(tally), is_exact
    if key not in _derived:
        # With the tally itself, whose id would else be given again.
        _derived[key] = tally, derive(tally if is_exact else publishable(tally))
    return _derived[key][1]


def empty() -> Tally:
    """Everything that may be null is null, everything that may be empty is empty."""
    return Tally()


def all_null() -> Tally:
    """Every part stands, and no figure could be measured."""
    unmeasured = Estimate(value=None, reason="every patient was excluded")
    memorization = summarize_memorization([], match_tokens=30, seed=0)
    pair = tally_pair(measure_pair((NOBODY, NOBODY), None, _RESAMPLES))
    mean = MeanOverDiagnoses(train={"auroc": unmeasured}, nontrain={"auroc": unmeasured}, delta={"auroc": unmeasured})
    return replace(
        filled(),
        memorization={tier: {"train": memorization, "nontrain": memorization} for tier in TIER_IDS},
        disclosure=DisclosureTally(
            by_diagnosis={diagnosis: dict.fromkeys(TIER_IDS, pair) for diagnosis in DIAGNOSES},
            mean={tier: Inside(mean) for tier in TIER_IDS},
        ),
        corpus=None,
        decision=None,
        training=None,
    )
