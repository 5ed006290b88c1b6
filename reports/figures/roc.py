"""ROC curves (the paper's Figures 9 and 10) as inline SVG, of the exact report alone: a panel a diagnosis and arm.

Owns marks and sizes. Colours come from the style sheet by class; the attributes stand for what reads no style sheet.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.disclosure import DisclosureResults, RocPoint
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.wording.names import display_title

_SIZE: Final = 100
#: Tiers with background facts alone are dashed; those with a fragment of the note are solid.
_DASHES: Final = ("1 3", "3 3", "6 3", "none", "none", "none")
_WIDTHS: Final = ("1.5", "1.5", "1.5", "1", "2", "3")


@dataclass(frozen=True, slots=True)
class RocPanel:
    """One panel: its title, and its curves as an SVG."""

    title: str
    svg: str


def roc_panels(disclosure: DisclosureResults) -> list[RocPanel]:
    """Return a panel a diagnosis and arm; none without exact results."""
    panels = []
    for diagnosis, tiers in disclosure.by_diagnosis.items():
        for arm in ARMS:
            measured = {tier: getattr(pair.evidence, arm) for tier, pair in tiers.items() if pair.evidence is not None}
            curves = {tier: of_arm.roc for tier, of_arm in measured.items() if of_arm is not None and of_arm.roc}
            if curves:
                title = f"{display_title(diagnosis)}, {'trained on' if arm == 'train' else 'never seen'}"
                panels.append(RocPanel(title, draw_roc(curves, arm=arm, label=f"ROC curves: {title}")))
    return panels


def draw_roc(curves: Mapping[str, Sequence[RocPoint]], *, arm: Arm, label: str) -> str:
    """Return an SVG with a curve a tier, from the strictest threshold to the loosest, and the diagonal of chance."""
    lines = [
        f'<path class="axis" d="M0 0V{_SIZE}H{_SIZE}M0 {_SIZE}L{_SIZE} 0" fill="none" stroke="#8a949c"'
        ' stroke-width="0.7"/>'
    ]
    colour = "#b04a00" if arm == "train" else "#3c6e9f"
    for tier, points in curves.items():
        place = TIER_IDS.index(tier) if tier in TIER_IDS else len(TIER_IDS) - 1
        corners = " ".join(f"{x:g},{y:g}" for x, y in _corners(points))
        lines.append(
            f'<polyline class="{"trained" if arm == "train" else "never"}" points="{corners}" fill="none"'
            f' stroke="{colour}" stroke-width="{_WIDTHS[place]}" stroke-dasharray="{_DASHES[place]}"/>'
        )
    name = html.escape(label, quote=True)
    return f'<svg role="img" aria-label="{name}" viewBox="-2 -2 104 104">{"".join(lines)}</svg>'


def _corners(points: Sequence[RocPoint]) -> list[tuple[float, float]]:
    ordered = sorted(points, key=lambda point: -point.threshold)
    rates = [(point.false_positive_rate, point.true_positive_rate) for point in ordered]
    if not rates or rates[0] != (0.0, 0.0):
        rates.insert(0, (0.0, 0.0))
    return [(round(_SIZE * x, 1), round(_SIZE * (1 - y), 1)) for x, y in rates]
