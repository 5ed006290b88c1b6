"""Notes in several rows of a site's own table: joined by their numbers, and told where the map says nothing."""

import json
from pathlib import Path

import pytest
from support.exports.importing import import_own, refusal_of_own

MAP = '[columns]\npatient_id = "MRN"\ntext = "Note"\n'
LINES = "MRN,NOTE_ID,LINE,Note,Day\n"


LINE_MAP = MAP + 'note_id = "NOTE_ID"\nline = "LINE"\nvisit_date = "Day"\n'


TWO = 'p1,77,1,"CC: cough\nHPI: the pai",2024-01-02\np1,77,2,"n began\n ",2024-01-02\n'


def _joined(folder: Path, rows: str, between: str = "") -> list[str]:
    imported, corpus = import_own(folder, LINES + rows, f"between_lines = {json.dumps(between)}\n{LINE_MAP}")
    assert imported.ledger.tables["rows"].used == rows.count(",2024")
    return [note.text for patient in corpus.patients for note in corpus.notes_of(patient)]


@pytest.mark.parametrize(
    ("rows", "between", "texts"),
    [
        (TWO, "", ["CC: cough\nHPI: the pain began\n "]),
        ('p1,7,1,one,2024-01-02\np1,7,2," ",2024-01-02\np1,7,3,two,2024-01-02\n', "\n", ["one\n \ntwo"]),
        ("p1,7,2,two,2024-01-02\np1,7,1,one ,2024-01-02\n", "", ["one two"]),
        ("p1,7,0,a,2024-01-02\np1,7,1,b,2024-01-02\np1,8,1,c,2024-01-03\n", "", ["ab", "c"]),
        # A piece may be any text.
        ("p1,7,1,low ,2024-01-02\np1,7,2,NA,2024-01-02\n", "", ["low NA"]),
        ("p1,7,1.0,a,2024-01-02\np1,7,2.0,b,2024-01-02\n", "", ["ab"]),
    ],
)
def test_rows_of_one_note_are_joined_by_their_numbers(
    tmp_path: Path, rows: str, between: str, texts: list[str]
) -> None:
    assert _joined(tmp_path, rows, between) == texts


def test_columns_that_are_not_read_may_differ_in_the_rows_of_a_note(tmp_path: Path) -> None:
    rows = "MRN,NOTE_ID,LINE,Note,Day,SEQ\np1,7,1,a,,8\np1,7,2,b,,9\n"
    _, corpus = import_own(tmp_path, rows, 'between_lines = "+"\n' + LINE_MAP)
    assert corpus.latest_note("p1").text == "a+b"


def test_a_line_that_a_program_writes_for_none_is_empty_and_counted(tmp_path: Path) -> None:
    rows = f"{LINES}p1,7,1,knee,\np1,7,2,NULL,\np1,7,3,NA,\np1,7,4,gone,\np1,7,5,hip,\n"
    imported, corpus = import_own(tmp_path, rows, f'blank = ["gone"]\nbetween_lines = "\\n"\n{LINE_MAP}')
    assert corpus.latest_note("p1").text == "knee\n\nNA\n\nhip"
    assert imported.ledger.left_blank == {f"Note of rows: {word}, as a line of a note": 1 for word in ("NULL", "gone")}


NOT_LINES = "the lines of its note are not 1, 2, 3, ..., each once and together in the table"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("p1,7,1,a,\np1,7,3,c,\n", f"row 1: {NOT_LINES}"),
        ("p1,7,2,b,\np1,7,3,c,\n", f"row 1: {NOT_LINES}"),
        ("p1,7,1,a,\np1,7,1,b,\n", f"row 1: {NOT_LINES}"),
        ("p1,7,,a,\n", f"row 1: {NOT_LINES}"),
        # Not together: the second half of a note would be one of its own.
        ("p1,7,1,a,\np1,8,1,x,\np1,7,2,b,\n", f"row 3: {NOT_LINES}"),
        ("p1,7,1,a,2024-01-02\np1,7,2,b,2024-01-03\n", "row 1: the rows of one note differ in Day"),
    ],
)
def test_rows_that_are_not_one_note_are_refused(tmp_path: Path, rows: str, said: str) -> None:
    assert said in refusal_of_own(tmp_path, LINES + rows, 'between_lines = ""\n' + LINE_MAP)


def test_a_note_of_which_a_row_cannot_be_read_is_not_used_in_part(tmp_path: Path) -> None:
    lines = ["p1,7,1,a,", "p1,7,2,b,", "p1,8,1,c,", "p1,8,2,x\ufffe,", "p1,9,1,d,", "p2,10,1,e,"]
    content = (LINES + "\n".join(lines) + "\n").encode().replace("\ufffe".encode(), b"\xff")
    imported, notes = import_own(tmp_path, content, 'between_lines = ""\n' + LINE_MAP, allow_rejected=True)
    # Whether the row is of note 8 or 9 it does not say: neither is whole for sure.
    assert [note.text for key in notes.patients for note in notes.notes_of(key)] == ["ab", "e"]
    beside = "a row beside it, which may be of the same note, cannot be read"
    assert imported.ledger.tables["rows"].rejected == {
        "Note is not UTF-8; set `encoding` in the column map": 1,
        beside: 2,
    }


def test_a_note_id_twice_asks_whether_the_note_stands_in_several_rows(tmp_path: Path) -> None:
    columns = MAP + 'note_id = "ID"\n'
    refused = refusal_of_own(tmp_path, "MRN,ID,Note\np1,7,a\np1,7,b\n", columns)
    assert "row 2: the note id stood in the table already; where a note stands in several rows" in refused
    refused = refusal_of_own(tmp_path, "MRN,ID,Note\n", columns + 'line = "Line"\n')
    assert "columns.line: needs columns.note_id" in refused


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("LINE line_no NOTE_LINE LineNbr TXT_LINE_NUM ZeilenNr Zeile", "name it as columns.line; with"),
        (
            "NOTE_ID NoteGUID HNO_ID NOTE_SID TIUDocumentSID BefundID CLINICAL_EVENT_ID",
            "name it as columns.note_id; with",
        ),
    ],
)
def test_a_column_whose_name_tells_of_pieces_of_notes_must_be_named(tmp_path: Path, names: str, said: str) -> None:
    for name in names.split():
        assert said in refusal_of_own(tmp_path, f"MRN,{name},Note\na,1,text\n", MAP)


@pytest.mark.parametrize("columns", ["SEQ", "Part No", "note_segment", "CHUNK_ID", "Ward"])
def test_a_column_that_may_number_pieces_of_notes_is_named(tmp_path: Path, columns: str) -> None:
    imported, _ = import_own(tmp_path, f"MRN,{columns},Note\na,1,text\n", MAP)
    assert len(imported.ledger.hints) == (columns != "Ward")
    assert imported.ledger.columns_not_read == (columns,)


def test_a_piece_that_is_an_error_of_excel_is_no_text(tmp_path: Path) -> None:
    columns = f'between_lines = ""\n{MAP}note_id = "no"\nline = "line"\n'
    refused = refusal_of_own(tmp_path, "MRN,no,line,Note\na,1,1,CC \na,1,2, #N/A\nb,2,1,x\n", columns)
    assert "row 2: Note holds #N/A, an error of Excel" in refused
    assert "row 1: a row beside it, which may be of the same note, cannot be read (1 more" in refused
