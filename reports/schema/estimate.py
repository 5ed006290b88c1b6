"""The atoms of the results: a record, a count of patients, a figure with its interval (docs/results.md).

Owns what every published number has in common. Knows nothing of which numbers there are: that is `results`.
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
    """A figure with its 95% interval, or `value` null with a `reason`.

    A suppressed rate keeps `low` and `high`: the range that its hidden count allows.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    #: What the figure was computed on (generations, regions, patients: the field's docstring says which).
    n: Count = None
    reason: str | None = None


REASON = "fewer than 11 patients"
