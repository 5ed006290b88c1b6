"""What a model after a mitigation is allowed, beside the model before it: the limits of every collapse check [choice].

Owns the limits, how they are said, and what keeping them means (docs/comparing-runs.md). Knows nothing of what is
measured.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.comparison import HealthCheck

#: B's share of texts too short to be any may exceed A's by so much, and never exceeds half.
MORE_SHORT: Final = 0.1
MOST_SHORT: Final = 0.5
#: B's share of texts that repeat themselves may exceed A's by so much.
MORE_REPETITION: Final = 0.2
#: B must keep this part of A's mean length, of its share of distinct tokens, and of its share of known pairs.
KEPT_PART: Final = 0.5
TOO_LITTLE: Final = "too little text"


class Limit(NamedTuple):
    """What B is allowed."""

    #: In words.
    allowed: str
    #: Takes A's measure and B's; returns the limit, and whether B keeps it.
    compare: Callable[[float, float], tuple[float, bool]]


class Held(NamedTuple):
    """Whether B keeps a limit."""

    limit: float | None
    #: None: it could not be asked, which is no pass.
    passed: bool | None
    reason: str | None


def hold(limit: Limit, before: float | None, after: float | None, *, nothing_before: str) -> Held:
    """Return whether B's measure keeps a limit; `nothing_before` is the reason where A has none."""
    if before is None:
        return Held(None, None, nothing_before)
    if after is None:
        # A wrote enough for the question, B did not: that is a collapse, not missing data.
        return Held(None, False, TOO_LITTLE)
    return Held(*limit.compare(before, after), None)


def has_collapsed(checks: Iterable[HealthCheck | AnswerCheck]) -> bool | None:
    """Return whether any question failed; None where none did, and some could not be asked."""
    passed = [check.passed for check in checks]
    if False in passed:
        return True
    return None if None in passed or not passed else False


def at_most(more: float, ceiling: float = 1.0) -> Limit:
    """Return the limit that B may be above A by `more`, and no higher than the ceiling."""

    def compare(before: float, after: float) -> tuple[float, bool]:
        limit = min(before + more, ceiling)
        return limit, after <= limit

    never = f", never above {ceiling:.2f}" if ceiling < 1 else ""
    return Limit(f"at most {more:.2f} above A{never}", compare)


def _keeps_part(before: float, after: float) -> tuple[float, bool]:
    limit = KEPT_PART * before
    return limit, after >= limit


NO_LESS_THAN_HALF: Final = Limit("no less than half of A", _keeps_part)
