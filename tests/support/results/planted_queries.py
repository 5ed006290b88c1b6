"""Queries needed of a filled run: patients of the three tiers that quote a note, by arm and by model."""

from collections.abc import Sequence

from clinaudit.audit.results.ranges.attacks import derive_queries
from clinaudit.priors.tiers import FRAGMENT_TIERS, TIER_IDS
from clinaudit.reports.schema.attacks import QUERY_CELLS, QueriesResults
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.tally.attacks import QueriesTally
from clinaudit.reports.tally.leaves import Partition, coarsen

#: Patients of 150 by `QUERY_CELLS`: recited as they are trained on, not given away, and guessed after a history.
RECITED = (52, 92, 6, 0, 0, 0, 0)
KEPT = (0, 0, 0, 0, 0, 138, 12)
GUESSED = (0, 24, 16, 20, 15, 67, 8)


def tally_of_queries(counts: Sequence[int], control: Sequence[int] | None = None) -> QueriesTally:
    """Return so many patients by `QUERY_CELLS`, of the audited model and of the control."""
    cells = [None if of is None else dict(zip(QUERY_CELLS, of, strict=True)) for of in (counts, control)]
    audited, before = cells
    assert audited is not None
    return QueriesTally(
        patients=Partition.of(audited),
        control=None if before is None else Partition.of(before),
    )


def publish_queries(tally: QueriesTally) -> QueriesResults:
    """Return what is published of it."""
    return derive_queries(coarsen(tally))


def queries_of(
    *, nontrain: bool = True, control: bool = True, leaks_from: int = 3
) -> dict[str, dict[Arm, QueriesTally]]:
    """Return queries of 150 patients an arm that are few from a tier (0 to 6) on, and guessed at the last."""
    found: dict[str, dict[Arm, QueriesTally]] = {}
    for step, tier in enumerate(TIER_IDS):
        if tier not in FRAGMENT_TIERS:
            continue
        guessed = GUESSED if step == 5 else KEPT
        before = guessed if control else None
        found[tier] = {"train": tally_of_queries(RECITED if step >= leaks_from else guessed, before)}
        if nontrain:
            found[tier]["nontrain"] = tally_of_queries(guessed, before)
    return found
