"""The verdict as JUnit XML: one test case a rule, so that a build server shows it. Holds no times.

A rule that fails is a failure, one that is inconclusive is skipped with its reason: a build server counts it neither
as passed nor as failed, and the exit status of `clinaudit gate` says the rest.
"""

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from clinaudit.reports.results import Decision

#: Signs that XML 1.0 cannot hold, escaped or not.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(decision: Decision) -> str:
    """Return the text of `junit.xml` for a decision that is already suppressed."""
    statuses: list[str] = [rule.status for rule in decision.rules]
    suite = Element(
        "testsuite",
        {
            "name": _legal(f"clinaudit policy {decision.policy}"),
            "tests": str(len(statuses)),
            "failures": str(statuses.count("fail")),
            "errors": "0",
            "skipped": str(statuses.count("inconclusive")),
        },
    )
    properties = SubElement(suite, "properties")
    SubElement(properties, "property", {"name": "status", "value": decision.status})
    SubElement(properties, "property", {"name": "reason", "value": _legal(decision.reason)})
    for rule in decision.rules:
        case = SubElement(suite, "testcase", {"classname": _legal(rule.metric), "name": _legal(rule.id)})
        if rule.status == "fail":
            failure = SubElement(case, "failure", {"message": _legal(rule.reason), "type": "limit"})
            failure.text = _legal(rule.question)
        elif rule.status == "inconclusive":
            SubElement(case, "skipped", {"message": _legal(f"inconclusive: {rule.reason}")})
    suites = Element("testsuites", {key: suite.attrib[key] for key in ("tests", "failures", "errors", "skipped")})
    suites.append(suite)
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode") + "\n"


def _legal(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
