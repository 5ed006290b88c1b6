"""The verdict as JUnit XML: one test case a rule, by kind of asker, counted as the report counts them. Holds no times.

A rule that fails is a failure, one that is inconclusive an error ("could not be carried out"): a skipped case would be
shown as green. Where no rule has the status of the run, a case of the run errs: an unfinished audit, or a policy of
which nothing was measured, never reads as success. Valid under the schema of Jenkins' xUnit plugin.
"""

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from clinaudit.reports.schema.decision import PublishedDecision, PublishedRule, Status
from clinaudit.reports.wording.names import tier_title
from clinaudit.reports.wording.rule_figures import limit_text, observed_text

#: Signs that XML 1.0 cannot hold, escaped or not.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(decision: PublishedDecision) -> str:
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
        _add_case(suite, rule.id, asker, rule.status, rule.reason, _describe(rule))
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


def _describe(rule: PublishedRule) -> str:
    return f"{rule.question} Observed: {observed_text(rule)}. Limit: {limit_text(rule)}."


def _legal(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
