"""What common programs write into a table of an export is read as it was meant, or the very thing is named."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from support.cases import read_rows
from support.exports import tables
from support.exports.hospital import content_of
from support.exports.importing import import_export, import_own, refusal_of, refusal_of_own, write_own

from clinaudit.audit.commands.main import run
from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.importers import Kind

MAP = '[columns]\npatient_id = "MRN"\ntext = "Note"\n'
HEAD = "MRN,Note\n"
CASES = read_rows("exports/import_rows.txt")


def _texts(folder: Path, table: str | bytes, options: str = "", name: str = "notes.csv") -> dict[str, list[str]]:
    """Import one table; return the texts by patient."""
    _, corpus = import_own(folder, table, options + MAP, name)
    return {patient: [note.text for note in corpus.notes_of(patient)] for patient in corpus.patients}


def _refusal(folder: Path, table: str | bytes, options: str = "", columns: str = MAP) -> str:
    return refusal_of_own(folder, table, options + columns)


@pytest.mark.parametrize(
    ("options", "encoding", "table", "text"),
    [row[1:] for row in CASES["dialects_read"]],
)
def test_dialects_and_encodings_are_read_as_what_they_are(
    tmp_path: Path, options: str, encoding: str, table: str, text: str
) -> None:
    assert _texts(tmp_path, table.encode(encoding), options) == {"p1": [text]}


@pytest.mark.parametrize(
    ("options", "encoding", "table", "said"),
    [row[1:] for row in CASES["dialects_named"]],
)
def test_a_dialect_or_encoding_that_is_not_read_is_named(
    tmp_path: Path, options: str, encoding: str, table: str, said: str
) -> None:
    assert said in _refusal(tmp_path, table.encode(encoding), options)


@pytest.mark.parametrize(
    ("text", "is_hinted"),
    [
        *((text.encode().decode("cp1252"), True) for text in ("café", "38°", "“ok", "naïve")),
        # As the console of Windows, and a Mac, read UTF-8; and the sign of a font of its own.
        *((text.encode().decode(name), True) for text in ("café", "38°", "“ok") for name in ("cp850", "mac_roman")),
        ("é".encode().decode("cp437"), True),
        ("≥".translate({0x2265: 0xF0B3}), True),
        ("“ok”".encode("cp1252").decode("latin-1"), True),
        *(
            (text, False)
            for text in ("café “ok” 38° €5", "NÃO", "ÂME", "Î", "Пётр", "aâ", "Ã", "√ done", "├── a", "¬p")
        ),
    ],
)
def test_a_text_that_was_read_wrong_before_is_a_hint(tmp_path: Path, text: str, is_hinted: bool) -> None:
    imported, corpus = import_own(tmp_path, f"{HEAD}p1,{text}\n", MAP)
    assert [hint.startswith("1 notes hold signs") for hint in imported.ledger.hints] == [True] * is_hinted
    assert corpus.latest_note("p1").text == text


def test_a_table_may_be_json_lines_or_parquet(tmp_path: Path) -> None:
    lines = [json.dumps({"MRN": 7, "Note": "CC\r\n", "Other": [1]}), json.dumps({"mrn": "08", "Note": "two"})]
    expected = {"08": ["two"], "7": ["CC\r\n"]}
    assert _texts(tmp_path, "\n".join(lines).encode(), name="notes.jsonl") == expected
    path = tmp_path / "notes.parquet"
    pl.DataFrame({"MRN": ["7", "08"], "NOTE": ["CC\r\n", "two"]}).write_parquet(path)
    assert _texts(tmp_path / "p", path.read_bytes(), name="notes.parquet") == expected


def test_whole_numbers_of_a_database_are_decimals_in_parquet(tmp_path: Path) -> None:
    path, long = tmp_path / "notes.parquet", 12345678901234567890123
    numbers = pl.Series([Decimal(long), Decimal(7)], dtype=pl.Decimal(38, 4))
    pl.DataFrame({"MRN": numbers, "Note": ["one", "two"]}).write_parquet(path)
    assert _texts(tmp_path / "p", path.read_bytes(), name="a.parquet") == {str(long): ["one"], "7": ["two"]}
    pl.DataFrame({"MRN": pl.Series([Decimal("7.5")]), "Note": ["one"]}).write_parquet(path)
    (tmp_path / "columns.toml").write_text(MAP, encoding="utf-8")
    refused = refusal_of("csv", path, tmp_path / "c", columns=tmp_path / "columns.toml")
    assert "MRN is a number with a fraction" in refused


LOST = "MRN is a number of more digits than its type holds, of which the last are lost; keep it as text"


def test_a_number_that_its_format_cannot_hold_is_no_identifier(tmp_path: Path) -> None:
    numbers = [9007199254740993, 1000000000000000, 12345678901234567890]
    rows = [{"MRN": float(number), "Note": "x"} for number in numbers]
    tables.write_excel(
        tmp_path / "a.xlsx", {"S": [["MRN", "Note"], *([number, "x"] for number in numbers), ["p", "y"]]}
    )
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "a.csv").write_text(HEAD + "".join(f"{number}.0,x\n" for number in numbers), encoding="utf-8")
    (tmp_path / "columns.toml").write_text(MAP, encoding="utf-8")
    for name in ("a.xlsx", "a.parquet", "a.jsonl", "a.csv"):
        kind: Kind = "excel" if name == "a.xlsx" else "csv"
        refused = refusal_of(kind, tmp_path / name, tmp_path / "c", columns=tmp_path / "columns.toml")
        assert (LOST if name != "a.csv" else "MRN is a long number") in refused
        assert "(2 more like it)" in refused


def test_long_numbers_that_are_whole_stay_as_they_are(tmp_path: Path) -> None:
    whole = 12345678901234567890
    assert _texts(tmp_path, f'{{"MRN": {whole}, "Note": "x"}}'.encode(), name="a.jsonl") == {str(whole): ["x"]}
    assert _texts(tmp_path / "csv", f"MRN,Note\n{whole},x\n") == {str(whole): ["x"]}
    (tmp_path / "excel").mkdir()
    path = tables.write_excel(tmp_path / "excel" / "a.xlsx", {"S": [["MRN", "Note"], [999999999999999, "x"]]})
    import_export("excel", path, tmp_path / "excel" / "c", columns=tmp_path / "columns.toml")
    assert list(read_corpus(tmp_path / "excel" / "c").patients) == ["999999999999999"]


# Identifiers ----------------------------------------------------------------------------------------------------------


def _imported(folder: Path, rows: str, trained: str) -> dict[str, str]:
    """Import notes with a train list; return the split of each patient."""
    folder.mkdir(exist_ok=True)
    (folder / "train.txt").write_text(trained, encoding="utf-8")
    imported, corpus = import_own(folder, HEAD + rows, MAP, train_patients=folder / "train.txt")
    assert imported.ledger.trimmed
    return {key: patient.split for key, patient in corpus.patients.items()}


@pytest.mark.parametrize("mark", ["\ufeffp1", "p1\u200b", "p\u00ad1", "ｐ１", " p1\u00a0", "\u200fp1", "p\u20601"])
def test_marks_that_nobody_sees_are_taken_off_identifiers_and_counted(tmp_path: Path, mark: str) -> None:
    expected = {"p1": "train", "p2": "nontrain"}
    assert _imported(tmp_path, f"p1,one\np2,two\n{mark},three\n", "p1\n") == expected
    assert _imported(tmp_path / "listed", "p1,one\n p2,two\n", f"{mark}\n") == expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("p1", "P1"), ("P-1", "p\u20111"), ("p 1", "p\u00a01"), ("А1", "A1")),
        *(("007", "7"), ("7", "7.0"), ("A  1", "A 1"), ("'007", "007")),
        *(("12345", '"12,345"'), ("2345678", "2 345 678"), ("2345", "2'345"), ("ab-7", "{AB-7}")),
        *(("A-7", "A\u22127"), ("A/7", "A\u22157"), ("71", "𝟕𝟏"), ("71", "7¹"), ("71", "٧١"), ("Pi", "Pı")),
    ],
)
def test_identifiers_that_look_alike_are_refused(tmp_path: Path, first: str, second: str) -> None:
    refused = _refusal(tmp_path, f"{HEAD}{first},one\np2,two\n{second},three\n")
    assert (
        "row 3: patient_id differs from another by case, zeros in front, .0, quotes, blanks, commas or signs" in refused
    )
    with pytest.raises(BadInputError, match="1 ids of --train-patients are those of patients but for case"):
        _imported(tmp_path, f"{first},one\np2 ,two\n", f"{second}\np2\n")


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        *((one, "1 ids of --train-patients are those") for one in ("123", "00123.0", '"00123"', "00123,", "123\t1")),
        *((one, "1 ids of --train-patients are those") for one in ("'00123", '="00123"', "MRN,n\n00123,1", "00123;x")),
        *((one, "--train-patients is a long number as a spreadsheet") for one in ("1.23457E+11", "4e+05", "4.5E8")),
        *((one, None) for one in ("00123", " 00123\u200b", "999", "MRN\n00123")),
    ],
)
def test_whoever_is_on_the_train_list_is_never_held_out(tmp_path: Path, listed: str, said: str | None) -> None:
    rows, trained = "00123,one\n00124 ,two\n", f"{listed}\n00124\n"
    if said is None:
        assert _imported(tmp_path, rows, trained)["00123"] == ("train" if "00123" in listed else "nontrain")
    else:
        with pytest.raises(BadInputError, match=said):
            _imported(tmp_path, rows, trained)


def test_the_formula_that_keeps_a_text_is_taken_off_an_identifier(tmp_path: Path) -> None:
    assert _texts(tmp_path, f'{HEAD}="007",one\n"=""008""",two\n007,three\n') == {
        "007": ["one", "three"],
        "008": ["two"],
    }


