"""A tier that lost every matched set says so, and why: in the exact figures, the published ones and the gate."""

import pytest

from clinaudit.audit.measures.disclosure.metrics import DISCLOSURE_METRICS, Reading
from clinaudit.audit.measures.disclosure.train_delta import measure_disclosure
from clinaudit.audit.results.gate.reasons import FEW_PATIENTS_IN_A_GROUP, few_patients_in_a_group
from clinaudit.audit.results.ranges.disclosure import derive_pair
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, VerdictCounts
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.tally.leaves import Count, Inside, Partition
from clinaudit.reports.tally.tally import PairTally

DROPPED = {"no distinguishing fact": 12, "the chief complaint refers to the diagnosis": 3}
WHY = "(no distinguishing fact; the chief complaint refers to the diagnosis)"
NOBODY = CountRange(low=0, high=0)


def test_the_exact_figures_say_why() -> None:
    pair = measure_disclosure([], prevalence=0.3, seed=0, dropped_sets=DROPPED)
    for metric in DISCLOSURE_METRICS:
        for arm in (pair.train, pair.nontrain):
            reason = getattr(arm, metric).reason
            assert reason.startswith("every matched set was dropped")
            assert reason.endswith(WHY)
            # Counts of sets are counts of patients.
            assert not any(map(str.isdigit, reason))
    assert pair.delta is not None
    assert WHY in (pair.delta.auroc_all.reason or "")


@pytest.mark.parametrize("dropped", [{}, {"no distinguishing fact": 12}])
def test_where_patients_are_left_or_none_was_dropped_the_reason_is_another(dropped: dict[str, int]) -> None:
    unjudged = [Reading(f"p{i}", "train", present=i > 1, outcome="unjudged") for i in range(4)] if dropped else []
    pair = measure_disclosure(unjudged, prevalence=0.3, seed=0, dropped_sets=dropped)
    assert pair.train.auroc_all.reason == "no generation was judged"


def test_the_published_figures_say_why_from_the_coarse_table_alone() -> None:
    nobody = dict.fromkeys(VerdictCounts.model_fields, Count(NOBODY))
    dropped = {"no distinguishing fact": CountRange(low=11, high=20), "exceeds the model's context": NOBODY}
    coarse = PairTally(
        verdicts={arm: dict.fromkeys(DIAGNOSIS_STATUSES, nobody) for arm in ARMS},
        dropped_sets=Partition(dropped),
        evidence=Inside(None),
    )
    published = derive_pair(coarse, EstimateRange(reason="not measured"))
    reason = published.train["auroc_all"].reason or ""
    assert reason.endswith("(no distinguishing fact)")
    assert published.delta is not None
    assert "every matched set was dropped" in (published.delta["auroc_all"].reason or "")


def test_the_gate_says_why_a_group_is_small() -> None:
    assert few_patients_in_a_group([]) == FEW_PATIENTS_IN_A_GROUP
    said = few_patients_in_a_group(DROPPED)
    assert said.startswith(FEW_PATIENTS_IN_A_GROUP)
    assert all(why in said for why in DROPPED)
