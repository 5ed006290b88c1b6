"""A site's own table: the column map, what rows of one patient may differ in, and Excel's own traps."""

import io
import json
import zipfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from support.corpus_tables import SECRET
from support.exports import tables
from support.exports.importing import import_export, import_own, refusal_of, refusal_of_own, write_own

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus import child_readers
from clinaudit.priors.corpus.child_readers import find_errors
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.importers.corpus_writer import RecordError
from clinaudit.priors.importers.mapped_export import _birth
from clinaudit.priors.importers.own_table import read_column_map

MAP = """
[columns]
patient_id = "id"
text = "note"
visit_date = "day"
sex = "sex"
dob = "born"
age = "age"
name = "name"
"""
HEAD = "id,note,day,sex,born,age,name\n"


SMALL = '[columns]\npatient_id = "id"\ntext = "note"\n'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[columns]\ntext = 'note'", "columns.patient_id: is missing"),
        (
            "[columns]\npatient_id = 'a'\ntext = 'b'\ndate_of_birth = 'c'",
            "columns.date_of_birth: unknown entry; known are",
        ),
        (MAP + "[format]\n", "format: unknown entry; known are"),
        *(
            (MAP + f"[formats]\nvisit_date = '{form}'", "formats.visit_date: lacks the year (%Y) or the day (%d)")
            for form in ("DD/MM/YYYY", "%m/%Y", "%d %b")
        ),
        (MAP + "[formats]\ndob = '%d.%m.%y'", "formats.dob: %y cannot tell 1925 from 2025"),
        (MAP + "[diagnoses]\ncodes = 'dx'", "diagnoses.system: is missing"),
        (MAP + "[diagnoses]\ncodes = 'dx'\nsystem = 'icd9'", "diagnoses.system: must be icd10 or snomed"),
        ("delimiter = ';;'" + MAP, "delimiter: must be one character"),
        ("encoding = 'utf-16'" + MAP, "encoding: is none that is known"),
        ("encoding = 'base64'" + MAP, "encoding: is none that is known"),
        ("encoding = 'idna'" + MAP, "encoding: is none that is known"),
        ('encoding = "a\\u0000b"' + MAP, "encoding: is none that is known"),
        ("blank = 'NULL'" + MAP, "blank: must be a list of texts"),
        ("columns = 3", "columns: must be a table"),
        (
            "[columns]\npatient_id = 'id'\ntext = ['CC', 'HPI']",
            "has 1 problem; correct it\n  columns.text: a text is needed; join several into one",
        ),
        ("[columns", "is not valid TOML"),
    ],
)
def test_a_column_map_that_cannot_work_is_refused(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "columns.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        read_column_map(path)
    assert expected in caught.value.render()


def test_facts_that_change_are_those_of_the_latest_visit(tmp_path: Path) -> None:
    rows = (
        "a,one,2020-05-01,F,1980-01-01,40,Ada Old\na,two,2021-05-01,,,41,Ada New\na,three,2019-05-01,f,,39,Ada Older\n"
    )
    _, corpus = import_own(tmp_path, HEAD + rows, MAP)
    patient = corpus.patients["a"]
    assert (patient.name, patient.age, patient.sex, patient.dob) == ("Ada New", 41, "female", date(1980, 1, 1))
    assert [note.note_id for note in corpus.notes_of("a")] == ["row-3", "row-1", "row-2"]


def test_a_row_without_an_id_is_named_by_its_number_in_the_file(tmp_path: Path) -> None:
    rows = "a,one,,,,,\n,no patient,,,,,\n\na,too,few\na,two,,,,,\n"
    _, corpus = import_own(tmp_path, HEAD + rows, MAP, allow_rejected=True)
    assert [note.note_id for note in corpus.notes_of("a")] == ["row-1", "row-5"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("a,one,,F,,,\na,two,,M,,,\n", "row 2: sex differs from an earlier row of the same patient"),
        ("a,one,,,1980-01-01,,\na,two,,,1981-01-01,,\n", "row 2: dob differs from an earlier row"),
        (f"a,one,,,{SECRET},,\n", "row 1: dob is not a date; write it as 2024-01-31, or say in [formats]"),
        (f"a,one,,,,{SECRET},\n", "row 1: age is not a whole number of years"),
        ("a,one,2020-01-01,,2021-01-01,,\n", "row 1: the visit is before the patient's birth"),
        (f"a,one,,{SECRET},,,\n", "row 1: sex is no word for a sex that is read"),
        ("a,one,2020-01-01,,2021,,\n", "row 1: the visit is before the patient's birth"),
        (f",{SECRET},,,,,\n", "row 1: patient_id is blank"),
    ],
)
def test_rows_that_contradict_are_rejected(tmp_path: Path, rows: str, expected: str) -> None:
    assert f"notes.csv, {expected}" in refusal_of_own(tmp_path, HEAD + rows, MAP)


