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

After the unit stand, where there are any: *limit*, if a policy may limit the metric ([policy](policy.md)); *chance*,
which a rule takes off: the figure of patients never seen (of the control model where nobody was held out), or the
figure with the splits exchanged; *paper*, its places in the paper.
"""


def metrics_page() -> str:
    """Return the page as Markdown, a list a section of the registry."""
    parts = [_HEAD]
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
