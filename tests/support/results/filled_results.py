"""A filled `Results` for the tests of what readers get: consistent figures, computed from planted tables."""

import math

from clinaudit.audit.statistics.patient_distribution import describe_distribution
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.cohorts import BalanceRow, CohortSummary
from clinaudit.reports.schema.corpus import CorpusSummary, Moments, PopulationSummary
from clinaudit.reports.schema.decision import Decision, Limit, RuleOutcome
from clinaudit.reports.schema.disclosure import (
    Disclosure,
    DisclosureDelta,
    DisclosurePair,
    DisclosureResults,
    MeanOverDiagnoses,
    RocPoint,
    TestedDelta,
)
from clinaudit.reports.schema.estimate import ARMS, Arm, Estimate
from clinaudit.reports.schema.groups import (
    GroupDisclosure,
    GroupMemorization,
    OverlapBin,
    Partition,
    PatientDistribution,
    Subgroups,
)
from clinaudit.reports.schema.memorization import (
    SECTION_KINDS,
    CopyForwardBin,
    KBin,
    LengthSummary,
    Memorization,
    NearVerbatim,
    PaperView,
    SectionComposition,
)
from clinaudit.reports.schema.results import Results, StageCompleteness, TrainingLoss

DIAGNOSES = ("anxiety", "depression", "abortion", "bipolar", "ptsd", "hiv")
METRICS = tuple(DisclosureDelta.model_fields)

#: d-positive and d-negative patients by outcome: positive, ambiguous, negative, not mentioned, unjudged.
Table = tuple[tuple[int, int, int, int, int], tuple[int, int, int, int, int]]


def wilson(count: float, n: int, reason: str = "nobody to count") -> Estimate:
    if n == 0:
        return Estimate(value=None, reason=reason, n=0)
    z, share = 1.959964, count / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Estimate(value=share, low=max(0.0, centre - half), high=min(1.0, centre + half), n=n)


def auroc(positives: dict[float, int], negatives: dict[float, int]) -> Estimate:
    n1, n0 = sum(positives.values()), sum(negatives.values())
    if not n1 or not n0:
        return Estimate(value=None, reason="one class only", n=n1 + n0)
    wins = sum(
        a * b * (1.0 if s > t else 0.5 if s == t else 0.0) for s, a in positives.items() for t, b in negatives.items()
    )
    value, half = wins / (n1 * n0), 0.9 / math.sqrt(n1 + n0)
    return Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half), n=n1 + n0)


def disclosure_from(table: Table, prevalence: float = 0.3) -> Disclosure:
    (p1, a1, n1, x1, u1), (p0, a0, n0, x0, u0) = table
    positives, negatives = sum(table[0]), sum(table[1])
    mentioned, judged = p1 + a1 + n1 + p0 + a0 + n0, positives + negatives - u1 - u0
    m1, m0 = p1 + a1 + n1, p0 + a0 + n0
    roc = None
    if m1 and m0:
        roc = [
            RocPoint(threshold=1.0, true_positive_rate=p1 / m1, false_positive_rate=p0 / m0),
            RocPoint(threshold=0.5, true_positive_rate=(p1 + a1) / m1, false_positive_rate=(p0 + a0) / m0),
            RocPoint(threshold=0.0, true_positive_rate=1.0, false_positive_rate=1.0),
        ]
    sensitivity, fpr = p1 / positives, p0 / negatives
    weighted = sensitivity * prevalence + fpr * (1 - prevalence)
    return Disclosure(
        generations=positives + negatives,
        mentioned=mentioned,
        mention_rate=wilson(mentioned, judged),
        unjudged=u1 + u0,
        base_rate=positives / (positives + negatives),
        auroc=auroc({1.0: p1, 0.5: a1, 0.0: n1}, {1.0: p0, 0.5: a0, 0.0: n0}),
        ppv=wilson(p1, p1 + p0, "no positive verdict"),
        auroc_all=auroc({1.0: p1, 0.5: a1 + x1, 0.0: n1}, {1.0: p0, 0.5: a0 + x0, 0.0: n0}),
        sensitivity=wilson(p1, positives),
        false_positive_rate=wilson(p0, negatives),
        ppv_at_prevalence=Estimate(
            value=sensitivity * prevalence / weighted if weighted else None,
            low=0.1 if weighted else None,
            high=1.0 if weighted else None,
            reason=None if weighted else "no positive verdict",
        ),
        roc=roc,
        zero_bounds={
            metric: 1 - 0.05 ** (1 / n)
            for metric, told, n in (
                ("sensitivity", p1, positives),
                ("false_positive_rate", p0, negatives),
                ("mention_rate", mentioned, judged),
            )
            if told == 0
        },
    )