def test_the_formula_that_keeps_a_text_is_taken_off_a_note(tmp_path: Path) -> None:
    assert _texts(tmp_path, HEAD + 'p1,"=""knee """"pops"""" at night"""\n') == {"p1": ['knee "pops" at night']}


@pytest.mark.parametrize(("kind", "whole", "lost"), [(pl.Float32, 2**24 - 1, 2**24), (pl.Float16, 2047, 2048)])
def test_a_short_float_holds_fewer_digits(tmp_path: Path, kind: type[pl.DataType], whole: int, lost: int) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"MRN": pl.Series([whole, None], dtype=kind), "Note": ["x", "y"]})[:1].write_parquet(path)
    assert _texts(tmp_path, path.read_bytes(), name="a.parquet") == {str(whole): ["x"]}
    pl.DataFrame({"MRN": pl.Series([lost], dtype=kind), "Note": ["x"]}).write_parquet(path)
    assert LOST in refusal_of("csv", path, tmp_path / "c", columns=tmp_path / "columns.toml")


def test_identifiers_of_joined_tables_are_joined_without_marks(tmp_path: Path) -> None:
    rows = tables.omop_rows()
    rows["note"][0][1] = "\ufeff10001"
    imported = import_export("omop", tables.write_omop(tmp_path / "cdm", rows), tmp_path / "corpus")
    assert imported.ledger.trimmed == {"person_id of note": 1}
    assert len(read_corpus(tmp_path / "corpus").notes_of("10001")) == 2


