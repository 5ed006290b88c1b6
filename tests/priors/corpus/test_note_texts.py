"""Note texts in the nameless file: exact, gone with the process, and never a reason for memory to grow."""

import io
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import tracemalloc
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import IO

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.corpus_tables import write_tables
from support.packed_notes import pack_notes

from clinaudit.audit.preview.survey import describe_corpus
from clinaudit.errors import BadInputError, StorageError
from clinaudit.priors.corpus import child_readers
from clinaudit.priors.corpus.child_readers import iter_rows_of_child
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.files import find_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.patient import TextStore, release_pages
from clinaudit.reports.schema.record import ARMS

SECRET = "Zebulon"
AWKWARD = ["", " ", "\r", "\r\n", "\n", "a\r", "\ra", "é\r\n漢\r😀", "\u2028", "plain", "\0", "\ufeffx"]
TEXTS = st.lists(st.sampled_from(AWKWARD) | st.text(), max_size=12)


def stored(texts: list[str], scratch: Path | None = None) -> TextStore:
    with TextStore(scratch) as kept:
        for text in texts:
            kept.append(text)
    return kept


@given(TEXTS, st.data())
def test_texts_come_back_as_given_and_packed_as_those_packed_in_memory(texts: list[str], data: st.DataObject) -> None:
    kept = stored(texts)
    assert [kept.text(position) for position in range(len(kept))] == texts
    # Some of the positions, in any order, dealt to patients of whom some have none.
    chosen = data.draw(st.lists(st.sampled_from(range(len(texts))), unique=True) if texts else st.just([]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(chosen)), max_size=4)))
    patients = [chosen[start:end] for start, end in zip([0, *cuts], [*cuts, len(chosen)], strict=True)]
    expected = pack_notes([[texts[position] for position in own] for own in patients])
    packed = kept.packed(patients)
    assert packed.patient_count == expected.patient_count
    assert packed.first_notes.tolist() == expected.first_notes.tolist()
    for patient in range(packed.patient_count):
        assert packed.notes_of(patient) == expected.notes_of(patient)


def test_packed_notes_are_the_stored_bytes_themselves() -> None:
    packed = stored(["one", "two\r"]).packed([[0], [1]])
    assert bytes(packed.text) == b"onetwo\rtwo\n"
    assert not packed.text.flags.writeable
    assert not packed.text.flags.owndata


ROWS: list[dict[str, object]] = [
    {
        "patient_id": f"p{(n * 7) % 400}",
        "note_id": f"n{n}",
        "text": f"{AWKWARD[n % 10]}note {n} of many\r\n",
        "visit_date": f"2020-0{1 + n % 9}-11" if n % 3 else None,
        "practice": f"clinic {n % 5}",
    }
    for n in range(1500)
]
SPLITS: list[dict[str, object]] = [
    {"patient_id": f"p{n}", "split": "nontrain" if n % 3 else "train"} for n in reversed(range(400))
]


@pytest.fixture
def corpus_path(tmp_path: Path) -> Path:
    return write_tables(tmp_path / "corpus", notes=ROWS, patients=SPLITS)


def test_a_corpus_packs_each_split_by_first_place_in_the_file(corpus_path: Path, tmp_path: Path) -> None:
    corpus = read_corpus(corpus_path, scratch=tmp_path)
    for split in ARMS:
        patients = corpus.patient_ids(split)
        in_file_order = sorted(patients, key=lambda one: min(note.position for note in corpus.notes_of(one)))
        assert in_file_order != list(patients)
        packed = corpus.packed(split)
        expected = pack_notes([[note.text for note in corpus.notes_of(patient)] for patient in in_file_order])
        assert packed.patient_count == len(patients) > 0
        assert [packed.notes_of(patient) for patient in range(packed.patient_count)] == [
            expected.notes_of(patient) for patient in range(expected.patient_count)
        ]
    by_id = {row["note_id"]: row["text"] for row in ROWS}
    notes = [note for patient in corpus.patients for note in corpus.notes_of(patient)]
    assert len(notes) == len(ROWS)
    assert all(note.text == by_id[note.note_id] for note in notes)