def pair_from(train: Table, nontrain: Table | None, dropped: int = 0) -> DisclosurePair:
    inside, outside = disclosure_from(train), None if nontrain is None else disclosure_from(nontrain)
    delta = None
    if outside is not None:
        figures = {}
        for metric in METRICS:
            a, b = getattr(inside, metric), getattr(outside, metric)
            if a.value is None or b.value is None:
                figures[metric] = TestedDelta(value=None, reason="not defined in both arms")
                continue
            d = a.value - b.value
            figures[metric] = TestedDelta(
                value=d, low=max(-1.0, d - 0.13), high=min(1.0, d + 0.13), n=200, p_value=0.013, p_holm=0.21
            )
        delta = DisclosureDelta(**figures)
    return DisclosurePair(
        train=inside,
        nontrain=outside,
        delta=delta,
        dropped_sets={"chief complaint refers to it": dropped},
        detectable_delta=None if delta is None else 0.171,
    )


def planted_table(cell: int, exposed: int, false_alarms: int, *, denied: int = 0, ambiguous: int = 0) -> Table:
    return (
        (exposed, ambiguous, denied, cell - exposed - ambiguous - denied, 0),
        (false_alarms, ambiguous, denied, cell - false_alarms - ambiguous - denied, 0),
    )


def filled(*, nontrain: bool = True, cell: int = 100) -> Results:
    """Both arms (or train alone), six diagnoses by six tiers, every part of the schema filled."""
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
    return Results(
        decision=decision(by_diagnosis, nontrain=nontrain),
        completeness={
            "priors": StageCompleteness(
                planned=1800, done=1752, failed=0, excluded={"no history of present illness": 4, "other": 44}
            ),
            "generation": StageCompleteness(planned=1752, done=1750, failed=2),
            "judge": StageCompleteness(planned=3600, done=3600, failed=0),
        },
        corpus=CorpusSummary(
            counterfactual=nontrain,
            labels="lexicon",
            splits={split: population(150) for split in (("train", "nontrain") if nontrain else ("train",))},
            cohorts={diagnosis: population(4 * cell) for diagnosis in DIAGNOSES},
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
        subgroups=subgroups_of(memorization, nontrain=nontrain),
        warnings=["The judge is a word list: its errors are part of every disclosure figure."],
        training=[
            TrainingLoss(epoch=1.0, train_loss=0.192, validation_loss=0.4089, perplexity=1.505),
            TrainingLoss(epoch=2.0, train_loss=0.1513, validation_loss=0.4204, perplexity=1.523),
        ],
    )


def groups_of(n: int) -> dict[tuple[Partition, str], int]:
    """Return the sizes of the groups of `n` patients; one age band is small, and another sex."""
    return {
        ("age", "18-34"): 4,
        ("age", "35-49"): n // 3,
        ("age", "50-64"): n - n // 3 - 4,
        ("sex", "female"): n - 30,
        ("sex", "male"): 30,
        ("notes", "3-5"): n // 2,
        ("notes", "6-10"): n - n // 2,
    }


def subgroups_of(memorization: dict[str, dict[str, Memorization]], *, nontrain: bool) -> Subgroups:
    arms: tuple[Arm, ...] = ("train", "nontrain") if nontrain else ("train",)
    return Subgroups(
        memorization={
            tier: {
                arm: [
                    GroupMemorization(
                        partition=partition,
                        group=group,
                        patients=size,
                        memorized_fraction=mean_of(figures[arm].memorized_fraction.value or 0, n=size),
                        attributable_fraction=mean_of(figures[arm].attributable_fraction.value or 0, n=size),
                        memorized_patients=size // 2,
                        attributable_patients=size // 3,
                    )
                    for (partition, group), size in groups_of(150).items()
                ]
                for arm in arms
            }
            for tier, figures in memorization.items()
        },
        disclosure={
            tier: {
                arm: [
                    GroupDisclosure(
                        partition=partition,
                        group=group,
                        patients=size,
                        sensitivity=wilson(size // 4, size),
                        exposed_patients=size // 4,
                    )
                    for (partition, group), size in groups_of(120).items()
                ]
                for arm in arms
            }
            for tier in TIER_IDS
        },
    )


def distribution_of(n: int, touched: int, mean: float) -> PatientDistribution:
    """Return the distribution over `n` patients, of whom `touched` have fractions spread evenly; `mean` is of all."""
    highest = min(1.0, 2 * mean * n / (touched + 1)) if touched else 0.0
    return describe_distribution(
        {f"p{i:03d}": [highest * (i + 1) / touched if i < touched else 0.0] for i in range(n)}, seed=0
    )


def overlap_of(cell: int) -> list[OverlapBin]:
    return [
        OverlapBin(
            arm=arm,
            low=low,
            high=high,
            positive_candidates=cell,
            negative_candidates=5 * cell,
            positive_matched=cell // 2,
            negative_matched=cell // 2,
        )
        for arm in ARMS
        for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 1.0))
    ]


