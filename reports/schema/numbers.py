"""The published numbers: a count of patients as a class, an estimate as a range (docs/results.md, "results.csv").

And a measured estimate, exact, with its 95% interval.
"""

from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from clinaudit.reports.schema.record import Record


class CountRange(Record):
    """A count of patients: somewhere from `low` to `high`. Nobody is 0 to 0; an exact count has equal ends."""

    low: int = Field(ge=0)
    high: int = Field(ge=0)


NOBODY: Final = CountRange(low=0, high=0)


def exactly(count: int) -> CountRange:
    """Return a class of one number: of the exact report, and of what is invented."""
    return CountRange(low=count, high=count)


def add(counts: Iterable[CountRange], *, of: CountRange | None = None) -> CountRange:
    """Return the range of a sum, cut at the total `of` that it is a part of: classes may add up to more."""
    listed = list(counts)
    low, high = sum(count.low for count in listed), sum(count.high for count in listed)
    return CountRange(low=low, high=high) if of is None else CountRange(low=min(low, of.high), high=min(high, of.high))


#: A count of patients in a record; in JSON it is 0, or `{"low", "high"}`.
Count = Annotated[
    CountRange,
    BeforeValidator(lambda value: NOBODY if value == 0 and not isinstance(value, bool) else value),
    PlainSerializer(lambda count: {"low": count.low, "high": count.high} if count.high else 0),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": 0},
                {
                    "type": "object",
                    "properties": {
                        "low": {"type": "integer", "minimum": 0},
                        "high": {"type": "integer", "minimum": 1},
                    },
                    "required": ["low", "high"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]


#: Why there is no figure of as many patients of either split.
NO_POOLS: Final = "the splits leave no two groups of other patients to compare"


class EstimateRange(Record):
    """A number as it may be published, or a `reason` why there is none.

    `low` to `high` is the range over all tables within the published classes. `value` is given where the number itself
    is (a mean to the whole percent); of what follows from counts it is null. `confidence_low` and `confidence_high` are
    the widest ends of the 95% interval over these tables. Rounded outwards.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    confidence_low: float | None = None
    confidence_high: float | None = None
    reason: str | None = None


class Estimate(Record):
    """A number with its 95% interval, or `value` null with a `reason`."""

    value: float | None
    low: float | None = None
    high: float | None = None
    #: Units that the value was computed on: generations, regions or patients, as the field that holds it says.
    n: Annotated[int, Field(ge=0)] | None = None
    reason: str | None = None


class PatientEstimate(Estimate):
    """A figure of several answers a patient: `low` to `high` is its safe interval (docs/methods.md, section 12)."""

    #: The bootstrap's interval alone, where so many patients make it that it holds what it says; else null.
    bootstrap: tuple[float, float] | None = None


def exact_estimate(estimate: Estimate) -> EstimateRange:
    """Return an exact estimate as a range of no width, beside its 95% interval: in exact reports, of invented text."""
    return EstimateRange(
        value=estimate.value,
        low=estimate.value,
        high=estimate.value,
        confidence_low=estimate.low,
        confidence_high=estimate.high,
        reason=estimate.reason,
    )
