"""The verdict as SARIF: valid, and nothing but a pass reads as one."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.results.filled_published import published

from clinaudit.reports.exports.verdict_files import gate_json, sarif_json
from clinaudit.reports.schema.decision import DecidedRule, GateDecision, Limit
from clinaudit.reports.schema.numbers import EstimateRange

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
RANGE = EstimateRange(low=0.41, high=0.58, confidence_low=0.3, confidence_high=0.7)
HOSTILE = "<script>\x00\x1b[31m \u202e [link](javascript:0) {0} \ud800 ]]> \"'"


def rule(name: str, status: str, **changes: Any) -> DecidedRule:
    fields = {
        "id": name,
        "question": f"Is {name} within its limit?",
        "metric": "attributable_fraction",
        "tier": "public",
        "limit": Limit(max=0.1),
        "status": status,
        "observed": EstimateRange(reason="no data") if status == "inconclusive" else RANGE,
        "reason": "because",
    }
    return DecidedRule.model_validate(fields | changes)


def decision(status: str, *rules: DecidedRule, policy: str = "default") -> GateDecision:
    return GateDecision.model_validate({"status": status, "policy": policy, "reason": "in words", "rules": rules})


def read(found: GateDecision) -> dict[str, Any]:
    log = json.loads(sarif_json(found))
    jsonschema.Draft7Validator(SCHEMA).validate(log)
    (run,) = log["runs"]
    return dict(run)


def test_each_rule_is_a_result_of_its_kind() -> None:
    run = read(decision("fail", rule("a", "fail"), rule("b", "pass"), rule("c", "inconclusive", reason="no data")))
    kinds = [(result["ruleId"], result["kind"], result["level"]) for result in run["results"]]
    assert kinds == [
        ("a", "fail", "error"),
        ("b", "pass", "none"),
        ("c", "open", "none"),
    ]
    assert run["results"][2]["message"]["text"] == "Inconclusive: no data"
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])


@pytest.mark.parametrize(
    ("status", "level", "notices", "successful"),
    [
        ("pass", "none", 0, True),
        ("fail", "error", 0, True),
        ("inconclusive", "error", 1, True),
        ("incomplete", "error", 1, False),
    ],
)
def test_no_verdict_but_a_pass_reads_as_success(status: str, level: str, notices: int, successful: bool) -> None:
    # Every rule passes: what is wrong is the run, as where work is missing, or nothing was measured.
    for rules in ([rule("a", "pass")], []):
        run = read(decision(status, *rules))
        levels = [result["level"] for result in run["results"] if result["ruleId"] == "verdict"]
        assert levels == ([] if status == "pass" else [level])
        (invocation,) = run["invocations"]
        assert len(invocation["toolExecutionNotifications"]) == notices
        assert invocation["executionSuccessful"] is successful


def test_a_filled_run_is_valid_and_deterministic() -> None:
    found = published().decision
    assert found is not None
    run = read(found)
    assert len(run["results"]) == len(found.rules)
    levels = Counter(result["level"] for result in run["results"])
    assert levels["error"] == sum(rule.status == "fail" for rule in found.rules)
    assert sarif_json(found) == sarif_json(found)


def test_a_result_points_at_the_line_of_the_verdict_that_holds_the_rules_text() -> None:
    found = decision("fail", rule("a", "fail"), rule("b\u2028b", "pass", question='Is\n   "question": it?'))
    lines = gate_json(found).split("\n")
    for result, asked in zip(read(found)["results"], found.rules, strict=True):
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "gate.json"
        assert lines[place["region"]["startLine"] - 1] == f'   "question": {json.dumps(asked.question)},'


def test_hostile_text_steers_no_viewer_and_makes_no_link() -> None:
    text = sarif_json(decision("fail", rule(HOSTILE, "fail", reason=HOSTILE, diagnosis=HOSTILE), policy=HOSTILE))
    run = read(decision("fail", rule(HOSTILE, "fail", reason=HOSTILE, diagnosis=HOSTILE), policy=HOSTILE))
    text.encode("utf-8")
    assert not [sign for sign in text if not sign.isprintable() and sign != "\n"]
    assert "](" not in text
    assert run["results"][0]["message"]["text"].startswith("Fail: <script>")


def test_two_rules_on_one_thing_are_described_once() -> None:
    run = read(decision("fail", rule("a", "fail"), rule("a", "pass")))
    assert [item["id"] for item in run["tool"]["driver"]["rules"]] == ["verdict", "a"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 1]


def test_what_is_observed_is_the_range_of_the_figure() -> None:
    observed = read(decision("fail", rule("a", "fail")))["results"][0]["properties"]["observed"]
    assert observed == {
        "value": None,
        "low": 0.41,
        "high": 0.58,
        "confidence_low": 0.3,
        "confidence_high": 0.7,
        "reason": None,
    }
