"""The verdict as files: `gate.json` and JUnit XML. Neither holds a time or a machine's name.

JUnit: one test case a rule, by kind of asker. A rule that fails is a failure, one that is inconclusive an error ("could
not be carried out"): a skipped case would be shown as green. Where no rule has the status of the run, the run is a case
of its own: an unfinished audit, or a policy of which nothing was measured, never reads as success. Valid under the
schema of Jenkins' xUnit plugin.
"""

import json
import re
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from clinaudit.reports.schema.decision import GateDecision, Status
from clinaudit.reports.wording.names import tier_title
from clinaudit.reports.wording.rule_figures import limit_text, observed_text

#: Signs that XML 1.0 cannot hold, escaped or not.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gate_json(decision: GateDecision) -> str:
    """Return the text of `gate.json`."""
    return json.dumps(decision.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def junit_xml(decision: GateDecision) -> str:
    """Return the text of `junit.xml`; `observed` of a rule is the range of its figure."""
    suites = Element("testsuites")
    suite = SubElement(suites, "testsuite", {"name": f"clinaudit policy {decision.policy}", "skipped": "0"})
    properties = SubElement(suite, "properties")
    SubElement(properties, "property", {"name": "status", "value": decision.status})
    SubElement(properties, "property", {"name": "reason", "value": decision.reason})
    if decision.status not in {"pass", *(rule.status for rule in decision.rules)}:
        _add_case(suite, "verdict", "run", decision.status, decision.reason, "Does the model pass the policy?")
    for rule in decision.rules:
        asker = tier_title(rule.tier) if rule.tier else "Anyone"
        text = f"{rule.question} Observed: {observed_text(rule)}. Limit: {limit_text(rule)}."
        _add_case(suite, rule.id, asker, rule.status, rule.reason, text)
    for counted, cases in (("tests", "testcase"), ("failures", "testcase/failure"), ("errors", "testcase/error")):
        for element in (suites, suite):
            element.set(counted, str(len(suite.findall(cases))))
    indent(suites)
    text = tostring(suites, encoding="unicode")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + _NOT_XML.sub("\ufffd", text) + "\n"


def _add_case(suite: Element, name: str, group: str, status: Status, reason: str, text: str) -> None:
    case = SubElement(suite, "testcase", {"classname": group, "name": name})
    if status == "fail":
        SubElement(case, "failure", {"message": reason, "type": status}).text = text
    elif status != "pass":
        SubElement(case, "error", {"message": f"{status}: {reason}", "type": status}).text = text
