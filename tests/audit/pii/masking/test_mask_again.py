"""Which ids are passed on, and what a masking leaves that refused one."""

import json
from pathlib import Path

import pytest
from support.cases import read_rows

from clinaudit.audit.commands.main import run

ROWS = read_rows("pii/rows.txt")


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


@pytest.mark.parametrize(("key", "status"), ROWS["an id that holds an identifier is refused"])
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
