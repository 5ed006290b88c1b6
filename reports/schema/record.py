"""The base of all records of the results, the two arms of patients, and an estimate with its 95% interval."""

import math
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

#: Who was trained on, and who was held out.
Arm = Literal["train", "nontrain"]
ARMS: Final[tuple[Arm, ...]] = get_args(Arm)


class Record(BaseModel):
    """Base of all records: frozen, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


#: Floats are published with this many decimals (docs/methods.md, section 7).
DECIMALS: Final = 6


def round_floats(value: Any) -> Any:
    """Round floats to `DECIMALS`, give 0.0 for -0.0, and sort keys; NaN and infinity are a programming error."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a published figure is not finite")
        return round(value, DECIMALS) + 0.0
    if isinstance(value, dict):
        return {key: round_floats(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [round_floats(item) for item in value]
    return value


class Estimate(Record):
    """A number with its 95% interval, or `value` null with a `reason`.

    Records of unlearning and of the benchmark of identifiers hold it; a figure of an audit is a row of `results.csv`.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    #: Units that the value was computed on: generations, regions or patients, as the field that holds it says.
    n: Annotated[int, Field(ge=0)] | None = None
    reason: str | None = None
