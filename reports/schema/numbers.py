"""A measured estimate with its 95% interval, as records of unlearning and of the benchmark of identifiers hold it."""

from typing import Annotated

from pydantic import Field

from clinaudit.reports.schema.record import Record


class Estimate(Record):
    """A number with its 95% interval, or `value` null with a `reason`."""

    value: float | None
    low: float | None = None
    high: float | None = None
    #: Units that the value was computed on: generations, regions or patients, as the field that holds it says.
    n: Annotated[int, Field(ge=0)] | None = None
    reason: str | None = None