@pytest.mark.parametrize(
    ("table", "row", "column"), [("note", 0, 11), ("person", 0, 0), ("condition_occurrence", 0, 2), ("provider", 0, 0)]
)
def test_numbers_that_a_data_frame_shortens_are_joined_with_nothing(
    tmp_path: Path, table: str, row: int, column: int
) -> None:
    """R writes 400000 as 4e+05: the code of a diagnosis would not be found, and nobody told."""
    rows = tables.omop_rows()
    rows[table][row][column] = "4e+05"
    refused = refusal_of("omop", tables.write_omop(tmp_path / "cdm", rows), tmp_path / "c")
    assert f"{table.upper()}.csv, row 1: " in refused
    assert "_id is a long number as a spreadsheet or data frame shortens it" in refused


def test_identifiers_with_the_fraction_of_a_data_frame_are_joined(tmp_path: Path) -> None:
    rows = tables.omop_rows()
    for note in rows["note"]:
        note[10], note[11] = 71.0, f"{note[11]}.0"
    import_export("omop", tables.write_omop(tmp_path / "cdm", rows), tmp_path / "corpus")
    notes = read_corpus(tmp_path / "corpus").notes_of("10001")
    assert {(note.provider, note.practice) for note in notes} == {("Dr. Ida Quist", "Riverside Clinic")}
    # A site's own ids may be so: note 12.0 and note 12.1.
    assert _texts(tmp_path / "own", b"MRN,Note\n7.0,x\n") == {"7.0": ["x"]}