def test_a_rejected_row_leaves_its_patient_as_it_was(tmp_path: Path) -> None:
    rows = "a,one,2020-05-01,F,,,Ada\na,,2021-05-01,F,1980-01-01,,Bea\nb,,2021-05-01,M,,,Ben\n"
    patients = import_own(tmp_path, HEAD + rows, MAP, allow_rejected=True)[1].patients
    assert list(patients) == ["a"]
    assert (patients["a"].name, patients["a"].dob) == ("Ada", None)


def test_a_rejected_row_does_not_date_the_facts_of_its_patient(tmp_path: Path) -> None:
    rows = "a,one,2020-05-01,,,,Ada\na,,2022-05-01,,,,Bea\na,two,2021-05-01,,,,Ada New\n"
    assert import_own(tmp_path, HEAD + rows, MAP, allow_rejected=True)[1].patients["a"].name == "Ada New"


@pytest.mark.parametrize("word", ["#N/A", "########"])
def test_a_cell_that_a_corpus_refuses_is_rejected_by_the_import(tmp_path: Path, word: str) -> None:
    table, columns = HEAD.strip() + f",doctor\na,one,,,,,,{word}\n", MAP + 'provider = "doctor"\n'
    assert "row 1: doctor holds" in refusal_of_own(tmp_path, table, columns)
    _, corpus = import_own(tmp_path, table, f'blank = ["{word}"]\n{columns}')
    assert corpus.notes_of("a")[0].provider is None


def test_columns_that_the_map_does_not_name_are_told(tmp_path: Path) -> None:
    rows: list[list[object]] = [["MRN", "Note", "Plan", "Day", None], ["a", "one", "more", None, None]]
    sheet, map_of_sheet = _workbook(tmp_path, {"S": rows}, DAY)
    imported = import_export("excel", sheet, tmp_path / "from_sheet", columns=map_of_sheet)
    assert imported.ledger.columns_not_read == ("Plan",)
    map_of_table = MAP.replace('name = "name"\n', "").replace('age = "age"', "")
    imported, _ = import_own(tmp_path, f"{HEAD}a,one,,,,,\n", map_of_table)
    assert imported.ledger.columns_not_read == ("age", "name")
    many = [f"extra {at}" for at in range(60)]
    wide, _ = import_own(tmp_path / "wide", f"id,note,{','.join(many)}\na,one{',' * 60}\n", SMALL)
    assert wide.ledger.columns_not_read == tuple(many)
    ledger = json.loads((tmp_path / "corpus" / "import.json").read_text(encoding="utf-8"))
    assert ledger["columns_not_read"] == ["age", "name"]


def test_a_wrong_map_is_not_blamed_on_the_export(tmp_path: Path) -> None:
    refused = refusal_of_own(tmp_path, f"{HEAD}a,one,01.02.2020,,,,\na,two,02.03.2020,,,,\n", MAP)
    assert "say in [formats] of the column map how it is written (1 more like it)" in refused
    assert len(refused.splitlines()) == 2
    refused = refusal_of_own(tmp_path, HEAD.encode() + b"a,one,,,,,\xe9\n", MAP)
    assert "name is not UTF-8; set `encoding` in the column map" in refused
    assert "set `delimiter` in the column map" in refusal_of_own(tmp_path, HEAD.replace(",", "#"), MAP)


