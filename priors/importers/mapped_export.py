"""An export of several tables by a column map that ships (`priors/importers/maps`): MIMIC-IV-Note and OMOP CDM.

A map says which columns of which tables are read (`tables`; `?` where an export may not have one), which tables there
must be (`needs`), what others look up in a table (`lookups`), and where patients, notes and codes stand. A value is a
column; `a | b` is the first of two that is not blank; `visit_occurrence.provider_id` is that column of the lookup, by
this row's column of the lookup's key; and `v > provider.provider_name` is the column of the row of the lookup whose key
is v.
"""

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, get_args

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.cells import NO_DAYS, parse_date, parse_sex
from clinaudit.priors.corpus.files import DataFile
from clinaudit.priors.importers import System
from clinaudit.priors.importers.codes import Vocabulary
from clinaudit.priors.importers.corpus_writer import ImportLedger, PatientRecord, RecordError, read_as
from clinaudit.priors.importers.export import Export, ImportRequest
from clinaudit.priors.importers.tables import Columns, Reader, Row, find_tables, required

_MAPS = Path(__file__).parent / "maps"
_A_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
#: Data frames make fractions of whole numbers where some cells of a column are blank.
_WHOLE = re.compile(r"([0-9]{1,4})(?:\.0*)?")


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of a map, read: lookup (empty: the row itself) and column of each candidate, and the lookup by them."""

    candidates: tuple[tuple[str, str], ...]
    through: tuple[str, str] | None

    @classmethod
    def of(cls, written: str) -> "_Value":
        candidates, _, through = written.partition(" > ")
        pairs = [tuple(one.rpartition(".")[::2]) for one in (*candidates.split(" | "), *filter(None, [through]))]
        *own, last = pairs
        return cls(tuple(own), last) if through else cls(tuple(pairs), None)  # type: ignore[arg-type]


class MappedExport(Export):
    """Lookups, patients, notes and, of the patients with notes, codes."""

    def __init__(self, request: ImportRequest) -> None:
        self._map = tomllib.loads((_MAPS / f"{request.kind}.toml").read_text(encoding="utf-8"))
        self.patient_table: str = self._map["patients"]["table"]
        self.code_table: str = self._map["codes"]["table"]
        self.vocabulary_tables = tuple(Vocabulary.columns) if "concepts" in self._map["codes"] else ()
        self._patient = {name: _Value.of(written) for name, written in self._map["patients"]["columns"].items()}
        self._note = {name: _Value.of(written) for name, written in self._map["notes"]["columns"].items()}
        self._columns = {name: Columns.of(written) for name, written in self._map["tables"].items()}
        for name in self._map["notes"]["tables"]:
            self._columns[name] = replace(self._columns[name], exact=(self._map["notes"]["columns"]["text"],))
        self._columns[self.code_table] = replace(self._columns[self.code_table], whose=self._map["codes"]["patient_id"])
        self._columns |= {name: Vocabulary.columns[name] for name in self.vocabulary_tables}
        #: By lookup and key: the columns of its row, in their order.
        self._kept: dict[str, dict[str, tuple[str | None, ...]]] = {name: {} for name in self._map["lookups"]}
        #: Notes whose date and moment are of two days.
        self._of_two_days = 0
        super().__init__(request)

    def _find(self) -> dict[str, DataFile]:
        files = find_tables(self.request.source, self._columns)
        for need in self._map["needs"]:
            if files.keys().isdisjoint(need["tables"]):
                raise BadInputError(need["said"])
        lacks_concepts = "concepts" in self._map["codes"] and "concept" not in files
        if self.code_table in files and lacks_concepts and self.request.source_values is None:
            raise BadInputError(
                "CONDITION_OCCURRENCE holds concept ids, and there is no table CONCEPT to say what they are: add it, "
                "or say with --source-values which codes condition_source_value holds"
            )
        return files

    def _read(self) -> None:
        for name, lookup in self._map["lookups"].items():
            wanted: set[str] | None = None
            if "of" in lookup and name in self.files:
                # The keys that the rows of a table have; nothing is counted this first time.
                with closing(ImportLedger(Path(os.devnull))) as ledger:
                    reader, key = Reader(ledger, lambda _bytes: None), lookup["key"]
                    rows = reader.rows(lookup["of"], self.files[lookup["of"]], Columns.of(f"{key}?"))
                    wanted = {value for _, row in rows if (value := row[key])}
            self._each(name, partial(self._keep, name, lookup, wanted))
        self._each(self.patient_table, self._add_patient)
        used = {lookup for value in self._note.values() for lookup, _ in (*value.candidates, value.through or ("", ""))}
        for name in self._kept.keys() - used:
            self._kept[name].clear()
        for table in self._map["notes"]["tables"]:
            self._each(table, self._add_note)
        if self._of_two_days:
            columns = " and ".join(column for _, column in self._note["visit_date"].candidates)
            self.reader.ledger.hints.append(
                f"{self._of_two_days:,} notes have another day in {columns}: the first counts, perhaps in the zone "
                "of a database"
            )
        if self.code_table in self.files:
            self._vocabulary = Vocabulary(self.labels.book)
            self._each("concept", self._vocabulary.add_concept)
            if "concept" in self.files:
                self._each("concept_ancestor", self._vocabulary.add_descendant)
            self._each(self.code_table, self._add_code)

    def _each(self, table: str, read: Callable[[Row], bool | None]) -> None:
        """Give `read` each row of a table, where the export has it; it returns False where a row was not needed."""
        if table in self.files:
            whose = self._columns[table].whose
            for place, row in self.reader.rows(table, self.files[table], self._columns[table]):
                self.reader.ledger.take(table, [place], row, read, [row[whose] if whose else None])

    def _keep(self, name: str, lookup: Mapping[str, Any], wanted: set[str] | None, row: Row) -> bool:
        columns = self._columns[name].wanted
        if not any(row[column] for column in columns if column != lookup["key"]):
            return False
        key = required(row, lookup["key"])
        if wanted is not None and key not in wanted:
            return False
        latest = lookup.get("latest")
        if latest is None or (row[latest] or "") >= (self._kept_value(name, key, latest) or ""):
            self._kept[name][key] = tuple(row[column] for column in columns)
        return True

    def _value(self, row: Row, value: _Value) -> str | None:
        lookups = self._map["lookups"]
        of_row = (
            self._kept_value(lookup, row[lookups[lookup]["key"]], column) if lookup else row[column]
            for lookup, column in value.candidates
        )
        given = list(filter(None, of_row))
        found = next((one for one in given if one[:10] not in NO_DAYS), next(iter(given), None))
        if given and found != given[0]:
            self.reader.ledger.left_blank[f"{value.candidates[0][1]}: {given[0][:10]}, beside another date"] += 1
        elif len({one[:10] for one in given if _A_DAY.match(one)}) > 1:
            self._of_two_days += 1
        return found if value.through is None else self._kept_value(value.through[0], found, value.through[1])

    def _kept_value(self, name: str, key: str | None, column: str) -> str | None:
        kept = self._kept[name].get(key or "")
        return None if kept is None else kept[self._columns[name].wanted.index(column)]

    def _add_patient(self, row: Row) -> None:
        patients = self._map["patients"]
        values: dict[str, Any] = {name: self._value(row, value) for name, value in self._patient.items()}
        for name, words in patients.get("words", {}).items():
            concept, values[name] = values[name], words.get(values[name] or "")
            if values[name] is None and concept not in (None, "0"):
                self.reader.ledger.left_blank[f"{name}: a concept that is not read"] += 1
        for name, words in patients.get("unknown", {}).items():
            values[name] = None if values[name] in words else values[name]
        values["sex"] = read_as("sex", parse_sex, values["sex"])
        values["patient_id"] = required(row, patients["columns"]["patient_id"])
        if "birth" in patients:
            values["dob"] = _birth(row, patients["birth"])
        else:
            columns = patients["age_in_year"]
            try:
                years, in_year = (int(_whole(row[column] or "")) for column in columns)
            except ValueError:
                raise RecordError(f"{' or '.join(columns)} is not a whole number") from None
            # Ages above a bound are one.
            is_grouped = years > patients["grouped_above"]
            values |= {"age": "90+"} if is_grouped else {"age_in_year": (years, in_year)}
        if values["patient_id"] in self.writer.patients:
            raise RecordError("the patient stood in the table already")
        self.writer.set_patient(PatientRecord(**values))

    def _add_note(self, row: Row) -> None:
        note = {name: self._value(row, value) for name, value in self._note.items()}
        for name in ("patient_id", "note_id"):
            required(row, self._map["notes"]["columns"][name])
        self.writer.add_note(note, read_as("the visit date", parse_date, note["visit_date"]))

    def _add_code(self, row: Row) -> bool:
        codes = self._map["codes"]
        patient = required(row, codes["patient_id"])
        if patient not in self.writer.patients:
            raise RecordError("its patient is not in the export")
        if patient not in self.writer.latest_visit:
            return False
        diagnoses: frozenset[str] = frozenset()
        systems: set[str] = set()
        if "system" in codes:
            code, system = required(row, codes["code"]), codes["systems"].get(row[codes["system"]] or "")
            if system is None:
                raise RecordError(f"{codes['system']} is none of {', '.join(codes['systems'])}")
            systems.add(system)
            if system in get_args(System):
                diagnoses = self.labels.book.meaning(system, code)
        for column in codes.get("concepts", ()):
            concept = row[column] or "0"
            diagnoses |= self._vocabulary.meaning(concept)
            systems.update(filter(None, (self._vocabulary.system(concept),)))
        source = self.request.source_values
        if source is not None and (written := row[codes["source_code"]]):
            diagnoses |= self.labels.book.meaning(source, written)
            systems.add(source)
        self.labels.add(patient, diagnoses, systems)
        return True


def _birth(row: Row, columns: Iterable[str]) -> date | int | None:
    """Return the date of birth of the columns for year, month and day; the year where the others are not given."""
    try:
        year, month, day = (int(_whole(row[column] or "0")) for column in columns)
        if not year:
            return None
        born = date(year, month or 1, day or 1)
        return born if month and day else year
    except (ValueError, OverflowError):
        raise RecordError("year, month and day of birth are no date") from None


def _whole(text: str) -> str:
    """Return the digits of a whole number, without the fraction of a data frame; of others the text."""
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text
