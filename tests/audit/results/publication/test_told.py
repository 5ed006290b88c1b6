"""A recorded verdict is believed unless what is published contradicts it."""

import pytest

from clinaudit.audit.results.publication.published_files import read_published
from clinaudit.audit.results.publication.run_verdict import require_concluded
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.statistics.estimates import count_row
from clinaudit.errors import IntegrityError
from clinaudit.reports.estimates.frame import Estimates, as_estimates, at
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.exports.estimates_csv import write_csv
from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.schema.verdict import Rule, RuleStatus, Status, Verdict

AT = {"form": "text", "tier": "public", "arm": "train"}


def told(status: Status, missing: int, left_out: int, *rules: RuleStatus) -> RunReport:
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
