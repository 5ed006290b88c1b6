"""Sheets of damaged workbooks: no row is lost to another with its number, and an error of Excel is no blank."""

import zipfile
from pathlib import Path

import pytest
from support.exports import tables
from support.exports.importing import import_export, refusal_of

from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.importers.excel import find_errors

MAP = '[columns]\npatient_id = "MRN"\ntext = "Note"\nsex = "Sex"\n'


def _workbook(folder: Path, *changes: tuple[str, str], part: str = "xl/worksheets/sheet1.xml") -> tuple[Path, Path]:
    """Write a sheet of three rows, the header included, with one of the workbook's files changed."""
    (folder / "columns.toml").write_text(MAP, encoding="utf-8")
    rows = [["MRN", "Note", "Sex"], ["a", "one", "F"], ["b", "two", "M"]]
    path = tables.write_excel(folder / "notes.xlsx", {"S": rows})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    for old, new in changes:
        assert old in parts[part]
        parts[part] = parts[part].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path, folder / "columns.toml"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # A row with the number of the one before, whose cells calamine would put in its place.
        ([("r=\"3\"", "r=\"2\""), ("A3", "A2"), ("B3", "B2"), ("C3", "C2")], "sheet row 2: stands in the sheet twice"),
        ([('<row r="3">', '<row r="2">')], "sheet row 2: stands in the sheet twice"),
        ([("A3", "A2")], "sheet row 3: a cell stands in it twice, or out of order"),
        ([("B3", "A3")], "sheet row 3: a cell stands in it twice, or out of order"),
        ([("A3", "Å3")], "sheet row 3: a cell has no address that can be read"),
        ([('<row r="3">', '<row r="x">')], "the workbook is damaged"),
        ([("</sheetData>", '</sheetData><sheetData><row r="9"/></sheetData>')], "the sheet holds two tables of cells"),
        ([("<worksheet", "<!DOCTYPE w [<!ENTITY e 'x'>]><worksheet")], "the workbook holds XML entities of its own"),
    ],
)  # fmt: skip
def test_a_sheet_that_gives_a_place_twice_is_refused(
    tmp_path: Path, changes: list[tuple[str, str]], expected: str
) -> None:
    source, columns = _workbook(tmp_path, *changes)
    assert f"notes.xlsx{', ' if expected.startswith('sheet row') else ': '}{expected}" in refusal_of(
        "excel", source, tmp_path / "corpus", columns=columns
    )


@pytest.mark.parametrize(
    "change", [('r:id="rId1"', 'r:id="rId7"'), ("</sheets>", '<sheet name="S" sheetId="2" r:id="rId1"/></sheets>')]
)
def test_a_sheet_whose_file_is_not_told_is_refused(tmp_path: Path, change: tuple[str, str]) -> None:
    source, columns = _workbook(tmp_path, change, part="xl/workbook.xml")
    assert "notes.xlsx: " in refusal_of("excel", source, tmp_path / "corpus", columns=columns)


def test_a_workbook_that_holds_a_file_twice_is_refused(tmp_path: Path) -> None:
    source, columns = _workbook(tmp_path)
    with zipfile.ZipFile(source, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("xl/worksheets/sheet1.xml", "<worksheet/>")
    refused = refusal_of("excel", source, tmp_path / "corpus", columns=columns)
    assert "notes.xlsx: holds one of its files twice" in refused


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ('<c r="A4" t="e"><v>#REF!</v></c><c r="B4" t="s"><v>4</v></c>', "patient_id holds #REF!, an error of Excel"),
        ('<c r="A4" t="s"><v>3</v></c><c r="B4" t="e"><f>NA()</f><v>#N/A</v></c>', "text holds #N/A, an error"),
        # Alone in its row, and at the end of it.
        ('<c r="C4" t="e"><v>#DIV/0!</v></c>', "sex holds #DIV/0!, an error of Excel"),
    ],
)  # fmt: skip
def test_an_error_of_excel_is_named(tmp_path: Path, cells: str, expected: str) -> None:
    source, columns = _workbook(tmp_path, ("</sheetData>", f'<row r="4">{cells}</row></sheetData>'))
    assert f"notes.xlsx, sheet row 4: {expected}" in refusal_of("excel", source, tmp_path / "corpus", columns=columns)


def test_an_error_in_a_column_that_is_not_read_is_no_matter(tmp_path: Path) -> None:
    source, columns = _workbook(tmp_path, ('<c r="C3" t="s"><v>8</v></c>', '<c r="D3" t="e"><v>#N/A</v></c>'))
    assert find_errors(source, "S") == {(3, 4): "#N/A"}
    import_export("excel", source, tmp_path / "corpus", columns=columns)
    assert sorted(read_corpus(tmp_path / "corpus").patients) == ["a", "b"]


def test_an_error_of_excel_in_a_csv_is_named_unless_it_is_called_blank(tmp_path: Path) -> None:
    _, columns = _workbook(tmp_path)
    source = tmp_path / "notes.csv"
    source.write_text("MRN,Note,Sex\na,one,#N/A\n#REF!,two,F\n", encoding="utf-8")
    refused = refusal_of("csv", source, tmp_path / "corpus", columns=columns)
    assert "row 1: sex holds #N/A, an error of Excel" in refused
    assert "row 2: patient_id holds #REF!, an error of Excel" in refused
    columns.write_text(f'blank = ["#N/A"]\n{MAP}', encoding="utf-8")
    refused = refusal_of("csv", source, tmp_path / "corpus", columns=columns)
    assert "row 1" not in refused
    assert "row 2: patient_id holds #REF!, an error of Excel" in refused