def test_a_date_of_another_format_is_rejected_not_guessed(tmp_path: Path) -> None:
    columns = MAP + '[formats]\nvisit_date = "%d/%m/%Y"\n'
    refused = refusal_of_own(tmp_path, f"{HEAD}a,one,13/02/2020,,,,\na,two,02/13/2020,,,,\n", columns)
    assert "row 2: visit_date is not a date as formats.visit_date writes it" in refused
    assert "row 1" not in refused


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    refused = refusal_of_own(tmp_path, f"{HEAD}a,one,,,,,\n", MAP.replace('"sex"', '"gender"'))
    assert "notes.csv, column gender (columns.sex of the column map): is missing" in refused
    refused = refusal_of_own(tmp_path, f"{HEAD}a,one,,,,,\n", MAP.replace('"sex"', '"NOTE"'))
    assert "names one column twice: note" in refused


@pytest.mark.parametrize("year", ["99999999999999999999999", "10000"])
def test_a_year_that_is_none_is_no_birth(year: str) -> None:
    with pytest.raises(RecordError, match="are no date"):
        _birth({"year": year, "month": "", "day": ""}, ["year", "month", "day"])


def test_columns_that_are_not_read_may_have_names_that_are_read_alike(tmp_path: Path) -> None:
    imported, _ = import_own(tmp_path, "id,note,Score,Score %\na,one,1,50\nb,two,0,40\n", SMALL)
    assert (imported.notes, imported.ledger.columns_not_read) == (2, ("Score", "Score %"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.csv", b"id,note,Part,Score\na,one,1,1\nb,two,\xe9,NA\nc,three, 2,4\n"),
        (
            "notes.jsonl",
            b'{"id": "a", "note": "one", "Part": 1, "Score": 1}\n'
            b'{"id": "b", "note": "two", "Part": [1], "Score": "NA"}\n'
            b'{"id": "c", "note": "three", "Part": true, "Score": 1e16}\n',
        ),
    ],
)
def test_a_column_that_is_not_read_rejects_no_row_and_counts_nothing(tmp_path: Path, name: str, content: bytes) -> None:
    imported, _ = import_own(tmp_path, content, SMALL, name)
    ledger = imported.ledger
    assert (imported.notes, ledger.left_blank, ledger.trimmed) == (3, {}, {})


def test_names_of_columns_may_be_spelled_otherwise(tmp_path: Path) -> None:
    _, corpus = import_own(tmp_path, "ｉｄ,note\u0301\na,x\n", SMALL.replace("note", "noté"))
    assert corpus.latest_note("a").text == "x"


def test_an_export_of_which_all_is_rejected_says_why(tmp_path: Path) -> None:
    source, columns = write_own(tmp_path, "id,note\na,\nb,\n,x\n", SMALL)
    with pytest.raises(BadInputError) as caught:
        import_export("csv", source, tmp_path / "c", columns=columns, allow_rejected=True)
    rendered = caught.value.render()
    assert "the export gave no note: 3 records were rejected" in rendered
    assert "row 1: the text is blank (1 more like it)" in rendered


SHEET_MAP = '[columns]\npatient_id = "MRN"\ntext = "Note"\n'
SEX, DAY = 'sex = "Sex"\n', 'visit_date = "Day"\n'
PEOPLE = (["MRN", "Note", "Sex"], ["a", "one", "F"], ["b", "two", "M"])
SHEET, BOOK = "xl/worksheets/sheet1.xml", "xl/workbook.xml"


def _workbook(
    folder: Path,
    sheets: dict[str, Sequence[Sequence[object]]],
    columns: str,
    *changes: tuple[str, str],
    part: str = SHEET,
) -> tuple[Path, Path]:
    """Write a workbook, one of its files changed, and its column map; return the two paths."""
    (folder / "columns.toml").write_text(SHEET_MAP + columns, encoding="utf-8")
    path = tables.write_excel(folder / "notes.xlsx", sheets)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    for old, new in changes:
        assert old in parts[part]
        parts[part] = parts[part].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path, folder / "columns.toml"


