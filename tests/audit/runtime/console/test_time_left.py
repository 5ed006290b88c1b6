"""The time left of a stage, worked out by hand."""

import json

import pytest

from clinaudit.audit.runtime import console
from clinaudit.audit.runtime.console import Progress


@pytest.mark.parametrize("done", [0, 100])
def test_the_first_units_which_load_a_model_and_what_an_earlier_run_did_are_not_reckoned_with(
    done, monkeypatch, capsys
):
    now = iter([0.0, *(60.0 + second for second in range(101))])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(now))
    with Progress(form="json").stage("generating", total=100 + done, unit="answers", done=done) as advance:
        for _ in range(100):
            advance(1)
    said = list(map(json.loads, capsys.readouterr().err.splitlines()))
    # An answer a second, after a minute of loading; a line every ten seconds, the first before three answers.
    assert [(row["done"] - done, row["left"]) for row in said[:3]] == [(1, None), (11, 89.0), (21, 79.0)]
    assert (said[-1]["ended"], said[-1]["seconds"]) == (True, 160.0)
