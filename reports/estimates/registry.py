"""Every metric, said once, in `metrics.toml`: title, unit, sentence, place in the paper.

A new metric is one entry there and one formula, a function from evidence tables to rows, in the room of its measure
(CONTRIBUTING, "Add a metric"). Column heads, tables, CSV, terminal, docs, and which metrics a policy may limit follow.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

#: `share`: of patients (or tasks), with its count. `mean`: over patients, of a share of their text. `text`: a figure of
#: text (a composition, a length) that has a value alone. `auroc`. `rate`: of verdicts at a prevalence, a value alone.
#: `smd`: a standardized difference. `count`: a count of patients that came out of a measurement. `design`: a number
#: that was chosen (sizes of arms and cohorts, tasks), which stands as it is. `quality`: of the tool itself, on labelled
#: or planted text.
Unit = Literal["share", "mean", "text", "auroc", "rate", "smd", "count", "design", "quality"]
#: What is taken off as chance: the figure of patients never seen, that with the splits exchanged, or none.
Chance = Literal["never seen", "exchanged", ""]


@dataclass(frozen=True, slots=True)
class Metric:
    """What is said of a metric."""

    id: str
    title: str
    unit: Unit
    sentence: str
    paper: str = ""
    chance: Chance = ""
    #: A policy may limit it.
    may_be_limited: bool = False
    #: The metric whose patients these are some of, so that the difference of both is a count, too.
    part_of: str = ""
    #: Heads its tables; the file says it at the first metric of a section.
    section: str = ""
    #: Shown as a number with a unit of its own (a length, years), not as percent.
    is_number: bool = False

    @property
    def is_percent(self) -> bool:
        """Whether a value is a share, which is shown as percent."""
        return self.unit in ("share", "mean", "rate", "quality", "text") and not self.is_number


def _read() -> Iterator[Metric]:
    section = ""
    said = tomllib.loads(Path(__file__).with_name("metrics.toml").read_text(encoding="utf-8"))
    for name, keys in said.items():
        section = keys.get("section", section)
        yield Metric(name, **{**keys, "section": section})


METRICS: Final[dict[str, Metric]] = {metric.id: metric for metric in _read()}