def test_a_note_shows_no_text_where_it_is_printed(corpus_path: Path) -> None:
    corpus = read_corpus(corpus_path)
    assert "of many" not in repr(corpus.latest_note("p1"))


def test_texts_cannot_be_added_after_the_block() -> None:
    kept = stored(["a"])
    with pytest.raises(ValueError, match="within the with block"):
        kept.append("b")


def test_parquet_gives_the_same_corpus_as_jsonl(corpus_path: Path, tmp_path: Path) -> None:
    pl.DataFrame(ROWS).write_parquet(tmp_path / "notes.parquet", row_group_size=700)
    as_jsonl, batched = read_corpus(corpus_path / "notes.jsonl"), read_corpus(tmp_path / "notes.parquet")
    assert list(batched.patients) == list(as_jsonl.patients)
    for patient in as_jsonl.patients:
        one, other = (
            [(note.note_id, note.position, note.visit_date, note.practice, note.text) for note in of.notes_of(patient)]
            for of in (as_jsonl, batched)
        )
        assert one == other


@pytest.mark.parametrize("batch_rows", [1, 7, 10**6])
def test_batches_of_any_size_give_every_row_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    monkeypatch.setattr(child_readers, "_BATCH_ROWS", batch_rows)
    rows = ROWS[:100]
    pl.DataFrame(rows).write_parquet(tmp_path / "notes.parquet", row_group_size=30)
    out = io.BytesIO()
    child_readers._write_parquet(tmp_path / "notes.parquet", ["text", "note_id", "absent"], out)
    header, *lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert header == {"names": list(rows[0])}
    assert lines == [[number, [row["note_id"], row["text"]]] for number, row in enumerate(rows, start=1)]


def test_parquet_values_come_as_json_has_them_and_others_as_nothing_that_a_column_may_hold(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    values: dict[str, list[object]] = {
        "text": ["é\u2028", None],
        "number": [2**63, None],
        "share": [0.1, float("inf")],
        "ids": [[1, 2], None],
        "names": [["a", None], []],
        "fields": [{"a": 1}, {"a": None}],
        "flag": [True, None],
        "day": [date(2024, 1, 5), None],
    }
    schema = {"number": pl.UInt64}
    frame = pl.DataFrame(values, schema_overrides=schema).with_columns(
        raw=pl.Series([b"x", None]),
        price=pl.Series([Decimal("1.50"), None]),
        whole=pl.Series([Decimal(10**20), None]),
        length=pl.Series([timedelta(1), None]),
    )
    frame.write_parquet(path)
    rows = [row for _, row in iter_rows_of_child(find_file(path, path.name), Header(frame.columns), None)]
    assert rows == [
        {name: cells[0] for name, cells in values.items()}
        | {"day": "2024-01-05", "raw": {}, "price": 1.5, "whole": 10**20, "length": {}},
        {name: cells[1] for name, cells in values.items()}
        | {"raw": None, "price": None, "whole": None, "length": None},
    ]


def test_of_a_parquet_file_that_breaks_off_only_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    texts = ["", *(f"{SECRET} {n} {n * 7919 % 10007} " * 20 for n in range(4000))]
    frame = pl.DataFrame({"patient_id": ["a"] * len(texts), "note_id": [f"n{n}" for n in range(len(texts))]})
    frame.with_columns(text=pl.Series(texts)).write_parquet(path, row_group_size=500)
    content = bytearray(path.read_bytes())
    place = len(content) * 3 // 4
    content[place : place + 2000] = bytes(2000)
    path.write_bytes(content)
    read: list[int] = []
    with pytest.raises(BadInputError):
        read.extend(number for number, _ in iter_rows_of_child(find_file(path, path.name), Header(["text"]), None))
    assert len(read) > 100  # the damage was met on the way
    with pytest.raises(BadInputError) as caught:
        read_corpus(path)
    assert caught.value.problems == ("notes.parquet: is not a Parquet file that can be read",)


def test_a_parquet_file_that_changes_while_it_is_read_is_a_storage_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    pl.DataFrame(ROWS).write_parquet(path)
    rows = iter_rows_of_child(find_file(path, path.name), Header(["text"]), None)
    next(rows)
    os.utime(path, ns=(1, 1))
    with pytest.raises(StorageError, match=r"^notes\.parquet changed while it was read; "):
        list(rows)


def test_memory_does_not_grow_with_the_text(tmp_path: Path) -> None:
    # Few words, since each is an allocation that is traced.
    rows = ({"patient_id": f"p{n % 50}", "note_id": str(n), "text": f"{n:0500} " * 24} for n in range(1500))
    write_tables(tmp_path, notes=rows)
    text_bytes = (tmp_path / "notes.jsonl").stat().st_size
    tracemalloc.start()
    try:
        corpus = read_corpus(tmp_path, scratch=tmp_path)
        describe_corpus(corpus)
        corpus.packed("train")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text_bytes > 15_000_000
    assert peak < 5_000_000


# What a full or forbidden disk does.


def full_disk(*_: object, **__: object) -> IO[bytes]:
    return Path("/dev/full").open("wb", buffering=1 << 16)


@pytest.mark.parametrize("size", [10, 10_000_000])
def test_a_full_disk_is_a_storage_error_whenever_it_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", full_disk)
    with pytest.raises(StorageError) as caught:
        stored([SECRET * size], tmp_path)
    assert caught.value.message == (
        f"cannot write the text of the notes to a temporary file in {tmp_path}: No space left on device; "
        "free disk space there or use another directory, then run the same command again"
    )


def test_a_scratch_directory_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"^cannot write the text of the notes to a temporary file in "):
        stored([], tmp_path / "none")