# Words for nothing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["NA", "NULL", "\\N", "<NA>", "nan", "NaN", "NaT", "null", "(null)", "0000-00-00"])
def test_a_programs_word_for_nothing_is_blank_and_counted(tmp_path: Path, word: str) -> None:
    rows = tables.omop_rows()
    rows["note"][0][6] = rows["provider"][0][1] = rows["person"][0][6] = rows["note"][1][3] = word
    source = tables.write_omop(tmp_path / "cdm", rows)
    imported = import_export("omop", source, tmp_path / "corpus")
    first, second = read_corpus(tmp_path / "corpus").notes_of("10001")
    assert (first.note_type, first.provider, second.note_type) == (None, None, "Progress note")
    # The time of the second is gone, its day is not.
    assert str(second.visit_date) == "2021-06-01"
    for place in ("note_title of note", "provider_name of provider", "race_concept_id of person"):
        assert imported.ledger.left_blank[f"{place}: {word}"] == 1
    rows["note"][0][7] = word
    refused = refusal_of("omop", tables.write_omop(tmp_path / "cdm", rows), tmp_path / "c")
    assert "NOTE.csv, row 1: the text is a word for nothing" in refused


def test_a_concept_of_a_person_that_is_not_read_is_counted(tmp_path: Path) -> None:
    source = tmp_path / "cdm"
    source.mkdir()
    (source / "person.csv").write_text(
        "person_id,gender_concept_id,race_concept_id,year_of_birth\n1,F,38003563,1950\n2,8532,0,1950\n3,0,8527,1950\n"
    )
    (source / "note.csv").write_text("note_id,person_id,note_date,note_text\n1,1,2024-01-31,a\n2,2,,b\n3,3,,c\n")
    imported = import_export("omop", source, tmp_path / "c")
    people = read_corpus(tmp_path / "c").patients.values()
    assert {(one.sex, one.race) for one in people} == {(None, None), ("female", None), (None, "White")}
    not_read = {"sex: a concept that is not read": 1, "race: a concept that is not read": 1}
    assert imported.ledger.left_blank == not_read


@pytest.mark.parametrize("word", ["Na", "Nil", "Null", "none"])
def test_a_name_that_is_like_a_word_for_nothing_stays(tmp_path: Path, word: str) -> None:
    imported, corpus = import_own(tmp_path, f"MRN,Note,By\np1,CC: cough,{word}\n", MAP + 'provider = "By"\n')
    assert (corpus.latest_note("p1").provider, imported.ledger.left_blank) == (word, {})


@pytest.mark.parametrize("word", [".", "-", "N/A", "[NULL]", "<null>", "n/a", "---", "?", "''", "\u200b*"])
def test_what_other_programs_write_for_nothing_is_blank_but_in_a_text(tmp_path: Path, word: str) -> None:
    columns = MAP + 'provider = "By"\nvisit_date = "Day"\n'
    imported, corpus = import_own(
        tmp_path, f"MRN,Note,By,Day\np1,{word},{word},{word}\np1,CC: cough,Dr. Lund,2024-01-02\n", columns
    )
    first, second = sorted(corpus.notes_of("p1"), key=lambda note: note.text != word)
    assert (first.text, first.provider, first.visit_date) == (word, None, None)
    assert (second.provider, str(second.visit_date)) == ("Dr. Lund", "2024-01-02")
    assert imported.ledger.left_blank == {f"By of rows: {word}": 1, f"Day of rows: {word}": 1}
    assert any("1 notes are a word such as N/A" in hint for hint in imported.ledger.hints)


