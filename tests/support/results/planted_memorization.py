"""Memorization figures of one arm at one tier, consistent with each other."""

from typing import get_args

from support.results.planted_disclosure import wilson

from clinaudit.audit.memorization.summary import fraction_by_patient
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.audit.statistics.patient_distribution import describe_distribution
from clinaudit.reports.exact.groups import PatientDistribution
from clinaudit.reports.exact.memorization import (
    CopyForwardBin,
    Guard,
    KBin,
    LengthSummary,
    Memorization,
    NearVerbatim,
    OtherPatients,
    PaperView,
    PatientFraction,
    SectionComposition,
    TextBasis,
)
from clinaudit.reports.schema.memorization import PIECE_KINDS, SECTION_KINDS
from clinaudit.reports.schema.numbers import Estimate


def distribution_of(n: int, touched: int, mean: float) -> PatientDistribution:
    """Return the distribution over `n` patients, of whom `touched` have fractions spread evenly; `mean` is of all."""
    highest = min(1.0, 2 * mean * n / (touched + 1)) if touched else 0.0
    return describe_distribution(
        {f"p{i:03d}": [highest * (i + 1) / touched if i < touched else 0.0] for i in range(n)}, seed=0
    )


def fraction_of(n: int, touched: int, mean: float) -> PatientFraction:
    """Return the same distribution as bins, with its mean."""
    highest = min(1.0, 2 * mean * n / (touched + 1)) if touched else 0.0
    return fraction_by_patient({f"p{i:03d}": [highest * (i + 1) / touched if i < touched else 0.0] for i in range(n)})


def mean_of(value: float, n: int = 150, half: float = 0.03) -> Estimate:
    return Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half), n=n)


def other_patients_of(mean: float, touched: int, n: int = 150) -> OtherPatients:
    """Return other patients' text in the answers about `touched` of `n`, twice as much as by chance."""
    shown = fraction_of(n, touched, mean)
    return OtherPatients(
        fraction=mean_of(mean, n, half=0.4 * mean),
        fraction_bounds=shown.mean,
        sampled_fraction=mean_of(mean, n, half=0.4 * mean),
        chance=mean_of(mean / 2, n, half=0.2 * mean),
        rate=wilson(touched, n),
        patients=touched,
        patients_share=clopper_pearson(touched, n),
        others=touched // 2,
        by_patient={"fraction": shown, "sampled_fraction": shown, "chance": fraction_of(n, touched, mean / 2)},
    )


def memorization_of(
    memorized: float, attributable: float, hits: int, n: int = 150, *, others: float = 0.004
) -> Memorization:
    return Memorization(
        generations=n,
        patients=n,
        empty=0,
        shorter_than_ngram=0,
        memorized_fraction=mean_of(memorized),
        memorized_fraction_without_echo=mean_of(memorized * 0.97),
        attributable_fraction=mean_of(attributable, half=0.4 * attributable),
        attributable_fraction_unmasked=mean_of(attributable * 1.1, half=0.4 * attributable),
        attributable_fraction_bounds=mean_of(attributable, half=0.06),
        near_verbatim_attributable_fraction=mean_of(attributable * 1.02, half=0.4 * attributable),
        near_verbatim_attributable_fraction_bounds=mean_of(attributable * 1.02, half=0.06),
        attributable_patients=hits,
        by_patient={
            "memorized_fraction": fraction_of(n, hits, memorized),
            "memorized_fraction_without_echo": fraction_of(n, hits, memorized * 0.97),
            "attributable_fraction": fraction_of(n, hits, attributable),
            "attributable_fraction_unmasked": fraction_of(n, hits, attributable * 1.1),
            "near_verbatim_attributable_fraction": fraction_of(n, hits, attributable * 1.02),
        },
        empty_patients=0,
        short_patients=0,
        hit_patients=hits,
        behind=dict.fromkeys(get_args(TextBasis), hits),
        memorized_fraction_bounds=mean_of(memorized, half=0.06),
        hit_rate=wilson(hits, n),
        hit_patients_share=clopper_pearson(hits, n),
        source_notes_mean=Estimate(value=2.81, low=2.5, high=3.1, n=hits),
        source_notes_any=Estimate(value=4.25, low=4.0, high=4.5, n=hits),
        source_notes_min=Estimate(value=2.14, low=2.0, high=2.3, n=hits),
        stitched_share=Estimate(value=0.287, low=0.25, high=0.32, n=500),
        templated_share=mean_of(0.36),
        multi_patient_share=Estimate(value=0.45, low=0.41, high=0.49, n=700),
        region_length={
            "tokens": LengthSummary(mean=61.5, median=48.0, p90=120.0, max=412),
            "characters": LengthSummary(mean=311.5, median=248.0, p90=620.0, max=2412),
            "words": LengthSummary(mean=50.8, median=40.0, p90=98.0, max=391),
        },
        piece_length={
            kind: {
                unit: LengthSummary(mean=mean, median=mean - 5, p90=2 * mean, max=412)
                for unit, mean in (("tokens", 58.5), ("characters", 301.5), ("words", 47.5))
            }
            for kind in PIECE_KINDS
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
            by_patient={
                "fraction": fraction_of(n, hits, memorized * 1.1),
                "extra_fraction": fraction_of(n, hits, memorized * 0.1),
            },
            patients=hits,
            extra_patients=hits,
        ),
        guard=Guard(
            repeating_patients=n // 2,
            ended_generations=n // 3,
            spared_generations=n // 4,
            ended_patients=n // 3,
            spared_patients=n // 4,
            recitation_tokens_cut=Estimate(value=41.5, low=30.5, high=52.5, n=n),
            recitation_cut_patients=n // 3,
            unguarded_memorized_fraction=mean_of(memorized),
            unguarded_attributable_fraction=mean_of(attributable),
            unguarded_hit_rate=wilson(hits, n),
            unguarded_hit_patients=hits,
            unguarded_hit_patients_share=clopper_pearson(hits, n),
            by_patient={
                "unguarded_memorized_fraction": fraction_of(n, hits, memorized),
                "unguarded_attributable_fraction": fraction_of(n, hits, attributable),
            },
        ),
        other_patients=other_patients_of(others, n // 10, n),
    )
