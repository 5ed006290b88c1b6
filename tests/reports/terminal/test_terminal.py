"""Plain text on a terminal: order and length of a verdict and of a comparison."""

import re

import pytest
from support.compared_results import compared
from support.invented_estimates import invented_estimates
from support.invented_verdict import invented_report, invented_verdict
from support.runs.tables import row_of, value_of

from clinaudit.reports.estimates.frame import Estimates, as_estimates
from clinaudit.reports.schema.run_results import Rule, RunReport, RunResults, Verdict
from clinaudit.reports.terminal import comparison_text, report_text, verdict_text
from clinaudit.reports.wording.certificate import verdicts_sentence

ESTIMATES = Estimates(invented_estimates())
VERDICT = invented_verdict(ESTIMATES)


def test_a_verdict_fits_a_terminal_and_every_rule_is_counted() -> None:
    report = invented_report(ESTIMATES)
    text = report_text(report)
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("FAIL (policy default): ")
    headed = [int(number) for number in re.findall(r"^(?:Failed, |Open, |Passed: )(\d+) rules?", text, re.M)]
    assert sum(headed) == len(report.rules)


def shown(rule: Rule, estimates: Estimates = ESTIMATES) -> str:
    """Return what is printed of one rule that fails, in one line."""
    alone = VERDICT.model_copy(update={"rules": [rule.model_copy(update={"status": "fail"})]})
    return " ".join(verdict_text(alone, estimates).split())


def test_a_failed_rule_has_its_figure_its_limit_and_what_goes_beyond_chance() -> None:
    rule = next(one for one in VERDICT.rules if one.metric == "attributable_fraction" and one.status == "fail")
    value = value_of(ESTIMATES, rule.metric, form="text", tier=rule.tier, arm="train")
    assert f"Own text (at most 5%): Appointment, complaint and history {100 * value:.0f}% (" in shown(rule)
    assert re.search(r"beyond chance \+[0-9.]+% \(\+[0-9.]+ to \+[0-9.]+\)", shown(rule))
    rule = next(one for one in VERDICT.rules if one.kind == "diagnoses" and one.status == "fail")
    assert re.search(r"\w+ \(at most 0\.25\): .* 0\.\d\d \(0\..*\), beyond chance \+0\.\d\d \(\+0\.", shown(rule))
    # A published bound stands as such.
    rule = next(one for one in VERDICT.rules if one.metric == "own_identifiers")
    row = row_of(ESTIMATES, "own_identifiers", form="text", tier=rule.tier, arm="train")
    hidden = row._replace(value=None, low=0.0, high=0.08, count_low=1, count_high=10, of_low=130, of_high=130)
    bound = shown(rule, Estimates(as_estimates([hidden])))
    assert "Public facts fewer than 11 of 130: below 8.5% (0 to 8)" in bound


def test_a_run_without_a_verdict_says_so_and_exact_figures_are_marked() -> None:
    text = report_text(RunReport(RunResults(warnings=["look"]), ESTIMATES, {}, is_exact=True))
    assert text.startswith("No verdict")
    assert text.endswith("Exact figures. They are PHI: do not pass this on. 1 warning in the report.")
    unfinished = Verdict(status="incomplete", policy="x", reason="a stage did not end", rules=[])
    assert verdict_text(unfinished, ESTIMATES) == "INCOMPLETE (policy x): a stage did not end"


@pytest.mark.parametrize("exact", [False, True])
def test_of_a_comparison_the_conclusion_comes_first_and_no_line_is_too_wide(exact: bool) -> None:
    content = compared(exact=exact, certified=False)
    text = comparison_text(content)
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    assert content.rules is not None
    assert paragraphs[0] == f"{verdicts_sentence(content.rules)} {content.conclusion}"
    assert paragraphs[1].startswith("Read from the evidence" if exact else "Read from the published tables")
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) <= 40
    assert ("PHI" in text) is exact
    # Published figures say how to get exact ones.
    assert ("--exact" in text) is not exact
