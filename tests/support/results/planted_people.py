"""Who the patients of filled results are: splits, cohorts, overlap, and figures by subgroup."""

from support.results.planted_disclosure import wilson
from support.results.planted_memorization import mean_of

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.exact.corpus import FollowUp, Moments, PopulationSummary, Quantiles
from clinaudit.reports.exact.groups import GroupDisclosure, GroupMemorization, OverlapBin, Subgroups
from clinaudit.reports.exact.memorization import Memorization
from clinaudit.reports.schema.groups import Partition
from clinaudit.reports.schema.record import ARMS, Arm


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


def followed(patients: int) -> FollowUp:
    """Return who of so many was followed for how long."""
    return FollowUp(
        patients={"one encounter": 14, "under 3 years": 50, "3 years or more": patients - 64, "unknown": 0},
        span_years=Quantiles(mean=3.6, p25=2.2, median=3.8, p75=4.7, p95=5.5),
        notes_per_year=Quantiles(mean=4.1, p25=2.5, median=3.7, p75=5.3, p95=8.1),
    )


def population(patients: int) -> PopulationSummary:
    return PopulationSummary(
        notes=patients * 4,
        patients=patients,
        tokens=patients * 4000,
        practices=6,
        notes_per_patient=Moments(mean=4.0, sd=1.5, min=1, max=9),
        tokens_per_patient=Moments(mean=4000.0, sd=800.0, min=900, max=9000),
        notes_per_practice=Moments(mean=patients * 4 / 6, sd=20.5, min=30, max=190),
        patients_per_practice=Moments(mean=(patients + 12) / 6, sd=8.5, min=9, max=60),
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
