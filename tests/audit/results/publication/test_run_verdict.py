"""The verdict on a finished run: recorded, or another policy's; and what contradicts it."""

import json
from pathlib import Path

import polars as pl
import pytest
from support.runs.finished_run import make_finished_run
from support.runs.tables import exact_of

from clinaudit.audit.results.gate.policy import load_policy
from clinaudit.audit.results.gate.verdict import decide
from clinaudit.audit.results.publication.published_files import (
    ESTIMATES,
    find_verdict,
    read_exact,
    read_published,
    require_concluded,
    require_decided,
)
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.statistics.estimates import count_row
from clinaudit.errors import IntegrityError
from clinaudit.reports.estimates.frame import Estimates, as_estimates, at
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.exports import write_csv
from clinaudit.reports.schema.run_results import Rule, RunReport, RunResults, Verdict


@pytest.fixture
def finished(tmp_path):
    return make_finished_run(tmp_path / "run")


def edit(path, **changed):
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changed}), encoding="utf-8")


def recorded(finished):
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


AT = {"form": "text", "tier": "public", "arm": "train"}


def told(status, missing, left_out, *rules):
    """Return a published run of 40 patients, of whom so many were left out, and of the others so many not judged."""
    asked_of = [Rule(id=of, kind="own", question="", metric="hit_rate", limit=0, status=of, reason="") for of in rules]
    asked = 40 - left_out
    exact = as_estimates(
        [
            at("patients", **AT)._replace(value=float(asked)),
            count_row("excluded", left_out, 40, **AT, by="reason", part="no fact"),
            count_row("missing", missing, asked, **AT, by="stage", part="judgements"),
        ]
    )
    verdict = Verdict(status=status, policy="default", reason="", rules=asked_of)
    return RunReport(RunResults(verdict=verdict), Estimates(publish(exact)), {})


@pytest.mark.parametrize(
    ("missing", "left_out", "is_printed"),
    [(3, 0, False), (15, 0, True), (15, 3, False), (3, 35, False), (5, 15, False)],
)
def test_missing_work_is_told_whether_or_not_its_number_is(missing, left_out, *, is_printed):
    run = told("incomplete", missing, left_out)
    (row,) = run.estimates.rows("missing")
    assert (row.count_low == row.count_high == missing) == is_printed
    require_concluded(run)
    with pytest.raises(IntegrityError):
        require_concluded(told("fail", missing, left_out))


def test_a_status_that_the_published_rows_contradict_is_refused():
    require_concluded(told("inconclusive", 0, 3))
    require_concluded(told("pass", 0, 0, "pass"))
    # A pass of all rules is none where work is missing.
    passed = told("pass", 5, 0, "pass")
    for run in (told("incomplete", 0, 3), told("inconclusive", 5, 0), told("pass", 0, 0), passed):
        with pytest.raises(IntegrityError):
            require_concluded(run)


def test_a_metric_that_nobody_knows_is_no_table_of_this_program(tmp_path):
    for name in ("results.json", "run.json"):
        (tmp_path / name).write_text("{}")
    for metric, is_known in (("hit_rate", True), ("hit_rte", False)):
        (tmp_path / "results.csv").write_text(write_csv(as_estimates([at(metric)])))
        if is_known:
            assert read_published(RunDirectory(tmp_path)).estimates.find(metric)
        else:
            with pytest.raises(IntegrityError, match="is not the table that the audit wrote"):
                read_published(RunDirectory(tmp_path))