def test_a_site_may_name_its_own_words_for_nothing(tmp_path: Path) -> None:
    rows = tables.omop_rows()
    rows["provider"][0][1], rows["note"][0][6], rows["note"][1][7] = "not known", "-", "-"
    source = tables.write_omop(tmp_path / "cdm", rows)
    imported = import_export("omop", source, tmp_path / "corpus", blank=["-", "not known"], allow_rejected=True)
    (note,) = read_corpus(tmp_path / "corpus").notes_of("10001")
    assert (note.note_type, note.provider) == (None, None)
    assert imported.ledger.tables["note"].rejected == {"the text is a word for nothing": 1}
    with pytest.raises(UsageError, match="--blank is for tables alone"):
        import_export("fhir", source, tmp_path / "c", blank=["-"])


@pytest.mark.parametrize("word", ["NA", "None", ".", "-", "?", "N/A", "NULL"])
def test_patients_without_a_number_are_not_one_patient(tmp_path: Path, word: str) -> None:
    refused = _refusal(tmp_path, f"{HEAD}p1,x\n{word},y\n{word},z\n")
    assert "row 2: patient_id is blank (1 more like it)" in refused


def test_a_word_within_a_text_is_text(tmp_path: Path) -> None:
    assert _texts(tmp_path, b"MRN,Note\np1,NA 140\np1,none\np1,Na\np1,N/A\n") == {"p1": ["NA 140", "none", "Na", "N/A"]}


# Times with zones -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written", ["2024-01-02 10:00:00 UTC", "2024-01-02T10:00:00Z", "2024-01-02 10:00:00+00", "2024-01-02 10:00 AM EST"]
)
def test_a_time_with_its_zone_is_the_time_that_is_written(tmp_path: Path, written: str) -> None:
    rows = tables.omop_rows()
    rows["note"][0][3] = written
    import_export("omop", tables.write_omop(tmp_path / "cdm", rows), tmp_path / "corpus")
    first = read_corpus(tmp_path / "corpus").latest_note("10001")
    assert (str(first.visit_date), first.visit_time.isoformat()) == ("2024-01-02", "10:00:00")


