"""Results of two tiers, as they are published."""

from support.results.filled_results import filled
from support.results.planted_memorization import memorization_of

from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.results import suppress


def published(train: Memorization, nontrain: Memorization | None = None) -> Results:
    first = memorization_of(0.06, 0.012, 40)
    arms = {"train": train} if nontrain is None else {"train": train, "nontrain": nontrain}
    memorization = {"public": {"train": first}, "encounter": arms}
    return suppress(filled().model_copy(update={"memorization": memorization}))
