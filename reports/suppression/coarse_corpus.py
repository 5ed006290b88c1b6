"""The corpus in the coarse table: who is in a split or a cohort, and how long they were followed.

Owns which partitions of a population are published, and which of its means. Knows nothing of what a model wrote.
"""

from clinaudit.reports.exact.corpus import FollowUp, Identifiability, PopulationSummary
from clinaudit.reports.schema.corpus import FOLLOW_UP_YEARS
from clinaudit.reports.suppression.classes import ARM_STEP, COHORT_STEP, Interval
from clinaudit.reports.suppression.coarse_table import Cells, CoarseFollowUp, CoarseIdentifiability, CoarsePopulation
from clinaudit.reports.suppression.rules import Rules, ages_of, has_ages


def coarsen_population(population: PopulationSummary, rules: Rules, *, is_split: bool) -> CoarsePopulation:
    """Return the classes of a split, or of a cohort."""
    step = ARM_STEP if is_split else COHORT_STEP
    bands = rules.cells(population.age_bands, step=step)
    bins = [(ages_of(name), count) for name, count in bands.items() if has_ages(name)]
    mean = population.age.mean
    is_described = is_split or rules.exact
    # A cohort's text is a choice of the split's, whose figures are given.
    shown = population.patients if is_described else 1
    tokens = population.tokens
    visited = population.patients_per_practice
    # Practices are public knowledge: a mean over them to two digits would give the number of patients.
    practices = population.practices if is_described and visited is not None else None
    return CoarsePopulation(
        age_bands=bands,
        sex=rules.cells(population.sex, step=step),
        race=rules.cells(population.race, step=step),
        age=None if mean is None else rules.mean(mean, bins, unit=1.0),
        text={
            # A total beside its mean over patients would give their number.
            "notes": population.notes if rules.exact else None,
            "tokens": tokens if rules.exact else None,
            "notes_per_patient": rules.text(population.notes_per_patient.mean, shown),
            "tokens_per_patient": rules.text(population.tokens_per_patient.mean, shown),
            "tokens_per_note": rules.text(
                None if tokens is None or not population.notes else tokens / population.notes, shown
            ),
        },
        practices=None if practices is None else rules.count(practices),
        practice_patients=None
        if practices is None or visited is None or visited.mean is None
        else rules.count(round(visited.mean * practices), step=step),
        is_placed=not population.notes_without_practice,
    )


def coarsen_follow_up(split: FollowUp, rules: Rules) -> CoarseFollowUp:
    """Return the classes of a split by how long its patients were followed, and the mean span.

    Notes a year are not published: who was followed for less than three years has two in these at least, so that a low
    mean would bound how many they are.
    """
    cells, mean = rules.cells(split.patients, step=ARM_STEP), split.span_years.mean
    bins = [(Interval(*years), cells[name]) for name, years in FOLLOW_UP_YEARS.items()]
    return CoarseFollowUp(cells, None if mean is None else rules.mean(mean, bins, unit=1.0))


def coarsen_identifiability(split: Identifiability, rules: Rules) -> CoarseIdentifiability:
    """Return the classes of a split by tags of de-identification, uniqueness of priors, length of notes and ids."""

    def halves(name: str, count: int) -> Cells:
        return rules.cells({name: count, "rest": split.patients - count}, step=ARM_STEP)

    return CoarseIdentifiability(
        tagged={style: halves("tagged", count) for style, count in split.tagged.items()},
        uniqueness={tier: rules.cells(bins, step=ARM_STEP) for tier, bins in split.uniqueness.items()},
        lengths=halves("longer", split.longer_than_trained),
        ids=halves("several", split.several_ids),
    )
