"""An audit of a model that its engine reads wrongly ends before anything is asked; a skipped test is said."""

import pytest
from support.runs.command_line import FAST, command

from clinaudit.audit.commands.main import run
from clinaudit.audit.runtime.model.engines import transformers_engine

pytestmark = pytest.mark.slow


def test_a_wrong_engine_ends_the_audit_unless_the_test_is_skipped(tiny_demo, tmp_path, monkeypatch, capsys):
    pick = transformers_engine._pick

    def second_best_in_batches(logits, rows):
        """What padding does to a model whose positions are not its own."""
        return pick(logits, rows) if len(rows) == 1 else logits.topk(2).indices[:, 1]

    monkeypatch.setattr(transformers_engine, "_pick", second_best_in_batches)
    arguments = command(tiny_demo, tmp_path / "run", *FAST, "--no-score")[1:]
    assert run(arguments) == 3
    said = capsys.readouterr().err
    assert (
        "the self-test failed: the transformers engine continues a text otherwise than transformers' generate" in said
    )
    assert "--skip-self-test goes on, and the report says so" in said
    assert not (tmp_path / "run" / "report.html").exists()
    short = ["--no-score", "--skip-self-test", "--max-new-tokens", "24"]
    skipped = command(tiny_demo, tmp_path / "skipped", *FAST, *short)[1:]
    assert run(skipped) in (0, 1, 8)
    assert "The self-test of the model was left out" in (tmp_path / "skipped/report.html").read_text()
