"""`clinaudit unlearn evaluate`: what it prints and with which status it ends. What it measures has tests of its own."""

from pathlib import Path
from typing import Any

import pytest

from clinaudit.audit.commands.main import run
from clinaudit.audit.unlearning.evaluation import evaluate as door
from clinaudit.audit.unlearning.evaluation.evaluate import EvaluationRequest
from clinaudit.reports.schema.unlearning_scores import ScoresDocument


def _figure(value: float | None) -> dict[str, Any]:
    return {"value": value, "interval": [None, None], "answers": 3}


def _of(role: str, value: float | None, *, use: str = "train") -> dict[str, Any]:
    return {role: {"factual": {use: _figure(value)}}}


_FIELDS = {
    "format": 1, "bench": "b", "split": "random:10", "form": "addressed", "seed": 0, "resamples": 0, "made_with": {},
    "question_count": 1200, "set_aside_patients": 0, "patients": {}, "items": [],
    "models": {
        "tuned": {
            "afe": {"forget": {"factual": {"train": _figure(0.25), "holdout": _figure(0.5)}}},
            "ls": _of("forget", 0.125),
            "ds": _of("forget", 0.0),
            "mu": _of("retain", 0.75),
            "same_category": {"mu": {**_of("same", 0.5), **_of("others", 0.875)}},
        },
    },
}  # fmt: skip
DOCUMENT = ScoresDocument.model_validate(_FIELDS)


def test_options_reach_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[EvaluationRequest] = []

    def evaluate(request: EvaluationRequest, _progress: object) -> dict[str, ScoresDocument]:
        asked.append(request)
        return {"random:10": DOCUMENT}

    monkeypatch.setattr(door, "evaluate", evaluate)
    models = [str(tmp_path / "tuned"), f"npo={tmp_path / 'forgot'}"]
    options = ["--split", "cancer:10", "--form", "paper", "--before", "npo", "--no-robustness"]
    status = run(["unlearn", "evaluate", *models, "--bench", "bench", "--out", "result", *options, "--seed", "3"])
    assert status == 0
    (request,) = asked
    assert [place.name for place in request.models] == ["tuned", "npo"]
    assert (request.split_name, request.form, request.before, request.seed) == ("cancer:10", "paper", "npo", 3)
    assert request.has_robustness is False
    assert "0.750" in capsys.readouterr().out
    tried = ["--samples", "8", "--relearning-steps", "5", "--relearning-rate", "1e-3"]
    assert run(["unlearn", "evaluate", *models, "--bench", "bench", "--out", "result", *tried]) == 0
    chosen = asked[-1].robustness
    assert (chosen.samples, chosen.relearning.steps, chosen.relearning.learning_rate) == (8, 5, 1e-3)
    status = run(["unlearn", "evaluate", *models, "--bench", "b", "--out", "r", "--no-robustness", "--samples", "8"])
    assert status == 2
    assert "leave --samples out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--bench", "bench", "--out", "result"], 2, "MODEL"),
        (["=model", "--bench", "bench", "--out", "result"], 2, "NAME=DIR"),
        (["model", "--out", "result"], 2, "--bench"),
        (["model", "--bench", "bench", "--out", "result", "--quiet"], 3, "holds no finished benchmark"),
    ],
)
def test_what_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench").mkdir()
    assert run(["unlearn", "evaluate", *arguments]) == status
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    assert not (tmp_path / "result").exists()
