"""Attacks from their tallies: which ones a run holds, queries needed, everyday tasks, and membership (docs/results.md).

Membership is as measured, or ranges over all orders that the published classes allow. The patients trained on are
counted by percentile class of those never seen. A patient of a class outranks all never-seen patients below it, none
above it, and any number within: so the AUROC is a weighted mean between two of the class's ends, the weights being the
counts (docs/methods.md, section 14).
"""

from collections.abc import Sequence
from itertools import product
from typing import Final

from clinaudit.audit.statistics.auroc import one_sided_p_value, widest_interval
from clinaudit.audit.statistics.counts import common_total, ranged, share_of, share_range, shares_up_to
from clinaudit.priors.renderings import CONTROL
from clinaudit.reports.schema.attacks import (
    ATTACKS,
    PARTS_ABOVE,
    PERCENTILE_CLASSES,
    QUERY_LIMITS,
    Attack,
    AttackName,
    LeakFigures,
    LeakResults,
    MembershipResults,
    OrdinaryResults,
    QueriesResults,
    Release,
)
from clinaudit.reports.schema.numbers import CountRange, EstimateRange, add, exact_estimate, exactly
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally.attacks import LeakCounts, LeakTally, MembershipTally, OrdinaryTally, QueriesTally
from clinaudit.reports.tally.classes import extreme_means


def list_attacks(results: RunResults, *, release: Release | None) -> list[Attack]:
    """Return every class of attack in order; one that needs the weights is not applicable where these never leave.

    What was asked of nobody trained on, or of too few to have a figure, was not run: it shows nothing.
    """
    memorization = [summary for arms in results.memorization.values() for summary in arms.values()]
    run: dict[AttackName, bool] = {
        "continuation": bool(memorization),
        "other_patients_text": any(summary.other_patients is not None for summary in memorization),
        "identifiers": results.identifiers is not None,
        "queries_needed": any("train" in arms for arms in results.queries.values()),
        "chat": "chat" in results.renderings,
        "control": CONTROL in results.renderings,
        "membership": results.membership is not None and results.membership.is_interpretable is not None,
        "ordinary_use": results.ordinary is not None and results.ordinary.tasks > 0,
        "attribute_inference": bool(results.disclosure.by_diagnosis),
    }
    return [
        Attack(
            name=name,
            status="run"
            if run.get(name)
            else "not applicable"
            if release == "api" and name in ("fine_tuning", "gradients")
            else "not run",
        )
        for name in ATTACKS
    ]


def derive_queries(tally: QueriesTally, *arm: CountRange) -> QueriesResults:
    """Return the results of one tier and arm; `arm` bounds how many they are, unless all of the split were scored."""
    audited, control = (None if of is None else dict(of.cells) for of in (tally.patients, tally.control))
    bounds = [] if tally.of_split else [[bound] for bound in arm]
    patients = common_total([*(list(of.cells.values()) for of in tally.partitions), *bounds])
    shares = [None if cells is None else shares_up_to(QUERY_LIMITS, cells, patients) for cells in (audited, control)]
    return QueriesResults(
        patients=patients,
        by_queries=audited,
        within=shares[0],
        control_by_queries=control,
        control_within=shares[1],
    )


def derive_ordinary(tally: OrdinaryTally) -> OrdinaryResults:
    """Return the results of everyday tasks; shares are of the tasks, with Clopper and Pearson's interval."""
    asked = exactly(tally.tasks.value)

    def figures(counts: LeakCounts) -> LeakFigures:
        tasks = add([counts.tasks.range], of=asked)
        return LeakFigures(tasks=tasks, share=share_of(tasks, asked), patients=counts.patients.range)

    def leak(of: LeakTally) -> LeakResults:
        sampled, chance = (None if pool.value is None else figures(pool.value) for pool in (of.sampled, of.chance))
        return LeakResults(**dict(figures(of.found)), sampled=sampled, chance=chance, evidence=of.evidence.value)

    return OrdinaryResults(
        tasks=tally.tasks.value,
        left_out=tally.left_out.value,
        short=tally.short.value,
        forms=list(tally.forms),
        text=leak(tally.text),
        identifiers=None if tally.identifiers is None else leak(tally.identifiers),
    )


#: Never-seen patients below whom one alone is 1% of them or more.
_ENOUGH_FOR_1: Final = 101
_TOO_FEW_FOR_1: Final = f"fewer than {_ENOUGH_FOR_1} patients never seen: one wrongly found is 1% of them or more"


def derive_membership(tally: MembershipTally) -> MembershipResults:
    """Return the figures of membership; without a partition none, with the reason."""
    none = EstimateRange(reason=tally.reason)
    results = MembershipResults(
        score=tally.score,
        is_interpretable=tally.is_interpretable,
        differ_in=list(tally.differ_in),
        never_seen=tally.never_seen.range,
        trained={},
        auroc=none,
        found_at_10=none,
        found_at_1=none,
        p_value=none,
        evidence=tally.evidence.value,
    )
    if tally.trained is None or tally.score is None:
        return results
    trained, never_seen = {name: tally.trained[name] for name in PERCENTILE_CLASSES}, tally.never_seen.range
    cells, measured = list(trained.values()), tally.evidence.value
    if measured is None:
        auroc = _auroc_range(cells, never_seen)
        p_value = _p_value_range(auroc, add(cells), never_seen)
    else:
        auroc = exact_estimate(measured.auroc[tally.score])
        p_value = EstimateRange(value=measured.p_value, low=measured.p_value, high=measured.p_value)
    has_enough = never_seen.low >= _ENOUGH_FOR_1
    return results.model_copy(
        update={
            "trained": trained,
            "auroc": auroc,
            "found_at_10": share_range(add(cells[2:]), add(cells[:2])),
            "found_at_1": share_range(cells[3], add(cells[:3])) if has_enough else EstimateRange(reason=_TOO_FEW_FOR_1),
            "p_value": p_value,
        }
    )


def _auroc_range(cells: Sequence[CountRange], never_seen: CountRange) -> EstimateRange:
    least, most = [], []
    for size in range(never_seen.low, never_seen.high + 1):
        # A class begins above one of those never seen, who is not below the class before it.
        above = [size // part for part in PARTS_ABOVE]
        least.append(extreme_means([0.0, *(1 - count / size for count in above)], cells)[0])
        most.append(extreme_means([*(1 - (count + 1) / size for count in above), 1.0], cells)[1])
    low, high = min(least), max(most)
    return ranged(low, high, widest_interval(low, high, add(cells).low, never_seen.low))


def _p_value_range(auroc: EstimateRange, trained: CountRange, never_seen: CountRange) -> EstimateRange:
    """Return the p-values of the least and the largest AUROC in groups of the least and the largest sizes."""
    corners = product((auroc.low, auroc.high), (trained.low, trained.high), (never_seen.low, never_seen.high))
    found = [one_sided_p_value(area, *sizes) for area, *sizes in corners if area is not None]
    return ranged(min(found), max(found))
