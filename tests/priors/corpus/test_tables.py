"""Tables: cells are taken exactly as they stand, and faults are told by row and column, many of one kind in a line."""

import gzip
import json
import random
from pathlib import Path

import polars as pl
import pytest
import zstandard
from support.cases import read_rows
from support.corpus_tables import CSV, GOOD_ROW, JSONL, TEXT, notes_rows, problems_of

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import find_file
from clinaudit.priors.corpus.records import Problems
from clinaudit.priors.corpus.schema import PATIENTS
from clinaudit.priors.corpus.tables import read_table

CASES = read_rows("corpus_rows.txt")


# Parameters name the tests: gzip's clock (mtime) would name them otherwise in each worker of pytest-xdist.
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.csv", CSV),
        ("notes.csv", b"\xef\xbb\xbf" + CSV),
        ("notes.csv.gz", gzip.compress(CSV, mtime=0)),
        ("notes.csv.gz", gzip.compress(CSV[:50], mtime=0) + gzip.compress(CSV[50:], mtime=0)),
        ("notes.csv.zst", zstandard.compress(CSV)),
        ("notes.csv.zst", zstandard.compress(CSV[:50]) + zstandard.compress(CSV[50:])),
        ("notes.jsonl", JSONL),
        ("notes.jsonl", b"\xef\xbb\xbf" + JSONL.replace(b"\n", b"\r\n")),
        ("notes.jsonl", JSONL.rstrip()),
        ("notes.jsonl", JSONL.replace(b'"1"', b"1")),
        ("notes.jsonl.gz", gzip.compress(JSONL, mtime=0)),
        ("notes.jsonl.zst", zstandard.compress(JSONL)),
    ],
)
def test_every_text_format_gives_the_same_exact_cells(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    rows, problems = notes_rows(tmp_path / name)
    assert problems == ()
    assert rows == [(1, {"patient_id": "007", "note_id": "1", "text": TEXT})]


def test_parquet_gives_the_same_exact_cells_and_casts_integer_ids(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    frame = pl.DataFrame({"patient_id": ["007"], "note_id": [1], "text": [TEXT], "extra": [[1.5]]})
    frame.write_parquet(path)
    rows, problems = notes_rows(path)
    assert problems == ()
    assert rows == [(1, {"patient_id": "007", "note_id": "1", "text": TEXT})]


def test_zstd_of_unknown_size_and_many_chunks_is_read_whole(tmp_path: Path) -> None:
    rng = random.Random(1)
    texts = ["".join(rng.choices("abcdef \n", k=5_000)) + "." for _ in range(60)]
    lines = [json.dumps({"patient_id": "a", "note_id": str(n), "text": text}) for n, text in enumerate(texts)]
    compressor = zstandard.ZstdCompressor().compressobj()
    path = tmp_path / "notes.jsonl.zst"
    path.write_bytes(compressor.compress("\n".join(lines).encode()) + compressor.flush())
    rows, problems = notes_rows(path)
    assert problems == ()
    assert [cells["text"] for _, cells in rows] == texts


def test_a_note_longer_than_the_csv_modules_default_limit_is_read(tmp_path: Path) -> None:
    text = "a" * 200_000
    (tmp_path / "notes.csv").write_text(f"patient_id,note_id,text\na,1,{text}\n")
    rows, problems = notes_rows(tmp_path / "notes.csv")
    assert problems == ()
    assert rows[0][1]["text"] == text


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        *((name, content.encode(), problems) for name, content, problems in CASES["faulty_notes"]),
        ("notes.jsonl.gz", gzip.compress(b"", mtime=0), ["notes.jsonl.gz: has no rows"]),
        (
            "notes.csv",
            # What is not read may be anything.
            b"patient_id,note_id,text,w\na,1,Zebulon \xe9,\n\xff,2,x,\na,3,x,\xe9\n",
            [
                "notes.csv, row 1, column text: is not UTF-8; save the file as UTF-8",
                "notes.csv, row 2, column patient_id: is not UTF-8; save the file as UTF-8",
            ],
        ),
        (
            "notes.csv.gz",
            gzip.compress(b"patient_id,note_id,text\na,1,Zebulon \xe9\n", mtime=0),
            ["notes.csv.gz, row 1, column text: is not UTF-8; save the file as UTF-8"],
        ),
        (
            "notes.csv.gz",
            gzip.compress(b"patient_id,note_id,text\na,1,x\n", mtime=0)[:-9],
            ["notes.csv.gz: is damaged, cut off, or not gz data"],
        ),
        ("notes.csv.gz", CSV, ["notes.csv.gz: is damaged, cut off, or not gz data"]),
        ("notes.csv.zst", zstandard.compress(CSV)[:-4], ["notes.csv.zst: is damaged, cut off, or not zst data"]),
        ("notes.csv.zst", zstandard.compress(CSV) + b"junk", ["notes.csv.zst: is damaged, cut off, or not zst data"]),
        ("notes.csv.zst", CSV, ["notes.csv.zst: is damaged, cut off, or not zst data"]),
        ("notes.parquet", CSV, ["notes.parquet: is not a Parquet file that can be read"]),
        (
            "notes.jsonl",
            "\n".join(
                [
                    GOOD_ROW,
                    '{"patient_id": "Zebulon',
                    "[1]",
                    '{"patient_id": "a", "note_id": "4", "text": "x", "age": NaN}',
                    '{"patient_id": "a", "note_id": "5", "text": "Zebulon", "text": "x"}',
                    "[" * 100_000,
                    '{"patient_id": ' + "9" * 5000 + "}",
                ]
            ).encode(),
            [
                "notes.jsonl, in 5 rows (2, 3, 4, 6, 7): is not a JSON object on one line (a line a record, no list "
                "around them)",
                "notes.jsonl, row 5: gives one key twice",
            ],
        ),
        (
            "notes.jsonl",
            b'{"patient_id": "a", "note_id": "1", "text": "x"}\n\xff\n',
            ["notes.jsonl, row 2: is not UTF-8; save the file as UTF-8"],
        ),
    ],
)
def test_faulty_notes_are_reported_by_row_and_column(
    tmp_path: Path, name: str, content: bytes, expected: list[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert problems_of(tmp_path) == expected
    assert problems_of(tmp_path / name) == expected


def test_parquet_columns_of_the_wrong_type_are_reported_and_nothing_is_cast(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"patient_id": [1.0, 2.0], "note_id": ["1", None], "text": [b"Zebulon", None], "provider": [True, None]}
    )
    frame.write_parquet(tmp_path / "notes.parquet")
    assert problems_of(tmp_path) == [
        "notes.parquet, column patient_id, in 2 rows (1, 2): is a number with a fraction, as 7.0; save identifiers as "
        "text or as whole numbers",
        "notes.parquet, row 1, column provider: is not text",
        "notes.parquet, row 1, column text: is not text",
        "notes.parquet, row 2, column note_id: is blank",
        "notes.parquet, row 2, column text: is blank",
    ]


def test_parquet_without_any_known_column_lacks_all_required(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "notes.parquet")
    assert problems_of(tmp_path) == [
        f"notes.parquet, column {name}: is missing" for name in ("note_id", "patient_id", "text")
    ]


def test_parquet_without_rows_is_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"patient_id": ["a"], "note_id": ["1"], "text": ["x"]})
    frame.head(0).write_parquet(tmp_path / "notes.parquet")
    assert problems_of(tmp_path) == ["notes.parquet: has no rows"]