def test_a_command_that_runs_out_of_room_says_so_in_one_line(tmp_path: Path) -> None:
    rows = ({"patient_id": f"p{n}", "note_id": str(n), "text": f"{SECRET} {n} " * 3000} for n in range(100))
    write_tables(tmp_path, notes=rows)
    code = """
import resource, sys
from clinaudit.audit.commands.main import run
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
sys.exit(run(["check", sys.argv[1]]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr.startswith("error[STORAGE]: cannot write the text of the notes to a temporary file in ")
    assert "File too large" in done.stderr
    assert done.stderr.count("\n") == 1
    assert SECRET not in done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.jsonl"]


# What is seen of the file from outside, and what is left of it.

WRITES_AND_WAITS = """
import sys, time
from pathlib import Path
from clinaudit.priors.corpus.patient import TextStore
with TextStore(Path(sys.argv[1])) as texts:
    texts.append("Zebulon " * 1_000_000)
    if sys.argv[2] == "while written":
        print("ready", flush=True)
        time.sleep(600)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks into /proc")
@pytest.mark.parametrize("when", ["while written", "while mapped"])
def test_the_file_has_no_name_and_a_killed_process_leaves_nothing(tmp_path: Path, when: str) -> None:
    command = [sys.executable, "-c", WRITES_AND_WAITS, str(tmp_path), when]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            assert list(tmp_path.iterdir()) == []
            opened = [path for path in Path(f"/proc/{child.pid}/fd").iterdir() if str(tmp_path) in str(path.readlink())]
            assert len(opened) == 1
            status = opened[0].stat()
            assert status.st_nlink == 0
            assert stat.S_IMODE(status.st_mode) == 0o600
            assert status.st_size > 7_000_000
        finally:
            child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_pages_that_were_read_are_released(tmp_path: Path) -> None:
    def mapped_megabytes() -> float:
        status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1e3 for line in status if line.startswith("RssFile"))

    with TextStore(tmp_path) as texts:
        for _ in range(4000):
            texts.append("x" * 10_000)
    packed = texts.packed([[place] for place in range(4000)])
    before = mapped_megabytes()
    for place in range(4000):
        packed.note(place)
    assert mapped_megabytes() > before + 30
    release_pages(packed, range(4000))
    assert mapped_megabytes() < before + 5
    assert packed.note(7) == "x" * 10_000
