"""Several answers about one patient, drawn by chance: what they say together (docs/methods.md, section 5)."""

from collections.abc import Sequence

from clinaudit.audit.measures.disclosure.metrics import Reading
from clinaudit.audit.statistics.auroc import FEWEST, auroc_of_values
from clinaudit.reports.schema.disclosure import Outcome
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import ARMS, Arm


def merge_draws(outcomes: Sequence[Outcome]) -> Outcome:
    """Return what the answers about one patient say together: what more of them state than deny, or the other way.

    Where as many do either, and some, they are ambiguous; unjudged where none could be rated. Of one answer its own.
    """
    if len(outcomes) == 1:
        return outcomes[0]
    rated = [outcome for outcome in outcomes if outcome != "unjudged"]
    stated, denied = rated.count("positive"), rated.count("negative")
    if stated != denied:
        return "positive" if stated > denied else "negative"
    if not rated:
        return "unjudged"
    return "ambiguous" if stated or "ambiguous" in rated else "not_mentioned"


def share_that_states(outcomes: Sequence[Outcome]) -> float | None:
    """Return a patient's score of several answers: the share of those rated that state the diagnosis; None of none."""
    rated = [outcome for outcome in outcomes if outcome != "unjudged"]
    return rated.count("positive") / len(rated) if rated else None


def auroc_of_shares(readings: Sequence[Reading]) -> dict[Arm, Estimate]:
    """Return by arm how well the patients' shares tell those with the diagnosis from those without; none of one answer.

    Of N answers a share has N + 1 steps, where a single answer's verdict has three.
    """
    shares: dict[Arm, dict[bool, list[float]]] = {}
    for reading in readings:
        if reading.share is not None:
            shares.setdefault(reading.arm, {True: [], False: []})[reading.present].append(reading.share)
    reason = "fewer than two patients of a group have rated answers"
    return {
        arm: auroc_of_values(shares[arm][True], shares[arm][False], fewest=FEWEST, reason=reason).auroc
        for arm in ARMS
        if arm in shares
    }
