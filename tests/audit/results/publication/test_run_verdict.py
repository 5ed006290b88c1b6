"""The verdict on a finished run: the recorded one, or another policy's on the evidence; and that none contradicts."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.runs.finished_run import make_finished_run
from support.runs.tables import exact_of

from clinaudit.audit.results.gate.policy import load_policy
from clinaudit.audit.results.gate.verdict import decide
from clinaudit.audit.results.publication.published_files import ESTIMATES, read_exact, read_published
from clinaudit.audit.results.publication.run_verdict import find_verdict, require_concluded, require_decided
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.errors import IntegrityError
from clinaudit.reports.exports.estimates_csv import write_csv
from clinaudit.reports.schema.verdict import Verdict


@pytest.fixture
def finished(tmp_path):
    return make_finished_run(tmp_path / "run")


def edit(path: Path, **changed: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changed}), encoding="utf-8")


def recorded(finished: RunDirectory) -> Verdict:
    return read_published(finished).results.verdict


def test_the_runs_own_policy_is_known_by_its_digest(finished):
    own = recorded(finished), True
    assert find_verdict(finished) == find_verdict(finished, given=Path("default")) == own
    strict, is_own = find_verdict(finished, given=Path("strict"))
    assert (strict.policy, is_own) == ("strict", False)
    exact = read_exact(finished)
    assert strict == decide(
        load_policy(Path("strict")), exact.estimates, exact.results, published=read_published(finished).estimates
    )


@pytest.mark.parametrize("settings", [None, {"--policy": "0" * 64}, {}, []])
def test_a_verdict_whose_policy_is_not_at_hand_is_returned_alone(finished, settings):
    edit(finished.root / "run.json", settings=settings)
    assert find_verdict(finished) == (recorded(finished), True)
    assert not find_verdict(finished, given=Path("default"))[1]
    require_decided(finished)


def test_a_verdict_that_the_exact_figures_contradict_is_found(finished):
    require_decided(finished)
    verdict = recorded(finished)
    # Every rule that failed is said to be open, and the status follows: work is missing.
    rules = [
        rule.model_copy(update={"status": "inconclusive"}) if rule.status == "fail" else rule for rule in verdict.rules
    ]
    edited = verdict.model_copy(update={"status": "incomplete", "rules": rules})
    edit(finished.root / "results.json", verdict=edited.model_dump(mode="json"))
    require_concluded(read_published(finished))
    with pytest.raises(IntegrityError, match="contradicts the exact figures"):
        require_decided(finished)


def test_exact_figures_that_were_changed_with_the_manifest_contradict_the_verdict(finished):
    frame = exact_of(finished.root).frame
    nothing = frame.with_columns(
        pl.when(pl.col("metric") == "attributable_patients").then(0.0).otherwise(pl.col(name)).alias(name)
        for name in ("value", "low", "high")
    )
    (finished.evidence / ESTIMATES).write_text(write_csv(nothing), encoding="utf-8", newline="")
    with pytest.raises(IntegrityError, match="contradicts the exact figures"):
        require_decided(finished)
