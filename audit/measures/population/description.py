"""Who the patients of the corpus are: the paper's Tables 5 to 7.

Owns in which group a patient's age, sex and race are, and the evidence of what the notes show of each patient.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.fragments import count_fitting
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.templates.markup import find_styles

#: Table 7's bands by their first age; ages over 89 are inside the last one.
_AGE_BANDS = ((80, "80+"), (65, "65-79"), (50, "50-64"), (35, "35-49"), (18, "18-34"), (0, "<18"))
#: The bands in the order of age.
AGES_OF_BAND: Final = tuple(name for _, name in reversed(_AGE_BANDS))
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
    """Yield the rows of `people.parquet`: every id of those who have more than one, with the one that they count by.

    Whoever is in both splits by notes alone has a row, too.
    """
    people = corpus.people
    alone = {one: one for one in sorted(people.in_both_splits - set(people.person_of.values()))}
    for patient_id, person in {**people.person_of, **alone}.items():
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
