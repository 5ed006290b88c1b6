"""What programs and docs read: the table of estimates as CSV, a verdict as JSON and JUnit XML, the docs' metrics.

Owns the one way in which a table is written, so that equal tables give equal bytes: `results.csv` and
`evidence/results.csv` (docs/results.md, "results.csv"). No text holds a time or a machine's name.
"""

import json
import re
from collections.abc import Mapping
from itertools import groupby
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import polars as pl

from clinaudit.reports.estimates.frame import COLUMNS, METRICS, PLACE, Metric
from clinaudit.reports.schema.run_results import RunReport, Status, Verdict
from clinaudit.reports.wording.escaped_text import escape_in_json
from clinaudit.reports.wording.names import tier_title
from clinaudit.reports.wording.rule_rows import limit_text

#: Decimals of a figure and of the ends of its interval.
DECIMALS: Final = 6
_FIGURES: Final = [name for name, kind in COLUMNS.items() if kind == pl.Float64()]
_TEXTS: Final = [name for name, kind in COLUMNS.items() if kind == pl.String()]


def write_csv(frame: pl.DataFrame) -> str:
    """Return the text of a table, its rows in their order; what does not apply is empty.

    A hidden count is read from its ends: 1 and 10 are `<11`, N−10 and N−1 are `>N−11`.

    Example::

        write_csv(as_estimates([Row("hit_rate", value=0.5)]))  # "metric,form,…\\nhit_rate,,,,,,,0.5,,,,,,,,\\n"
    """
    shown = frame.select(COLUMNS.keys()).with_columns(
        # What rounds to −0 is 0.
        *(
            pl.when(pl.col(name).round(DECIMALS) == 0).then(0.0).otherwise(pl.col(name).round(DECIMALS)).alias(name)
            for name in _FIGURES
        ),
        *(pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in _TEXTS),
    )
    return shown.write_csv(float_scientific=False)


def read_csv(text: str) -> pl.DataFrame:
    """Return the table of a text that `write_csv` wrote; raises `ValueError` for any other text, and quotes none of it.

    So a cell that was edited by hand, `0.50` for `0.5`, is an error, and so are two rows at one place.
    """
    # Polars' message quotes what it could not read.
    problem = ValueError("not a table of estimates as it was written")
    try:
        frame = pl.read_csv(text.encode(), schema=dict(COLUMNS), empty_string_is_null=False)
    except (pl.exceptions.PolarsError, UnicodeEncodeError):
        raise problem from None
    is_finite = all(frame[name].drop_nulls().is_finite().all() for name in _FIGURES)
    if not is_finite or frame.select(PLACE).is_duplicated().any() or write_csv(frame) != text:
        raise problem
    return frame


def metrics_list() -> str:
    """Return what docs/metrics.md lists, from the registry alone: a heading and a list a section."""
    parts = []
    for section, metrics in groupby(METRICS.values(), lambda metric: metric.section):
        parts += [f"\n## {section}\n\n", *map(_item, metrics)]
    return "".join(parts)


def _item(metric: Metric) -> str:
    parts = {
        metric.unit: True,
        "limit": metric.may_be_limited,
        f"chance: {metric.chance}": metric.chance,
        f"paper: {metric.paper}": metric.paper,
    }
    about = "; ".join(part for part, stands in parts.items() if stands)
    of = f" Some of `{metric.part_of}`." if metric.part_of else ""
    return f"- `{metric.id}`, **{metric.title}** ({about}). {metric.sentence}{of}\n"


#: Signs that XML 1.0 cannot hold, escaped or not.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def verdict_json(verdict: Verdict) -> str:
    """Return the text of `gate.json`."""
    return _json(verdict.model_dump(mode="json"))


def run_json(report: RunReport) -> str:
    """Return what `show --json` prints: `results.json` and, under `estimates`, each row without its empty columns."""
    rows = [
        {column: value for column, value in row._asdict().items() if value not in (None, "")}
        for row in report.estimates
    ]
    return escape_in_json(_json({**report.results.model_dump(mode="json"), "estimates": rows}))


def _json(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def verdict_junit(verdict: Verdict) -> str:
    """Return the text of `junit.xml`: words and limits, and no figure, whose place is `results.csv`.

    One test case a rule, by kind of asker. A rule that fails is a failure, one that is inconclusive an error ("could
    not be carried out"): a skipped case would be shown as green. Where no rule has the status of the run, the run is a
    case of its own: an unfinished audit, or a policy of which nothing was measured, never reads as success. Valid under
    the schema of Jenkins' xUnit plugin.
    """
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
