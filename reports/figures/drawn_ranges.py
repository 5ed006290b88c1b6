"""What a chart draws of an estimate: its value with its interval, its band, or nothing, and then the caption says so.

Owns the rule that no band is drawn which the tables do not give. Knows nothing of charts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.wording.names import join_words
from clinaudit.reports.wording.numbers import is_suppressed, is_uninformative

_NOTHING: dict[str, float | None] = {"value": None, "low": None, "high": None}


@dataclass(frozen=True, slots=True)
class Mark:
    """One estimate of a chart: its panel, its line, its arm, and the estimate, a share."""

    panel: str
    line: str
    arm: str
    estimate: Estimate | None


def drawn_range(estimate: Estimate | None, *, share: bool = True, signed: bool = False) -> dict[str, float | None]:
    """Return value, low and high as far as they are drawn."""
    if estimate is None or is_uninformative(estimate, share=share, signed=signed):
        return dict(_NOTHING)
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def is_drawn(drawn: dict[str, float | None]) -> bool:
    """Whether anything of an estimate is drawn."""
    return drawn["value"] is not None or drawn["low"] is not None


def chart_rows(marks: Sequence[Mark]) -> list[dict[str, str | float | None]]:
    """Return the rows that `charts.draw_tier_estimates` takes."""
    return [{"panel": m.panel, "tier": m.line, "arm": m.arm, **drawn_range(m.estimate)} for m in marks]


def has_marks(marks: Sequence[Mark]) -> bool:
    """Whether there is anything to draw."""
    return any(is_drawn(drawn_range(mark.estimate)) for mark in marks)


def not_drawn_sentence(marks: Sequence[Mark]) -> str:
    """Return a sentence for the caption that names the suppressed estimates that are not drawn; empty where all are."""
    every = len({mark.panel for mark in marks})
    hidden: dict[str, dict[str, list[str]]] = {}
    for mark in marks:
        if is_suppressed(mark.estimate) and not is_drawn(drawn_range(mark.estimate)):
            hidden.setdefault(mark.arm, {}).setdefault(mark.line, []).append(mark.panel)
    parts = []
    for arm, lines in hidden.items():
        by_panels: dict[str, list[str]] = {}
        for line, panels in lines.items():
            by_panels.setdefault("" if len(panels) == every else join_words(panels), []).append(line)
        named = [(f"{panels} of " if panels else "") + _joined(by_panels[panels]) for panels in sorted(by_panels)]
        parts.append(f" Suppressed in {arm}, and not drawn: {'; '.join(named)}.")
    return "".join(parts)


def _joined(lines: Sequence[str]) -> str:
    """Return the names of lines, joined by partition: "Age: 18-34" and "Age: 80+" as "Age 18-34, 80+"."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        grouping, colon, group = line.partition(": ")
        groups.setdefault(grouping, []).extend([group] if colon else [])
    return ", ".join(f"{grouping} {'/'.join(names)}" if names else grouping for grouping, names in groups.items())
