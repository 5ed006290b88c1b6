"""A file masked row by row: killed anywhere it goes on to the same bytes; it fails closed, and what it leaves then.

And which ids are passed on.
"""

import json
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.masking import PromptMasker, masked_file, stage
from clinaudit.audit.pii.masking.batches import rules_for_all
from clinaudit.audit.pii.masking.masked_file import MaskedFile, MaskOptions, check_prompts, mask_file
from clinaudit.audit.pii.masking.tag_map import read_map
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.errors import BadInputError, IntegrityError, StorageError, UsageError

ROWS = 200


class InterruptedDetector:
    """Does something to its process when it comes to a row."""

    name = "patterns"

    def __init__(self, row: int, then: Callable[[], None]) -> None:
        self._last, self._then = f"Row {row}.", then

    def detect(self, text: str) -> list[EntitySpan]:
        if text.endswith(self._last):
            self._then()
        return PatternDetector().detect(text)


def write_prompts(folder: Path, *, rows: int = ROWS) -> Path:
    path = folder / "prompts.jsonl"
    seen = (f"{n % 100:02d}-year-old, seen 01/{n % 28 + 1:02d}/2024. Row {n}." for n in range(rows))
    texts = [f"Ada Lund, 123-45-6789, {rest}" for rest in seen]
    path.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)))
    return path


def mask(
    folder: Path, prompts: Path, detector: Detector, *, map_file: Path | None = None, **identity: str
) -> MaskedFile:
    masker = PromptMasker(detector, second=PatternDetector())
    request = MaskOptions(prompts, folder / "masked.jsonl", map_file=map_file)
    return mask_file(
        request, check_prompts(request), masker, rules_for_all, identity=identity, progress=Progress(quiet=True)
    )


def content_of(folder: Path) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(folder / "masked.jsonl.evidence" / "map.sqlite")
    try:
        return connection.execute("SELECT * FROM records ORDER BY number").fetchall()
    finally:
        connection.close()


@pytest.fixture
def kept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put every batch on the disk: a batch is 64 rows."""
    monkeypatch.setattr(masked_file, "_KEEP_EVERY_S", 0.0)


def killed_at(row: int, folder: Path, prompts: Path) -> None:
    child = os.fork()
    if child == 0:
        mask(folder, prompts, InterruptedDetector(row, lambda: os.kill(os.getpid(), signal.SIGKILL)))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


@pytest.mark.usefixtures("kept_at_once")
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path)
    killed, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    killed.mkdir()
    undisturbed.mkdir()
    for row, done in ((0, 0), (100, 64), (100, 64), (199, 192)):
        killed_at(row, killed, prompts)
        assert not (killed / "masked.jsonl").exists()
        assert len(content_of(killed)) == done
    # As if it were killed in the middle of a line.
    with (killed / ".masked.jsonl.partial").open("ab") as file:
        file.write(b'{"id": 19')
    first = InterruptedDetector(100, lambda: pytest.fail("what is done is not done again"))
    assert mask(killed, prompts, first).counts == mask(undisturbed, prompts, PatternDetector()).counts
    assert (killed / "masked.jsonl").read_bytes() == (undisturbed / "masked.jsonl").read_bytes()
    assert content_of(killed) == content_of(undisturbed)
    assert [row[0] for row in content_of(killed)] == list(range(ROWS))
    assert sorted(path.name for path in killed.rglob("*")) == ["map.sqlite", "masked.jsonl", "masked.jsonl.evidence"]


def test_a_run_killed_before_its_last_step_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = write_prompts(tmp_path, rows=3)

    def stop(_self: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("clinaudit.audit.pii.masking.tag_map.TagMap.finish", stop)
        with pytest.raises(KeyboardInterrupt):
            mask(tmp_path, prompts, PatternDetector())
    written = (tmp_path / "masked.jsonl").read_bytes()
    assert mask(tmp_path, prompts, PatternDetector()).counts.records == 3
    assert (tmp_path / "masked.jsonl").read_bytes() == written
    assert mask(tmp_path, prompts, PatternDetector()).counts.records == 3


@pytest.fixture
def nobody_takes_sigterm() -> Iterator[None]:
    """Other libraries in this process, such as Ray, may have left a handler of their own, which would end it."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


