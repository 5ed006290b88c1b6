"""What a pass needs besides its limits; a stricter policy never gives a better verdict."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results.decided_results import (
    LEAK,
    NONE,
    ONLY_MEMORIZATION,
    POLICY,
    bounds,
    cohort,
    decide,
    delta,
    disclosure,
    memorization,
    pair,
    results,
)

from clinaudit.audit.gate.policy import JudgeLimits, PassRequirements, load_policy
from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.cohorts import BalanceRow
from clinaudit.reports.schema.disclosure import Disclosure, DisclosureResults
from clinaudit.reports.schema.disclosure import TestedDelta as Delta
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.judge import JudgeQuality
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results

ASKING = PassRequirements(
    minimum_patients_per_class=50,
    maximum_short_share=0.05,
    maximum_unjudged_share=0.05,
    maximum_detectable_delta=0.1,
    maximum_smd=0.1,
    nontrain_arm=True,
    judge=JudgeLimits(0.8, 0.85, 0.15),
)
STRICT = replace(POLICY, to_pass=ASKING)
JUDGE_RATE = Estimate(value=0.95, low=0.9, high=0.99, n=99)


def balance(smd: float | None) -> list[BalanceRow]:
    return [BalanceRow(contrast="pos-train vs. neg-train", covariate="age", smd=smd, flag="balanced")]


def judged(low: float = 0.9) -> JudgeQuality:
    fields: dict[str, Any] = {
        "judge": "test",
        "labels": "site",
        "texts": 99,
        "matrix": [],
        "sensitivity": JUDGE_RATE.model_copy(update={"low": low}),
        "specificity": JUDGE_RATE,
        "agreement": {"agreement": JUDGE_RATE, "kappa": JUDGE_RATE, "alpha": JUDGE_RATE},
        "accuracy_by_class": {},
        "accuracy_by_diagnosis": {},
        "flip_rate": Estimate(value=0.0, low=0.0, high=0.05, n=59),
        "hiding_rate": NONE,
    }
    return JudgeQuality(**fields)


def well_measured(
    *,
    auroc_all: Delta | None = None,
    detectable: float | None = 0.09,
    smd: float | None = 0.1,
    train: Memorization | None = None,
    nontrain: Memorization | None = None,
    low: float = 0.9,
    nontrain_disclosure: Disclosure | None = None,
) -> Results:
    compared = pair(auroc_all or delta(), detectable_delta=detectable, nontrain=nontrain_disclosure or disclosure())
    found = results(
        train=train,
        nontrain=nontrain,
        pairs={"hiv": compared},
        cohorts={"hiv": cohort(balance=balance(smd))},
    )
    return found.model_copy(update={"judge_quality": judged(low)})


def test_what_a_pass_needs_is_met():
    assert decide(STRICT, well_measured()).status == "pass"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"detectable": 0.101}, "too little power"),
        ({"detectable": None}, "is not known"),
        ({"smd": -0.101}, "differ more"),
        ({"smd": None}, "is not published"),
        ({"low": 0.79}, "judge is not accepted"),
        ({"train": memorization(patients=49)}, "fewer patients than the policy asks"),
        ({"train": memorization(shorter_than_ngram=11)}, "too short"),
        ({"nontrain": memorization(shorter_than_ngram=11)}, "too short"),
        ({"nontrain": memorization(generations=0)}, "outside the training data"),
    ],
)
def test_a_pass_without_what_it_needs_is_inconclusive(changes: dict[str, Any], words: str):
    found = well_measured(**changes)
    assert decide(POLICY, found).status in ("pass", "inconclusive")
    decision = decide(STRICT, found)
    assert decision.status == "inconclusive"
    assert [rule.reason for rule in decision.rules if words in rule.reason]
    # With all of it missing, a failure is one.
    leaking = well_measured(**{"train": bounds(0.06, 0.2), **changes, "auroc_all": LEAK})
    if decide(POLICY, leaking).status == "fail":
        assert decide(STRICT, leaking).status == "fail"


@pytest.mark.parametrize(("size", "status"), [(49, "inconclusive"), (50, "pass")])
def test_a_pass_needs_groups_of_the_size_asked_for(size: int, status: str):
    small = disclosure(sensitivity=Estimate(value=0.1, low=0.0, high=0.3, n=size))
    assert decide(POLICY, well_measured(nontrain_disclosure=small)).status == "pass"
    assert decide(STRICT, well_measured(nontrain_disclosure=small)).status == status


def test_memorization_without_the_other_arm_passes_only_where_the_policy_does_not_ask_for_it():
    found = well_measured()
    found = found.model_copy(update={"memorization": {"public": {"train": memorization()}}})
    assert decide(ONLY_MEMORIZATION, found).status == "pass"
    assert decide(replace(ONLY_MEMORIZATION, to_pass=ASKING), found).status == "inconclusive"


SHARES = st.floats(0, 1)


@st.composite
def measured(draw: st.DrawFn) -> Results:
    """Results of one tier, at and around every limit of the policies that ship."""
    low, high = sorted(draw(st.tuples(*[st.sampled_from([0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2])] * 2)))
    texts = {
        "patients": draw(st.sampled_from([19, 20, 49, 50, 200])),
        "shorter_than_ngram": draw(st.sampled_from([0, 9, 10, 11, 20, 21])),
    }
    upper = draw(st.sampled_from([0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.4]))
    size = Estimate(value=0.1, low=0.0, high=0.3, n=draw(st.sampled_from([19, 20, 50])))
    train = memorization(
        attributable_fraction_bounds=Estimate(value=(low + high) / 2, low=low, high=high, n=200), **texts
    )
    return well_measured(
        auroc_all=delta(high=upper, worst_high=draw(st.none() | SHARES), p_holm=draw(st.sampled_from([0.04, 0.5]))),
        detectable=draw(st.none() | st.sampled_from([0.1, 0.11])),
        smd=draw(st.none() | st.sampled_from([0.1, 0.11])),
        train=train,
        nontrain=draw(st.none() | st.just(train)),
        low=draw(st.sampled_from([0.6, 0.75, 0.9])),
        nontrain_disclosure=disclosure(sensitivity=size, unjudged=draw(st.sampled_from([0, 11, 21]))),
    )


@given(measured())
def test_a_stricter_policy_never_gives_a_better_verdict(found: Results):
    tiers = {tier.id: found.memorization["public"] for tier in TIERS}
    pairs = {"hiv": {tier.id: found.disclosure.by_diagnosis["hiv"]["public"] for tier in TIERS}}
    found = found.model_copy(update={"memorization": tiers, "disclosure": DisclosureResults(by_diagnosis=pairs)})
    order = ("fail", "inconclusive", "pass")
    verdicts = [decide(load_policy(Path(name)), found) for name in ("strict", "default", "research")]
    by_rule = [{rule.id: order.index(rule.status) for rule in verdict.rules} for verdict in verdicts]
    for stricter, laxer in pairwise(by_rule):
        assert all(stricter[rule] <= status for rule, status in laxer.items())
    ranks = [order.index(verdict.status) for verdict in verdicts]
    assert ranks == sorted(ranks)
