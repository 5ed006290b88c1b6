"""Results whose cohort was matched a second time."""

from support.results.filled_results import filled

from clinaudit.reports.schema.disclosure import COMPARED_METRICS, DisclosurePair, SecondMatcher, SecondMatching
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.results import Results


def second(pair: DisclosurePair, *, sets: int) -> Results:
    """Results whose cohort for HIV was matched a second time."""
    assert pair.delta is not None
    shown = {metric: getattr(pair.delta, metric) for metric in COMPARED_METRICS}
    matching = SecondMatching(
        status="balanced",
        reason=None,
        sets=sets,
        largest_smd=0.0523,
        delta={"encounter": {name: Estimate(value=d.value, low=d.low, high=d.high) for name, d in shown.items()}},
        pairs={"encounter": pair},
    )
    return filled().model_copy(update={"second_matcher": SecondMatcher(matcher="optimal", diagnoses={"hiv": matching})})
