"""The owners of the identifiers in generations: whose each one is (docs/methods.md, "Whose it is").

Owns the way from a detector's spans to distinct values, which patients (by tables, labelled note fields and notes) and
staff hold each value, the order in which owners are tried, when a value is verified, and what chance gives: values of
one patient among as many of either split. Values are looked for, not collected: one pass over the notes finds the
holders of those that generations hold, so that memory follows from the generations, not from the notes.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import chain, count
from typing import Final

import numpy as np
import polars as pl

from clinaudit.audit.measures.memorization.masked_notes import PatientsShard, cut_notes
from clinaudit.audit.pii.taxonomy import Detector, EntitySpan, categories
from clinaudit.audit.pii.values import known_values
from clinaudit.audit.pii.values.known_values import DateReader, KnownNames, PersonName, ValueScanner
from clinaudit.audit.pii.values.normal_form import IdentifierValue, fold_words, kind_of, normalize
from clinaudit.audit.runtime.cluster import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.evidence_tables import as_table, schema_of
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.audit.statistics.estimates import SPLITS, Pools
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note, Patient
from clinaudit.priors.identity import Identity, IdentityReader
from clinaudit.reports.schema.pii_bench import IdentifierOwner
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.shown_text import is_tag

#: Kinds of value as which a detector may take the name of a practice.
_PLACES: Final = ("name", "text", "address")


@dataclass(frozen=True, slots=True, eq=False)
class SiteIndex:
    """Who holds which of the wanted values. A patient and a value are numbers: their places in these frames."""

    #: Columns patient (the number), patient_id and split; train patients first, each split in its `Corpus.scan_order`.
    patients: pl.DataFrame = field(repr=False)
    #: Columns number, kind and value; staff: whether it names a provider or a practice of the notes; partial: whether
    #: it is a name in part, which points to nobody who was not asked about.
    values: pl.DataFrame = field(repr=False)
    #: A row for each value that a patient holds, columns number and patient, ascending.
    holders: pl.DataFrame = field(repr=False)


def index_values(
    wanted: Sequence[IdentifierValue],
    scanner: ValueScanner,
    corpus: Corpus,
    profile: NoteProfile,
    *,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> SiteIndex:
    """Find the holders of some values in one pass over the corpus; `scanner` looks for the same values.

    A value is held by a patient whose row of the `patients` table, labelled note fields or notes hold it, however it is
    written there. A name is also held by every patient whose own name, as table or labels give it, it can be. What
    names a provider or a practice is no patient's, but for patients of whom it is the own name.
    """
    patients = pl.concat(
        pl.DataFrame({"patient_id": corpus.scan_order(split)}, schema={"patient_id": pl.String}).with_columns(
            split=pl.lit(split)
        )
        for split in SPLITS
    ).with_row_index("patient")
    held, holding = array("I"), array("I")
    names: set[tuple[int, PersonName]] = set()
    providers: set[PersonName] = set()
    practices: set[str] = set()
    numbers = count()
    shards = chain.from_iterable(cut_notes(corpus, split) for split in SPLITS)
    with progress.stage("looking for identifiers' owners", total=len(patients), unit="patients") as advance:
        for shard in runner.map(_look_through, (wanted, scanner, profile), shards):
            for places, own_names, seen_by, seen_at in shard:
                patient = next(numbers)
                held.extend(places)
                holding.extend([patient] * len(places))
                names.update((patient, name) for name in own_names)
                providers |= seen_by
                practices |= seen_at
            advance(len(shard))

    known, staff = KnownNames(names), KnownNames((0, name) for name in providers)
    named: list[tuple[int, int]] = []
    is_staff: list[bool] = []
    is_partial: list[bool] = []
    for number, value in enumerate(wanted):
        name = known_values.read_name(value.text) if value.kind == "name" else None
        named += ((number, patient) for patient in _named(known, name))
        is_staff.append(bool(_named(staff, name)) or (value.kind in _PLACES and value.text in practices))
        is_partial.append(name is not None and not known.is_full(name))
    said = pl.DataFrame(wanted, schema={"kind": pl.String, "value": pl.String}, orient="row").with_row_index("number")
    values = said.with_columns(
        staff=pl.Series(is_staff, dtype=pl.Boolean), partial=pl.Series(is_partial, dtype=pl.Boolean)
    )
    pairs = {"number": pl.UInt32, "patient": pl.UInt32}
    found = pl.DataFrame({"number": np.asarray(held), "patient": np.asarray(holding)}, schema=pairs)
    # In the notes of all patients whom they see stand the names of those who see them.
    by_text = found.join(values.filter(~pl.col("staff") & ~pl.col("partial")), on="number", how="semi")
    by_name = pl.DataFrame(named, schema=pairs, orient="row")
    return SiteIndex(patients, values, pl.concat([by_text, by_name]).unique().sort("number", "patient"))


#: What a patient's notes and tables hold: places of wanted values, names, providers, and folded practices.
_Seen = tuple[set[int], set[PersonName], set[PersonName], set[str]]


def _look_through(
    shared: tuple[Sequence[IdentifierValue], ValueScanner, NoteProfile], shard: PatientsShard
) -> list[_Seen]:
    """Return what some patients hold, wherever that is done."""
    wanted, scanner, profile = shared
    places = {value: number for number, value in enumerate(wanted)}
    reader = IdentityReader(profile)
    seen: list[_Seen] = []
    for patient, notes in shard:
        identities = _identify(reader, patient, notes)
        # What tables and labels state: days, ages, and ids as record numbers, where a generation has them as such.
        days = {day for one in identities for day in (*one.birth_dates, *one.visit_dates)}
        stated = [IdentifierValue("date", day.isoformat()) for day in days]
        stated += [IdentifierValue("age", str(age)) for one in identities for age in one.ages]
        ids = (patient.patient_id, *patient.other_ids)
        stated += [IdentifierValue("code", "".join(fold_words(one).split())) for one in ids]
        held = {places[value] for value in stated if value in places}.union(*(scanner.find(one.text) for one in notes))
        names = _names_in(text for one in identities for text in one.names)
        providers = _names_in(text for one in identities for text in one.providers)
        practices = {fold_words(text) for one in identities for text in one.practices if not is_tag(text)}
        seen.append((held, names, providers, practices))
    return seen


def _identify(reader: IdentityReader, patient: Patient, notes: Sequence[Note]) -> list[Identity]:
    """Return who the notes are about and who wrote them, from the tables, and from labels where these leave it open.

    Reading labels takes longer than the search. What labels say besides, the search finds in the text all the same.
    """
    if not patient.name or not patient.dob or not all(note.provider and note.practice for note in notes):
        return reader.read(patient, notes)

    def days(*moments: date | None) -> set[date]:
        # A table may give a day with a time.
        return {date(one.year, one.month, one.day) for one in moments if one is not None}

    return [
        Identity(
            names=frozenset({patient.name, *patient.other_names}),
            ages=frozenset() if patient.age is None else frozenset({patient.age}),
            sexes=frozenset(),
            birth_dates=frozenset(days(patient.dob).union(patient.other_births)),
            visit_dates=frozenset(days(note.visit_date)),
            providers=frozenset({note.provider or ""}),
            practices=frozenset({note.practice or ""}),
        )
        for note in notes
    ]


def _named(known: KnownNames, name: PersonName | None) -> set[int]:
    if name is None:
        return set()
    return known.find(name) if known.is_full(name) else known.find_part(name)


def _names_in(texts: Iterable[str]) -> set[PersonName]:
    return {name for text in set(texts) if not is_tag(text) and (name := known_values.read_name(text)) is not None}


#: How much text one process is given at once, in characters.
_BATCH_CHARS: Final = 100_000
#: Holders of one value that are listed; their number stands beside them.
MOST_LISTED: Final = 10


#: A place of a generation that was found to be an identifier: these columns of the table `identifiers`.
FOUND: Final = ("generation_id", "char_start", "char_end", "text", "category", "hipaa", "kind", "value", "found_by")
_Place = tuple[str | int, ...]
#: Places whose owners are told at a time: each join copies what is there.
_PLACES_AT_A_TIME: Final = 1 << 17


def find_values(
    generations: pl.DataFrame, detector: Detector, dates: DateReader, *, progress: Progress, runner: ShardRunner
) -> pl.DataFrame:
    """Return the places of HIPAA's identifiers that hold a value, with the columns of `FOUND`."""
    declared = schema_of("identifiers")
    schema = {column: declared[column] for column in FOUND}
    frames = [pl.DataFrame(schema=schema)]
    shards = batches(generations.select("generation_id", "text").iter_rows(), lambda one: len(one[1]), _BATCH_CHARS)
    with progress.stage("looking for identifiers", total=len(generations), unit="generations") as advance:
        for found in runner.map(_values_of, (detector, dates), shards):
            # By columns, which the library takes some times faster than rows.
            columns = zip(*chain.from_iterable(found), strict=True)
            frames.append(pl.DataFrame(dict(zip(schema, columns, strict=False)), schema=schema))
            advance(len(found))
    return pl.concat(frames)


