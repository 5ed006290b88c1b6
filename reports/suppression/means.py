"""Small cells in the means over diagnoses: where one diagnosis is a range, so is the mean.

Knows nothing of how a diagnosis is published: that is `disclosure`.
"""

from collections.abc import Sequence

from clinaudit.reports.schema.disclosure import DisclosurePair, MeanOverDiagnoses
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.suppression.small_cells import band, blur, is_withheld, published_range, withhold


def suppress_mean(
    mean: MeanOverDiagnoses, originals: Sequence[DisclosurePair], published: Sequence[DisclosurePair]
) -> MeanOverDiagnoses:
    """Return means that do not give back a hidden diagnosis: where one is a range, so is the mean."""

    def side(figures: dict[str, Estimate], arm: str) -> dict[str, Estimate]:
        kept = {}
        for metric, figure in figures.items():
            before = [_figure(pair, arm, metric) for pair in originals]
            after = [_figure(pair, arm, metric) for pair in published]
            entered = [
                now
                for was, now in zip(before, after, strict=True)
                if was and (was.value is not None or (now is not None and is_withheld(now)))
            ]
            kept[metric] = _suppress_mean_figure(figure, [was for was in before if was], entered)
        return kept

    return MeanOverDiagnoses(
        train=side(mean.train, "train"),
        nontrain=side(mean.nontrain, "nontrain"),
        delta=side(mean.delta, "delta"),
    )


def _suppress_mean_figure(figure: Estimate, before: Sequence[Estimate], entered: Sequence[Estimate | None]) -> Estimate:
    if any(now is not None and is_withheld(now) for now in entered):
        return Estimate(value=None, reason=REASON)
    if figure.value is None:
        return withhold(figure)
    exact = [now for now in entered if now is not None and now.value is not None]
    if len(exact) == len(entered):
        return figure if all(now in before for now in exact) else blur(figure)
    ranges = [published_range(now) for now in entered]
    known = [pair for pair in ranges if pair is not None]
    if len(known) < len(ranges):
        return withhold(figure)
    return band(sum(low for low, _ in known) / len(known), sum(high for _, high in known) / len(known))


def _figure(pair: DisclosurePair, arm: str, metric: str) -> Estimate | None:
    side = getattr(pair, arm)
    figure = getattr(side, metric, None)
    return figure if isinstance(figure, Estimate) else None
