"""Descriptive statistics of the patients in the corpus: the paper's Tables 5 to 7 (docs/results.md, "corpus").

Owns counts and moments of notes, tokens, practices, ages, sex and race for any group of patients, and by split how
identifiable they are (tags of de-identification, unique priors, notes too long to train on).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.fragments import FEWER_THAN, count_fitting
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.reports.schema.corpus import (
    NOT_ASKED,
    UNIQUENESS_BINS,
    Moments,
    PopulationEvidence,
)
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.tally.classes import ARM_STEP, COHORT_STEP, STEP, Interval
from clinaudit.reports.tally.leaves import Count, Inside, OfText, Partition, PartitionWithMean
from clinaudit.reports.tally.tally import IdentifiabilityTally, PopulationTally
from clinaudit.templates.markup import find_styles

#: Table 7's bands by their first age; ages over 89 are inside the last one.
_AGE_BANDS = ((80, "80+"), (65, "65-79"), (50, "50-64"), (35, "35-49"), (18, "18-34"), (0, "<18"))
#: Ages above this are top-coded to it (45 CFR 164.514(b)(2)(i)(C)).
_OLDEST_SHOWN = 90
#: Least and largest age of each band, in their order.
AGES_OF_BAND: Final[Mapping[str, Interval]] = {
    name: Interval(first, last)
    for (first, name), last in reversed(
        list(zip(_AGE_BANDS, (_OLDEST_SHOWN, *(first - 1 for first, _ in _AGE_BANDS)), strict=False))
    )
}
#: The group of patients whose fact is not known.
UNKNOWN = "unknown"
_OTHER = "other"
#: Table 6's groups, by the words that tables of a corpus use for them. Anything else is `other`, so that a published
#: key is never text of the corpus.
_RACES = {
    "white": "white",
    "caucasian": "white",
    "hispanic": "hispanic",
    "latino": "hispanic",
    "hispanic or latino": "hispanic",
    "black": "black",
    "african american": "black",
    "black or african american": "black",
    "asian": "asian",
    "american indian or alaska native": "american indian or alaska native",
    "aian": "american indian or alaska native",
    "native hawaiian or pacific islander": "native hawaiian or pacific islander",
    "native hawaiian or other pacific islander": "native hawaiian or pacific islander",
    "nhpi": "native hawaiian or pacific islander",
}
_SEXES = {"female": "female", "male": "male"}
#: Notes tokenized at a time: enough for all processors, little enough for memory.
_NOTES_AT_A_TIME: Final = 256
#: Least number of patients in each bin but the last, the largest first.
_BIN_STARTS: Final = tuple(zip(reversed((1, *FEWER_THAN)), reversed(UNIQUENESS_BINS), strict=True))


@dataclass(frozen=True, slots=True)
class Census:
    """What all notes together show of each patient, by patient id."""

    #: Tokens of the notes, summed, and of the longest one; each note is tokenized alone.
    tokens: Mapping[str, int]
    longest: Mapping[str, int]
    #: Styles of surrogate tags that stand in some note; no entry where there is none.
    tag_styles: Mapping[str, Collection[str]]


def take_census(corpus: Corpus, tokenizer: ModelTokenizer, progress: Progress) -> Census:
    """Read every note once, those of the validation split too."""
    totals: Counter[str] = Counter()
    longest: Counter[str] = Counter()
    styles: dict[str, set[str]] = {}
    notes = (note for patient_id in (*corpus.patients, *corpus.validation) for note in corpus.notes_of(patient_id))
    with progress.stage("counting tokens", total=corpus.note_count, unit="notes") as advance:
        while batch := list(islice(notes, _NOTES_AT_A_TIME)):
            for note, ids in zip(batch, tokenizer.encode_many([note.text for note in batch]), strict=True):
                length = len(ids)
                totals[note.patient_id] += length
                longest[note.patient_id] = max(length, longest[note.patient_id])
                if found := find_styles(note.text):
                    styles.setdefault(note.patient_id, set()).update(found)
            advance(len(batch))
    return Census(dict(totals), dict(longest), styles)


def long_note_rows(census: Census, corpus: Corpus, training_length: int) -> Iterator[Row]:
    """Yield the rows of `long_notes.parquet`: train patients with a note longer than what the model was trained on."""
    for patient_id in corpus.patient_ids("train"):
        if census.longest[patient_id] > training_length:
            yield {"patient_id": patient_id, "longest_note_tokens": census.longest[patient_id]}


def people_rows(corpus: Corpus) -> Iterator[Row]:
    """Yield the rows of `people.parquet`: every id of those who have more than one, with the one that they count by."""
    people = corpus.people
    for patient_id, person in people.person_of.items():
        yield {"patient_id": patient_id, "person_id": person, "in_both_splits": person in people.in_both_splits}


def patient_rows(facts: Iterable[PatientFacts], corpus: Corpus, census: Census | None = None) -> Iterator[Row]:
    """Yield the rows of `patients.parquet`, in the order of the facts; without a census nothing that all notes show."""
    for known in facts:
        patient_id, patient = known.patient_id, corpus.patient(known.patient_id)
        yield {
            "patient_id": patient_id,
            "split": "validation" if patient.is_validation else patient.split,
            "age": known.age,
            "sex": sex_group(known.sex),
            "race": race_group(patient.race),
            "notes": known.note_count,
            "tokens": census.tokens[patient_id] if census else None,
            "longest_note": census.longest[patient_id] if census else None,
            "tagged": sorted(census.tag_styles.get(patient_id, ())) if census else None,
        }


def uniqueness_rows(facts: Mapping[str, PatientFacts], probed: ProbedTiers) -> Iterator[Row]:
    """Yield the rows of `uniqueness.parquet`: how many patients share what a tier's prompt says, null without one."""
    for tier in probed.tiers:
        sharing = count_fitting(facts.values(), tier)
        for patient_id in facts:
            yield {"patient_id": patient_id, "tier": tier.id, "sharing": sharing.get(patient_id)}


