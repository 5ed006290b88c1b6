"""A thousand direct identifiers planted in formats that hide them, masked by the detectors that the command uses."""

import json
import re
from pathlib import Path

import pytest
from support.pii.hostile_formats import planted_texts

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.masking.repeated import FoldedText, fold_value

COUNT = 1000


def test_no_planted_identifier_is_left_in_what_is_given_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    planted = list(planted_texts(COUNT, seed=1))
    prompts, out, back = tmp_path / "prompts.jsonl", tmp_path / "masked.jsonl", tmp_path / "back.jsonl"
    prompts.write_text(
        "".join(json.dumps({"id": f"n{number}", "text": one.text}) + "\n" for number, one in enumerate(planted))
    )
    assert run(["mask", str(prompts), "--out", str(out)]) in (0, 1)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    given = [(one, row["text"]) for one, row in zip(planted, rows, strict=True) if row["text"] is not None]
    assert COUNT - len(given) <= COUNT * 0.05
    left = [
        (one.category, one.format)
        for one, text in given
        if one.written in text or fold_value(one.plain) in FoldedText(text).letters
    ]
    assert left == []
    # Clinical content stays.
    assert all(re.search(r"Cough for .*, no fever\..* Continue albuterol, A1c 7\.2%", text, re.S) for _, text in given)
    printed = capfd.readouterr()
    written = printed.out + printed.err + out.read_text()
    assert not [one.format for one in planted if one.plain in written or one.written in written]
    map_file = tmp_path / "masked.jsonl.evidence" / "map.sqlite"
    assert run(["unmask", str(out), "--map", str(map_file), "--out", str(back), "--quiet"]) == 0
    restored = [json.loads(line)["text"] for line in back.read_text().splitlines()]
    assert [text for text in restored if text is not None] == [one.text for one, _ in given]