@pytest.mark.usefixtures("kept_at_once", "nobody_takes_sigterm")
def test_a_terminated_command_says_so_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = write_prompts(tmp_path)
    detectors = [InterruptedDetector(100, lambda: os.kill(os.getpid(), signal.SIGTERM)), PatternDetector()]
    monkeypatch.setattr(stage, "_open_detectors", lambda *_given: (detectors.pop(0), PatternDetector(), {}))
    arguments = ["mask", str(prompts), "--out", str(tmp_path / "masked.jsonl"), "--quiet"]
    assert run(arguments) == 130
    assert len(content_of(tmp_path)) == 64
    assert run(arguments) == 0
    assert len(content_of(tmp_path)) == ROWS


@pytest.mark.usefixtures("kept_at_once")
def test_a_begun_run_is_not_continued_with_other_settings_or_beside_another_output(tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path)
    killed_at(100, tmp_path, prompts)
    with pytest.raises(UsageError, match=r"other settings \(policy\)"):
        mask(tmp_path, prompts, PatternDetector(), policy="other")
    (tmp_path / "masked.jsonl").write_text("mine")
    with pytest.raises(UsageError, match="is not of this masking"):
        mask(tmp_path, prompts, PatternDetector())
    assert (tmp_path / "masked.jsonl").read_text() == "mine"
    (tmp_path / "masked.jsonl").unlink()
    (tmp_path / ".masked.jsonl.partial").unlink()
    with pytest.raises(UsageError, match="gone or cut off"):
        mask(tmp_path, prompts, PatternDetector())


