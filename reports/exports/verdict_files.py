"""The verdict as files: `gate.json`, JUnit XML and SARIF 2.1.0. None holds a time or a machine's name.

JUnit: one test case a rule, by kind of asker. A rule that fails is a failure, one that is inconclusive an error ("could
not be carried out"): a skipped case would be shown as green. SARIF: one result a rule, which points at its question in
`gate.json`; an inconclusive one is `open` ("insufficient information to decide"). Both count as the report does. Where
no rule has the status of the run, the run is a case or a result of its own: an unfinished audit, or a policy of which
nothing was measured, never reads as success. Valid under the schemas of Jenkins' xUnit plugin and of SARIF 2.1.0.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from clinaudit.reports.schema.decision import DecidedRule, GateDecision, RuleStatus, Status
from clinaudit.reports.schema.results import round_floats
from clinaudit.reports.wording.escaped_text import harmless_document, harmless_text
from clinaudit.reports.wording.names import STATUSES, tier_title
from clinaudit.reports.wording.rule_figures import limit_text, observed_text
from clinaudit.version import VERSION

#: Signs that XML 1.0 cannot hold, escaped or not.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SARIF_VERSION: Final = "2.1.0"
SCHEMA_URI: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: The rule that a run breaks unless its verdict is a pass.
VERDICT: Final = "verdict"
_KINDS: Final = {"pass": "pass", "fail": "fail", "inconclusive": "open"}
_NOTICES: Final[Mapping[Status, str]] = {
    "incomplete": "The audit is not finished: its verdict is not a pass.",
    "inconclusive": "Whether the model keeps the policy cannot be told: this is not a pass.",
}


def gate_json(decision: GateDecision) -> str:
    """Return the text of `gate.json`."""
    return json.dumps(decision.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def lines_of_rules(decision: GateDecision) -> list[int]:
    """Return the line of `gate.json`, from 1, in which each rule asks its question."""
    lines = gate_json(decision).split("\n")
    return [number for number, line in enumerate(lines, 1) if line.startswith('   "question": ')]


# JUnit XML


def junit_xml(decision: GateDecision) -> str:
    """Return the text of `junit.xml`; `observed` of a rule is the range of its figure."""
    statuses: list[str] = [rule.status for rule in decision.rules]
    is_told = decision.status in {"pass", *statuses}
    statuses += [] if is_told else [decision.status]
    counts = {
        "tests": str(len(statuses)),
        "failures": str(statuses.count("fail")),
        "errors": str(statuses.count("inconclusive") + statuses.count("incomplete")),
    }
    suites = Element("testsuites", counts)
    suite = SubElement(
        suites, "testsuite", {"name": _legal(f"clinaudit policy {decision.policy}"), **counts, "skipped": "0"}
    )
    properties = SubElement(suite, "properties")
    SubElement(properties, "property", {"name": "status", "value": decision.status})
    SubElement(properties, "property", {"name": "reason", "value": _legal(decision.reason)})
    if not is_told:
        _add_case(suite, "verdict", "run", decision.status, decision.reason, "Does the model pass the policy?")
    for rule in decision.rules:
        asker = tier_title(rule.tier) if rule.tier else "Anyone"
        text = f"{rule.question} Observed: {observed_text(rule)}. Limit: {limit_text(rule)}."
        _add_case(suite, rule.id, asker, rule.status, rule.reason, text)
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode") + "\n"


def _add_case(suite: Element, name: str, group: str, status: Status, reason: str, text: str) -> None:
    case = SubElement(suite, "testcase", {"classname": _legal(group), "name": _legal(name)})
    if status == "pass":
        return
    found = SubElement(
        case,
        "failure" if status == "fail" else "error",
        {"message": _legal(reason if status == "fail" else f"{status}: {reason}"), "type": status},
    )
    found.text = _legal(text)


def _legal(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


# SARIF


def sarif_json(decision: GateDecision) -> str:
    """Return the text of `gate.sarif`."""
    # Two rules of a policy may limit one thing (by "all" and by name); their description stands once.
    questions = {VERDICT: "The model passes the policy."} | {rule.id: rule.question for rule in decision.rules}
    places = {rule_id: place for place, rule_id in enumerate(questions)}
    results = [
        _sarif_result(rule.id, rule.status, rule.reason, (places[rule.id], line), _sarif_figures(rule))
        for rule, line in zip(decision.rules, lines_of_rules(decision), strict=True)
    ]
    if decision.status != "pass" and not any(rule.status == "fail" for rule in decision.rules):
        # Many viewers hide what is open: a run that does not pass must show an error.
        reason = f"{STATUSES[decision.status][0]}: {_plain(decision.reason)}"
        alert = _sarif_result(VERDICT, "fail", "", (0, 1), {"status": decision.status})
        results.insert(0, alert | {"message": {"text": reason}})
    notice = _NOTICES.get(decision.status)
    run = {
        "tool": {
            "driver": {
                "name": "clinaudit",
                "version": VERSION,
                "rules": [
                    {
                        "id": _plain(rule_id),
                        "shortDescription": {"text": _plain(question)},
                        "defaultConfiguration": {"level": "error"},
                    }
                    for rule_id, question in questions.items()
                ],
            }
        },
        "invocations": [
            {
                "executionSuccessful": decision.status != "incomplete",
                "toolExecutionNotifications": []
                if notice is None
                else [{"level": "error", "message": {"text": notice}, "associatedRule": {"id": VERDICT, "index": 0}}],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"policy": _plain(decision.policy), "status": decision.status},
    }
    log = {"$schema": SCHEMA_URI, "version": SARIF_VERSION, "runs": [run]}
    return json.dumps(log, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _sarif_result(
    rule_id: str, status: RuleStatus, reason: str, place: tuple[int, int], properties: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a result; `place` is that of its rule among the rules, and the line of `gate.json` that holds its text."""
    return {
        "ruleId": _plain(rule_id),
        "ruleIndex": place[0],
        "kind": _KINDS[status],
        # 3.27.10: anything but a failure has no level.
        "level": "error" if status == "fail" else "none",
        "message": {"text": f"{STATUSES[status][0]}: {_plain(reason)}"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": "gate.json"}, "region": {"startLine": place[1]}},
                "logicalLocations": [{"fullyQualifiedName": _plain(rule_id), "kind": "rule"}],
            }
        ],
        "partialFingerprints": {"rule/v1": hashlib.sha256(rule_id.encode("utf-8", "surrogatepass")).hexdigest()},
        "properties": properties,
    }


def _sarif_figures(rule: DecidedRule) -> dict[str, Any]:
    return {
        "status": rule.status,
        "metric": _plain(rule.metric),
        "tier": None if rule.tier is None else _plain(rule.tier),
        "diagnosis": None if rule.diagnosis is None else _plain(rule.diagnosis),
        "limit": rule.limit.model_dump(mode="json"),
        "observed": harmless_document(round_floats(rule.observed.model_dump(mode="json"))),
    }


def _plain(text: str) -> str:
    """Return a text that steers no viewer and holds no link: `[words](address)` is one in a SARIF message."""
    return harmless_text(text).replace("](", "] (")
