"""Whether a reader of the model can tell who was forgotten from who was never there (docs/unlearning-scores.md).

Owns the comparison of both groups, trait by trait. A model that was made to forget may give itself away by being too
surprised by these patients, or by writing noise about them: then it discloses who asked to be deleted (Deepak et al.,
EMNLP 2025). Knows nothing of how a trait is read off a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.statistics.auroc_error import auroc_of_values
from clinaudit.audit.statistics.intervals import ALPHA, holm
from clinaudit.reports.schema.numbers import Estimate

#: What is read off the model, one number a patient.
TRAITS: Final = ("answer_loss", "answer_entropy", "note_loss", "note_entropy", "te")
#: Patients below whom a group tells nothing [choice].
FEWEST: Final = 5
TOO_FEW: Final = f"fewer than {FEWEST} patients of one of the groups have it"


@dataclass(frozen=True, slots=True)
class Detection:
    """How far one trait tells both groups apart."""

    #: The probability that a forgotten patient has more of it than a never-trained one; 0.5 is best. `n` counts the
    #: patients of both groups.
    auroc: Estimate
    forgotten: int
    never_trained: int
    #: Two-sided, adjusted for the number of traits (Holm 1979); None where `auroc` is.
    p_value: float | None

    @property
    def is_told_apart(self) -> bool | None:
        """Whether it is shown, at 5%, that the groups differ; None where it cannot be told."""
        return None if self.p_value is None else self.p_value < ALPHA


def detect(
    forgotten: Sequence[Mapping[str, float | None]], never_trained: Sequence[Mapping[str, float | None]]
) -> dict[str, Detection]:
    """Return trait -> how far it tells forgotten from never-trained patients; each mapping is of one patient."""
    values = {trait: (_values(forgotten, trait), _values(never_trained, trait)) for trait in TRAITS}
    told = {trait: auroc_of_values(*both, fewest=FEWEST, reason=TOO_FEW) for trait, both in values.items()}
    tested = {trait: one.p_value for trait, one in told.items() if one.p_value is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {
        trait: Detection(told[trait].auroc, len(first), len(second), adjusted.get(trait))
        for trait, (first, second) in values.items()
    }


def _values(patients: Sequence[Mapping[str, float | None]], trait: str) -> list[float]:
    return [value for one in patients if (value := one[trait]) is not None]
