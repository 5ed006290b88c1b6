"""The verdict as JUnit XML."""

from xml.etree import ElementTree

from filled_results import mean_of

from clinaudit.reports.junit import junit_xml
from clinaudit.reports.results import Decision, Estimate, Limit, RuleOutcome


def rule(name: str, status: str, reason: str = "because") -> RuleOutcome:
    observed = mean_of(0.5) if status != "inconclusive" else Estimate(value=None, reason="no data")
    return RuleOutcome.model_validate(
        {
            "id": name,
            "question": f"Is {name} within its limit?",
            "metric": "memorization.attributable_fraction",
            "limit": Limit(max=0.1),
            "status": status,
            "observed": observed,
            "reason": reason,
        }
    )


def decision(*rules: RuleOutcome) -> Decision:
    return Decision(status="fail", policy="default", reason="a rule failed", rules=list(rules))


def test_one_case_a_rule_with_its_state() -> None:
    text = junit_xml(decision(rule("a", "fail", "beyond"), rule("b", "pass"), rule("c", "inconclusive", "no data")))
    suites = ElementTree.fromstring(text)
    (suite,) = suites
    assert [suites.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["3", "1", "0", "1"]
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert [child.tag for child in cases["a"]] == ["failure"]
    assert cases["a"][0].get("message") == "beyond"
    assert list(cases["b"]) == []
    assert [(child.tag, child.get("message")) for child in cases["c"]] == [("skipped", "inconclusive: no data")]


def test_it_is_deterministic_and_holds_no_time() -> None:
    verdict = decision(rule("a", "fail"))
    assert junit_xml(verdict) == junit_xml(verdict)
    assert "time" not in junit_xml(verdict)


def test_hostile_text_is_escaped_and_control_characters_replaced() -> None:
    text = junit_xml(decision(rule("<b>&\"'", "fail", "bad \x00\x1b[31m \ud800 ]]> text")))
    case = next(ElementTree.fromstring(text).iter("testcase"))
    assert case.get("name") == "<b>&\"'"
    assert case[0].get("message") == "bad \ufffd\ufffd[31m \ufffd ]]> text"


def test_no_rules_give_an_empty_suite() -> None:
    assert ElementTree.fromstring(junit_xml(decision())).get("tests") == "0"
