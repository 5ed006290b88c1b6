"""Files of a corpus: what is no file to read, what changes, and what is damaged ends in a deliberate error."""

import gzip
import io
import json
import os
import random
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from support.corpus_tables import CSV, GOOD_ROW, SECRET, problems_of

from clinaudit.errors import ClinauditError, StorageError
from clinaudit.priors.corpus import corpus as corpus_module
from clinaudit.priors.corpus import files as reading
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.files import find_file, is_named_for, iter_lines
from clinaudit.priors.corpus.tables import read_table


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def link_to_fifo(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


ODD: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a socket": make_socket,
    "a directory": Path.mkdir,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a FIFO": link_to_fifo,
}


@pytest.mark.parametrize("table", ["notes.csv", "notes.jsonl.gz", "notes.parquet", "patients.csv"])
@pytest.mark.parametrize("kind", ODD)
def test_what_is_not_a_regular_file_is_refused_unopened(tmp_path: Path, table: str, kind: str) -> None:
    if not table.startswith("notes"):
        (tmp_path / "notes.jsonl").write_text(GOOD_ROW)
    ODD[kind](tmp_path / table)
    assert problems_of(tmp_path) == [f"{table}: is not a regular file"]


def test_dangling_and_circular_links_are_refused_and_a_sound_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").symlink_to("nowhere")
    assert problems_of(tmp_path) == ["notes.csv: is a link to nothing"]
    (tmp_path / "notes.csv").unlink()
    (tmp_path / "notes.csv").symlink_to("notes.csv")
    assert problems_of(tmp_path) == ["notes.csv: is a link to nothing"]
    (tmp_path / "notes.csv").unlink()
    (tmp_path / "elsewhere").write_bytes(CSV)
    (tmp_path / "notes.csv").symlink_to("elsewhere")
    assert read_corpus(tmp_path).note_count == 1


def test_a_corpus_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    assert problems_of(tmp_path / "none") == ["none: does not exist"]
    assert problems_of(tmp_path / ("n" * 300)) == ["n" * 300 + ": does not exist"]
    assert problems_of(tmp_path / "a\0b") == ["a?b: is not a file name"]
    (tmp_path / "notes.txt").write_text("x")
    assert problems_of(tmp_path / "notes.txt")[0].startswith("notes.txt: its name must end in one of .parquet, .csv")
    assert problems_of(tmp_path)[0].startswith("notes: there is no notes table")


def test_a_file_the_system_refuses_is_a_storage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.csv").write_bytes(CSV)

    opened = os.open

    def refuse(path: str | Path, *arguments: int, **named: int) -> int:
        if Path(path).name == "notes.csv":
            raise PermissionError(13, "no", SECRET)
        return opened(path, *arguments, **named)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StorageError, match=r"^cannot read notes\.csv: Permission denied; "):
        read_corpus(tmp_path)


def test_a_file_that_changes_while_it_is_read_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_bytes(CSV)
    file = find_file(tmp_path / "notes.csv", "notes.csv")
    (tmp_path / "notes.csv").write_bytes(CSV + b"a,2,x,y\n")
    with pytest.raises(StorageError, match="changed while it was read"):
        list(iter_lines(file))
    (tmp_path / "notes.csv").unlink()
    os.mkfifo(tmp_path / "notes.csv")
    with pytest.raises(StorageError, match="changed while it was read"):
        list(iter_lines(file))


