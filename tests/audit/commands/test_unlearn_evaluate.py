"""`clinaudit unlearn evaluate`: what it prints and with which status it ends. What it measures has tests of its own."""

import pytest
from support.unlearning.filled_evaluation import filled_evaluation

from clinaudit.audit.commands.main import run
from clinaudit.audit.unlearning.evaluation import evaluate as door
from clinaudit.audit.unlearning.evaluation.evaluate import EvaluationRequest
from clinaudit.reports.wording.unlearning import Evaluation


def test_options_reach_the_request_and_the_table_is_printed(tmp_path, monkeypatch, capsys):
    asked: list[EvaluationRequest] = []

    def evaluate(request: EvaluationRequest, _progress: object) -> Evaluation:
        asked.append(request)
        return filled_evaluation()

    monkeypatch.setattr(door, "evaluate", evaluate)
    models = [str(tmp_path / "tuned"), f"npo={tmp_path / 'forgot'}"]
    options = ["--split", "cancer:10", "--form", "paper", "--before", "npo", "--no-robustness"]
    status = run(["unlearn", "evaluate", *models, "--bench", "bench", "--out", "result", *options, "--seed", "3"])
    assert status == 0
    (request,) = asked
    assert [place.name for place in request.models] == ["tuned", "npo"]
    assert (request.split_name, request.form, request.before, request.seed) == ("cancer:10", "paper", "npo", 3)
    assert request.has_trials is False
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("cancer:10")
    # AFE, withheld, LS, that of the reference, DS; MU of all retained, of those with the disease, of others.
    row = next(line.split() for line in lines[at:] if line.startswith("sim_npo-cancer-10"))
    assert row[1:] == ["factual", "0.600", "0.900", "0.060", "0.400", "0.000", "0.890", "0.370", "0.890"]
    assert all(len(line) <= 100 for line in lines)
    tried = ["--samples", "8", "--relearning-steps", "5", "--relearning-rate", "1e-3"]
    assert run(["unlearn", "evaluate", *models, "--bench", "bench", "--out", "result", *tried]) == 0
    chosen = asked[-1].trials
    assert (chosen.samples, chosen.relearning.steps, chosen.relearning.learning_rate) == (8, 5, 1e-3)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--bench", "bench", "--out", "result"], 2, "MODEL"),
        (["=model", "--bench", "bench", "--out", "result"], 2, "NAME=DIR"),
        (["model", "--out", "result"], 2, "--bench"),
        (["model", "--bench", "bench", "--out", "result", "--quiet"], 3, "holds no finished benchmark"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, capsys, arguments, status, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench").mkdir()
    assert run(["unlearn", "evaluate", *arguments]) == status
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    assert not (tmp_path / "result").exists()
