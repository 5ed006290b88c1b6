"""The verdict on a terminal: its order, its length, and that every rule is shown or counted."""

import re

import pytest
from support.invented_estimates import invented_estimates
from support.invented_verdict import invented_report, invented_verdict

from clinaudit.reports.estimates.frame import Estimates, as_estimates
from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.schema.verdict import Verdict
from clinaudit.reports.terminal.verdict import report_text, verdict_text

ESTIMATES = Estimates(invented_estimates())


@pytest.mark.parametrize("colour", [False, True])
def test_it_fits_a_terminal_and_every_rule_is_counted(colour: bool) -> None:
    report = invented_report(ESTIMATES)
    assert report.results.verdict is not None
    text = re.sub(r"\x1b\[[0-9;]*m", "", report_text(report, colour=colour))
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("FAIL (policy default): ")
    headed = [int(number) for number in re.findall(r"^(?:Failed, |Open, |Passed: )(\d+) rules?", text, re.M)]
    assert sum(headed) == len(report.results.verdict.rules)
    assert text == re.sub(r"\x1b\[[0-9;]*m", "", report_text(report))


def test_a_failed_rule_has_its_figure_its_limit_and_what_goes_beyond_chance() -> None:
    verdict = invented_verdict(ESTIMATES)
    rule = next(one for one in verdict.rules if one.metric == "attributable_fraction" and one.status == "fail")
    alone = verdict.model_copy(update={"rules": [rule]})
    row = ESTIMATES.find(rule.metric, form="text", tier=rule.tier, arm="train")
    assert row is not None
    assert row.value is not None
    text = " ".join(verdict_text(alone, ESTIMATES).split())
    assert f"Own text (at most 5%): Appointment, complaint and history {100 * row.value:.0f}% (" in text
    assert re.search(r"beyond chance \+[0-9.]+% \(\+[0-9.]+ to \+[0-9.]+\)", text)
    rule = next(one for one in verdict.rules if one.kind == "diagnoses" and one.status == "fail")
    text = " ".join(verdict_text(verdict.model_copy(update={"rules": [rule]}), ESTIMATES).split())
    assert re.search(r"\w+ \(at most 0\.25\): .* 0\.\d\d \(0\..*\), beyond chance \+0\.\d\d \(\+0\.", text)


def test_published_bounds_stand_as_such() -> None:
    verdict = invented_verdict(ESTIMATES)
    rule = next(one for one in verdict.rules if one.metric == "own_identifiers").model_copy(
        update={"status": "fail", "beyond_chance": ""}
    )
    row = ESTIMATES.find("own_identifiers", form="text", tier=rule.tier, arm="train")
    assert row is not None
    hidden = row._replace(value=None, low=0.0, high=0.08, count_low=1, count_high=10, of_low=130, of_high=130)
    shown = Estimates(as_estimates([hidden]))
    assert "Public facts fewer than 11 of 130: below 8.5% (0 to 8)" in verdict_text(
        verdict.model_copy(update={"rules": [rule]}), shown
    )


def test_a_run_without_a_verdict_says_so_and_exact_figures_are_marked() -> None:
    text = report_text(RunReport(RunResults(warnings=["look"]), ESTIMATES, {}, is_exact=True))
    assert text.splitlines() == [
        "No verdict: no policy was applied. Every figure stands in results.csv.",
        "",
        "Exact figures. They are PHI: do not pass this on. 1 warning in the report.",
    ]
    unfinished = Verdict(status="incomplete", policy="x", reason="a stage did not end", rules=[])
    assert verdict_text(unfinished, ESTIMATES) == "INCOMPLETE (policy x): a stage did not end"
