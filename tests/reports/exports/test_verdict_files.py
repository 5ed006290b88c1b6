"""JUnit of a verdict, valid and never green by accident; the JSON of a verdict and of a run."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from lxml import etree
from support.invented_estimates import invented_estimates
from support.invented_verdict import invented_report, invented_verdict

from clinaudit.reports.estimates.frame import COLUMNS, Estimates, as_estimates
from clinaudit.reports.exports import run_json, verdict_json, verdict_junit
from clinaudit.reports.schema.run_results import Rule, RuleStatus, RunResults, Status, Verdict

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parents[2] / "schemas" / "junit-10.xsd"))
PLACE = {"form": "text", "tier": "public", "arm": "train"}


def rule(name: str, status: RuleStatus, reason: str = "because", **changes: Any) -> Rule:
    fields = {"question": f"Is {name} within its limit?", "metric": "own_identifiers", **PLACE, "limit": 0.1}
    return Rule(id=name, kind="identifiers", status=status, reason=reason, **{**fields, **changes})


def verdict(*rules: Rule, status: Status = "fail") -> Verdict:
    return Verdict(status=status, policy="default", reason="in words", rules=list(rules))


def read(found: Verdict) -> ElementTree.Element:
    text = verdict_junit(found)
    SCHEMA.assertValid(etree.fromstring(text.encode()))
    return ElementTree.fromstring(text)


def test_one_case_a_rule_with_its_state() -> None:
    suites = read(verdict(rule("a", "fail", "beyond"), rule("b", "pass"), rule("c", "inconclusive", "no data")))
    (suite,) = suites
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["3", "1", "1", "0"]
    assert [suites.get(key) for key in ("tests", "failures", "errors")] == ["3", "1", "1"]
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert [(child.tag, child.get("message")) for child in cases["a"]] == [("failure", "beyond")]
    assert list(cases["b"]) == []
    assert [(child.tag, child.get("message")) for child in cases["c"]] == [("error", "inconclusive: no data")]


@pytest.mark.parametrize(
    ("status", "tags"), [("pass", []), ("fail", ["failure"]), ("inconclusive", ["error"]), ("incomplete", ["error"])]
)
def test_a_run_that_no_rule_tells_of_is_a_case_of_its_own_unless_it_passes(status: Status, tags: list[str]) -> None:
    # Every rule passes: what is wrong is the run, as where work is missing, or nothing was measured.
    for rules in ([rule("a", "pass")], []):
        suites = read(verdict(*rules, status=status))
        cases = [case for case in suites.iter("testcase") if case.get("name") == "verdict"]
        assert [child.tag for case in cases for child in case] == tags
        assert int(suites.get("failures", "")) + int(suites.get("errors", "")) == len(tags)


def test_json_holds_the_verdict_and_every_row_of_the_table() -> None:
    estimates = Estimates(invented_estimates(train=30, nontrain=30))
    found = invented_verdict(estimates)
    assert Verdict.model_validate_json(verdict_json(found)) == found
    document = json.loads(run_json(invented_report(estimates)))
    rows = document.pop("estimates")
    assert RunResults.model_validate(document).verdict == found
    assert as_estimates(rows).equals(estimates.frame)
    assert not {key for row in rows for key in row} - set(COLUMNS)
