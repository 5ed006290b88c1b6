"""Who the patients of filled results are: splits, cohorts, and figures by subgroup."""

from support.results.planted_memorization import mean_of

from clinaudit.audit.measures.population.description import AGES_OF_BAND
from clinaudit.audit.measures.population.subgroups import tally_subgroups
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.corpus import (
    GroupDisclosure,
    GroupMemorization,
    MeasuredSubgroups,
    Moments,
    PopulationEvidence,
)
from clinaudit.reports.schema.corpus import Partition as GroupedBy
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.tally.leaves import Count, Inside, OfText, Partition, PartitionWithMean
from clinaudit.reports.tally.tally import MemorizationTally, PopulationTally, SubgroupTally


def groups_of(n: int) -> dict[tuple[GroupedBy, str], int]:
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


def subgroups_of(memorization: dict[str, dict[str, MemorizationTally]], *, nontrain: bool) -> SubgroupTally:
    arms: tuple[Arm, ...] = ("train", "nontrain") if nontrain else ("train",)
    measured = MeasuredSubgroups(
        memorization={
            tier: {
                arm: [
                    GroupMemorization(
                        partition=partition,
                        group=group,
                        patients=size,
                        memorized_fraction=mean_of(figures[arm].fractions["memorized_fraction"].mean.low, n=size),
                        attributable_fraction=mean_of(figures[arm].fractions["attributable_fraction"].mean.low, n=size),
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
    return tally_subgroups(measured, cohorts=6)


def population(patients: int, *, is_split: bool) -> PopulationTally:
    """Return a split, or a cohort."""
    behind, step = (patients, 20) if is_split else (1, 40)
    bands = {
        "<18": 0,
        "18-34": 3,
        "35-49": patients // 3,
        "50-64": patients // 3,
        "65-79": max(0, patients - 2 * (patients // 3) - 15),
        "80+": 12,
        "unknown": 0,
    }
    return PopulationTally(
        age_bands=PartitionWithMean.of(bands, AGES_OF_BAND, 51.2, step=step),
        sex=Partition.of({"female": patients - 30, "male": 30}, step=step),
        race=Partition.of({"white": patients - 20, "black": 14, "unknown": 6}, step=step),
        notes=Inside(patients * 4),
        tokens=Inside(patients * 4000),
        text={
            "notes_per_patient": OfText(4.0, (behind,)),
            "tokens_per_patient": OfText(4000.0, (behind,)),
            "tokens_per_note": OfText(1000.0, (behind,)),
        },
        practices=Inside(Count.of(6, step=10), is_public=is_split),
        practice_patients=Inside(Count.of(patients + 12, step=step), is_public=is_split),
        is_placed=True,
        evidence=Inside(
            PopulationEvidence(
                notes_per_patient=Moments(mean=4.0, sd=1.5, min=1, max=9),
                tokens_per_patient=Moments(mean=4000.0, sd=800.0, min=900, max=9000),
                notes_per_practice=Moments(mean=patients * 4 / 6, sd=20.5, min=30, max=190),
                patients_per_practice=Moments(mean=(patients + 12) / 6, sd=8.5, min=9, max=60),
                age=Moments(mean=51.2, sd=16.1, min=18, max=89),
            )
        ),
    )