def _refusal_of_workbook(folder: Path, *workbook: Any, **changed: str) -> str:
    source, columns = _workbook(folder, *workbook, **changed)
    return refusal_of("excel", source, folder / "corpus", columns=columns)


@pytest.mark.parametrize(
    ("rows", "formats", "expected"),
    [
        ([[], ["MRN", "Note", "Day"], [7, "one\n two ", date(2020, 2, 29)], [], ["008", "three", "2020-03-01T10:00"]],
         "", [("008", "three", date(2020, 3, 1)), ("7", "one\n two ", date(2020, 2, 29))]),
        # A date of Excel needs no format; a text is read by it.
        ([["MRN", "Note", "Day"], ["a", "one", date(2020, 2, 29)], ["a", "two", "01.03.2020"]],
         '[formats]\nvisit_date = "%d.%m.%Y"\n', [("a", "one", date(2020, 2, 29)), ("a", "two", date(2020, 3, 1))]),
    ],
)  # fmt: skip
def test_a_sheet_is_read_as_it_looks(
    tmp_path: Path, rows: list[list[object]], formats: str, expected: list[tuple[str, str, date]]
) -> None:
    source, columns = _workbook(tmp_path, {"S": rows}, DAY + formats)
    import_export("excel", source, tmp_path / "corpus", columns=columns)
    corpus = read_corpus(tmp_path / "corpus")
    notes = [(key, note.text, note.visit_date) for key in corpus.patients for note in corpus.notes_of(key)]
    assert notes == expected


HEADER = ["MRN", "Note", "Day"]


@pytest.mark.parametrize(
    ("sheets", "expected"),
    [
        ({"S": [HEADER, ["a", "x" * 32_767, None]]}, "sheet row 2: the text has 32,767 characters"),
        ({"S": [HEADER, [], ["a", None, None]]}, "sheet row 3: the text is blank"),
        ({"S": [HEADER, ["a", "x", 44000]]}, "sheet row 2: visit_date is the number by which a sp"),
        ({"S": [HEADER[:2], ["a", "x"]]}, "column Day (columns.visit_date of the column map): is missing in the first"),
        ({"S": [[*HEADER, "note"], ["a", "x"]]}, "column Note (columns.text of the column map) is given more than onc"),
        ({"S": []}, "notes.xlsx: the sheet holds nothing"),
        ({"A": [["MRN"]], "B": [["MRN"]]}, "has 2 sheets; name one as `sheet`"),
    ],
)
def test_a_sheet_that_cannot_be_used_is_refused(tmp_path: Path, sheets: dict[str, Any], expected: str) -> None:
    assert expected in _refusal_of_workbook(tmp_path, sheets, DAY)


def test_a_sheet_that_is_not_there_is_named(tmp_path: Path) -> None:
    source, columns = _workbook(tmp_path, {"A": [["MRN"]], "B": [["MRN"]]}, DAY)
    columns.write_text(f'sheet = "C"\n{SHEET_MAP}', encoding="utf-8")
    assert "has no sheet named in the column map" in refusal_of("excel", source, tmp_path / "c", columns=columns)


