"""Each export, in its real format, gives the same corpus; nothing of it is lost, and no text is held for long."""

import base64
import csv
import gzip
import json
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from support.exports import fhir, tables
from support.exports.hospital import EXPECTED, EXPECTED_LABELS, OTHER_TEXT, content_of
from support.exports.importing import import_export, import_own, refusal_of_own

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.importers import Kind, plan_import
from clinaudit.priors.importers.export import ImportRequest


def _written(kind: str, folder: Path) -> tuple[Kind, Path, Path | None]:
    """Write one export; return its kind, its place and its column map."""
    folder.mkdir()
    columns = folder / "columns.toml"
    match kind:
        case "mimic":
            return "mimic-iv-note", tables.write_mimic(folder / "physionet"), None
        case "omop":
            return "omop", tables.write_omop(folder / "cdm"), None
        case "omop parquet":
            return "omop", tables.write_omop(folder / "cdm", parquet=True), None
        case "ndjson":
            return "fhir", fhir.write_ndjson(folder / "bulk"), None
        case "bundles":
            return "fhir", fhir.write_bundles(folder / "bundles"), None
        case "csv":
            columns.write_text(tables.OWN_MAP, encoding="utf-8")
            return "csv", tables.write_own_csv(folder / "notes.csv"), columns
    columns.write_text(tables.EXCEL_MAP, encoding="utf-8")
    return "excel", tables.write_own_excel(folder / "notes.xlsx"), columns


