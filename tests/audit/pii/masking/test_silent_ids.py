"""Ids are passed on as they are: those that say who somebody is are refused."""

import json
from pathlib import Path

import pytest

from clinaudit.audit.commands.main import run


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