@pytest.mark.parametrize(
    ("own_map", "said"),
    [
        (None, "another command is writing to the map map.sqlite; wait for it"),
        ("other.sqlite", "another command is writing masked.jsonl; wait for it, or name another file"),
    ],
)
def test_two_maskings_to_one_place_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_map: str | None, said: str
) -> None:
    prompts = write_prompts(tmp_path, rows=3)
    monkeypatch.setattr("sqlite3.connect", _impatient(sqlite3.connect))
    refused: list[str] = []

    def again() -> None:
        with pytest.raises(StorageError) as error:
            mask(tmp_path, prompts, PatternDetector(), map_file=None if own_map is None else tmp_path / own_map)
        refused.append(error.value.message)

    mask(tmp_path, prompts, InterruptedDetector(1, again))
    assert set(refused) == {said}
    rows = [json.loads(line) for line in (tmp_path / "masked.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [0, 1, 2]
    assert len(content_of(tmp_path)) == 3


def _impatient(connect: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
    return lambda *arguments, **options: connect(*arguments, **{"timeout": 0.01, **options})


def test_a_failing_detector_withholds_the_row_and_says_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    prompts = write_prompts(tmp_path, rows=70)
    failing = PatternDetector(fails_on="Row 3.")
    second = PatternDetector({"other_code": r"Row 5\."})
    monkeypatch.setattr(stage, "_open_detectors", lambda *_given: (failing, second, {}))
    out = tmp_path / "masked.jsonl"
    assert run(["mask", str(prompts), "--out", str(out)]) == 1
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in rows if row["text"] is None] == [3, 5]
    assert [row["tags"] for row in rows[3:6]] == [0, 4, 0]
    printed = capfd.readouterr()
    assert "68 of 70 prompts" in printed.out
    assert "withheld: 1, a detector failed" in printed.out
    assert "withheld: 1, the rescan still found identifiers" in printed.out
    written = "".join(path.read_text() for path in tmp_path.iterdir() if path.is_file() and path != prompts)
    for planted in ("Ada", "Lund", "6789", "/2024"):
        assert planted not in printed.out + printed.err + written
    # The status of a finished masking is the same when it is asked for again.
    assert run(["mask", str(prompts), "--out", str(out), "--quiet"]) == 1


def test_an_error_on_the_way_leaves_no_output(tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path, rows=3)
    with prompts.open("a") as file:
        file.write('\n{"id": "MRN 123-45-6789", "text": "123-45-6789"}\n')
    with pytest.raises(BadInputError, match="ids are passed on") as error:
        mask(tmp_path, prompts, PatternDetector())
    # The line of the file, a blank one counted.
    assert error.value.problems == (
        "prompts.jsonl, row 5, column id: holds an identifier, or what is masked in the row's text",
    )
    assert "6789" not in error.value.render()
    assert not (tmp_path / "masked.jsonl").exists()


def test_a_map_is_never_written_into_another_file(tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path, rows=3)
    text, other = tmp_path / "text", tmp_path / "other.sqlite"
    text.write_text("mine")
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for place in (text, other):
        before, mode = place.read_bytes(), place.stat().st_mode
        with pytest.raises(BadInputError, match="name a new file with --map"):
            mask(tmp_path, prompts, PatternDetector(), map_file=place)
        assert place == other or (place.read_bytes(), place.stat().st_mode) == (before, mode)
    assert not (tmp_path / "masked.jsonl").exists()


@pytest.mark.usefixtures("kept_at_once")
def test_a_begun_output_that_was_changed_is_not_continued(tmp_path: Path) -> None:
    prompts, partial = write_prompts(tmp_path), tmp_path / ".masked.jsonl.partial"
    killed_at(100, tmp_path, prompts)
    before = partial.read_bytes()
    # Of equal length: only the content tells.
    partial.write_bytes(before.replace(b"Row 7.", b"Row 8."))
    with pytest.raises(IntegrityError, match="not as this masking wrote it"):
        mask(tmp_path, prompts, PatternDetector())
    assert not (tmp_path / "masked.jsonl").exists()
    partial.write_bytes(before)
    assert mask(tmp_path, prompts, PatternDetector()).counts.records == ROWS


@pytest.mark.parametrize("change", [lambda text: text[:100], lambda text: text.replace(b"Row 1.", b"Row 2.")])
def test_a_finished_output_that_was_changed_is_not_called_complete(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    prompts, out = write_prompts(tmp_path, rows=3), tmp_path / "masked.jsonl"
    mask(tmp_path, prompts, PatternDetector())
    out.write_bytes(change(out.read_bytes()))
    with pytest.raises(IntegrityError, match="not as this masking wrote it"):
        mask(tmp_path, prompts, PatternDetector())


def test_a_map_that_is_opened_again_stays_one_file(tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path, rows=3)
    mask(tmp_path, prompts, PatternDetector())
    held = tmp_path / "masked.jsonl.evidence" / "map.sqlite"
    # Bytes 18 and 19 of SQLite's header: 1 is a rollback journal, 2 a write-ahead log.
    assert held.read_bytes()[18:20] == b"\1\1"
    mask(tmp_path, prompts, PatternDetector())
    assert held.read_bytes()[18:20] == b"\1\1"
    with pytest.raises(UsageError, match="other settings"):
        mask(tmp_path, prompts, PatternDetector(), policy="other")
    assert held.read_bytes()[18:20] == b"\1\1"
    with read_map(held) as tag_map:
        assert tag_map.forms_of("1") is not None
    assert [path.name for path in held.parent.iterdir()] == ["map.sqlite"]


def mask_by_command(tmp_path: Path, *options: str, prompts: str = "prompts.jsonl") -> int:
    out = "masked" + Path(prompts).suffix
    return run(["mask", str(tmp_path / prompts), "--out", str(tmp_path / out), "--quiet", *options])


def write_rows(tmp_path: Path, *rows: dict[str, object]) -> None:
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_after_ids_that_tell_the_same_place_takes_new_ids(tmp_path: Path) -> None:
    write_rows(
        tmp_path, {"id": "7", "text": "Mrs. Lund"}, {"id": "Cranecott-1", "text": "Patient: Ada Cranecott, asthma."}
    )
    assert mask_by_command(tmp_path) == 3
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["prompts.jsonl"]
    assert mask_by_command(tmp_path, "--new-ids") == 0


def test_after_a_run_that_did_nothing_yet_other_settings_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path, {"id": 1, "text": "Mrs. Lund"})

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(masked_file, "_mask_rows", stopped)
        assert mask_by_command(tmp_path) == 130
    assert mask_by_command(tmp_path, "--new-ids") == 0
    # What was given out is not forgotten.
    assert mask_by_command(tmp_path) == 2


@pytest.mark.parametrize(("beside", "status", "left"), [(None, 0, "Mrs. <PERSON_1>"), ("mine", 2, "mine")])
def test_after_a_text_that_was_withheld_other_settings_are_taken_unless_the_output_is_somebody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: str | None, status: int, left: str
) -> None:
    (tmp_path / "prompt.txt").write_text("Mrs. Lund")
    with monkeypatch.context() as patch:
        patch.setattr("clinaudit.audit.pii.masking.prompt.PromptMasker._write", lambda *_: None)
        assert mask_by_command(tmp_path, prompts="prompt.txt") == 1
    assert (tmp_path / "masked.txt").read_text() == ""
    if beside is not None:
        (tmp_path / "masked.txt").write_text(beside)
    assert mask_by_command(tmp_path, "--policy", "safe-harbor", prompts="prompt.txt") == status
    assert (tmp_path / "masked.txt").read_text() == left


@pytest.mark.parametrize(
    ("key", "status"),
    [
        ("Cranecott-1", 3),
        ("ada.cranecott.7", 3),
        ("visit-512-44-1234", 3),
        ("a.lund@mail.com", 3),
        ("n17", 0),
        ("note-0042", 0),
        ("123e4567-e89b-12d3-a456-426614174000", 0),
    ],
)
def test_an_id_that_holds_an_identifier_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, status: int
) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"id": key, "text": "Patient: Ada Cranecott, asthma."}) + "\n")
    assert run(["mask", str(prompts), "--out", str(tmp_path / "masked.jsonl"), "--quiet"]) == status
    printed = capsys.readouterr()
    assert not status or key not in printed.out + printed.err


