"""The learning rate from a fixed grid: as much as retained patients bear who are neither trained on nor evaluated.

Owns who they are and the rule [choice]. Each rate is tried in full; the largest counts with which the mean loss a token
on these patients rises by no more than a tenth of a nat (10% of perplexity). Knows nothing of how a rate is tried.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from clinaudit.audit.unlearning.benchmark.records import Split
from clinaudit.errors import BadInputError

#: How far the loss may rise, in nats a token.
MOST_RISE: Final = 0.1
#: Of the retained patients, in percent, and at most so many.
_TUNING_PERCENT: Final = 10
_MOST_TUNING: Final = 20
#: Retained patients without whom no rate can be chosen.
_LEAST_RETAINED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedRate:
    """What became of one learning rate."""

    learning_rate: float
    #: Mean loss a token after it, in nats, on the tuning patients; None where the training diverged.
    tuning_loss: float | None
    #: The same on what was to be forgotten.
    forget_loss: float | None


def tuning_patients(split: Split) -> tuple[str, ...]:
    """Return the retained patients of a split who are set aside to choose a rate: a tenth, at most 20, by a hash.

    No evaluation may count them. Raises `BadInputError` where too few are retained.
    """
    if len(split.retain) < _LEAST_RETAINED:
        raise BadInputError(
            f"the split {split.name} retains {len(split.retain)} patients, too few to set some aside and choose a "
            "learning rate; give one with --learning-rate"
        )
    ordered = sorted(split.retain, key=lambda one: hashlib.sha256(f"{split.name}\0{one}".encode()).digest())
    return tuple(sorted(ordered[: min(_MOST_TUNING, len(ordered) * _TUNING_PERCENT // 100)]))


def choose_rate(tried: Sequence[TriedRate], *, before: float) -> int | None:
    """Return the place of the largest rate that is borne; None where none is. `before` is the loss before any."""
    borne = [
        place
        for place, one in enumerate(tried)
        if one.tuning_loss is not None and one.tuning_loss <= before + MOST_RISE
    ]
    return max(borne, key=lambda place: tried[place].learning_rate, default=None)


def describe_choice(tried: Sequence[TriedRate], *, before: float) -> dict[str, Any]:
    """Return the choice as `evidence/unlearn.json` holds it."""
    return {
        "tuning_loss_before": before,
        "most_rise": MOST_RISE,
        "tried": [asdict(one) for one in tried],
    }