def _values_of(shared: tuple[Detector, DateReader], shard: Sequence[tuple[str, str]]) -> list[list[_Place]]:
    """Return the rows of some generations, each with its id, whose spans hold a value of their kind."""
    detector, dates = shared
    found: list[list[_Place]] = []
    for generation_id, text in shard:
        found.append([])
        for span in detector.detect(text):
            hipaa = categories()[span.category].hipaa
            value = None if hipaa is None else read_value(text, span, dates)
            if hipaa is not None and value is not None:
                place = generation_id, span.start, span.end, text[span.start : span.end]
                found[-1].append((*place, span.category, hipaa, *value, span.found_by))
    return found


def read_value(text: str, span: EntitySpan, dates: DateReader) -> IdentifierValue | None:
    """Return the value that a span of a text holds, or None where it holds none of its kind."""
    written = text[span.start : span.end]
    if kind_of(span.category) == "date":
        day = dates.read(written)
        return None if day is None else IdentifierValue("date", day)
    return normalize(span.category, written)


def tell_owners(
    found: pl.DataFrame,
    generations: pl.DataFrame,
    *,
    index: SiteIndex,
    scanner: ValueScanner,
    pools: Pools,
    progress: Progress,
) -> pl.DataFrame:
    """Return `found`, in its order, with whose each value is: the table `identifiers`.

    `generations` has the columns generation_id, patient_id and prompt; null: about nobody, so that every patient is
    another one, and a prompt that is not known. `index` and `scanner` know every value of `found`.
    """
    patients = _rank_patients(index, pools)
    targets = _reach_pools(patients, pools)
    holders = index.holders.join(patients, on="patient", how="left", maintain_order="left")
    values = holders.group_by("number").agg(
        pl.col("patient_id").head(MOST_LISTED).alias("holders"),
        pl.len().cast(pl.Int64).alias("holder_count"),
        (pl.col("split") == "train").any().alias("of_train"),
    )
    pooled = _count_in_pools(holders, targets)
    names = [
        known_values.read_name(value) if kind == "name" else None
        for kind, value in index.values["kind", "value"].iter_rows()
    ]
    listed = index.values.select("number").join(values.select("number", "holders"), on="number", how="left")
    listed = listed.with_columns(pl.col("holders").fill_null([]))
    own = index.holders.with_columns(is_own=True)
    asked = generations.select("generation_id", "patient_id", "prompt")
    columns = schema_of("identifiers").names()
    owned = [as_table("identifiers", [])]
    with progress.stage("telling whose they are", total=len(found), unit="places") as advance:
        for some in found.iter_slices(_PLACES_AT_A_TIME):
            told = (
                some.select("generation_id", "kind", "value")
                .join(index.values, on=["kind", "value"], how="left", maintain_order="left")
                .drop("kind", "value")
                .join(values.drop("holders"), on="number", how="left", maintain_order="left")
                .join(asked.drop("prompt"), on="generation_id", how="left", maintain_order="left")
                .join(targets, on="patient_id", how="left", nulls_equal=True, maintain_order="left")
                .join(own, on=["number", "patient"], how="left", maintain_order="left")
                .join(pooled, on=["number", *_REACHES], how="left", maintain_order="left")
            )
            echoed = _find_echoes(told, asked, names, scanner)
            told = told.join(echoed, on=["generation_id", "number"], how="left", maintain_order="left")
            # The texts and the longest column come last: each join copies what is there.
            decided = _decide(told).join(listed, on="number", how="left", maintain_order="left")
            owned.append(some.hstack(decided.drop("number")).select(columns))
            advance(len(some))
    return pl.concat(owned)


