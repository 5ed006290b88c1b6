"""Who the patients of the corpus are: the paper's Tables 5 to 7.

Owns in which group a patient's age, sex and race are, and the evidence of what the notes show of each patient.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final

import polars as pl

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import as_table, schema_of
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.fragments import count_fitting
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.templates.markup import find_styles

#: Table 7's bands, by the first age of all but the youngest; ages over 89 are inside the last one.
_AGE_BANDS: Final = {18: "18-34", 35: "35-49", 50: "50-64", 65: "65-79", 80: "80+"}
#: The bands in the order of age.
AGES_OF_BAND: Final = ("<18", *_AGE_BANDS.values())
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
#: What all notes of a patient show.
_CENSUS: Final = ("patient_id", "tokens", "longest_note", "tagged")


def take_census(corpus: Corpus, tokenizer: ModelTokenizer, progress: Progress) -> pl.DataFrame:
    """Read every note once, those of the validation split too; return what the notes of each patient show.

    Columns: patient_id; tokens of the notes, summed, and of the longest_note, each note tokenized alone; tagged, the
    styles of surrogate tags that stand in some note.
    """
    found: list[tuple[str, int, list[str]]] = []
    notes = (note for patient_id in (*corpus.patients, *corpus.validation) for note in corpus.notes_of(patient_id))
    with progress.stage("counting tokens", total=corpus.note_count, unit="notes") as advance:
        while batch := list(islice(notes, _NOTES_AT_A_TIME)):
            for note, ids in zip(batch, tokenizer.encode_many([note.text for note in batch]), strict=True):
                found.append((note.patient_id, len(ids), list(find_styles(note.text))))
            advance(len(batch))
    columns = {"patient_id": pl.String(), "length": pl.Int64(), "styles": pl.List(pl.String())}
    by_patient = pl.DataFrame(found, schema=columns, orient="row").group_by("patient_id")
    return by_patient.agg(
        tokens=pl.col("length").sum(),
        longest_note=pl.col("length").max(),
        tagged=pl.col("styles").explode().drop_nulls().unique().sort(),
    )


def list_people(corpus: Corpus) -> pl.DataFrame:
    """Return the table `people`: every id of those who have more than one, with the one that they count by.

    Whoever is in both splits by notes alone has a row, too.
    """
    people = corpus.people
    alone = {one: one for one in sorted(people.in_both_splits - set(people.person_of.values()))}
    return as_table(
        "people",
        (
            {"patient_id": patient_id, "person_id": person, "in_both_splits": person in people.in_both_splits}
            for patient_id, person in {**people.person_of, **alone}.items()
        ),
    )


def tabulate_facts(facts: Iterable[PatientFacts], corpus: Corpus) -> pl.DataFrame:
    """Return who the patients are, as tables and notes write it: patient_id, arm, age, sex, race, notes (how many)."""
    columns = list(schema_of("patients").items())[:6]
    rows = (
        (known.patient_id, known.arm, known.age, known.sex, corpus.patient(known.patient_id).race, known.note_count)
        for known in facts
    )
    return pl.DataFrame(rows, schema=columns, orient="row").rename({"split": "arm"})


def describe_patients(
    patients: pl.DataFrame, census: pl.DataFrame | None = None, *, validation: Collection[str] = ()
) -> pl.DataFrame:
    """Return the table `patients` of those of `tabulate_facts`; without a census nothing that all notes show.

    `validation` are the ids of patients of the validation split.
    """
    schema = schema_of("patients")
    shown = pl.DataFrame(schema={column: schema[column] for column in _CENSUS}) if census is None else census
    split = pl.when(pl.col("patient_id").is_in(list(validation))).then(pl.lit("validation")).otherwise("arm")
    return (
        patients.join(shown, on="patient_id", how="left", maintain_order="left")
        .with_columns(split=split, sex=_group("sex", _SEXES), race=_group("race", _RACES))
        .select(schema.names())
    )


def find_long_notes(patients: pl.DataFrame, training_length: int) -> pl.DataFrame:
    """Return the table `long_notes`: train patients with a note longer than what the model was trained on."""
    return patients.filter(pl.col("split") == "train", pl.col("longest_note") > training_length).select(
        "patient_id", longest_note_tokens="longest_note"
    )


def count_sharing(facts: Mapping[str, PatientFacts], probed: ProbedTiers) -> pl.DataFrame:
    """Return the table `uniqueness`: how many patients share what a tier's prompt says, null without one."""
    return as_table(
        "uniqueness",
        (
            {"patient_id": patient_id, "tier": tier.id, "sharing": sharing.get(patient_id)}
            for tier in probed.tiers
            for sharing in [count_fitting(facts.values(), tier)]
            for patient_id in facts
        ),
    )


def age_band(age: pl.Expr) -> pl.Expr:
    """Return Table 7's band of an age."""
    band = pl.when(age.is_null()).then(pl.lit(UNKNOWN)).otherwise(pl.lit(AGES_OF_BAND[0]))
    for first, name in _AGE_BANDS.items():
        band = pl.when(age >= first).then(pl.lit(name)).otherwise(band)
    return band


def _group(column: str, names: Mapping[str, str]) -> pl.Expr:
    """Return the group of a sex, or of a race or ethnicity, as tables and notes write it."""
    plain = pl.col(column).str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    known = plain.replace_strict(names, default=_OTHER)
    return pl.when(pl.col(column).fill_null("") == "").then(pl.lit(UNKNOWN)).otherwise(known)
