"""A file masked row by row: it appears whole, with its map, or not at all, and it fails closed."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.cases import read_rows
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.mask_options import MaskOptions
from clinaudit.audit.pii.masking import PromptMasker, stage
from clinaudit.audit.pii.masking.stage import MaskedFile, check_prompts, mask_file, read_map
from clinaudit.audit.pii.taxonomy import Detector, EntitySpan
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.processes import Processes
from clinaudit.errors import BadInputError, StorageError

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
    folder: Path, prompts: Path, detector: Detector, *, out: str = "masked.jsonl", map_file: Path | None = None
) -> MaskedFile:
    masker = PromptMasker(detector)
    request = MaskOptions(prompts=prompts, out=folder / out, map=map_file)
    return mask_file(request, check_prompts(request), masker, Processes(masker), progress=Progress(quiet=True))


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_that_is_killed_gives_nothing_out_and_is_begun_again(tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path)
    killed, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    killed.mkdir()
    undisturbed.mkdir()
    for row in (0, 199):
        child = os.fork()
        if child == 0:
            mask(killed, prompts, InterruptedDetector(row, lambda: os.kill(os.getpid(), signal.SIGKILL)))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        assert not (killed / "masked.jsonl").exists()
    assert mask(killed, prompts, PatternDetector()).rows.count == ROWS
    mask(undisturbed, prompts, PatternDetector())
    assert files_in(killed) == files_in(undisturbed)
    assert files_in(killed).keys() == {"masked.jsonl", "masked.jsonl.evidence/map.jsonl"}
    mapped = read_map(killed / "masked.jsonl.evidence" / "map.jsonl")
    assert list(mapped) == [str(number) for number in range(ROWS)]
    assert ("Ada Lund",) in mapped["7"].values()


@pytest.fixture
def nobody_takes_sigterm() -> Iterator[None]:
    """Other libraries in this process, such as Ray, may have left a handler of their own, which would end it."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


@pytest.mark.usefixtures("nobody_takes_sigterm")
def test_a_terminated_command_says_so_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = write_prompts(tmp_path)
    detectors = [InterruptedDetector(100, lambda: os.kill(os.getpid(), signal.SIGTERM)), PatternDetector()]
    monkeypatch.setattr(stage, "_open_detector", lambda *_given: detectors.pop(0))
    arguments = ["mask", str(prompts), "--out", str(tmp_path / "masked.jsonl"), "--quiet"]
    assert run(arguments) == 130
    assert files_in(tmp_path).keys() == {"prompts.jsonl"}
    assert run(arguments) == 0


def test_a_failing_detector_withholds_the_row_and_says_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    prompts = write_prompts(tmp_path, rows=70)
    failing = PatternDetector(fails_on="Row 3.")
    monkeypatch.setattr(stage, "_open_detector", lambda *_given: failing)
    out = tmp_path / "masked.jsonl"
    assert run(["mask", str(prompts), "--out", str(out)]) == 1
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in rows if row["text"] is None] == [3]
    assert [row["tags"] for row in rows[3:6]] == [0, 4, 4]
    printed = capfd.readouterr()
    assert "69 of 70 prompts" in printed.out
    assert "withheld: 1, a detector failed" in printed.out
    assert re.search(
        r"^warning: a detector failed \(RuntimeError at pattern_detector\.py:\d+\);", printed.err, re.MULTILINE
    )
    written = "".join(path.read_text() for path in tmp_path.iterdir() if path.is_file() and path != prompts)
    for planted in ("Ada", "Lund", "6789", "/2024"):
        assert planted not in printed.out + printed.err + written


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
    assert files_in(tmp_path).keys() == {"prompts.jsonl"}


@pytest.mark.parametrize(
    ("out", "map_file", "busy"),
    [("masked.jsonl", "other.jsonl", "masked.jsonl"), ("other.jsonl", "map.jsonl", "map.jsonl")],
)
def test_two_maskings_to_one_place_are_refused(tmp_path: Path, out: str, map_file: str, busy: str) -> None:
    prompts = write_prompts(tmp_path, rows=3)
    refused: set[str] = set()

    def again() -> None:
        with pytest.raises(StorageError) as error:
            mask(tmp_path, prompts, PatternDetector(), out=out, map_file=tmp_path / map_file)
        refused.add(error.value.message)

    mask(tmp_path, prompts, InterruptedDetector(1, again), map_file=tmp_path / "map.jsonl")
    assert refused == {f"another command is writing {busy}; wait for it, or name another file"}
    assert files_in(tmp_path).keys() == {"prompts.jsonl", "masked.jsonl", "map.jsonl"}
    assert list(read_map(tmp_path / "map.jsonl")) == ["0", "1", "2"]


@pytest.mark.parametrize(("key", "status"), read_rows("pii/rows.txt")["an id that holds an identifier is refused"])
def test_an_id_that_holds_an_identifier_is_refused_and_new_ids_may_go_to_the_same_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, status: int
) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"id": key, "text": "Patient: Ada Cranecott, asthma."}) + "\n")
    command = ["mask", str(prompts), "--out", str(tmp_path / "masked.jsonl"), "--quiet"]
    assert run(command) == status
    printed = capsys.readouterr()
    assert not status or key not in printed.out + printed.err
    if status:
        assert files_in(tmp_path).keys() == {"prompts.jsonl"}
        assert run([*command, "--new-ids"]) == 0


def test_a_map_that_is_cut_off_is_not_read(tmp_path: Path) -> None:
    mask(tmp_path, write_prompts(tmp_path, rows=3), PatternDetector(), map_file=tmp_path / "map.jsonl")
    held = (tmp_path / "map.jsonl").read_bytes()
    (tmp_path / "map.jsonl").write_bytes(held[:-20])
    with pytest.raises(BadInputError, match=r"map\.jsonl is no map, or damaged") as error:
        read_map(tmp_path / "map.jsonl")
    assert "Lund" not in error.value.render()


def test_new_ids_are_the_lines_of_the_prompts_and_answers_come_back_by_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts, answers = tmp_path / "prompts.jsonl", tmp_path / "answers.jsonl"
    texts = {"Cranecott-1": "Patient: Ada Cranecott, asthma, seen 01/20/2002.", "7": "Mrs. Lund"}
    rows = [{"id": key, "text": text} for key, text in texts.items()]
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    masked, read = tmp_path / "masked.jsonl", tmp_path / "read.jsonl"
    assert run(["mask", str(prompts), "--out", str(masked), "--new-ids", "--rules-only", "--quiet"]) == 0
    assert [json.loads(line)["id"] for line in masked.read_text().splitlines()] == [1, 2]
    answers.write_text(json.dumps({"id": 1, "text": "[PATIENT_1] again on <DATE_1+7d>; <DATE_1+7w>, PATIENT_2"}) + "\n")
    capsys.readouterr()
    map_file = tmp_path / "masked.jsonl.evidence" / "map.jsonl"
    assert run(["unmask", str(answers), "--map", str(map_file), "--out", str(read), "--quiet"]) == 0
    expected = "Ada Cranecott again on 01/27/2002; <DATE_1+7w>, PATIENT_2"
    assert json.loads(read.read_text()) == {"id": 1, "text": expected}
    assert "2 tags are of no prompt" in capsys.readouterr().out
