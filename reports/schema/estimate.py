"""The atoms of the results: a record, a count of patients, an estimate with its interval (docs/results.md).

Owns what every published number has in common. Knows nothing of which metrics there are.
"""

from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

#: Who was trained on, and who was held out.
Arm = Literal["train", "nontrain"]
ARMS: Final[tuple[Arm, ...]] = get_args(Arm)
#: A count of patients (or one from which it follows); None where suppressed.
Count = Annotated[int, Field(ge=0)] | None


class Record(BaseModel):
    """Base of all records: frozen, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Estimate(Record):
    """A number with its 95% interval, or `value` null with a `reason`.

    A suppressed rate keeps `low` and `high`: the range that its hidden count allows.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    #: Units that the value was computed on: generations, regions or patients, as the field that holds it says.
    n: Count = None
    reason: str | None = None


#: The `reason` of every suppressed estimate, also of one that is suppressed for another's sake.
REASON = "fewer than 11 patients"
