"""Wrong tables and files as sites bring them: each is refused with the cause, and none of them is ever audited.

The messages are written by hand; no cell's content stands in any.
"""

import gzip
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from support.corpus_tables import SECRET, problems_of

from clinaudit.audit.commands.main import run

NOTES = "patient_id,note_id,text,visit_date\na,1,Zebulon one,2024-01-05\nb,2,Zebulon two,2024-02-05\n"
ALIKE = "(identifiers must be written exactly alike in all tables: 007 is not 7)"
WRITE_DATE = "write it as 2024-01-31"
NO_AGE = "is not a whole number of years from 0 to 130 (or 22 months, 90+)"
NO_FLAG = "is neither true nor false (nor yes, no, 1 or 0)"


def patients(*rows: str, columns: str = "patient_id,split,age") -> dict[str, str | bytes]:
    return {"notes.csv": NOTES, "patients.csv": "\n".join([columns, *rows, ""])}


def notes(content: str | bytes, name: str = "notes.csv") -> dict[str, str | bytes]:
    return {name: content}


WRONG: dict[str, tuple[Mapping[str, str | bytes], list[str]]] = {
    # Delimiters, headers, line ends
    "two delimiters in the header": (
        notes("patient_id;note_id,text\na;1,Zebulon\n"),
        ["notes.csv: its header can be read as separated by commas or semicolons; separate all names by one of them"],
    ),
    "a delimiter that nobody reads": (
        notes("sep=#\npatient_id#note_id#text\na#1#Zebulon\n"),
        ["notes.csv: declares a delimiter that is not read; use commas, semicolons, tabs or vertical bars"],
    ),
    "no header": (
        notes("a;1;Zebulon one\nb;2;Zebulon two\n"),
        ["notes.csv: its first line must name the columns (patient_id, note_id, text, ...), and names none of them"],
    ),
    "a title above the header": (
        notes("Zebulon clinic, export\n" + NOTES),
        ["notes.csv: its first line must name the columns (patient_id, note_id, text, ...), and names none of them"],
    ),
    "an age with a decimal comma that is no whole one": (
        patients("a;train;46,5", "b;train;47,0", columns="patient_id;split;age"),
        [f"patients.csv, row 1, column age: {NO_AGE}"],
    ),
    "two columns of one name but for case": (
        notes("patient_id,note_id,text,Text\na,1,Zebulon,Zebulon\n"),
        ["notes.csv: column text is given more than once (case, blanks and underscores in a name do not count)"],
    ),
    "a JSON record with one key in two spellings": (
        notes('{"patient_id": "a", "Patient_ID": "b", "note_id": 1, "text": "Zebulon"}', "notes.jsonl"),
        [
            "notes.jsonl, row 1, column patient_id: is given more than once (case, blanks and underscores in a name do "
            "not count)"
        ],
    ),
    # Files
    "a workbook under the name of a text": (
        notes(b"PK\x03\x04 Zebulon"),
        ["notes.csv: is an Excel workbook or a zip archive; save the sheet as CSV UTF-8"],
    ),
    "gz data under the name of a text": (
        notes(gzip.compress(NOTES.encode(), mtime=0)),
        ["notes.csv: is gz data; let its name end in .gz"],
    ),
    "UTF-16": (notes(NOTES.encode("utf-16"), "notes.tsv"), ["notes.tsv: is UTF-16; save it as UTF-8"]),
    "a list of JSON": (
        notes('[\n{"patient_id": "a", "note_id": "1", "text": "Zebulon"},\n{"patient_id": "b"}\n]\n', "notes.jsonl"),
        [
            "notes.jsonl, column note_id: is missing",
            "notes.jsonl, column text: is missing",
            "notes.jsonl, in 3 rows (1, 2, 4): is not a JSON object on one line (a line a record, no list around them)",
        ],
    ),
    "a folder with other things": (
        {"Notes_2024.xlsx": b"x", "letters.csv": b"x", "Zebulon.docx": b"x", "Zebulon 2.docx": b"x", "README": b"x"},
        [
            "notes: there is no notes table: notes.parquet, notes.csv or notes.jsonl (.csv.gz, .jsonl.zst, ...); a "
            "workbook is read by clinaudit import excel Notes_2024.xlsx corpus/ --columns columns.toml "
            "(docs/importing.md)"
        ],
    ),
    "a file of text that is no table": (
        notes("Zebulon, " * 30_000),
        ["notes.csv: its first line must name the columns (patient_id, note_id, text, ...), and names none of them"],
    ),
    "patients in a workbook": (
        {"notes.csv": NOTES, "Patients.xlsx": b"x"},
        ["Patients.xlsx: is not read; save it as patients.csv, or move it out of the corpus"],
    ),
    "one patients table, misnamed": (
        {"notes.csv": NOTES, "patient.csv": "patient_id,split\na,train\nb,nontrain\n"},
        ["patient.csv: is not read; save it as patients.csv, or move it out of the corpus"],
    ),
    "one table twice, once in capitals": (
        {"notes.csv": NOTES, "NOTES.jsonl": "{}"},
        ["notes: is given by more than one file: NOTES.jsonl, notes.csv; keep one"],
    ),
    "more of a table beside it": (
        {"notes.csv": NOTES, "notes_2.jsonl": "{}", "Notes-part-3.csv": NOTES, "notes_seen.csv": NOTES},
        [
            "Notes-part-3.csv: is not read; put its rows into notes.csv, or move it out of the corpus",
            "notes_2.jsonl: is not read; put its rows into notes.csv, or move it out of the corpus",
        ],
    ),
    # Identifiers
    "identifiers that lost their zeros": (
        {
            "notes.csv": "patient_id,note_id,text\n007,1,Zebulon\n008,2,Zebulon\n",
            "patients.csv": "patient_id,split\n7,train\n8,train\n",
        },
        [f"notes.csv, column patient_id, in 2 rows (1, 2): has no row in patients.csv {ALIKE}"],
    ),
    "identifiers that look alike": (
        notes("patient_id,note_id,text\na-1,1,Zebulon\nb,2,x\nA\u20111,3,Zebulon\n".encode()),
        [
            "notes.csv, column patient_id, in 2 rows (1, 3): differs from another by case, zeros in front, .0, quotes, "
            "blanks, commas or signs that look alike; write one patient's id alike"
        ],
    ),
    "an identifier with a mark that nobody sees": (
        notes(
            '{"patient_id": "a", "note_id": 1, "text": "x"}\n{"patient_id": "a\\u200b", "note_id": 2, "text": "x"}\n',
            "notes.jsonl",
        ),
        [
            "notes.jsonl, row 2, column patient_id: holds a mark that nobody sees, such as a zero-width blank; write "
            "identifiers without"
        ],
    ),
    "R's word for nothing": (
        {"notes.csv": NOTES, "patients.csv": "patient_id,age,name\na,NA,NA\nb,46,Zebulon\n"},
        [
            f"patients.csv, row 1, column {name}: holds a program's word for nothing (such as NaN or NULL); leave the "
            "cell blank"
            for name in ("age", "name")
        ],
    ),
    "quotes written with a backslash": (
        notes('patient_id,note_id,text\na,1,"Zebulon \\"one\\", left"\n'),
        [
            "notes.csv, row 1: is malformed CSV from here on (a quote within a cell is written with a backslash "
            '(\\"): write it as two quotes (""))'
        ],
    ),
    "a diagnoses table without its columns": (
        {"notes.csv": NOTES, "diagnoses.csv": "patient_id,icd\n"},
        [
            f"diagnoses.csv, column {name}: is missing; the first line must name the columns (it was read as 2 names "
            "separated by commas)"
            for name in ("diagnosis", "present")
        ],
    ),
    "a patient twice": (
        patients("a,train,1", "b,train,2", "a,nontrain,1"),
        ["patients.csv, column patient_id, in 2 rows (1, 3): has the same patient_id as another row"],
    ),
    # Splits
    "a patient in both splits": (
        notes("patient_id,note_id,text,split\na,1,Zebulon,train\nb,2,x,train\na,3,Zebulon,nontrain\n"),
        [
            "notes.csv, row 3, column split: is not that of the patient's earlier notes; a patient is in one "
            "split as a whole"
        ],
    ),
    "notes and patients that disagree on the split": (
        {
            "notes.csv": "patient_id,note_id,text,split\na,1,Zebulon,train\nb,2,x,train\n",
            "patients.csv": "patient_id,split\na,nontrain\nb,train\n",
        },
        ["patients.csv, row 1, column split: is not the one that the notes table gives; correct one, or leave it out"],
    ),
    "the split of some notes alone": (
        notes("patient_id,note_id,text,split\na,1,Zebulon,train\nb,2,x,\n"),
        ["notes.csv, row 2, column split: is blank; give train, nontrain or validation"],
    ),
    # Ages, births, dates
    "a code for the oldest": (
        patients("a,train,300", "b,train,46"),
        ["patients.csv, row 1, column age: is not a whole number of years from 0 to 130 (or 22 months, 90+)"],
    ),
    "British and American births in one column": (
        patients("a,13/02/1950", "b,03/14/1960", columns="patient_id,dob"),
        [
            "patients.csv, column dob, in 2 rows (1, 2): has the day first in some rows of the column and the month "
            f"first in others; {WRITE_DATE}"
        ],
    ),
    "births after the visit and long before": (
        patients("a,2024-01-06", "b,1850-01-01", columns="patient_id,dob"),
        [
            "patients.csv, row 1, column dob: is after the patient's latest visit",
            "patients.csv, row 2, column dob: makes the patient older than 130 years at the latest visit",
        ],
    ),
    "a split and labels that some records lack": (
        {
            "notes.csv": NOTES,
            "patients.jsonl": '{"patient_id": "a", "split": "train"}\n{"patient_id": "b"}\n',
            "diagnoses.jsonl": '{"patient_id": "a", "diagnosis": " ", "present": 2}\n'
            '{"patient_id": "b", "diagnosis": "x"}\n',
        },
        [
            "diagnoses.jsonl, row 1, column diagnosis: is blank",
            f"diagnoses.jsonl, row 1, column present: {NO_FLAG}",
            "diagnoses.jsonl, row 2, column present: is blank",
            "patients.jsonl, row 2, column split: is blank; give train, nontrain or validation",
        ],
    ),
    # Sexes and diagnoses
    "sexes as codes": (
        patients("a,1", "b,2", columns="patient_id,sex"),
        [
            "patients.csv, column sex, in 2 rows (1, 2): is no word for a sex that is read; "
            "write female or male (or F, M, other, unknown)"
        ],
    ),
    "a diagnosis in two spellings that disagree": (
        {"notes.csv": NOTES, "diagnoses.csv": "patient_id,diagnosis,present\na,HIV,yes\na,hiv,no\n"},
        ["diagnoses.csv, column diagnosis, in 2 rows (1, 2): has the same patient_id and diagnosis as another row"],
    ),
}