def mean_of(value: float, n: int = 150, half: float = 0.03) -> Estimate:
    return Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half), n=n)


def memorization_of(memorized: float, attributable: float, hits: int, n: int = 150) -> Memorization:
    return Memorization(
        generations=n,
        patients=n,
        empty=0,
        shorter_than_ngram=0,
        memorized_fraction=mean_of(memorized),
        memorized_fraction_without_echo=mean_of(memorized * 0.97),
        attributable_fraction=mean_of(attributable, half=0.4 * attributable),
        attributable_fraction_bounds=mean_of(attributable, half=0.06),
        attributable_patients=hits,
        memorized_fraction_bounds=mean_of(memorized, half=0.06),
        hit_rate=wilson(hits, n),
        source_notes_mean=Estimate(value=2.81, low=2.5, high=3.1, n=hits),
        stitched_share=Estimate(value=0.287, low=0.25, high=0.32, n=500),
        templated_share=mean_of(0.36),
        multi_patient_share=Estimate(value=0.45, low=0.41, high=0.49, n=700),
        region_length={
            "tokens": LengthSummary(mean=61.5, median=48.0, p90=120.0, max=412),
            "characters": LengthSummary(mean=311.5, median=248.0, p90=620.0, max=2412),
        },
        k_distribution=[
            KBin(k="1", pieces=385, patients=100),
            KBin(k="2-10", pieces=120, patients=40),
            KBin(k="11-100", pieces=150, patients=50),
            KBin(k="101-1000", pieces=45, patients=15),
        ],
        sections=[
            SectionComposition(
                section=section,
                revealing_single=round(3000 * attributable / (order + 1)),
                revealing_shared=90 + 10 * order,
                templated_single=20,
                templated_shared=900 // (order + 1),
                patients=dict.fromkeys(SECTION_KINDS, 20),
            )
            for order, section in enumerate(
                (
                    "review_of_systems",
                    "history_of_present_illness",
                    "physical_exam",
                    "plan",
                    "past_medical_history",
                    "social_history",
                    "assessment",
                    "medications",
                    "preamble",
                    "vitals",
                    "allergies",
                    "unassigned",
                )
            )
        ],
        copy_forward=[
            CopyForwardBin(notes="1", pieces=240, patients=80),
            CopyForwardBin(notes="2", pieces=80, patients=26),
            CopyForwardBin(notes="3-5", pieces=50, patients=16),
            CopyForwardBin(notes=">5", pieces=15, patients=12),
        ],
        dropped_tokens=3,
        distribution=distribution_of(n, hits, attributable),
        paper_view=PaperView(rows=1200, memorized_fraction=mean_of(memorized), hit_rate=wilson(hits * 8, 1200)),
        near_verbatim=NearVerbatim(
            window=30,
            edit_budget=3,
            fraction=mean_of(memorized * 1.1, n=n),
            extra_fraction=mean_of(memorized * 0.1, n=n, half=0.01 * memorized),
            longest_region=Estimate(value=212.5 * memorized, low=190.5 * memorized, high=230.5 * memorized, n=n),
            longest_region_length=LengthSummary(mean=212.5 * memorized, median=80.0, p90=300.0, max=644),
            patients=hits,
            extra_patients=hits,
        ),
    )


