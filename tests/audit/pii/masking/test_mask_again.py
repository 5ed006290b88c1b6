"""What a masking that failed leaves, and which ids are passed on."""

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