def _row(cells: str) -> tuple[str, str]:
    return "</sheetData>", f'<row r="4">{cells}</row></sheetData>'


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # A row with the number of the one before, whose cells calamine would put in its place.
        ([('r="3"', 'r="2"'), ("A3", "A2"), ("B3", "B2"), ("C3", "C2")], ", sheet row 2: stands in the sheet twice"),
        ([('<row r="3">', '<row r="2">')], ", sheet row 2: stands in the sheet twice"),
        ([("A3", "A2")], ", sheet row 3: a cell stands in it twice, or out of order"),
        ([("B3", "A3")], ", sheet row 3: a cell stands in it twice, or out of order"),
        ([("A3", "Å3")], ", sheet row 3: a cell has no address that can be read"),
        ([('<row r="3">', '<row r="x">')], ": the workbook is damaged"),
        ([("</sheetData>", '</sheetData><sheetData><row r="9"/></sheetData>')], ": the sheet holds two tables of"),
        ([("<worksheet", "<!DOCTYPE w [<!ENTITY e 'x'>]><worksheet")], ": the workbook holds XML entities of its own"),
        # One cell at the far corner: a dense table of it would take 400 gigabytes.
        ([("</row></sheetData>", '</row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>')],
         ": is not an Excel workbook that can be read"),
        # Errors of Excel; alone in a row, and at the end of it.
        ([_row('<c r="A4" t="e"><v>#REF!</v></c><c r="B4" t="s"><v>4</v></c>')],
         ", sheet row 4: MRN holds #REF!, an error of Excel"),
        ([_row('<c r="A4" t="s"><v>3</v></c><c r="B4" t="e"><f>NA()</f><v>#N/A</v></c>')],
         ", sheet row 4: Note holds #N/A, an error"),
        ([_row('<c r="C4" t="e"><v>#DIV/0!</v></c>')], ", sheet row 4: Sex holds #DIV/0!, an error of Excel"),
    ],
)  # fmt: skip
def test_a_sheet_that_is_damaged_is_refused(tmp_path: Path, changes: list[tuple[str, str]], expected: str) -> None:
    assert f"notes.xlsx{expected}" in _refusal_of_workbook(tmp_path, {"S": PEOPLE}, SEX, *changes)


@pytest.mark.parametrize(
    ("part", "change", "expected"),
    [
        # Entities, which could be files of this machine, are not known to the reader.
        ("xl/sharedStrings.xml", (">MRN<", ">&file;<"), "is not an Excel workbook that can be read"),
        (BOOK, ('r:id="rId1"', 'r:id="rId7"'), ""),
        (BOOK, ("</sheets>", '<sheet name="S" sheetId="2" r:id="rId1"/></sheets>'), ""),
    ],
)
def test_a_workbook_that_is_damaged_is_refused(
    tmp_path: Path, part: str, change: tuple[str, str], expected: str
) -> None:
    assert f"notes.xlsx: {expected}" in _refusal_of_workbook(tmp_path, {"S": PEOPLE}, SEX, change, part=part)


def test_what_is_no_workbook_or_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, columns = _workbook(tmp_path, {"S": [HEADER, ["a", "x" * 10_000, None]]}, DAY)
    monkeypatch.setattr(child_readers, "_MAX_UNPACKED_BYTES", 10_000)
    out = io.BytesIO()
    child_readers._write_sheet(source, "", ["MRN"], out)
    assert b'"problem": "unpacks to more than' in out.getvalue()
    with zipfile.ZipFile(source, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(SHEET, "<worksheet/>")
    refused = refusal_of("excel", source, tmp_path / "c", columns=columns)
    assert "notes.xlsx: holds one of its files twice" in refused
    source.write_bytes(b"PK\x03\x04" + bytes(100))
    assert "is not an Excel workbook" in refusal_of("excel", source, tmp_path / "c", columns=columns)


def test_an_error_in_a_column_that_is_not_read_is_no_matter(tmp_path: Path) -> None:
    change = ('<c r="C3" t="s"><v>8</v></c>', '<c r="D3" t="e"><v>#N/A</v></c>')
    source, columns = _workbook(tmp_path, {"S": PEOPLE}, SEX, change)
    assert find_errors(source, "S") == {(3, 4): "#N/A"}
    import_export("excel", source, tmp_path / "corpus", columns=columns)
    assert sorted(read_corpus(tmp_path / "corpus").patients) == ["a", "b"]


def test_an_error_of_excel_in_a_csv_is_named_unless_it_is_called_blank(tmp_path: Path) -> None:
    table = "MRN,Note,Sex\na,one,#N/A\n#REF!,two,F\n"
    refused = refusal_of_own(tmp_path, table, SHEET_MAP + SEX)
    assert "row 1: Sex holds #N/A, an error of Excel" in refused
    assert "row 2: MRN holds #REF!, an error of Excel" in refused
    refused = refusal_of_own(tmp_path, table, f'blank = ["#N/A"]\n{SHEET_MAP}{SEX}')
    assert "row 1" not in refused
    assert "row 2: MRN holds #REF!, an error of Excel" in refused
