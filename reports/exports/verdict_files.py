"""The verdict as `gate.json` and JUnit XML, and what `show --json` prints. None holds a time or a machine's name.

JUnit: one test case a rule, by kind of asker. A rule that fails is a failure, one that is inconclusive an error ("could
not be carried out"): a skipped case would be shown as green. Where no rule has the status of the run, the run is a case
of its own: an unfinished audit, or a policy of which nothing was measured, never reads as success. Valid under the
schema of Jenkins' xUnit plugin.
"""

import json
import re
from collections.abc import Mapping
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from clinaudit.reports.schema.run_results import RunReport
from clinaudit.reports.schema.verdict import Status, Verdict
from clinaudit.reports.wording.escaped_text import escape_in_json
from clinaudit.reports.wording.names import tier_title
from clinaudit.reports.wording.rule_rows import limit_text

#: Signs that XML 1.0 cannot hold, escaped or not.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def verdict_json(verdict: Verdict) -> str:
    """Return the text of `gate.json`."""
    return _json(verdict.model_dump(mode="json"))


def run_json(report: RunReport) -> str:
    """Return the content of `results.json` and, under `estimates`, each row without its empty columns."""
    rows = [
        {column: value for column, value in row._asdict().items() if value not in (None, "")}
        for row in report.estimates
    ]
    return escape_in_json(_json({**report.results.model_dump(mode="json"), "estimates": rows}))


def _json(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def verdict_junit(verdict: Verdict) -> str:
    """Return the text of `junit.xml`: words and limits, and no figure, whose place is `results.csv`."""
    suites = Element("testsuites")
    suite = SubElement(suites, "testsuite", {"name": f"clinaudit policy {verdict.policy}", "skipped": "0"})
    properties = SubElement(suite, "properties")
    for name in ("status", "reason"):
        SubElement(properties, "property", {"name": name, "value": getattr(verdict, name)})
    if verdict.status not in {"pass", *(rule.status for rule in verdict.rules)}:
        _add_case(suite, "verdict", "run", verdict.status, verdict.reason, "Does the model pass the policy?")
    for rule in verdict.rules:
        asker = tier_title(rule.tier) if rule.tier else "Anyone"
        text = f"{rule.question} Limit: {limit_text(rule)}. {rule.action}"
        _add_case(suite, rule.id, asker, rule.status, rule.reason, text.rstrip())
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
