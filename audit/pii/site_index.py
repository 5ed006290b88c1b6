"""Who of a site holds which identifying values: patients by their tables, labelled note fields and notes, and staff.

Values are looked for, not collected: those that generations hold are given, and one pass over the notes finds their
holders. Memory then follows from the generations, not from the notes. Owns who holds a value. Knows nothing of
generations, or of what a value that is held means.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import chain, count
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from clinaudit.audit.measures.memorization.masked_notes import PatientsShard, cut_notes
from clinaudit.audit.pii.values.known_names import KnownNames, PersonName, read_name
from clinaudit.audit.pii.values.normal_form import IdentifierValue, fold_words
from clinaudit.audit.pii.values.value_scan import ValueScanner
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.statistics.pools import SPLITS
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Patient
from clinaudit.priors.identity import Identity, IdentityReader, Visit
from clinaudit.templates.markup import is_tag
from clinaudit.templates.profile import NoteProfile

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
            for seen in shard:
                patient = next(numbers)
                held.extend(seen.held)
                holding.extend([patient] * len(seen.held))
                names.update((patient, name) for name in seen.names)
                providers |= seen.providers
                practices |= seen.practices
            advance(len(shard))

    known, staff = KnownNames(names), KnownNames((0, name) for name in providers)
    named: list[tuple[int, int]] = []
    is_staff: list[bool] = []
    is_partial: list[bool] = []
    for number, value in enumerate(wanted):
        name = read_name(value.text) if value.kind == "name" else None
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


class _Seen(NamedTuple):
    """What a patient's notes and tables hold."""

    #: Places of wanted values.
    held: set[int]
    names: set[PersonName]
    providers: set[PersonName]
    #: Folded.
    practices: set[str]


def _look_through(
    shared: tuple[Sequence[IdentifierValue], ValueScanner, NoteProfile], shard: PatientsShard
) -> list[_Seen]:
    """Return what some patients hold, wherever that is done."""
    wanted, scanner, profile = shared
    places = {value: number for number, value in enumerate(wanted)}
    reader = IdentityReader(profile)
    seen = []
    for patient, notes in shard:
        identities = _identify(reader, patient, notes)
        held = set(_stated(patient, identities, places)).union(*(scanner.find(note.text) for note in notes))
        names = _names_in(text for own in identities for text in own.names)
        providers = _names_in(text for own in identities for text in own.providers)
        practices = {fold_words(text) for own in identities for text in own.practices if not is_tag(text)}
        seen.append(_Seen(held, names, providers, practices))
    return seen


def _identify(reader: IdentityReader, patient: Patient, notes: Sequence[Visit]) -> list[Identity]:
    """Return who the notes are about and who wrote them, from the tables, and from labels where these leave it open.

    Reading labels takes longer than the search. What labels say besides, the search finds in the text all the same.
    """
    if not patient.name or not patient.dob or not all(note.provider and note.practice for note in notes):
        return reader.read(patient, notes)
    return [
        Identity(
            names=frozenset({patient.name, *patient.other_names}),
            ages=frozenset() if patient.age is None else frozenset({patient.age}),
            sexes=frozenset(),
            birth_dates=frozenset({_day(patient.dob), *patient.other_births}),
            visit_dates=frozenset() if note.visit_date is None else frozenset({_day(note.visit_date)}),
            providers=frozenset({note.provider or ""}),
            practices=frozenset({note.practice or ""}),
        )
        for note in notes
    ]


def _day(moment: date) -> date:
    """Return the day of what a table may give with a time."""
    return date(moment.year, moment.month, moment.day)


def _named(known: KnownNames, name: PersonName | None) -> set[int]:
    if name is None:
        return set()
    return known.find(name) if known.is_full(name) else known.find_part(name)


def _stated(patient: Patient, identities: Sequence[Identity], places: dict[IdentifierValue, int]) -> Iterator[int]:
    """Yield the wanted values that tables and labels state of a patient: days, and the patient's ids."""
    days = {day for identity in identities for day in (*identity.birth_dates, *identity.visit_dates)}
    values = [IdentifierValue("date", day.isoformat()) for day in days]
    values += [IdentifierValue("age", str(age)) for identity in identities for age in identity.ages]
    # As a record number, where a generation has it as one.
    ids = (patient.patient_id, *patient.other_ids)
    values += [IdentifierValue("code", "".join(fold_words(one).split())) for one in ids]
    yield from (places[value] for value in values if value in places)


def _names_in(texts: Iterable[str]) -> set[PersonName]:
    return {name for text in set(texts) if not is_tag(text) and (name := read_name(text)) is not None}