def test_new_ids_are_the_lines_of_the_prompts_and_answers_come_back_by_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts, answers = tmp_path / "prompts.jsonl", tmp_path / "answers.jsonl"
    texts = {"Cranecott-1": "Patient: Ada Cranecott, asthma, seen 01/02/2002.", "7": "Mrs. Lund"}
    rows = [{"id": key, "text": text} for key, text in texts.items()]
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    masked, read = tmp_path / "masked.jsonl", tmp_path / "read.jsonl"
    assert run(["mask", str(prompts), "--out", str(masked), "--new-ids", "--no-ner", "--quiet"]) == 0
    assert [json.loads(line)["id"] for line in masked.read_text().splitlines()] == [1, 2]
    assert "copied unchanged" not in capsys.readouterr().out
    # What is begun with one kind of ids is not gone on with another.
    assert run(["mask", str(prompts), "--out", str(masked), "--no-ner", "--quiet"]) == 2
    answers.write_text(json.dumps({"id": 1, "text": "[PATIENT_1] again on <DATE_1+7d>; <DATE_1+7w>, PATIENT_2"}) + "\n")
    capsys.readouterr()
    map_file = tmp_path / "masked.jsonl.evidence" / "map.sqlite"
    assert run(["unmask", str(answers), "--map", str(map_file), "--out", str(read), "--quiet"]) == 0
    expected = "Ada Cranecott again on 01/09/2002; <DATE_1+7w>, PATIENT_2"
    assert json.loads(read.read_text()) == {"id": 1, "text": expected}
    assert "2 tags are of no prompt" in capsys.readouterr().out
