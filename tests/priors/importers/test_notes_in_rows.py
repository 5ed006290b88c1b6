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


SURE, MAYBE = "nothing was written: name what numbers", "or a patient's notes are numbered"
#: A column that the map does not name; of each row the patient, a letter, and the cell; whether rows are pieces.
TELLING: list[tuple[str, str, str | None]] = [
    *((name, "a1 a2 b1", SURE) for name in ("LINE", "line_no", "Line Number", "NOTE_LINE", "LineNbr", "TXT_LINE_NUM")),
    ("LINE", "a0 a1 b0", SURE),
    # Numbered once each, or running on, it counts no lines.
    *((name, "a1 b1", None) for name in ("LINE", "line_no", "LineNbr")),
    *((name, "a1 a2 b3", MAYBE) for name in ("LINE", "Line Number", "TXT_LINE_NUM")),
    *((name, "a1 a2 b1", MAYBE) for name in ("SEQ", "Part No", "note_segment", "CHUNK_ID")),
    # In no order, in letters, as parts of a whole.
    *((name, "a0 a2 a1 b0", MAYBE) for name in ("SEQ", "Part No")),
    *((name, "a2 a1 b2", MAYBE) for name in ("SEQ", "LINE")),
    ("Part", "aA aB bA", MAYBE),
    ("x", "a1 of 2|a2 of 2|b1 of 2", MAYBE),
    ("y", "a1/2 a2/2 b1/2", MAYBE),
    # Of any other name, where it counts anew.
    ("Zeile", "a1 a2 a3 b1 b2", MAYBE),
    ("Zeile", "a0 a1 a2 b0 b1 b2 b3", MAYBE),
    ("Zeile", "a1 a2 a1 a2 b1", MAYBE),  # two notes of one patient
    ("Zeile", "a1 a2 b3 b4 b5", None),  # rows of the whole table
    ("Zeile", "a1 a3 b1 b4", None),  # a number of another kind
    ("Zeile", "a1 a2 bx b1 b2", None),
    ("Zeile", "a1 a1 b0 b1", None),  # a flag
    ("Zeile", "a5 a6 b1 b2 b1", None),
    # Ids of notes that repeat within a patient.
    *((name, "a7 a7 b8", SURE) for name in ("NOTE_ID", "NoteGUID", "HNO_ID", "NOTE_SID", "TIUDocumentSID", "BefundID")),
    *((name, "a7 a7 b8", SURE) for name in ("CE_EVENT_ID", "CLINICAL_EVENT_ID", "note uuid")),
    ("Document Key", "a1 b2 a1", SURE),
    ("NOTE_ID", "a1 a2 b1 b2", None),  # a patient's notes are numbered
    ("NOTE_ID", "a a", None),
    *((name, "a1 a1", MAYBE) for name in ("EVENT_ID", "PARENT_EVENT_ID", "ACCESSION_NBR", "DOC_ID")),
]


@pytest.mark.parametrize(("column", "rows", "is_piece"), TELLING)
def test_a_column_tells_that_rows_are_pieces_of_notes(
    tmp_path: Path, column: str, rows: str, is_piece: str | None
) -> None:
    listed = [f"{row[0]},{row[1:]},text {at}" for at, row in enumerate(rows.split("|" if "|" in rows else None))]
    table = "\n".join([f"MRN,{column},Note", *listed])
    if is_piece == SURE:
        said = [refusal_of_own(tmp_path, table, MAP)]
    else:
        imported, _ = import_own(tmp_path, table, MAP)
        said = imported.ledger.hints
        assert imported.ledger.columns_not_read == (column,)
    assert [f"the column {column} " in one and is_piece in one for one in said] == [True] * (is_piece is not None)


def test_a_piece_that_is_an_error_of_excel_is_no_text(tmp_path: Path) -> None:
    columns = f'between_lines = ""\n{MAP}note_id = "no"\nline = "line"\n'
    refused = refusal_of_own(tmp_path, "MRN,no,line,Note\na,1,1,CC \na,1,2, #N/A\nb,2,1,x\n", columns)
    assert "row 2: Note holds #N/A, an error of Excel" in refused
    assert "row 1: a row beside it, which may be of the same note, cannot be read (1 more" in refused


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ("a,CC: cough|HPI: since|Plan: rest|b,fever", "b"),
        ("a,one|b,fever|Plan: rest", "a"),
        ("a,one|b,two,three|c,four", "a c"),  # more cells are no rest of the row before
    ],
)
def test_a_note_that_a_line_break_without_quotes_cut_is_rejected(tmp_path: Path, rows: str, kept: str) -> None:
    _, corpus = import_own(tmp_path, "\n".join(["MRN,Note", *rows.split("|")]), MAP, allow_rejected=True)
    assert list(corpus.patients) == kept.split()