def describe_population(
    patient_ids: Sequence[str],
    *,
    corpus: Corpus,
    facts: Mapping[str, PatientFacts],
    tokens: Mapping[str, int],
    is_split: bool,
) -> PopulationTally:
    """Describe a split, or a cohort; `tokens` by patient, over all its notes."""
    notes = [corpus.notes_of(patient_id) for patient_id in patient_ids]
    placed = [(note.practice, place) for place, own in enumerate(notes) for note in own if note.practice]
    practices = Counter(practice for practice, _ in placed)
    visited = Counter(practice for practice, _ in set(placed))
    ages = [facts[patient_id].age for patient_id in patient_ids]
    known_ages = [min(age, _OLDEST_SHOWN) for age in ages if age is not None]
    bands = Counter(age_band(age) for age in ages)
    step = ARM_STEP if is_split else COHORT_STEP
    # A cohort's text is a choice of the split's, whose figures are published.
    behind = len(patient_ids) if is_split else 1
    note_count, token_count = sum(map(len, notes)), sum(tokens[patient_id] for patient_id in patient_ids)
    evidence = PopulationEvidence(
        notes_per_patient=_moments(map(len, notes)),
        tokens_per_patient=_moments(tokens[patient_id] for patient_id in patient_ids),
        notes_per_practice=_moments(practices.values()) if practices else None,
        patients_per_practice=_moments(visited.values()) if practices else None,
        age=_moments(known_ages),
    )
    return PopulationTally(
        age_bands=PartitionWithMean.of(
            {name: bands[name] for name in [*AGES_OF_BAND, UNKNOWN]}, AGES_OF_BAND, evidence.age.mean, step=step
        ),
        sex=Partition.of(_count_groups(sex_group(facts[patient_id].sex) for patient_id in patient_ids), step=step),
        race=Partition.of(
            _count_groups(race_group(corpus.patient(patient_id).race) for patient_id in patient_ids), step=step
        ),
        notes=Inside(note_count),
        tokens=Inside(token_count),
        text={
            "notes_per_patient": OfText(evidence.notes_per_patient.mean, (behind,)),
            "tokens_per_patient": OfText(evidence.tokens_per_patient.mean, (behind,)),
            "tokens_per_note": OfText(token_count / note_count if note_count else None, (behind,)),
        },
        # Practices are public knowledge: a mean over them to two digits would give the number of patients.
        practices=Inside(Count.of(len(practices), step=STEP) if practices else None, is_public=is_split),
        practice_patients=Inside(Count.of(sum(visited.values()), step=step) if practices else None, is_public=is_split),
        is_placed=note_count == len(placed),
        evidence=Inside(evidence),
    )


def age_band(age: int | None) -> str:
    """Return Table 7's band of an age."""
    return UNKNOWN if age is None else next(name for first, name in _AGE_BANDS if age >= first)


def sex_group(sex: str | None) -> str:
    """Return the group of a sex as tables and notes write it."""
    return _named(sex, _SEXES)


def race_group(race: str | None) -> str:
    """Return Table 6's group of a race or ethnicity as tables write it."""
    return _named(race, _RACES)


def _named(value: str | None, names: Mapping[str, str]) -> str:
    return names.get(" ".join(value.lower().split()), _OTHER) if value else UNKNOWN


def _count_groups(groups: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(groups).items()))


def _moments(values: Iterable[int]) -> Moments:
    numbers = list(values)
    if not numbers:
        return Moments(mean=None, sd=None, min=None, max=None)
    sd = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None
    return Moments(mean=float(np.mean(numbers)), sd=sd, min=min(numbers), max=max(numbers))


def describe_identifiability(
    facts: Mapping[str, PatientFacts],
    probed: ProbedTiers,
    census: Census,
    *,
    training_length: int,
    several_ids: Collection[str],
) -> dict[Arm, IdentifiabilityTally]:
    """Count the patients of each split; `facts` are those of all patients of both.

    `training_length`: tokens of the longest text that the model was trained on. A patient with a longer note was left
    out of training in the paper (Appendix E), and elsewhere at least that note was cut. `several_ids`: patients who
    have more than one id.
    """
    fitting = {tier.id: count_fitting(facts.values(), tier) for tier in probed.tiers}
    described: dict[Arm, IdentifiabilityTally] = {}
    for arm in ARMS:
        ids = [patient_id for patient_id, known in facts.items() if known.arm == arm]
        if not ids:
            continue
        styles = Counter(style for patient_id in ids for style in census.tag_styles.get(patient_id, ()))
        longer = sum(census.longest[patient_id] > training_length for patient_id in ids)
        described[arm] = IdentifiabilityTally(
            tagged={style: Partition.halves("tagged", styles[style], len(ids)) for style in sorted(styles)},
            uniqueness={
                tier: Partition.of(_bins([of.get(patient_id) for patient_id in ids])) for tier, of in fitting.items()
            },
            lengths=Partition.halves("longer", longer, len(ids)),
            ids=Partition.halves("several", sum(patient_id in several_ids for patient_id in ids), len(ids)),
        )
    return described


def _bins(fitting: Sequence[int | None]) -> dict[str, int]:
    counts = Counter(
        NOT_ASKED if of is None else next(name for start, name in _BIN_STARTS if of >= start) for of in fitting
    )
    return {name: counts[name] for name in (*UNIQUENESS_BINS, NOT_ASKED)}
