"""What is wrong with an export is refused with file and position, without content, and nothing is written."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import read_rows
from support.corpus_tables import SECRET
from support.exports import fhir, tables
from support.exports.importing import import_export, refusal_of

from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.importers.corpus_writer import REJECTED_NAME

Rows = dict[str, list[list[Any]]]
CASES = read_rows("exports/import_rows.txt")


def _rows(name: str) -> list[list[Any]]:
    """Return rows of cases, with the secret in the place of its name."""
    return [json.loads(json.dumps(row).replace("SECRET", SECRET)) for row in CASES[name]]


@pytest.mark.parametrize(("table", "row", "column", "value", "expected"), _rows("mimic_refused"))
def test_a_record_that_cannot_be_used_stops_the_import(
    tmp_path: Path, table: str, row: int, column: int, value: object, expected: str
) -> None:
    rows: Rows = tables.mimic_rows()
    rows[table][row][column] = value
    refused = refusal_of("mimic-iv-note", tables.write_mimic(tmp_path / "physionet", rows), tmp_path / "corpus")
    assert expected in refused
    assert "--allow-rejected" in refused


def test_rejected_records_are_listed_where_they_are_allowed(tmp_path: Path) -> None:
    rows: Rows = tables.mimic_rows()
    rows["note/discharge"][1][7] = ""
    rows["hosp/diagnoses_icd"][1][3] = SECRET
    rows["hosp/diagnoses_icd"] += [["10001", "2", "1", SECRET, "10"]] * 30
    source = tables.write_mimic(tmp_path / "physionet", rows)
    refused = refusal_of("mimic-iv-note", source, tmp_path / "refused")
    assert "31 records cannot be used" in refused
    assert "diagnoses_icd.csv.gz, row 4: a code is no ICD-10 code (29 more like it)" in refused
    assert len(refused.splitlines()) == 3
    imported = import_export("mimic-iv-note", source, tmp_path / "corpus", allow_rejected=True)
    assert imported.notes == 2
    notes = imported.ledger.tables["discharge"]
    assert (notes.total, notes.read, notes.rejected.total()) == (2, 1, 1)
    ledger = json.loads((tmp_path / "corpus" / "import.json").read_text(encoding="utf-8"))
    for table in ledger["tables"].values():
        assert table["total"] == table["read"] + table["rejected"]
        assert table["read"] == table["used"] + table["not_needed"]
    # 10002 has no note left, so that its code, though no code, is not looked at.
    assert ledger["tables"]["diagnoses_icd"]["rejected_by_reason"] == {"a code is no ICD-10 code": 30}
    assert ledger["tables"]["patients"] == {
        "total": 3, "read": 3, "used": 1, "not_needed": 2, "rejected": 0, "rejected_by_reason": {},
    }  # fmt: skip
    with (tmp_path / "corpus" / REJECTED_NAME).open(encoding="utf-8", newline="") as file:
        listed = list(csv.DictReader(file))
    assert len(listed) == 31
    assert list(listed[0].values()) == ["note/discharge.csv.gz", "row", "2", "discharge", "the text is blank"]
    assert SECRET not in str(listed)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f'note_id,person_id,note_date,note_text\n1,10001,2020-01-01,"{SECRET}\n', "NOTE.csv, row 1: is malformed CSV"),
        ("note_id,person_id,note_date\n1,10001,2020-01-01\n", "NOTE.csv, column note_text: is missing"),
        (f"note_id,person_id,note_date,note_text\n1,10001,{SECRET}\n", "row 1: has not as many fields as the header"),
        ("note_id#person_id#note_date#note_text\n", "(the first line was read as the header, separated by commas)"),
        (
            b"note_id,person_id,note_date,note_text\n1,10001,2020-01-01,\xff\n",
            "row 1: note_text is not UTF-8; save the file as UTF-8",
        ),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path, content: str | bytes, expected: str) -> None:
    source = tables.write_omop(tmp_path / "cdm")
    (source / "NOTE.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    (source / "VISIT_OCCURRENCE.csv").unlink()
    assert expected in refusal_of("omop", source, tmp_path / "corpus")


def test_a_damaged_compressed_or_parquet_file_is_refused(tmp_path: Path) -> None:
    mimic = tables.write_mimic(tmp_path / "physionet")
    notes = mimic / "note" / "discharge.csv.gz"
    notes.write_bytes(notes.read_bytes()[:-20])
    assert "note/discharge.csv.gz: is damaged, cut off, or not gz data" in refusal_of(
        "mimic-iv-note", mimic, tmp_path / "c"
    )
    omop = tables.write_omop(tmp_path / "cdm", parquet=True)
    (omop / "note.parquet").write_bytes(b"PAR1" + bytes(50) + b"PAR1")
    assert "note.parquet: is not a Parquet file that can be read" in refusal_of("omop", omop, tmp_path / "c")


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ("condition_occurrence_2.csv", "CONDITION_OCCURRENCE.csv, condition_occurrence_2.csv"),
        ("more/Note (1).csv", "NOTE.csv, more/Note (1).csv"),
        ("person.csv.bz2", "PERSON.csv, person.csv.bz2"),
        ("note/Ada Lovelace.csv", "NOTE.csv, files in note;"),  # names of files may be those of patients
        ("note_nlp.csv", None),
        ("note/note_nlp.txt", None),
    ],
)
def test_more_of_a_table_that_is_not_read_is_refused(tmp_path: Path, beside: str, said: str | None) -> None:
    source = tables.write_omop(tmp_path / "cdm")
    (source / beside).parent.mkdir(exist_ok=True)
    (source / beside).write_text("note_id,person_id,note_text\n", encoding="utf-8")
    if said is None:
        import_export("omop", source, tmp_path / "corpus")
    else:
        assert said in refusal_of("omop", source, tmp_path / "corpus")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    mimic = tables.write_mimic(tmp_path / "physionet")
    (mimic / "hosp" / "patients.csv.gz").unlink()
    assert "holds no patients.csv.gz of MIMIC-IV" in refusal_of("mimic-iv-note", mimic, tmp_path / "c")
    omop = tables.write_omop(tmp_path / "cdm")
    (omop / "CONCEPT.csv").unlink()
    assert "there is no table CONCEPT" in refusal_of("omop", omop, tmp_path / "c")
    (omop / "person.parquet").write_bytes(b"x")
    assert "the table person is given by more than one file" in refusal_of("omop", omop, tmp_path / "c")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no FHIR export" in refusal_of("fhir", empty, tmp_path / "c")
    assert "does not exist" in refusal_of("omop", tmp_path / "nowhere", tmp_path / "c")
    for kind in ("csv", "excel"):
        with pytest.raises(UsageError, match="needs --columns"):
            import_export(kind, empty, tmp_path / "c")  # type: ignore[arg-type]


_DOCUMENT = "ADocumentReference.000.ndjson, line 1: "
_PATIENT = "Patient.000.ndjson, line 1: "


@pytest.mark.parametrize(("kind", "element", "value", "expected"), _rows("fhir_refused"))
def test_a_fhir_resource_that_cannot_be_used_stops_the_import(
    tmp_path: Path, kind: str, element: str, value: object, expected: str
) -> None:
    given = fhir.resources()
    given[kind][0][element] = value
    if value is None:
        del given[kind][0][element]
    place = "" if ", line" in expected else {"DocumentReference": _DOCUMENT, "Patient": _PATIENT}[kind]
    assert place + expected in refusal_of("fhir", fhir.write_ndjson(tmp_path / "bulk", given), tmp_path / "corpus")


def test_a_text_whose_document_is_rejected_comes_from_its_report(tmp_path: Path) -> None:
    given = fhir.resources()
    given["Encounter"][1]["period"]["start"] = "1899-05-06T10:00:00Z"  # of the document that the report repeats
    source = fhir.write_ndjson(tmp_path / "bulk", given)
    imported = import_export("fhir", source, tmp_path / "corpus", allow_rejected=True)
    assert imported.ledger.tables["DocumentReference"].rejected.total() == 1
    assert imported.ledger.tables["DiagnosticReport"].used == 1
    assert imported.notes == 3


def test_conditions_of_patients_without_notes_are_not_needed(tmp_path: Path) -> None:
    given = fhir.resources()
    given["Patient"].append({"resourceType": "Patient", "id": "noteless"})
    for status in ("confirmed", "provisional"):
        condition = {**given["Condition"][1], "id": status, "subject": {"reference": "Patient/noteless"}}
        given["Condition"].append({**condition, "verificationStatus": {"coding": [{"code": status}]}})
    imported = import_export("fhir", fhir.write_ndjson(tmp_path / "bulk", given), tmp_path / "corpus")
    conditions = imported.ledger.tables["Condition"]
    # The refuted one of the fixture is not needed either.
    assert (conditions.total, conditions.used, conditions.not_needed) == (5, 2, 3)


def test_missing_columns_of_a_parquet_table_are_named_where_its_first_row_cannot_be_read(tmp_path: Path) -> None:
    import polars as pl

    source = tables.write_omop(tmp_path / "cdm", parquet=True)
    pl.DataFrame({"note_id": [b"x", b"y"], "person_id": [b"10001", b"10001"]}).write_parquet(source / "note.parquet")
    (source / "VISIT_OCCURRENCE.csv").unlink(missing_ok=True)
    assert "note.parquet, column note_date, note_text: is missing" in refusal_of("omop", source, tmp_path / "corpus")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f'{{"resourceType": "Patient", "id": "{SECRET}"', "line 4: is not a JSON object on one line"),
        ('{"resourceType": "Patient", "id": "a", "id": "b"}', "line 4: is not a JSON object on one line"),
        ('{"resourceType": "Patient", "id": NaN}', "line 4: is not a JSON object on one line"),
        ('"Patient"', "line 4: is no FHIR resource"),
        ('{"id": "x"}', "line 4: is no FHIR resource"),
        ("[" * 100_000, "line 4: is not a JSON object on one line"),
        (b"\xff", "line 4: is not UTF-8"),
    ],
)
def test_what_is_no_ndjson_is_refused(tmp_path: Path, line: str | bytes, expected: str) -> None:
    source = fhir.write_ndjson(tmp_path / "bulk")
    with (source / "Patient.000.ndjson").open("ab") as file:
        file.write(line if isinstance(line, bytes) else line.encode())
    assert f"Patient.000.ndjson, {expected}" in refusal_of("fhir", source, tmp_path / "corpus")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            '{"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Patient", "id": "a"}}, {"re',
            "entry 2: is not JSON",
        ),
        ('{"resourceType": "Bundle", "entry": [{"resource": {"id": "a"}}]}', "entry 1: is no FHIR resource"),
        ('{"entry": [{"resource": {"resourceType": "Bundle", "entry": [1]}}]}', "entry 1: is no FHIR resource"),
        ('{"resourceType": "Bundle", "entry": [{"resource": ' + "[" * 200, "entry 1: is not JSON from here on"),
        ('{"id": "a", "id": "b"}', "a key given twice"),
        ('{"resourceType": "Bundle", "entry": []} x', "is not JSON from here on"),
    ],
)  # fmt: skip
def test_what_is_no_bundle_is_refused_without_its_name(tmp_path: Path, content: str, expected: str) -> None:
    source = fhir.write_bundles(tmp_path / "bundles")
    (source / f"{SECRET}.json").write_text(content, encoding="utf-8")
    refused = refusal_of("fhir", source, tmp_path / "corpus")
    # Between the patients' and the hospital's, by name.
    assert "bundle file 4 of 5" in refused
    assert expected in refused


def test_a_lost_record_is_noticed(tmp_path: Path) -> None:
    from clinaudit.errors import IntegrityError
    from clinaudit.priors.importers.corpus_writer import ImportLedger

    ledger = ImportLedger(tmp_path / "rejected.csv")
    ledger.seen("note")
    with pytest.raises(IntegrityError, match="lost count of records of note"):
        ledger.require_balanced()
    ledger.close()


def test_the_export_without_a_note_is_refused(tmp_path: Path) -> None:
    rows: Rows = tables.mimic_rows()
    rows["note/discharge"].clear()
    rows["note/radiology"].clear()
    source = tables.write_mimic(tmp_path / "physionet", rows)
    with pytest.raises(BadInputError, match="the export gave no note"):
        import_export("mimic-iv-note", source, tmp_path / "corpus")