def _decide(told: pl.DataFrame) -> pl.DataFrame:
    """Return number, owner, holder_count, verified, sampled and by_chance of each place."""
    owned = told.with_columns(
        pl.col("holder_count").fill_null(0),
        owner=pl.coalesce(pl.when(is_its).then(pl.lit(owner)) for owner, is_its in _OWNERS.items()),
    )
    of_others = pl.col("owner").is_in(["other_train", "other_nontrain"])
    # Without two pools nothing can be told of chance: null, as the tokens of other patients' text are.
    in_pools = pl.when(pl.all_horizontal(pl.col(_REACHES) > 0))
    return owned.select(
        "number",
        "owner",
        "holder_count",
        verified=pl.col("owner").is_in(["own", "other_train"]) & (pl.col("holder_count") == 1),
        sampled=in_pools.then(of_others & (pl.col("in_train") == 1) & (pl.col("in_nontrain") == 0)),
        by_chance=in_pools.then(of_others & (pl.col("in_train") == 0) & (pl.col("in_nontrain") == 1)),
    )


#: When a value is whose, in the order in which this is asked.
_OWNERS: Final[Mapping[IdentifierOwner, pl.Expr]] = {
    "echo": pl.col("is_echo"),
    "own": pl.col("is_own"),
    "staff": pl.col("staff"),
    "nobody": pl.col("partial") | pl.col("of_train").is_null(),
    "other_train": pl.col("of_train"),
    "other_nontrain": ~pl.col("of_train"),
}
#: Up to which rank the drawn patients of either split are in a target's pools.
_REACHES: Final = ("reach_train", "reach_nontrain")


