"""Does a masking that failed leave nothing that stands in the way of the next one to the same place?"""

import json
from pathlib import Path

import pytest

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.masking import masked_file


def _mask(tmp_path: Path, *options: str, prompts: str = "prompts.jsonl") -> int:
    out = "masked" + Path(prompts).suffix
    return run(["mask", str(tmp_path / prompts), "--out", str(tmp_path / out), "--quiet", *options])


def _write(tmp_path: Path, *rows: dict[str, object]) -> None:
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_after_ids_that_tell_the_same_place_takes_new_ids(tmp_path: Path) -> None:
    _write(tmp_path, {"id": "7", "text": "Mrs. Lund"}, {"id": "Cranecott-1", "text": "Patient: Ada Cranecott, asthma."})
    assert _mask(tmp_path) == 3
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["prompts.jsonl"]
    assert _mask(tmp_path, "--new-ids") == 0


def test_after_a_run_that_did_nothing_yet_other_settings_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, {"id": 1, "text": "Mrs. Lund"})

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(masked_file, "_mask_rows", stopped)
        assert _mask(tmp_path) == 130
    assert _mask(tmp_path, "--new-ids") == 0
    # What was given out is not forgotten.
    assert _mask(tmp_path) == 2


def test_after_a_text_that_was_withheld_other_settings_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompt.txt").write_text("Mrs. Lund")
    with monkeypatch.context() as patch:
        patch.setattr("clinaudit.audit.pii.masking.prompt.PromptMasker._write", lambda *_: None)
        assert _mask(tmp_path, prompts="prompt.txt") == 1
    assert (tmp_path / "masked.txt").read_text() == ""
    assert _mask(tmp_path, "--policy", "safe-harbor", prompts="prompt.txt") == 0
    assert (tmp_path / "masked.txt").read_text() == "Mrs. <PERSON_1>"


def test_an_output_of_somebody_else_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prompt.txt").write_text("Mrs. Lund")
    with monkeypatch.context() as patch:
        patch.setattr("clinaudit.audit.pii.masking.prompt.PromptMasker._write", lambda *_: None)
        assert _mask(tmp_path, prompts="prompt.txt") == 1
    (tmp_path / "masked.txt").write_text("mine")
    assert _mask(tmp_path, "--policy", "safe-harbor", prompts="prompt.txt") == 2
    assert (tmp_path / "masked.txt").read_text() == "mine"
