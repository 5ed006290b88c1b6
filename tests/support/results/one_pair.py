"""Results of one pair of diagnosis and tier, and figures that are hidden, nearly hidden or shown."""

from support.results.filled_results import filled

from clinaudit.reports.schema.disclosure import DisclosurePair
from clinaudit.reports.schema.disclosure import TestedDelta as Delta
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.schema.results import Results

HIDDEN = Estimate(value=None, reason=REASON)
NEARLY_ALL = Estimate(value=None, low=0.1, high=0.95, reason=REASON)
SHOWN = Estimate(value=0.5, low=0.4, high=0.6, n=90)


def with_pair(results: Results, pair: DisclosurePair) -> Results:
    disclosure = results.disclosure.model_copy(update={"by_diagnosis": {"hiv": {"encounter": pair}}, "mean": {}})
    return results.model_copy(update={"disclosure": disclosure})


def headline_pair() -> DisclosurePair:
    return filled().disclosure.by_diagnosis["hiv"]["encounter"]


def with_delta(metric: str, delta: Delta) -> Results:
    pair = headline_pair()
    assert pair.delta is not None
    return with_pair(filled(), pair.model_copy(update={"delta": pair.delta.model_copy(update={metric: delta})}))