def _rank_patients(index: SiteIndex, pools: Pools) -> pl.DataFrame:
    """Return the patients of an index, with the column rank: that among the drawn of its split; null: not drawn."""
    ranks = [
        pl.DataFrame({"place": pools.drawn[split]}).with_row_index("rank").with_columns(split=pl.lit(split))
        for split in SPLITS
    ]
    placed = index.patients.with_columns(place=pl.int_range(pl.len()).over("split"))
    return placed.join(pl.concat(ranks), on=["split", "place"], how="left", maintain_order="left")


def _reach_pools(patients: pl.DataFrame, pools: Pools) -> pl.DataFrame:
    """Return every patient, and nobody (null), with what of the drawn is in the pools of an answer about each."""
    asked = [*patients.select("patient_id", "patient", "split", "rank").iter_rows(), (None, None, "nobody", None)]
    return pl.DataFrame(
        [(patient_id, patient, *pools.reach(target, rank)) for patient_id, patient, target, rank in asked],
        schema={"patient_id": pl.String, "patient": pl.UInt32, **dict.fromkeys(_REACHES, pl.Int64)},
        orient="row",
    )


def _count_in_pools(holders: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """Return how many patients of either pool hold each value, by the reach of the pools, of which there are four."""
    counts = [
        holders.group_by("number").agg(
            *(
                ((pl.col("split") == split) & (pl.col("rank") < reach)).sum().alias(f"in_{split}")
                for split, reach in zip(SPLITS, reaches, strict=True)
            ),
            **{name: pl.lit(reach, pl.Int64) for name, reach in zip(_REACHES, reaches, strict=True)},
        )
        for reaches in targets.select(_REACHES).unique().iter_rows()
    ]
    return pl.concat(counts)


def _find_echoes(
    told: pl.DataFrame, asked: pl.DataFrame, names: Sequence[PersonName | None], scanner: ValueScanner
) -> pl.DataFrame:
    """Return the values of each generation that its prompt holds, however written; `names` are theirs, by number."""
    numbers = told.group_by("generation_id", maintain_order=True).agg(pl.col("number").unique())
    prompts = numbers.join(asked.select("generation_id", "prompt").drop_nulls(), on="generation_id")
    echoed: list[tuple[str, int, bool]] = []
    for generation_id, held_numbers, prompt in prompts.iter_rows():
        held, words = scanner.find(prompt), set(fold_words(prompt).split())
        for number in held_numbers:
            name = names[number]
            if number in held or (name is not None and known_values.stands_in(name, words)):
                echoed.append((generation_id, number, True))
    schema = {"generation_id": pl.String, "number": pl.UInt32, "is_echo": pl.Boolean}
    return pl.DataFrame(echoed, schema=schema, orient="row")
