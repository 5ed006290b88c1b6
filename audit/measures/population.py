"""Who the patients of the corpus are, and who gives text away (the paper's Tables 1, 5 to 7).

Owns in which group a patient's age, sex and race are, the evidence of what the notes show of each patient, and the rows
of the table of estimates made of it. The estimates know no note: they read the evidence tables `patients`, `people`,
`uniqueness`, `cohorts`, `priors`, `generations` and `generation_metrics`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

import polars as pl

from clinaudit.audit.measures.generation.estimates import Tables, with_place
from clinaudit.audit.measures.memorization.estimates import estimate_groups, leave_short_budgets_out
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import as_table, schema_of
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.fragments import count_fitting
from clinaudit.priors.tiers import ProbedTiers
from clinaudit.reports.estimates.frame import Row, as_estimates, at
from clinaudit.templates.shown_text import find_styles

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
    rows = (
        {"patient_id": patient_id, "person_id": person, "in_both_splits": person in people.in_both_splits}
        for patient_id, person in {**people.person_of, **alone}.items()
    )
    return as_table("people", rows)


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
    rows = (
        {"patient_id": patient_id, "tier": tier.id, "sharing": sharing.get(patient_id)}
        for tier in probed.tiers
        for sharing in [count_fitting(facts.values(), tier)]
        for patient_id in facts
    )
    return as_table("uniqueness", rows)


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


#: Ages above this count as this (45 CFR 164.514(b)(2)(i)(C)).
_OLDEST: Final = 90
#: Bins of the number of patients who share what a prompt says, by their least number.
_SHARING: Final = {"1": 1, "2-4": 2, "5-10": 5, ">10": 11}
#: The part of `uniqueness` that holds patients without a prompt.
NO_PROMPT: Final = "no prior"
PARTITIONS: Final = ("age", "sex", "race")


def estimate_population(tables: Tables, *, training_length: int | None) -> pl.DataFrame:
    """Return the figures of each split (`arm`) and each cohort (`diagnosis`).

    Takes the tables patients, people and cohorts. `training_length`: tokens of the longest text that the model was
    trained on; None where that is not known. In the paper (Appendix E) a patient with a longer note was left out of
    training; elsewhere at least that note was cut.
    """
    grouped = with_groups(tables["patients"].collect())
    several = set(tables["people"].collect()["person_id"])
    rows: list[Row] = []
    for (split,), those in grouped.group_by("split", maintain_order=True):
        place = {"arm": str(split)}
        rows += _describe(those, place)
        if split == "validation":
            continue
        of = those.height
        if training_length is not None:
            rows.append(share_row("long_notes", int((those["longest_note"] > training_length).sum()), of, **place))
        rows.append(share_row("several_ids", int(those["patient_id"].is_in(several).sum()), of, **place))
        tagged = those["tagged"].explode().drop_nulls().value_counts(sort=False).sort("tagged")
        rows += [
            share_row("tagged_notes", count, of, **place, by="style", part=style) for style, count in tagged.rows()
        ]
    members = tables["cohorts"].select("diagnosis", "patient_id").unique(maintain_order=True).collect()
    for (diagnosis,), those in members.join(grouped, on="patient_id").group_by("diagnosis", maintain_order=True):
        rows += _describe(those, {"diagnosis": str(diagnosis)})
    return as_estimates(rows)


def with_groups(patients: pl.DataFrame) -> pl.DataFrame:
    """Return the patients with their band in the column `age`, and their age in years as `years`."""
    return patients.with_columns(years=pl.col("age").clip(upper_bound=_OLDEST), age=age_band(pl.col("age")))


def _describe(those: pl.DataFrame, place: dict[str, str]) -> Iterator[Row]:
    patients, notes, tokens = those.height, int(those["notes"].sum()), int(those["tokens"].sum())
    yield at("patients", **place)._replace(value=float(patients))
    for partition in PARTITIONS:
        counts = dict(those[partition].value_counts().rows())
        groups = [*AGES_OF_BAND, UNKNOWN] if partition == "age" else sorted(counts)
        for group in groups:
            yield share_row("population", counts.get(group, 0), patients, **place, by=partition, part=group)
    known = those["years"].drop_nulls()
    mean = float(known.to_numpy().mean()) if known.len() else None
    yield at("age_mean", **place)._replace(
        value=mean, behind=known.len(), reason="" if known.len() else "nobody's age is known"
    )
    for by, part, value in (
        ("", "", notes),
        ("tokens", "", tokens),
        ("a_patient", "notes", notes / patients),
        ("a_patient", "tokens", tokens / patients),
        ("a_note", "tokens", tokens / notes),
    ):
        yield at("notes", **place, by=by, part=part)._replace(value=float(value))


def estimate_overlap(tables: Tables) -> pl.DataFrame:
    """Return the share of the targets who are in both splits, by an id, by name and birth date, or by their notes."""
    both = tables["people"].filter("in_both_splits").collect()["person_id"]
    targets = tables["priors"].filter(role="target").select("patient_id").unique().collect()["patient_id"]
    return as_estimates([share_row("in_both_arms", int(targets.is_in(both.implode()).sum()), targets.len())])


def estimate_uniqueness(tables: Tables) -> pl.DataFrame:
    """Return the share of each split's patients by how many share what a tier's prompt says of them."""
    rows, names, bins = [], [*_SHARING, NO_PROMPT], pl.lit(NO_PROMPT)
    for name, least in _SHARING.items():
        bins = pl.when(pl.col("sharing") >= least).then(pl.lit(name)).otherwise(bins)
    patients = tables["patients"].select("patient_id", arm="split")
    binned = tables["uniqueness"].with_columns(bin=bins).join(patients, on="patient_id", maintain_order="left")
    for (tier, arm), those in binned.collect().group_by("tier", "arm", maintain_order=True):
        counts = dict(those["bin"].value_counts().rows())
        place = {"tier": str(tier), "arm": str(arm), "by": "sharing"}
        rows += [share_row("uniqueness", counts.get(name, 0), those.height, **place, part=name) for name in names]
    return as_estimates(rows)


def estimate_subgroups(tables: Tables, *, match_tokens: int) -> pl.DataFrame:
    """Return the share of patients with any own text by age, sex and race, at each place where an arm was asked.

    Takes the tables patients, generation_metrics and generations. Race is left out where the corpus gives nobody's.
    """
    patients = with_groups(tables["patients"].collect())
    groups = patients.unpivot(PARTITIONS, index="patient_id", variable_name="by", value_name="part")
    if (patients["race"] == UNKNOWN).all():
        groups = groups.filter(pl.col("by") != "race")
    asked = with_place(tables["generation_metrics"]).filter(pl.col("arm") != "control").collect()
    return estimate_groups(leave_short_budgets_out(asked, tables, match_tokens), groups)