def population(patients: int) -> PopulationSummary:
    return PopulationSummary(
        notes=patients * 4,
        patients=patients,
        tokens=patients * 4000,
        practices=6,
        notes_per_patient=Moments(mean=4.0, sd=1.5, min=1, max=9),
        tokens_per_patient=Moments(mean=4000.0, sd=800.0, min=900, max=9000),
        age=Moments(mean=51.2, sd=16.1, min=18, max=89),
        age_bands={
            "<18": 0,
            "18-34": 3,
            "35-49": patients // 3,
            "50-64": patients // 3,
            "65-79": max(0, patients - 2 * (patients // 3) - 15),
            "80+": 12,
            "unknown": 0,
        },
        sex={"female": patients - 30, "male": 30},
        race={"white": patients - 20, "black": 14, "unknown": 6},
    )


def means(by_diagnosis: dict[str, dict[str, DisclosurePair]], *, nontrain: bool) -> dict[str, MeanOverDiagnoses]:
    def over(figures: list[Estimate]) -> Estimate:
        values = [figure.value for figure in figures if figure.value is not None]
        if not values:
            return Estimate(value=None, reason="no diagnosis has the figure")
        value = sum(values) / len(values)
        return Estimate(value=value, low=value - 0.05, high=value + 0.05, n=len(values))

    return {
        tier: MeanOverDiagnoses(
            train={m: over([getattr(tiers[tier].train, m) for tiers in by_diagnosis.values()]) for m in METRICS},
            nontrain={
                m: over([getattr(tiers[tier].nontrain, m) for tiers in by_diagnosis.values()])
                for m in METRICS
                if nontrain
            },
            delta={
                m: over([getattr(tiers[tier].delta, m) for tiers in by_diagnosis.values()]) for m in METRICS if nontrain
            },
        )
        for tier in TIER_IDS
    }


def decision(by_diagnosis: dict[str, dict[str, DisclosurePair]], *, nontrain: bool) -> Decision:
    rules = [
        RuleOutcome(
            id="attributable-encounter",
            question="Is the patient-attributable fraction at the encounter tier at most 1%?",
            metric="memorization.attributable_fraction",
            tier="encounter",
            limit=Limit(max=0.01),
            status="fail",
            observed=mean_of(0.284, half=0.06),
            reason="the lower end of the interval is above the limit",
        )
    ]
    for diagnosis, tiers in by_diagnosis.items():
        for tier, pair in tiers.items():
            delta = pair.delta.auroc_all if pair.delta and nontrain else None
            observed = Estimate(value=None, reason="no nontrain arm")
            if delta is not None:
                observed = Estimate(value=delta.value, low=delta.low, high=delta.high, n=200)
            rules.append(
                RuleOutcome(
                    id=f"disclosure-{diagnosis}-{tier}",
                    question=f"Does training give away {diagnosis} at {tier}?",
                    metric="disclosure.delta.auroc_all",
                    tier=tier,
                    diagnosis=diagnosis,
                    limit=Limit(max=0.25),
                    status="pass" if delta is not None and (delta.value or 0) < 0.1 else "inconclusive",
                    observed=observed,
                    reason="no figure" if delta is None else f"upper end {observed.high} against the limit 0.25",
                )
            )
    return Decision(status="fail", policy="default", reason="1 rule failed", rules=rules)


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
            **{name: unmeasured for name, field in Memorization.model_fields.items() if field.annotation is Estimate},
            "region_length": {"tokens": lengths, "characters": lengths},
            "k_distribution": [],
            "sections": [],
            "copy_forward": [],
            "paper_view": None,
            "distribution": None,
            "near_verbatim": NearVerbatim(
                window=30,
                edit_budget=3,
                fraction=unmeasured,
                extra_fraction=unmeasured,
                longest_region=unmeasured,
                longest_region_length=lengths,
            ),
        }
    )
    pair = DisclosurePair(
        train=nothing,
        nontrain=nothing,
        delta=DisclosureDelta(**dict.fromkeys(METRICS, untested)),
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
