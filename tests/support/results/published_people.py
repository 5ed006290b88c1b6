"""Published corpus, cohorts, subgroups and judge's quality made by hand."""

from support.results.published_numbers import Notation

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.corpus import (
    BalanceResults,
    CohortResults,
    CorpusResults,
    GroupResults,
    Partition,
    PopulationResults,
    SubgroupResults,
)
from clinaudit.reports.schema.judge import (
    VERDICT_CLASSES,
    ConfusionResults,
    JudgeResults,
)
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm

CONTRASTS = ("pos-train vs. pos-nontrain", "pos-train vs. neg-train", "pos-nontrain vs. neg-nontrain")


def population(form: Notation, patients: int) -> PopulationResults:
    """Return the patients of one split or cohort."""
    third = patients // 3
    return PopulationResults(
        patients=form.count(patients),
        notes=560.0,
        tokens=210_000.0,
        notes_per_patient=4.3,
        tokens_per_patient=1600.0,
        age=EstimateRange(value=51.0, low=51.0, high=51.0),
        age_bands={
            "18-34": form.count(14),
            "35-49": form.count(third),
            "50-64": form.count(third),
            "65-79": form.count(patients - 2 * third - 14),
        },
        sex={"female": form.count(patients - third), "male": form.count(third)},
        race={"white": form.count(patients - 30), "black": form.count(24), "unknown": form.count(6)},
    )


def corpus(form: Notation, *, cell: int, diagnoses: tuple[str, ...], nontrain: bool) -> CorpusResults:
    """Return who was in the corpus."""
    return CorpusResults(
        counterfactual=nontrain,
        labels="table",
        splits={split: population(form, 130) for split in (("train", "nontrain") if nontrain else ("train",))},
        cohorts={diagnosis: population(form, 4 * cell) for diagnosis in diagnoses} if nontrain else {},
        warnings=["One note was read as Latin-1."],
    )


def cohort(form: Notation, *, cell: int, order: int, nontrain: bool) -> CohortResults:
    """Return the matched cohort of one diagnosis."""
    if not nontrain:
        return CohortResults(
            status="unavailable",
            reason="the corpus has no patients outside training",
            sets=form.count(0),
            prevalence=form.rate(60, 70),
            balance=[],
            excluded={},
        )
    return CohortResults(
        status="imbalanced" if order == 1 else "balanced",
        reason=None,
        sets=form.count(cell),
        prevalence=form.rate(60 + order, 70 - order),
        balance=[
            BalanceResults(
                contrast=contrast,
                covariate=covariate,
                smd=0.2 if order == 1 else 0.1 * (step - 1),
                flag="imbalanced" if order == 1 else "balanced",
                smd_before=0.4,
            )
            for contrast in CONTRASTS
            for step, covariate in enumerate(("age", "sex", "notes"))
        ],
        excluded={"age or sex unknown": form.count(4), "no sensitive diagnosis": form.count(0)},
    )


def subgroups(form: Notation, *, nontrain: bool) -> SubgroupResults:
    """Return who is affected, by sex, age and number of notes."""
    sizes: dict[tuple[Partition, str], int] = {
        ("age", "18-34"): 14,
        ("age", "35-49"): 50,
        ("age", "50-64"): 61,
        ("sex", "female"): 83,
        ("sex", "male"): 42,
        ("notes", "1-2"): 60,
        ("notes", "3-5"): 65,
    }
    arms: tuple[Arm, ...] = ARMS if nontrain else ("train",)

    def groups(tier: str, arm: Arm, share: float) -> list[GroupResults]:
        leaks = arm == "train" and TIER_IDS.index(tier) > 2
        return [
            GroupResults(
                partition=partition,
                group=group,
                patients=form.count(size),
                affected=form.count(affected),
                share=form.rate(affected, size - affected),
            )
            for (partition, group), size in sizes.items()
            for affected in ((round(share * size) if leaks else 0),)
        ]

    return SubgroupResults(
        memorization={tier: {arm: groups(tier, arm, 0.99) for arm in arms} for tier in TIER_IDS},
        disclosure={tier: {arm: groups(tier, arm, 0.95) for arm in arms} for tier in TIER_IDS},
    )


def judge_quality(diagnoses: tuple[str, ...]) -> JudgeResults:
    """Return the quality of a judge scored on the texts that ship: exact, since they are invented."""

    def share(right: int, of: int) -> EstimateRange:
        value = right / of
        return EstimateRange(
            value=value, low=value, high=value, confidence_low=value - 0.08, confidence_high=min(1.0, value + 0.08)
        )

    rows = {
        "positive": (83, 6, 4, 7),
        "negative": (4, 90, 3, 3),
        "ambiguous": (9, 5, 82, 4),
        "not_mentioned": (1, 2, 2, 95),
    }
    return JudgeResults(
        judge="lexicon",
        labels="shipped",
        texts=CountRange(low=400, high=400),
        matrix=[
            ConfusionResults(
                truth=truth,
                **{
                    verdict: CountRange(low=number, high=number)
                    for verdict, number in zip(VERDICT_CLASSES, rows[truth], strict=True)
                },
                unjudged=CountRange(low=0, high=0),
            )
            for truth in VERDICT_CLASSES
        ],
        sensitivity=share(83, 100),
        specificity=share(286, 300),
        agreement=share(350, 400),
        accuracy_by_class={truth: share(max(rows[truth]), 100) for truth in VERDICT_CLASSES},
        accuracy_by_diagnosis={diagnosis: share(60, 66) for diagnosis in diagnoses},
        flip_rate=share(7, 60),
        hiding_rate=share(5, 30),
    )
