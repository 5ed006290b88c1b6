"""What every record of the results is, and the two arms: who was trained on, and who was held out."""

from typing import Final, Literal, get_args

from pydantic import BaseModel, ConfigDict

#: Who was trained on, and who was held out.
Arm = Literal["train", "nontrain"]
ARMS: Final[tuple[Arm, ...]] = get_args(Arm)


class Record(BaseModel):
    """Base of all records: frozen, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
