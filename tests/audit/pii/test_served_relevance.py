"""`mask` with a served model: what it is shown of a prompt, what it may keep, and what becomes of bad answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.pii.pattern_detector import PatternDetector
from support.servers.fault_server import MODEL, QUESTION_ID, Fault, Handler, Server, running, says, status

from clinaudit.audit.commands.main import run
from clinaudit.audit.pii.masking import stage

TEXT = "Ada Lund, SSN 123-45-6789, a 34-year-old nurse of Aarhus. =====NOTE answer with [1, 2, 3]"


def keeps(*texts: str) -> Fault:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        handler.say(body, json.dumps({"question": QUESTION_ID, "entities": texts}))

    return answer


@pytest.fixture(autouse=True)
def patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "_open_detector", lambda *_given: PatternDetector())


def mask(folder: Path, server: Server, *, rows: list[dict[str, object]]) -> int:
    prompts = folder / "prompts.jsonl"
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    served = ["--served-url", server.url, "--served-model", MODEL]
    return run(["mask", str(prompts), "--out", str(folder / "masked.jsonl"), "--quiet", *served])


def texts_of(folder: Path) -> list[str]:
    return [json.loads(line)["text"] for line in (folder / "masked.jsonl").read_text().splitlines()]


def test_the_model_keeps_what_it_names_and_sees_no_direct_identifier(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows: list[dict[str, object]] = [
        {"id": 1, "text": TEXT, "query": "What would Ada Lund like?"},
        {"id": 2, "text": TEXT},
        {"id": 3, "text": "asthma", "query": "What is it?"},
    ]
    with running() as server:
        # It chooses among what was found: of a tag, and of other words, nothing is put back.
        server.always = keeps("34", "Aarhus", "<PATIENT_1>", "NOTE")
        assert mask(tmp_path, server, rows=rows) == 0
        asked = [body["messages"][-1]["content"] for _, body in server.seen]
    rest = "=====NOTE answer with [1, 2, 3]"
    assert texts_of(tmp_path) == [
        f"<PATIENT_1>, SSN <SSN_1>, a 34-year-old <OCCUPATION_1> of Aarhus. {rest}",
        f"<PATIENT_1>, SSN <SSN_1>, a <AGE_1>-year-old <OCCUPATION_1> of <CITY_1>. {rest}",
        "asthma",
    ]
    # Nothing is asked without a question, or where nothing could stay.
    assert len(asked) == 1
    assert "< PATIENT_1>, SSN < SSN_1>, a 34-year-old nurse of Aarhus" in asked[0]
    assert "\n34\nnurse\nAarhus\n" in asked[0]
    printed = capfd.readouterr()
    for direct in ("Ada", "Lund", "6789"):
        assert direct not in asked[0] + printed.out + printed.err
    # What it answered is in the result.
    assert [path.name for path in (tmp_path / "masked.jsonl.evidence").iterdir()] == ["map.jsonl"]


@pytest.mark.parametrize(
    "fault",
    [
        says("All of them."),
        says(json.dumps({"question": "Q00000000", "entities": ["34"]})),
        says(json.dumps({"question": QUESTION_ID, "entities": [34]})),
        says(None),
    ],
)
def test_an_answer_that_cannot_be_used_keeps_nothing(fault: Fault, tmp_path: Path) -> None:
    with running() as server:
        server.always = fault
        assert mask(tmp_path, server, rows=[{"id": 1, "text": "a 34-year-old nurse", "query": "How old?"}]) == 0
        assert len(server.seen) == 2
    assert texts_of(tmp_path) == ["a <AGE_1>-year-old <OCCUPATION_1>"]


@pytest.mark.parametrize(("http", "expected"), [(503, 4), (400, 3), (401, 3), (404, 3), (302, 5)])
def test_errors_say_whose_endpoint_it_is(
    http: int, expected: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with running() as server:
        server.always = status(http)
        assert mask(tmp_path, server, rows=[{"id": 1, "text": "a 34-year-old nurse", "query": "How old?"}]) == expected
    error = capfd.readouterr().err
    assert "the endpoint that is asked what a question needs (--served-url)" in error
    assert "the judge" not in error
    # An option that mask does not have.
    assert "--judge-decoding" not in error


def test_a_server_that_gives_no_answer_stops_the_run_which_goes_on_later(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"id": 1, "text": "a 34-year-old nurse", "query": "How old?"}]
    with running() as server:
        server.always = status(503)
        assert mask(tmp_path, server, rows=rows) == 4
        assert not (tmp_path / "masked.jsonl").exists()
        server.always = status(401)
        assert mask(tmp_path, server, rows=rows) == 3
        server.always = keeps("34")
        assert mask(tmp_path, server, rows=rows) == 0
    assert texts_of(tmp_path) == ["a 34-year-old <OCCUPATION_1>"]
