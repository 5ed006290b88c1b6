"""Is a text masked to the same bytes by one process and by several, and is nothing left where its parts are cut?"""

import json
from itertools import cycle, islice
from pathlib import Path

import pytest
from support.pii.hostile_formats import planted_texts
from support.pii.masked_by_rules import BY_RULES
from support.pii.pattern_detector import PatternDetector

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.masking import MaskedPrompt, PromptMasker, prompt
from clinaudit.audit.pii.masking.detection import FoldedText, fold_value
from clinaudit.audit.pii.masking.prompt import mask_prompts
from clinaudit.audit.runtime.run.processes import open_processes

_PART_CHARS = 3_000
_SHARED_CHARS = 600


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "PART_CHARS", _PART_CHARS)
    monkeypatch.setattr(prompt, "SHARED_CHARS", _SHARED_CHARS)


def _by_processes(texts: list[tuple[str, str | None]], count: int) -> list[MaskedPrompt]:
    with open_processes(PromptMasker(BY_RULES), count) as processes:
        return mask_prompts(texts, processes)


@pytest.mark.usefixtures("short_parts")
def test_several_processes_write_what_one_does() -> None:
    hostile = [one.text for one in planted_texts(30, seed=7)]
    # Long ones, which are looked through in parts, beside short ones.
    texts: list[tuple[str, str | None]] = [("\n".join(hostile), "How old is she?"), ("\r\n".join(hostile[::-1]), None)]
    texts += [(text, "When was she seen?") for text in hostile[:6]]
    alone = _by_processes(texts, 1)
    assert alone == _by_processes(texts, 3)
    assert sum(one.tags for one in alone) > 50
    assert alone[0].text is not None


@pytest.mark.usefixtures("short_parts")
def test_nothing_is_left_where_parts_are_cut() -> None:
    # No line and no blank to cut at: every part ends in the middle of something, at a place that moves by one.
    hostile = list(islice(cycle(planted_texts(40, seed=5)), 60))
    for filler in ("She was seen for a cough; the chest is clear. ", "x" * 37 + "\n"):
        text = "".join(filler * 3 + one.text + " " for one in hostile)
        (masked,) = _by_processes([(text, None)], 2)
        assert masked.text is not None
        letters = FoldedText(masked.text).letters
        assert [one.format for one in hostile if one.written in masked.text or fold_value(one.plain) in letters] == []


@pytest.mark.usefixtures("short_parts")
def test_a_sentence_across_every_cut_is_masked_as_in_a_text_of_its_own() -> None:
    line = "Mr. Zora Quexborough, SSN 412-55-6789, phone 617-555-0134, was seen on 03/14/2024. "
    whole = line * 200
    (masked,) = _by_processes([(whole, None)], 2)
    (once,) = _by_processes([(line, None)], 1)
    assert once.text is not None
    assert masked.text == once.text * 200


def test_a_text_on_which_a_detector_fails_in_a_process_is_withheld_alone() -> None:
    texts: list[tuple[str, str | None]] = [("SSN 412-55-6789", None), ("Quexborough", None), ("none", None)]
    with open_processes(PromptMasker(PatternDetector(fails_on="Quexborough")), 2) as processes:
        masked = mask_prompts(texts, processes)
    assert [one.text for one in masked] == ["SSN <SSN_1>", None, "none"]
    assert masked[1].withheld == "a detector failed"


@pytest.mark.usefixtures("short_parts")
def test_the_command_gives_the_same_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [one.text for one in planted_texts(15, seed=9)]
    texts.append("\n".join(texts))
    rows = [{"id": f"row-{number}", "text": text, "query": "How old is he?"} for number, text in enumerate(texts)]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "prompt.txt").write_text("\n".join(texts))
    for name in ("prompts.jsonl", "prompt.txt"):
        written = []
        for count in ("1", "3"):
            out = tmp_path / f"{count}-{name}"
            assert run(["mask", str(tmp_path / name), "--out", str(out), "--processes", count, "--quiet"]) in (0, 1)
            written.append(out.read_bytes())
        assert written[0] == written[1] != b""
    capsys.readouterr()
