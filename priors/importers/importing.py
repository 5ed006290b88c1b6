"""An import from beginning to end: the door of this room.

`plan_import` finds the files and reads what the site says of them; `Plan.run` reads them and writes the corpus, whole
or not at all. Owns the order, and what `import.json` holds.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.files import DataFile
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.importers import Kind, System
from clinaudit.priors.importers.corpus_writer import CorpusWriter, made_whole
from clinaudit.priors.importers.fhir import PATIENT_TABLE as FHIR_PATIENTS
from clinaudit.priors.importers.fhir import FhirExport
from clinaudit.priors.importers.fhir_files import find_fhir
from clinaudit.priors.importers.fhir_resources import Binaries
from clinaudit.priors.importers.ledger import REJECTED_NAME, ImportLedger, TableCount
from clinaudit.priors.importers.mimic import PATIENT_TABLE as MIMIC_PATIENTS
from clinaudit.priors.importers.mimic import MimicExport, find_mimic
from clinaudit.priors.importers.omop import PATIENT_TABLE as OMOP_PATIENTS
from clinaudit.priors.importers.omop import OmopExport, find_omop
from clinaudit.priors.importers.own_table import ColumnMap, OwnTable, find_own_table, read_column_map
from clinaudit.priors.importers.tables import Reader
from clinaudit.priors.importers.values import CodeBook, Labels
from clinaudit.templates.text_file import read_text_file

LEDGER_NAME = "import.json"
_PATIENT_TABLES: dict[Kind, str] = {"mimic-iv-note": MIMIC_PATIENTS, "omop": OMOP_PATIENTS, "fhir": FHIR_PATIENTS}
#: Tables that hold codes of diagnoses, where an export has them.
_CODE_TABLES = frozenset({"diagnoses_icd", "condition_occurrence", "Condition"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What a site asks for."""

    kind: Kind
    source: Path
    destination: Path
    panel: Sequence[Diagnosis]
    #: Systems of codes in which no code means that a patient does not have a diagnosis.
    complete: Collection[System] = ()
    #: A file of patient ids, one a line: the train split. None: the corpus has no split, unless its table gives one.
    train_patients: Path | None = None
    #: The column map of a site's own table.
    columns: Path | None = None
    #: OMOP: the codes that `condition_source_value` holds.
    source_values: System | None = None
    allow_rejected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import has made."""

    notes: int
    patients: int
    #: Patients of the train split, None where the corpus has no split.
    train: int | None
    #: Ids of the train list without a patient with notes.
    train_not_found: int
    #: Whether codes were read, so that a table of diagnoses was written.
    has_labels: bool
    #: Patients with a condition in a system that is not called complete.
    unreadable: int
    tables: dict[str, TableCount]
    left_blank: dict[str, int]
    #: Values read without the blanks around them, by column and table.
    trimmed: dict[str, int]
    #: Columns of a site's own table that the column map does not name.
    columns_not_read: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """An import whose files were found."""

    request: ImportRequest
    files: dict[str, DataFile]
    columns: ColumnMap | None
    train: frozenset[str] | None

    @property
    def total_bytes(self) -> int:
        """Bytes of the files on the disk."""
        return sum(file.identity[2] for file in self.files.values())

    def run(self, advance: Callable[[int], None]) -> Imported:
        """Read the export and write the corpus; `advance` is told how many bytes were read.

        Raises `BadInputError` where a file cannot be read on, or where any record was rejected and that is not allowed;
        nothing is written then.
        """
        with made_whole(self.request.destination) as directory, _opened(directory) as (ledger, writer):
            labels = Labels(CodeBook(self.request.panel), self.request.complete)
            train = self._read(Reader(ledger, advance), writer, labels)
            if self.request.kind in _PATIENT_TABLES:
                unused = len(writer.patients) - len(writer.latest_visit)
                ledger.not_needed_after_all(_PATIENT_TABLES[self.request.kind], unused)
            ledger.require_balanced()
            if not self.request.allow_rejected:
                ledger.require_nothing_rejected()
            if not writer.notes:
                raise BadInputError("the export gave no note; nothing was written: check SOURCE")
            _require_any_trained(train, writer)
            coded = self._has_codes(ledger)
            writer.finish(train=train, labels=labels.rows(writer.latest_visit) if coded else None)
            imported = Imported(
                notes=writer.notes,
                patients=len(writer.latest_visit),
                train=None if train is None else len(train.intersection(writer.latest_visit)),
                train_not_found=0 if train is None else len(train.difference(writer.latest_visit)),
                has_labels=coded,
                unreadable=labels.unreadable(writer.latest_visit.keys()) if coded else 0,
                tables=ledger.tables,
                left_blank=dict(sorted(ledger.left_blank.items())),
                trimmed=dict(sorted(ledger.trimmed.items())),
                columns_not_read=ledger.columns_not_read,
            )
            (directory / LEDGER_NAME).write_text(self._as_json(imported), encoding="utf-8")
        return imported

    def _read(self, reader: Reader, writer: CorpusWriter, labels: Labels) -> frozenset[str] | None:
        """Read the export by its kind; return the train split."""
        match self.request.kind:
            case "mimic-iv-note":
                MimicExport(self.files, writer, labels).read(reader)
            case "omop":
                OmopExport(self.files, writer, labels, self.request.source_values).read(reader)
            case "fhir":
                with closing(Binaries(writer.directory)) as binaries:
                    files = list(self.files.values())
                    FhirExport(files, writer, labels, reader.ledger, binaries).read(reader)
            case _:
                assert self.columns is not None  # `plan_import` asks for it
                table = OwnTable(next(iter(self.files.values())), self.columns, writer, labels)
                table.read(reader)
                if "split" in self.columns.columns:
                    return frozenset(patient for patient, split in table.splits.items() if split == "train")
        return self.train

    def _has_codes(self, ledger: ImportLedger) -> bool:
        if self.columns is not None:
            return self.columns.codes is not None
        return not _CODE_TABLES.isdisjoint(ledger.tables)

    def _as_json(self, imported: Imported) -> str:
        content = {
            "kind": self.request.kind,
            "notes": imported.notes,
            "patients": imported.patients,
            "codes_complete": sorted(self.request.complete),
            "tables": {name: count.as_json() for name, count in sorted(imported.tables.items())},
            "left_blank": imported.left_blank,
            "blanks_taken_off": imported.trimmed,
            "columns_not_read": list(imported.columns_not_read),
        }
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def plan_import(request: ImportRequest) -> Plan:
    """Find the files of an export and read the site's own; raises `UsageError` for options that do not fit the kind."""
    own = request.kind in ("csv", "excel")
    if own and request.columns is None:
        raise UsageError(f"{request.kind} needs --columns FILE: a column map says which column holds what")
    if not own and request.columns is not None:
        raise UsageError("--columns is for csv and excel alone; leave it out")
    if request.source_values is not None and request.kind != "omop":
        raise UsageError("--source-values is for omop alone; leave it out")
    columns = None if request.columns is None else read_column_map(request.columns)
    train = None if request.train_patients is None else _read_ids(request.train_patients)
    if train is not None and columns is not None and "split" in columns.columns:
        raise UsageError("the column map names a column for split: leave out --train-patients, or that column")
    match request.kind:
        case "mimic-iv-note":
            files = find_mimic(request.source)
        case "omop":
            files = find_omop(request.source, request.source_values)
        case "fhir":
            files = {file.name: file for file in find_fhir(request.source)}
        case _:
            file = find_own_table(request.source, excel=request.kind == "excel")
            files = {file.name: file}
    return Plan(request, files, columns, train)


@contextmanager
def _opened(directory: Path) -> Iterator[tuple[ImportLedger, CorpusWriter]]:
    with closing(ImportLedger(directory / REJECTED_NAME)) as ledger, closing(CorpusWriter(directory, ledger)) as writer:
        yield ledger, writer


def _require_any_trained(train: frozenset[str] | None, writer: CorpusWriter) -> None:
    if train is not None and train.isdisjoint(writer.latest_visit):
        raise BadInputError(
            "no patient of the export is in the train split; nothing was written: the list of --train-patients (or the "
            "column for split) must name patients by the same ids as the export"
        )


def _read_ids(path: Path) -> frozenset[str]:
    lines = read_text_file(path, role="the list of --train-patients").splitlines()
    ids = frozenset(line.strip() for line in lines if line.strip())
    if not ids:
        raise BadInputError("the list of --train-patients is empty; give patient ids, one a line")
    return ids