def write(directory: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize("name", WRONG)
def test_the_cause_is_named_and_nothing_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    files, expected = WRONG[name]
    write(tmp_path, files)
    assert problems_of(tmp_path) == expected
    assert run(["check", str(tmp_path)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert SECRET not in captured.err
    assert len(captured.err.splitlines()) == 1 + len(expected)


@pytest.mark.parametrize(
    "name",
    [
        *("a code for the oldest", "British and American births in one column"),
        *("notes and patients that disagree on the split",),
        *("sexes as codes", "an age with a decimal comma that is no whole one"),
    ],
)
@pytest.mark.parametrize("ending", [".csv.gz", ".jsonl", ".parquet"])
def test_every_format_is_refused_alike(tmp_path: Path, name: str, ending: str) -> None:
    files, expected = WRONG[name]
    rows = str(files["patients.csv"]).splitlines()
    mark = ";" if ";" in rows[0] else ","
    write(tmp_path, files)
    (tmp_path / "patients.csv").unlink()
    frame = pl.DataFrame([row.split(mark) for row in rows[1:]], schema=rows[0].split(mark), orient="row")
    path = tmp_path / f"patients{ending}"
    match ending:
        case ".csv.gz":
            path.write_bytes(gzip.compress(frame.write_csv(separator="\t").encode(), mtime=0))
        case ".jsonl":
            frame.write_ndjson(path)
        case _:
            frame.write_parquet(path)
    assert problems_of(tmp_path) == [line.replace("patients.csv", path.name) for line in expected]


def test_a_workbook_given_as_the_corpus_names_its_importer(tmp_path: Path) -> None:
    (tmp_path / "notes.XLSX").write_bytes(b"x")
    (problem,) = problems_of(tmp_path / "notes.XLSX")
    assert problem.endswith(
        "a workbook is read by clinaudit import excel notes.XLSX corpus/ --columns columns.toml (docs/importing.md)"
    )
