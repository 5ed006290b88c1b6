"""The chart of identifiers: verified values per 1,000 queries by tier, trained on beside never seen, and the limit.

Owns its scale. A chart without anything to draw has no rows.
"""

from collections.abc import Iterable
from typing import Final

from clinaudit.reports.figures.bars import SERIES, BarFigure, Cell, Scale, share_bar, tier_row
from clinaudit.reports.schema.identifiers import IdentifierResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.captions import rule_limit
from clinaudit.reports.wording.identifiers import identifier_figures
from clinaudit.reports.wording.names import ARM_WORDS
from clinaudit.reports.wording.numbers import is_measured, rate_text

_SCALES: Final = tuple(float(step * 10**power) for power in range(1, 6) for step in (1, 2, 5))


def verified_figure(results: RunResults) -> BarFigure:
    """Return verified identifiers per 1,000 queries by tier and arm."""
    by_tier: dict[str, dict[Arm, IdentifierResults]] = {}
    for tier, arm, figures in identifier_figures(results):
        by_tier.setdefault(tier, {})[arm] = figures
    arms = [arm for arm in ARMS if any(arm in of_arm for of_arm in by_tier.values())]
    limits = {tier: rule_limit(results, "verified_per_1000", tier) for tier in by_tier}
    drawn = sorted({limit for limit in limits.values() if limit is not None})
    rates = [figures.verified_per_1000 for of_arm in by_tier.values() for figures in of_arm.values()]
    scale = _fitting_scale(rates, limits=drawn)
    rows = [
        tier_row(
            tier,
            [_cell(of_arm.get(arm), arm, scale=scale, limit=limits[tier]) for arm in arms],
            with_asker=True,
        )
        for tier, of_arm in by_tier.items()
    ]
    rows = rows if any(cell.bars for row in rows for cell in row.cells) else []
    columns = ("Someone who knows …", *(ARM_WORDS[arm].capitalize() for arm in arms))
    line = (
        f"Upright line: the policy's limit on what is above chance, {', '.join(f'{limit:g}' for limit in drawn)}. "
        if drawn
        else ""
    )
    key = f"{line}Pale: a range. Thin line: 95% interval. A full bar is {scale.high:,.0f}."
    return BarFigure(
        "verified-identifiers",
        "Verified identifiers in 1,000 answers",
        "",
        columns,
        tuple(rows),
        key if rows else "",
    )


def _cell(figures: IdentifierResults | None, arm: Arm, *, scale: Scale, limit: float | None) -> Cell:
    rate = None if figures is None else figures.verified_per_1000
    text = rate_text(rate, interval=True)
    if rate is None or not is_measured(rate):
        return Cell((), text)
    # Without an upper end the range goes on to the end of the track.
    drawn = rate if rate.value is not None or rate.high is not None else rate.model_copy(update={"high": scale.high})
    return Cell((share_bar(drawn, series=SERIES[arm], text=text, scale=scale, limit=limit),))


def _fitting_scale(rates: Iterable[EstimateRange], *, limits: Iterable[float]) -> Scale:
    """Return the shortest of a few scales that holds every number, its interval, and twice the limit."""
    ends = [
        end
        for rate in rates
        for end in (rate.value, rate.low, rate.high, rate.confidence_low, rate.confidence_high)
        if end is not None
    ]
    reach = max([*ends, *(2 * limit for limit in limits)], default=0.0)
    return Scale(0.0, next((high for high in _SCALES if reach <= high), reach))
