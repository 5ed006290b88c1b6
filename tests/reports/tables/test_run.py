"""The tables of a run: its rules, what was done of what was planned, where its figures come from."""

import pytest
from support.results.filled_results import filled

from clinaudit.reports.schema.decision import Decision, Limit, RuleOutcome, Status
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.results import Results, StageCompleteness
from clinaudit.reports.suppression.small_cells import band
from clinaudit.reports.tables.run import completeness_table, provenance_table, rules_table

BEYOND = "decided on the exact figure"


def row_of(observed: Estimate, *, status: Status, limit: Limit) -> tuple[str, ...]:
    rule = RuleOutcome(
        id="memorization/hit_rate/encounter",
        question="Is it?",
        metric="hit_rate",
        tier="encounter",
        limit=limit,
        status=status,
        observed=observed,
        reason="",
    )
    return rules_table(Decision(status="pass", policy="default", reason="", rules=[rule])).rows[0]


@pytest.mark.parametrize(
    ("observed", "status", "limit", "is_said"),
    [
        (band(0.0, 0.07), "pass", Limit(max=0.05), True),
        (band(0.0, 0.05), "pass", Limit(max=0.05), False),
        (band(0.8, 0.95), "pass", Limit(min=0.9), True),
        (band(0.9, 0.95), "pass", Limit(min=0.9), False),
        (band(0.0, 0.07), "fail", Limit(max=0.05), False),
        (band(0.0, 0.07), "inconclusive", Limit(max=0.05), False),
        (Estimate(value=None, reason="fewer than 11 patients"), "pass", Limit(max=0.05), False),
    ],
)
def test_a_rule_that_passes_with_a_band_beyond_its_limit_says_so(
    observed: Estimate, status: Status, limit: Limit, is_said: bool
) -> None:
    assert (BEYOND in row_of(observed, status=status, limit=limit)[4]) is is_said


def test_a_rule_names_its_tier() -> None:
    assert row_of(band(0.0, 0.03), status="pass", limit=Limit(max=0.05))[1] == "4 Appointment details"


def test_the_shipped_labels_are_called_so_beside_their_digest() -> None:
    run = {"settings": {"--judge-labels": "b008", "--seed": 0}}
    assert provenance_table(run, has_shipped_labels=True).rows[0] == ("settings.--judge-labels", "shipped set (b008)")
    assert provenance_table(run).rows[0] == ("settings.--judge-labels", "b008")


def test_exclusions_name_their_tier_by_its_title() -> None:
    stage = next(iter(filled().completeness.values())).model_copy(update={"excluded": {"public_name: no name": 12}})
    table = completeness_table(Results(completeness={"priors": stage}))
    assert table.rows[0][-1] == "Demographics and name: no name: 12"


def test_the_ledger_says_what_is_missing_also_where_sizes_are_suppressed() -> None:
    stages = {
        "generations": StageCompleteness(planned=90, done=80, failed=4),
        "judgements": StageCompleteness(planned=None, done=None, failed=0, missing=0),
    }
    table = completeness_table(Results(completeness=stages))
    assert [row[1:5] for row in table.rows] == [("90", "80", "4", "6"), ("suppressed", "suppressed", "0", "0")]
    assert "0 failed and 0 missing say that all was done" in table.note
    assert "all was done" not in completeness_table(Results(completeness={"generations": stages["generations"]})).note
