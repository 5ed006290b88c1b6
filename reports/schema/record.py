"""What every record of the results is, and the two arms: who was trained on, and who was held out."""

import math
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict

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
