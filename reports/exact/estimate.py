"""The atoms of the exact results: a count of patients, an estimate with its interval (docs/results.md).

Owns what every exact number has in common. Knows nothing of which metrics there are.
"""

from typing import Annotated

from pydantic import Field

from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.record import Record

#: A count of patients; None where it is not known.
Count = Annotated[int, Field(ge=0)] | None


class Estimate(Record):
    """A number with its 95% interval, or `value` null with a `reason`."""

    value: float | None
    low: float | None = None
    high: float | None = None
    #: Units that the value was computed on: generations, regions or patients, as the field that holds it says.
    n: Count = None
    reason: str | None = None


def exact_estimate(estimate: Estimate) -> PublishedEstimate:
    """Return an exact estimate as a range of no width, beside its 95% interval: in exact reports, of invented text."""
    return PublishedEstimate(
        value=estimate.value,
        low=estimate.value,
        high=estimate.value,
        confidence_low=estimate.low,
        confidence_high=estimate.high,
        reason=estimate.reason,
    )
