"""Words of the report: what is hidden, what a band says, and what a rule was decided on."""

import pytest
from support.results.filled_results import filled

from clinaudit.audit.gate.evaluation import evaluate
from clinaudit.audit.gate.policy import load_policy
from clinaudit.reports.schema.decision import Decision, Limit, RuleOutcome, Status
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.small_cells import band
from clinaudit.reports.tables.run import completeness_table, provenance_table, rules_table
from clinaudit.reports.wording.findings import asked_sentence
from clinaudit.reports.wording.names import display_title, display_words
from clinaudit.reports.wording.numbers import estimate_text, short_estimate_text

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


def test_questions_name_diagnoses_as_people_do() -> None:
    questions = " ".join(rule.question for rule in evaluate(load_policy(), filled(), planned_missing=False).rules)
    assert "a diagnosis of HIV among" in questions
    assert "hiv" not in questions


@pytest.mark.parametrize(
    ("estimate", "signed", "long", "short"),
    [
        (band(0.008, 0.992), False, "suppressed (the band says almost nothing)", "suppressed"),
        (band(0.0, 0.79), False, "0.0% to 79% (suppressed)", "[0.0% to 79%]"),
        (band(-0.82, 0.82), True, "suppressed (the band says almost nothing)", "suppressed"),
        (band(-0.4, 0.5), True, "−40% to +50% (suppressed)", "[−40% to +50%]"),
        (band(1.0, 1.0), False, "100% (exact count suppressed)", "100% (exact count suppressed)"),
    ],
)
def test_a_band_is_printed_where_it_says_something(estimate: Estimate, signed: bool, long: str, short: str) -> None:
    assert estimate_text(estimate, share=True, signed=signed) == long
    assert short_estimate_text(estimate, share=True, signed=signed) == short


def test_labels_keep_capitals_where_they_belong() -> None:
    assert (display_title("abortion"), display_words("abortion"), display_words("hiv")) == (
        "Abortion",
        "abortion",
        "HIV",
    )
    assert display_title("american indian or alaska native") == "American Indian or Alaska Native"


def test_the_patients_asked_about_are_counted_where_cohorts_were_matched() -> None:
    results = filled()
    most = max(arms["train"].patients or 0 for arms in results.memorization.values())
    assert f"up to {most} train and" in asked_sentence(results)
    assert asked_sentence(results.model_copy(update={"cohorts": {}})) == ""
    assert asked_sentence(Results()) == ""


def test_the_shipped_labels_are_called_so_beside_their_digest() -> None:
    run = {"settings": {"--judge-labels": "b008", "--seed": 0}}
    assert provenance_table(run, has_shipped_labels=True).rows[0] == ("settings.--judge-labels", "shipped set (b008)")
    assert provenance_table(run).rows[0] == ("settings.--judge-labels", "b008")


def test_exclusions_name_their_tier_by_its_title() -> None:
    stage = next(iter(filled().completeness.values())).model_copy(update={"excluded": {"public_name: no name": 12}})
    table = completeness_table(Results(completeness={"priors": stage}))
    assert table.rows[0][-1] == "Demographics and name: no name: 12"
