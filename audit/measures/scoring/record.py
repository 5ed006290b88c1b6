"""The scores of one note, as every stage takes them, and their row in the evidence."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.reports.schema.record import Arm

#: The model under audit, or the control: the same model before it was trained on these patients.
Role = Literal["audited", "control"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)


@dataclass(frozen=True, slots=True, eq=False)
class NoteScores:
    """How likely a model holds each token of one note, after all of the note that stands before it."""

    patient_id: str
    arm: Arm
    note_id: str
    model: Role
    #: The first scored token of the note's own ids: 0 where a special token stands before them, else 1.
    first: int
    #: Natural logarithms of the probabilities, shape (tokens - first,).
    log_probs: npt.NDArray[np.float32]
    #: Mean and standard deviation of log p over the vocabulary, weighted by p, of the same shape; None where the engine
    #: gives the scored tokens alone.
    means: npt.NDArray[np.float32] | None = None
    deviations: npt.NDArray[np.float32] | None = None

    def log_prob(self, begin: int, end: int) -> float:
        """Return log p of the note's tokens `begin` to `end` after all that stands before them."""
        return float(self.log_probs[begin - self.first : end - self.first].sum(dtype=np.float64))


def score_rows(scores: Iterable[NoteScores]) -> Iterator[Row]:
    """Yield the rows of `scores.parquet`."""
    for of in scores:
        yield {
            "patient_id": of.patient_id,
            "arm": of.arm,
            "note_id": of.note_id,
            "model": of.model,
            "first_token": of.first,
            "log_probs": of.log_probs.tolist(),
            "means": None if of.means is None else of.means.tolist(),
            "deviations": None if of.deviations is None else of.deviations.tolist(),
        }
