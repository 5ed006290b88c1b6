"""The verdict as SARIF 2.1.0, for viewers of findings. Holds no times and no machine's name.

Owns what each status of a rule is called there. A rule that could not be decided is `open` ("insufficient information
to decide"), which many viewers hide: so a run that does not pass although no rule fails is a result of its own, an
error, and adds a notification. Else the rules are the results, as many as the report counts. What a rule observed is
the range of its figure.
"""

import hashlib
import json
from typing import Any, Final

from clinaudit.reports.exports.gate_file import lines_of_rules
from clinaudit.reports.schema.decision import PublishedDecision, PublishedRule, Status
from clinaudit.reports.schema.results import round_floats
from clinaudit.reports.wording.escaped_text import harmless_document, harmless_text
from clinaudit.reports.wording.names import STATUSES
from clinaudit.version import VERSION

SARIF_VERSION: Final = "2.1.0"
SCHEMA_URI: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: The rule that a run breaks unless its verdict is a pass.
VERDICT: Final = "verdict"
_KINDS: Final = {"pass": "pass", "fail": "fail", "inconclusive": "open"}
#: The file beside this one that holds each rule in its own words; viewers insist on a place in a file.
_VERDICT_FILE: Final = "gate.json"


def sarif_json(decision: PublishedDecision) -> str:
    """Return the text of `gate.sarif`."""
    log = {"$schema": SCHEMA_URI, "version": SARIF_VERSION, "runs": [_run(decision)]}
    return json.dumps(log, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _run(decision: PublishedDecision) -> dict[str, Any]:
    # Two rules of a policy may limit one thing (by "all" and by name); their description stands once.
    rules = {rule.id: _rule(rule) for rule in decision.rules}
    places = {rule_id: i for i, rule_id in enumerate(rules, start=1)}
    is_shown = decision.status == "pass" or any(rule.status == "fail" for rule in decision.rules)
    return {
        "tool": {
            "driver": {
                "name": "clinaudit",
                "version": VERSION,
                "rules": [_verdict_rule(), *rules.values()],
            }
        },
        "invocations": [_invocation(decision)],
        "columnKind": "unicodeCodePoints",
        "results": [
            *([] if is_shown else [_verdict_result(decision)]),
            *(
                _result(rule, places[rule.id], line)
                for rule, line in zip(decision.rules, lines_of_rules(decision), strict=True)
            ),
        ],
        "properties": {"policy": _plain(decision.policy), "status": decision.status},
    }


def _verdict_rule() -> dict[str, Any]:
    return {
        "id": VERDICT,
        "shortDescription": {"text": "The model passes the policy."},
        "fullDescription": {
            "text": "Every rule of the policy is shown to be kept. A run that could not be told, or that is not "
            "finished, is not a pass."
        },
        "defaultConfiguration": {"level": "error"},
    }


def _rule(rule: PublishedRule) -> dict[str, Any]:
    return {
        "id": _plain(rule.id),
        "shortDescription": {"text": _plain(rule.question)},
        "defaultConfiguration": {"level": "error"},
    }


def _verdict_result(decision: PublishedDecision) -> dict[str, Any]:
    return {
        "ruleId": VERDICT,
        "ruleIndex": 0,
        "kind": "fail",
        "level": "error",
        "message": {"text": f"{STATUSES[decision.status][0]}: {_plain(decision.reason)}"},
        "locations": [_place(VERDICT, 1)],
        "partialFingerprints": {"rule/v1": _fingerprint(VERDICT)},
        "properties": {"status": decision.status},
    }


def _result(rule: PublishedRule, index: int, line: int) -> dict[str, Any]:
    return {
        "ruleId": _plain(rule.id),
        "ruleIndex": index,
        "kind": _KINDS[rule.status],
        # 3.27.10: anything but a failure has no level.
        "level": "error" if rule.status == "fail" else "none",
        "message": {"text": f"{STATUSES[rule.status][0]}: {_plain(rule.reason)}"},
        "locations": [_place(rule.id, line)],
        "partialFingerprints": {"rule/v1": _fingerprint(rule.id)},
        "properties": {
            "status": rule.status,
            "metric": _plain(rule.metric),
            "tier": None if rule.tier is None else _plain(rule.tier),
            "diagnosis": None if rule.diagnosis is None else _plain(rule.diagnosis),
            "limit": rule.limit.model_dump(mode="json"),
            "observed": harmless_document(round_floats(rule.observed.model_dump(mode="json"))),
        },
    }


def _invocation(decision: PublishedDecision) -> dict[str, Any]:
    notices: dict[Status, str] = {
        "incomplete": "The audit is not finished: its verdict is not a pass.",
        "inconclusive": "Whether the model keeps the policy cannot be told: this is not a pass.",
    }
    notice = notices.get(decision.status)
    return {
        "executionSuccessful": decision.status != "incomplete",
        "toolExecutionNotifications": []
        if notice is None
        else [{"level": "error", "message": {"text": notice}, "associatedRule": {"id": VERDICT, "index": 0}}],
    }


def _place(rule_id: str, line: int) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": _VERDICT_FILE}, "region": {"startLine": line}},
        "logicalLocations": [{"fullyQualifiedName": _plain(rule_id), "kind": "rule"}],
    }


def _fingerprint(rule_id: str) -> str:
    return hashlib.sha256(rule_id.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(text: str) -> str:
    """Return a text that steers no viewer and holds no link: `[words](address)` is one in a SARIF message."""
    return harmless_text(text).replace("](", "] (")