def test_all_tables_are_checked_at_once(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("patient_id,note_id,text,visit_date\na,1,,2024-13-01\n")
    (tmp_path / "patients.jsonl").write_text('{"patient_id": "a", "split": "test"}\n{"split": "train"}\n')
    (tmp_path / "diagnoses.csv").write_text("patient_id,diagnosis,present\na,hiv,maybe\nb,hiv,true\n")
    assert problems_of(tmp_path) == [
        "diagnoses.csv, row 1, column present: is neither true nor false (nor yes, no, 1 or 0)",
        "diagnoses.csv, row 2, column patient_id: is in no other table (identifiers must be written exactly alike in "
        "all tables: 007 is not 7)",
        "notes.csv, row 1, column text: is blank",
        "notes.csv, row 1, column visit_date: is not a date; write it as 2024-01-31",
        "patients.jsonl, row 1, column split: is none of train, nontrain (held out of training) and validation",
        "patients.jsonl, row 2, column patient_id: is blank",
    ]


def test_a_table_that_could_not_be_read_to_its_end_accuses_no_other(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("patient_id,note_id,text\na,1,x\nb,2,x\n")
    (tmp_path / "patients.jsonl").write_text('{"patient_id": "a", "split": "train"}\n{"patient_id": "b"')
    assert problems_of(tmp_path) == [
        "patients.jsonl, row 2: is not a JSON object on one line (a line a record, no list around them)"
    ]


def test_a_column_that_only_some_records_give_counts_as_there(tmp_path: Path) -> None:
    (tmp_path / "patients.jsonl").write_text('{"patient_id": "a"}\n{"patient_id": "b", "split": "train"}\n')
    problems = Problems()
    table = read_table(find_file(tmp_path / "patients.jsonl", "patients.jsonl"), PATIENTS, problems)
    assert table.columns == {"patient_id", "split"}
    assert table.complete
    assert problems.listed() == ()


def test_cells_of_a_column_with_one_problem_are_one_line() -> None:
    problems = Problems()
    for row in (9, 4, 12, 700, 3, 5):
        problems.add("patients.csv", "is no age", row=row, column="age")
    problems.add("patients.csv", "is above 130", row=1, column="age")
    problems.add("patients.csv", "is no date", row=4, column="dob")
    problems.add("patients.csv", "is no date", row=4, column="age")
    problems.add("notes.csv", "has too few fields", row=2)
    problems.add("notes.csv", "has too few fields", row=8)
    problems.add("notes.csv", "is missing", column="text")
    assert problems.listed() == (
        "notes.csv, column text: is missing",
        "notes.csv, in 2 rows (2, 8): has too few fields",
        "patients.csv, row 1, column age: is above 130",
        "patients.csv, column age, in 6 rows (3, 4, 5, 9, 12, ...): is no age",
        "patients.csv, row 4, column dob: is no date",
    )
    assert len(problems) == 11


def test_lines_beyond_twenty_are_counted() -> None:
    problems = Problems()
    for number in range(33):
        problems.add(f"{number:02}.csv", "is empty")
    with pytest.raises(BadInputError) as caught:
        problems.raise_any("the corpus c")
    lines = caught.value.render().splitlines()
    assert lines[0] == (
        "error[BAD_INPUT]: 33 problems in the corpus c; nothing was run: correct and try again (the first 20 of 33)"
    )
    assert lines[1:] == [f"  {number:02}.csv: is empty" for number in range(20)]