@pytest.mark.parametrize("change", [lambda path: os.truncate(path, 10), os.remove])
def test_what_is_wrong_with_a_file_that_changes_meanwhile_is_not_blamed_on_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"patient_id": "p", "note_id": "n", "text": "cough"}\n{"patient_id"', encoding="utf-8")

    def read_half(*arguments: Any) -> Any:
        table = read_table(*arguments)
        change(path)
        return table

    monkeypatch.setattr(corpus_module, "read_table", read_half)
    with pytest.raises(StorageError, match=r"notes\.jsonl"):
        read_corpus(tmp_path)


@pytest.mark.parametrize("ending", [".csv.gz", ".jsonl.zst"])
def test_a_line_that_would_fill_memory_is_refused(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1000)
    content = b"x" * 1_000_000
    compress = gzip.compress if ending.endswith("gz") else zstandard.compress
    (tmp_path / f"notes{ending}").write_bytes(compress(content))
    assert problems_of(tmp_path) == [f"notes{ending}: has a line of more than 1000 bytes"]


@pytest.mark.parametrize("times", [40, pytest.param(150, marks=pytest.mark.simulation)])
@pytest.mark.parametrize("name", ["notes.csv", "notes.csv.gz", "notes.jsonl", "notes.jsonl.zst", "notes.parquet"])
def test_damaged_files_end_in_a_deliberate_error_or_a_valid_corpus(tmp_path: Path, name: str, times: int) -> None:
    rng = random.Random(name)
    rows = [{"patient_id": f"p{n}", "note_id": str(n), "text": f"note {SECRET} {n}\r\n"} for n in range(30)]
    csv = "patient_id,note_id,text\n" + "".join(f'{r["patient_id"]},{r["note_id"]},"{r["text"]}"\n' for r in rows)
    jsonl, parquet = "".join(json.dumps(row) + "\n" for row in rows).encode(), io.BytesIO()
    pl.DataFrame(rows).write_parquet(parquet)
    sound = {
        "notes.csv": csv.encode(),
        "notes.csv.gz": gzip.compress(csv.encode()),
        "notes.jsonl": jsonl,
        "notes.jsonl.zst": zstandard.ZstdCompressor(write_checksum=True).compress(jsonl),
        "notes.parquet": parquet.getvalue(),
    }[name]
    outcomes, quoted = set(), 0
    for _ in range(times // 6 if name.endswith(".parquet") else times):  # Parquet is read in a child process each time
        damaged = bytearray(sound)
        for _ in range(rng.randint(1, 4)):
            match rng.randrange(3):
                case 0:
                    damaged[rng.randrange(len(damaged))] = rng.randrange(256)
                case 1:
                    del damaged[rng.randrange(len(damaged)) :]
                    damaged += b"\0"
                case _:
                    at = rng.randrange(len(damaged))
                    damaged[at:at] = bytes(rng.randrange(256) for _ in range(3))
        (tmp_path / name).write_bytes(damaged)
        try:
            outcomes.add("valid" if read_corpus(tmp_path).note_count else "empty")
        except ClinauditError as error:
            outcomes.add(error.code)
            quoted += SECRET in error.render()
    assert outcomes <= {"valid", "BAD_INPUT"}
    assert "BAD_INPUT" in outcomes
    assert quoted == 0


def test_a_parquet_file_that_kills_its_reader_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert problems_of(tmp_path) == ["notes.parquet: is not a Parquet file that can be read"]
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(StorageError, match=r"^cannot read notes\.parquet: "):
        read_corpus(tmp_path)


@pytest.mark.parametrize(
    ("name", "is_part"),
    [
        *((name, True) for name in ("note.csv", "note_2.csv", "note-2.csv", "NOTE2.CSV", "note (1).csv", "note.csv.1")),
        *((name, True) for name in ("note_part2.csv", "note-part-1-of-3.parquet", "note - Copy.csv", "note_b.tsv")),
        *((name, True) for name in ("note.csv.bz2", "note.parquet.zip", "note_20240131.json", "02_note.csv")),
        *((name, True) for name in ("dbo.note.csv", "note.snappy.parquet", "note.csv.bak", "note_old.xlsx")),
        *((name, False) for name in ("note_nlp.csv", "note_type.csv", "notebook.csv", "notes.csv", "footnote.csv")),
        *((name, False) for name in ("note.txt", "note", "note.csv.sha256", "._note.csv", "~$note.xlsx", "note.md")),
    ],
)
def test_which_names_say_that_a_file_holds_a_table_or_more_of_it(name: str, is_part: bool) -> None:
    assert is_named_for(name, "note") == is_part