# What comes next ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("complete", [(), ("icd10",)])
def test_check_reads_what_an_import_wrote_though_no_code_is_of_the_panel(
    tmp_path: Path, complete: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    rows, codes = "MRN,ICD,Note\np1,E11.9,note one\np2,I10,note two\n", '[diagnoses]\ncodes = "ICD"\nsystem = "icd10"\n'
    source, columns = write_own(tmp_path, rows, MAP + codes)
    options = [word for system in complete for word in ("--codes-complete", system)]
    command = ["import", "csv", str(source), str(tmp_path / "corpus"), "--columns", str(columns)]
    assert run([*command, *options, "--quiet"]) == 0
    assert "next: clinaudit check" in capsys.readouterr().out
    assert run(["check", str(tmp_path / "corpus"), "--quiet"]) == 0
    labels = read_corpus(tmp_path / "corpus").diagnosis_labels
    assert labels is not None
    assert len(labels) == (12 if complete else 0)


@pytest.mark.parametrize(
    ("rows", "is_refused"),
    [
        ("'p1','cough'\n'p2','pain'\n", True),
        ('p1, "cough"\np2, "x"\n', True),
        ("p1,'cough'\np2,pain\n", False),
        ("p1,'cough'\n", False),  # one text may well be a quotation
        ('p1,"cough"\np2,"x"\n', False),
    ],
)
def test_quotes_that_are_none_of_csv_are_no_text(tmp_path: Path, rows: str, is_refused: bool) -> None:
    if is_refused:
        assert "all texts stand in quotes that are no quotes of CSV" in _refusal(tmp_path, f"{HEAD}{rows}")
    else:
        _texts(tmp_path, f"{HEAD}{rows}")


def test_the_dashes_of_sqlcmd_are_no_record(tmp_path: Path) -> None:
    assert "row 1: is a line of dashes under the header" in _refusal(tmp_path, f"{HEAD}---,----\np1,x\n")
    assert _texts(tmp_path, f"{HEAD}p1,x\np2,---\n") == {"p1": ["x"], "p2": ["---"]}


def test_fractions_of_data_frames_are_whole_numbers(tmp_path: Path) -> None:
    rows = tables.mimic_rows()
    for row in rows["hosp/patients"]:
        row[2:4] = [f"{row[2]}.0", f"{row[3]}.0"]  # anchor_age, anchor_year
    import_export("mimic-iv-note", tables.write_mimic(tmp_path / "m", rows), tmp_path / "fractions")
    import_export("mimic-iv-note", tables.write_mimic(tmp_path / "n"), tmp_path / "whole")
    assert content_of(tmp_path / "fractions") == content_of(tmp_path / "whole")


def test_a_moment_of_1970_beside_another_date_is_none(tmp_path: Path) -> None:
    source = tmp_path / "cdm"
    source.mkdir()
    (source / "person.csv").write_text(
        "person_id,gender_concept_id,year_of_birth,month_of_birth,day_of_birth\n1,8507,1950.0,2.0,3.0\n"
    )
    (source / "note.csv").write_text(
        "note_id,person_id,note_date,note_datetime,note_text\n1,1,2024-01-31,1970-01-01 00:00:00,a\n"
        "2,1,2024-02-01,2024-02-01 10:00:00,b\n3,1,2024-03-01,2024-03-02 02:00:00,c\n"
    )
    imported = import_export("omop", source, tmp_path / "c")
    corpus = read_corpus(tmp_path / "c")
    assert [str(note.visit_date) for note in corpus.notes_of("1")] == ["2024-01-31", "2024-02-01", "2024-03-02"]
    assert "1 notes have another day in note_datetime and note_date: the first counts" in imported.ledger.hints[0]
    assert corpus.patients["1"].dob == date(1950, 2, 3)
    assert imported.ledger.left_blank["note_datetime: 1970-01-01, beside another date"] == 1


HINTS: list[tuple[str, str | None]] = [
    *((f"p3,{text}", "1 notes are a word such as N/A") for text in ("Null", "NIL", "n.a.", "[null]", "#N/A N/A")),
    ("p3,caf\ufffd", "1 notes hold signs"),
    ('p3,said \\"ok\\" left', "1 notes hold quotes with a backslash before them"),
    *(
        (f"{one},x", "1 patients have a word such as none")
        for one in ("none", "unknown", "--", "000", "(blank)", "Total")
    ),
    *((row, None) for row in ("p3,none known", "p3,Nile fever", "10,x", "p0,x", "nobody,x")),
    ("p3,x,1900-01-01\np4,y,1950-01-01", "1 patients are born on a day such as 1900-01-01"),
    ("p3,x\np3,x\np4,x\np4,y\np4,x", "1 notes have the text of the note before them"),
    # Ids of another look than most have.
    ("no fever, no rash\np3,hip", "1 patients have blanks within their id, as most have not"),
    ("P 2,hip\nP 3,hip", None),
    # Texts that end at a limit of some program.
    *(
        ("\n".join(f"q{at},{f'word {at} '.ljust(int(length), 'x')}" for at, length in enumerate(lengths.split())), said)
        for lengths, said in (
            *((one, "they may be cut off") for one in ("4000 4000 4000 12", "255 255 255 8", "1024 7 1024 1024")),
            *((one, None) for one in ("4000 4000 12", "4000 4000 4000 4001", "431 431 431", "80 80 80")),
        )
    ),
]


@pytest.mark.parametrize(("rows", "said"), HINTS)
def test_what_may_be_read_otherwise_than_it_was_meant_is_said(tmp_path: Path, rows: str, said: str | None) -> None:
    table = "\n".join(
        row if row.count(",") == 2 else f"{row}," for row in ["MRN,Note,Born", "p1,one", *rows.split("\n")]
    )
    imported, corpus = import_own(tmp_path, table, MAP + 'dob = "Born"\n')
    assert imported.notes == sum(len(corpus.notes_of(patient)) for patient in corpus.patients) == table.count("\n")
    assert [said in hint for hint in imported.ledger.hints if said] == [True] * (said is not None)
    assert bool(imported.ledger.hints) == (said is not None)