@pytest.mark.parametrize("kind", ["mimic", "omop", "omop parquet", "ndjson", "bundles", "csv", "excel"])
def test_each_export_gives_the_same_corpus(tmp_path: Path, kind: str) -> None:
    name, source, columns = _written(kind, tmp_path / "export")
    destination = tmp_path / "corpus"
    imported = import_export(name, source, destination, columns=columns)
    people, labels = content_of(destination)
    expected = json.loads(json.dumps(EXPECTED, default=str))
    given = json.loads(json.dumps(people, default=str))
    if kind == "csv":  # Windows-1252 has no emoji
        expected["10001"][2][0][1] = expected["10001"][2][0][1].replace("😀", "…")
    if name == "fhir":  # a page ends with its last line
        expected["10002"][2][0][1] = expected["10002"][2][0][1].rstrip()
    assert given == expected
    assert labels == EXPECTED_LABELS
    assert (imported.notes, imported.patients, imported.train) == (3, 2, None)
    for count in imported.ledger.tables.values():
        assert count.total == count.read + count.rejected.total()
        assert not count.rejected
    assert stat.S_IMODE(destination.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in destination.iterdir()} == {0o600}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "export"]
    assert OTHER_TEXT not in (destination / "import.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["omop parquet", "excel"])
def test_a_file_that_another_process_reads_counts_as_read(tmp_path: Path, kind: str) -> None:
    name, source, columns = _written(kind, tmp_path / "export")
    request = ImportRequest(
        kind=name, source=source, destination=tmp_path / "corpus", panel=load_panel(), columns=columns
    )
    read: list[int] = []
    plan_import(request).run(read.append)
    assert (source / "note.parquet" if source.is_dir() else source).stat().st_size in read


def test_tables_say_who_and_where(tmp_path: Path) -> None:
    import_export("omop", tables.write_omop(tmp_path / "cdm"), tmp_path / "omop")
    import_export("fhir", fhir.write_bundles(tmp_path / "bundles"), tmp_path / "fhir")
    import_export("mimic-iv-note", tables.write_mimic(tmp_path / "physionet"), tmp_path / "mimic")
    omop, fhir_corpus, mimic = (read_corpus(tmp_path / name) for name in ("omop", "fhir", "mimic"))
    for corpus in (omop, fhir_corpus):
        assert {note.practice for note in corpus.notes_of("10001")} == {"Riverside Clinic"}
        assert {note.note_type for note in corpus.notes_of("10001")} == {"Progress note"}
    assert omop.notes_of("10001")[0].provider == "Dr. Ida Quist"
    assert fhir_corpus.notes_of("10001")[0].provider == "Ida Quist"
    assert fhir_corpus.patients["10001"].name == "Ada B. Invented10001"
    assert [corpus.patients["10002"].race for corpus in (omop, fhir_corpus, mimic)] == ["Asian", "Asian", "ASIAN"]
    # The latest admission's, not the first's.
    assert mimic.patients["10001"].marital_status == "MARRIED"
    assert [note.note_type for note in mimic.notes_of("10001")] == ["DS", "RR"]


def test_what_is_known_in_part_is_read_as_such(tmp_path: Path) -> None:
    mimic = tables.mimic_rows()
    mimic["hosp/patients"][0][2] = 91  # whoever is over 89
    import_export("mimic-iv-note", tables.write_mimic(tmp_path / "physionet", mimic), tmp_path / "mimic")
    patient = read_corpus(tmp_path / "mimic").patients["10001"]
    assert (patient.age, patient.age_is_pooled) == (90, True)
    omop = tables.omop_rows()
    omop["person"][0][4] = "NULL"
    import_export("omop", tables.write_omop(tmp_path / "cdm", omop), tmp_path / "omop")
    given = fhir.resources()
    given["Patient"][0]["birthDate"], given["Patient"][1]["birthDate"] = "1970-02", "1985"
    import_export("fhir", fhir.write_ndjson(tmp_path / "bulk", given), tmp_path / "fhir")
    omop_patients, fhir_patients = (read_corpus(tmp_path / name).patients for name in ("omop", "fhir"))
    assert (omop_patients["10001"].birth_year, omop_patients["10001"].dob) == (1970, None)
    assert omop_patients["10002"].birth_year is None
    assert [fhir_patients[key].birth_year for key in ("10001", "10002")] == [1970, 1985]


def test_a_report_that_comes_as_two_types_is_one_note(tmp_path: Path) -> None:
    imported = import_export("fhir", fhir.write_ndjson(tmp_path / "bulk"), tmp_path / "corpus")
    reports = imported.ledger.tables["DiagnosticReport"]
    assert (reports.total, reports.used, reports.not_needed) == (2, 0, 2)
    assert imported.ledger.tables["other resources"].not_needed == 1
    assert imported.ledger.tables["Patient"].not_needed == 1  # the one without a note


def test_the_train_list_gives_the_split(tmp_path: Path) -> None:
    listed = tmp_path / "trained.txt"
    listed.write_text("10001\n\n10003\n777\n", encoding="utf-8")
    source = tables.write_mimic(tmp_path / "physionet")
    imported = import_export("mimic-iv-note", source, tmp_path / "corpus", train_patients=listed)
    # 10003 has no note, 777 is nobody here.
    assert (imported.train, imported.train_not_found) == (1, 2)
    read = read_corpus(tmp_path / "corpus")
    assert {key: patient.split for key, patient in read.patients.items()} == {"10001": "train", "10002": "nontrain"}
    listed.write_text("MRN10001\n", encoding="utf-8")
    with pytest.raises(BadInputError, match="no patient of the export is in the train split"):
        import_export("mimic-iv-note", source, tmp_path / "other", train_patients=listed)
    assert not (tmp_path / "other").exists()


def test_a_split_in_the_table_is_used_and_may_not_differ(tmp_path: Path) -> None:
    columns = '[columns]\npatient_id = "id"\ntext = "note"\nsplit = "arm"\n'
    assert import_own(tmp_path, "id,note,arm\na,one,train\nb,two,nontrain\na,three,train\n", columns)[0].train == 1
    refused = refusal_of_own(tmp_path / "other", "id,note,arm\na,one,train\na,three,nontrain\nb,four,\n", columns)
    assert "notes.csv, row 2: split differs from an earlier row of the same patient" in refused
    assert "notes.csv, row 3: split is none of train, nontrain" in refused


_NOTES = 100
_TEXT = "word " * 60_000


def _mimic(folder: Path) -> Path:
    source = tables.write_mimic(folder / "physionet", {**tables.mimic_rows(), "hosp/diagnoses_icd": []})
    with gzip.open(source / "note" / "discharge.csv.gz", "at", 1, "utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerows([f"n{at}", "10001", 1, "DS", 1, "2021-01-01", "", _TEXT] for at in range(_NOTES))
    return source


def _documents(folder: Path) -> list[str]:
    folder.mkdir()
    data = base64.b64encode(_TEXT.encode()).decode()
    documents = [
        {
            "resourceType": "DocumentReference",
            "id": f"n{at}",
            "status": "current",
            "subject": {"reference": "Patient/a"},
            "content": [{"attachment": {"contentType": "text/plain", "data": data}}],
        }
        for at in range(_NOTES)
    ]
    return [json.dumps(one) for one in ({"resourceType": "Patient", "id": "a"}, *documents)]


def _ndjson(folder: Path) -> Path:
    lines = _documents(folder / "bulk")
    (folder / "bulk" / "all.ndjson").write_text("\n".join(lines), encoding="utf-8")
    return folder / "bulk"


def _bundle(folder: Path) -> Path:
    entries = ", ".join(f'{{"resource": {line}}}' for line in _documents(folder / "bundle"))
    content = f'{{"resourceType": "Bundle", "entry": [{entries}]}}'
    (folder / "bundle" / "all.json").write_text(content, encoding="utf-8")
    return folder / "bundle"


@pytest.mark.parametrize(("kind", "write"), [("mimic-iv-note", _mimic), ("fhir", _ndjson), ("fhir", _bundle)])
def test_the_texts_of_notes_are_never_held_together(tmp_path: Path, kind: Kind, write: Callable[[Path], Path]) -> None:
    source = write(tmp_path)
    # What importing modules takes is not counted.
    import_export("mimic-iv-note", tables.write_mimic(tmp_path / "small"), tmp_path / "first")
    tracemalloc.start()
    imported = import_export(kind, source, tmp_path / "corpus")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert imported.notes >= _NOTES
    # A few copies of one note, on its way from base64 to the table.
    assert peak < _NOTES * len(_TEXT) / 3
