"""The page of the docs on every metric, from the registry alone: docs/metrics.md."""

from itertools import groupby
from typing import Final

from clinaudit.reports.estimates.registry import METRICS, Metric

_HEAD: Final = """\
# Metrics

Every figure of an audit is a row of one table, `results.csv` ([results](results.md)), and `metric` names what it is.
This page is written from the registry, `reports/estimates/metrics.toml`, by `scripts/write-metrics`.

| unit | a row holds |
| --- | --- |
| share | patients (or tasks) with it, of how many: `count_low` of `of_low`; their share with a 95% interval |
| mean | the mean over patients, with a 95% interval; how many patients have more than none, of how many |
| text | a figure of text (a composition, a length): a value alone; `behind` says how many patients it rests on |
| auroc | a value with a 95% interval |
| rate | a rate that is computed of counts: a value alone |
| smd | a standardized difference of means: a value alone |
| count | a number of patients that came out of the measurement |
| design | a number that was chosen: a size of an arm or a cohort |
| quality | a rate of the tool itself, on labelled or planted text |

The column *limit* says what a policy may limit ([policy](policy.md)), and which chance a rule takes off: the figure of
patients *never seen* (of the control model where nobody was held out), the figure with the splits *exchanged*, or none
(*yes*). The last column names places of the paper. A column that a table would leave empty is left out.
"""


def metrics_page() -> str:
    """Return the page as Markdown, a table a section of the registry."""
    parts = [_HEAD]
    for section, of_section in groupby(METRICS.values(), lambda metric: metric.section):
        rows = [_cells(metric) for metric in of_section]
        filled = [name for name in rows[0] if any(row[name] for row in rows)]
        lines = [filled, ["---"] * len(filled), *([row[name] for name in filled] for row in rows)]
        parts += [f"\n## {section}\n\n", *(f"| {' | '.join(line)} |\n" for line in lines)]
    return "".join(parts)


def _cells(metric: Metric) -> dict[str, str]:
    of = f" Some of `{metric.part_of}`." if metric.part_of else ""
    return {
        "metric": f"`{metric.id}`",
        "unit": metric.unit,
        "what it says": f"**{metric.title}.** {metric.sentence}{of}".replace("|", "\\|"),
        "limit": (metric.chance or "yes") if metric.may_be_limited else "",
        "paper": metric.paper,
    }
