"""The verdict as JUnit XML: valid, and nothing but a pass reads as one."""

from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lxml import etree
from support.results.filled_published import published

from clinaudit.reports.exports.verdict_files import junit_xml
from clinaudit.reports.schema.decision import DecidedRule, GateDecision, Limit
from clinaudit.reports.schema.numbers import ShownEstimate
from clinaudit.reports.wording.verdict import asker_counts_text, rule_counts_text

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parents[2] / "schemas" / "junit-10.xsd"))
RANGE = ShownEstimate(low=0.41, high=0.58, confidence_low=0.3, confidence_high=0.7)


def rule(name: str, status: str, reason: str = "because") -> DecidedRule:
    observed = ShownEstimate(reason="no data") if status == "inconclusive" else RANGE
    return DecidedRule.model_validate(
        {
            "id": name,
            "question": f"Is {name} within its limit?",
            "metric": "attributable_fraction",
            "limit": Limit(max=0.1),
            "status": status,
            "observed": observed,
            "reason": reason,
        }
    )


def decision(*rules: DecidedRule, status: str = "fail") -> GateDecision:
    return GateDecision.model_validate({"status": status, "policy": "default", "reason": "in words", "rules": rules})


def read(found: GateDecision) -> ElementTree.Element:
    text = junit_xml(found)
    SCHEMA.assertValid(etree.fromstring(text.encode()))
    return ElementTree.fromstring(text)


def test_one_case_a_rule_with_its_state() -> None:
    suites = read(decision(rule("a", "fail", "beyond"), rule("b", "pass"), rule("c", "inconclusive", "no data")))
    (suite,) = suites
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["3", "1", "1", "0"]
    assert [suites.get(key) for key in ("tests", "failures", "errors")] == ["3", "1", "1"]
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert [child.tag for child in cases["a"]] == ["failure"]
    assert cases["a"][0].get("message") == "beyond"
    assert list(cases["b"]) == []
    assert [(child.tag, child.get("message")) for child in cases["c"]] == [("error", "inconclusive: no data")]


@pytest.mark.parametrize(
    ("status", "tags"), [("pass", []), ("fail", ["failure"]), ("inconclusive", ["error"]), ("incomplete", ["error"])]
)
def test_a_run_that_no_rule_tells_of_is_a_case_of_its_own_unless_it_passes(status: str, tags: list[str]) -> None:
    # Every rule passes: what is wrong is the run, as where work is missing, or nothing was measured.
    for rules in ([rule("a", "pass")], []):
        suites = read(decision(*rules, status=status))
        cases = [case for case in suites.iter("testcase") if case.get("name") == "verdict"]
        assert [child.tag for case in cases for child in case] == tags
        assert int(suites.get("failures", "")) + int(suites.get("errors", "")) == len(tags)


def test_a_filled_run_is_valid() -> None:
    found = published().decision
    assert found is not None
    suites = read(found)
    counts = Counter(rule.status for rule in found.rules)
    assert len(list(suites.iter("testcase"))) == len(found.rules)
    shown = [int(suites.get(key, "")) for key in ("tests", "failures", "errors")]
    assert shown == [len(found.rules), counts["fail"], counts["inconclusive"]]
    # As the report says it, by kind of asker.
    assert rule_counts_text(found).startswith(f"{shown[1]} of {shown[0]} rules fail, {shown[2]} undecided")
    failed = {case.get("classname") for case in suites.iter("testcase") if len(case) and case[0].tag == "failure"}
    assert asker_counts_text(found).startswith(f"fails for {len(failed)} of 6 kinds of asker")


def test_it_is_deterministic_and_holds_no_time() -> None:
    verdict = decision(rule("a", "fail"))
    assert junit_xml(verdict) == junit_xml(verdict)
    assert "time" not in junit_xml(verdict)


def test_hostile_text_is_escaped_and_control_characters_replaced() -> None:
    suites = read(decision(rule("<b>&\"'", "fail", "bad \x00\x1b[31m \ud800 ]]> text")))
    case = next(suites.iter("testcase"))
    assert case.get("name") == "<b>&\"'"
    assert case[0].get("message") == "bad \ufffd\ufffd[31m \ufffd ]]> text"


def test_a_failure_says_the_range_and_the_limit() -> None:
    suites = read(decision(rule("a", "fail"), rule("b", "inconclusive")))
    failure, error = suites.iter("testcase")
    assert failure[0].text == "Is a within its limit? Observed: 41–58%. Limit: ≤ 10%."
    assert error[0].text == "Is b within its limit? Observed: not measured. Limit: ≤ 10%."
    # A comparison fails by its test: not every failure is one of the limit.
    assert [case[0].get("type") for case in (failure, error)] == ["fail", "inconclusive"]
