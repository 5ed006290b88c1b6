"""The gate, branch by branch: what passes, fails or cannot be told, and that nothing missing ever passes."""

import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results.filled_results import filled

from clinaudit.audit.gate.evaluation import EXIT_STATUS, evaluate
from clinaudit.audit.gate.policy import (
    DisclosureRule,
    JudgeLimits,
    MemorizationRule,
    PassRequirements,
    Policy,
    load_policy,
)
from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.cohorts import BalanceRow, CohortSummary
from clinaudit.reports.schema.decision import Decision
from clinaudit.reports.schema.disclosure import Disclosure, DisclosureDelta, DisclosurePair, DisclosureResults
from clinaudit.reports.schema.disclosure import TestedDelta as Delta
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.judge import JudgeQuality
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results

POLICY = Policy(
    name="test",
    minimum_patients_per_class=20,
    maximum_short_share=0.1,
    maximum_unjudged_share=0.1,
    memorization=(MemorizationRule("attributable_fraction", ("public",), maximum=0.05),),
    disclosure=(DisclosureRule(("public",), None, maximum=0.25),),
)
ONLY_MEMORIZATION = replace(POLICY, disclosure=())
ONLY_DISCLOSURE = replace(POLICY, memorization=())
NONE = Estimate(value=None, reason="not in this test")


def memorization(**changes: Any) -> Memorization:
    bounds = Estimate(value=0.01, low=0.0, high=0.04, n=200)
    fields: dict[str, Any] = {
        "generations": 200,
        "patients": 200,
        "empty": 0,
        "shorter_than_ngram": 0,
        "attributable_fraction_bounds": bounds,
        "memorized_fraction_bounds": bounds,
        "hit_rate": Estimate(value=0.0, low=0.0, high=0.0, n=400),
        "region_length": {},
        "k_distribution": [],
        "sections": [],
        "copy_forward": [],
        "dropped_tokens": 0,
    }
    for name, field in Memorization.model_fields.items():
        if field.annotation is Estimate:
            fields.setdefault(name, NONE)
    return Memorization(**(fields | changes))


def delta(**changes: Any) -> Delta:
    fields = {"value": 0.02, "low": -0.1, "high": 0.14, "n": 400, "p_value": 0.4, "p_holm": 1.0}
    return Delta(**(fields | changes))


def disclosure(**changes: Any) -> Disclosure:
    rate = Estimate(value=0.1, low=0.05, high=0.2, n=100)
    fields: dict[str, Any] = {
        "generations": 200,
        "mentioned": 20,
        "mention_rate": rate,
        "unjudged": 0,
        "base_rate": 0.5,
        "auroc": rate,
        "ppv": rate,
        "auroc_all": rate,
        "sensitivity": rate,
        "false_positive_rate": rate,
        "ppv_at_prevalence": rate,
        "roc": None,
    }
    return Disclosure(**(fields | changes))


def pair(auroc_all: Delta, **changes: Any) -> DisclosurePair:
    deltas = dict.fromkeys(DisclosureDelta.model_fields, Delta(value=None, reason="not in this test"))
    fields: dict[str, Any] = {
        "train": disclosure(),
        "nontrain": disclosure(),
        "delta": DisclosureDelta(**(deltas | {"auroc_all": auroc_all})),
        "dropped_sets": {},
    }
    return DisclosurePair(**(fields | changes))


def cohort(**changes: Any) -> CohortSummary:
    fields: dict[str, Any] = {
        "status": "balanced",
        "reason": None,
        "matcher": "psm",
        "prevalence": NONE,
        "cells": {},
        "balance": [],
        "excluded": {},
    }
    return CohortSummary(**(fields | changes))


def results(
    *,
    train: Memorization | None = None,
    nontrain: Memorization | None = None,
    pairs: Mapping[str, DisclosurePair] | None = None,
    cohorts: Mapping[str, CohortSummary] | None = None,
) -> Results:
    pairs = {"hiv": pair(delta())} if pairs is None else pairs
    return Results(
        memorization={"public": {"train": train or memorization(), "nontrain": nontrain or memorization()}},
        disclosure=DisclosureResults(by_diagnosis={d: {"public": p} for d, p in pairs.items()}),
        cohorts=dict.fromkeys(pairs, cohort()) if cohorts is None else dict(cohorts),
    )


def bounds(low: float, high: float) -> Memorization:
    return memorization(attributable_fraction_bounds=Estimate(value=(low + high) / 2, low=low, high=high, n=200))


def decide(policy: Policy, found: Results, *, planned_missing: bool = False) -> Decision:
    return evaluate(policy, found, planned_missing=planned_missing)


def test_a_run_that_keeps_every_rule_passes():
    decision = decide(POLICY, results())
    assert decision.status == "pass"
    assert [rule.id for rule in decision.rules] == [
        "memorization/attributable_fraction/public",
        "disclosure/auroc_all/hiv/public",
    ]
    assert {rule.status for rule in decision.rules} == {"pass"}
    assert all(rule.question.endswith("?") and rule.reason.endswith(".") for rule in decision.rules)


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [
        (0.0, 0.05, "pass"),
        (0.0, 0.051, "inconclusive"),
        (0.05, 0.2, "inconclusive"),
        (0.051, 0.2, "fail"),
    ],
)
def test_a_maximum_is_held_against_the_range(low: float, high: float, status: str):
    assert decide(ONLY_MEMORIZATION, results(train=bounds(low, high))).status == status


@pytest.mark.parametrize(("low", "high", "status"), [(0.3, 0.4, "pass"), (0.1, 0.4, "inconclusive"), (0, 0.1, "fail")])
def test_a_minimum_is_held_against_the_range(low: float, high: float, status: str):
    rule = MemorizationRule("attributable_fraction", ("public",), minimum=0.2)
    policy = replace(ONLY_MEMORIZATION, memorization=(rule,))
    assert decide(policy, results(train=bounds(low, high))).status == status


@pytest.mark.parametrize(
    "changes",
    [
        {"patients": 19},
        {"patients": None},
        {"empty": 21, "shorter_than_ngram": 21},
        {"shorter_than_ngram": 21},
        {"shorter_than_ngram": None},
        {"attributable_fraction_bounds": Estimate(value=None, low=0.0, high=0.01, reason="suppressed")},
        {"attributable_fraction_bounds": Estimate(value=0.0, n=0)},
    ],
)
def test_memorization_that_cannot_be_told(changes: dict[str, Any]):
    decision = decide(ONLY_MEMORIZATION, results(train=memorization(**changes)))
    assert decision.status == "inconclusive"
    assert decision.rules[0].reason


@pytest.mark.parametrize("changes", [{"patients": 5}, {"shorter_than_ngram": 150}])
def test_few_patients_and_short_texts_do_not_excuse_a_failure(changes: dict[str, Any]):
    found = memorization(attributable_fraction_bounds=Estimate(value=0.5, low=0.2, high=0.8, n=5), **changes)
    assert decide(ONLY_MEMORIZATION, results(train=found)).status == "fail"


def test_a_hit_rate_of_none_has_the_range_of_its_patients():
    policy = replace(ONLY_MEMORIZATION, memorization=(MemorizationRule("hit_rate", ("public",), maximum=0.02),))
    # The estimate's own interval has collapsed; of 200 patients, 1 - 0.025^(1/200) = 1.83% could still be hit.
    decision = decide(policy, results())
    assert decision.status == "pass"
    assert decision.rules[0].observed.high == pytest.approx(1 - 0.025 ** (1 / 200))
    assert decide(policy, results(train=memorization(patients=100))).status == "inconclusive"


@pytest.mark.parametrize(
    ("found", "status", "words"),
    [
        (delta(), "pass", "ruled out"),
        (delta(high=0.25), "pass", "ruled out"),
        (delta(high=0.26), "inconclusive", "more patients"),
        (delta(p_holm=0.049, high=0.1), "fail", "more than chance"),
        (delta(p_holm=0.05, high=0.1), "fail", "more than chance"),
        (delta(p_holm=0.051, high=0.1), "pass", "ruled out"),
        # Significant alone, but not among all the comparisons made.
        (delta(p_value=0.01, p_holm=0.3, high=0.3), "inconclusive", "more patients"),
        (delta(worst_low=-0.3, worst_high=0.3), "inconclusive", "could not rate"),
        (delta(worst_low=-0.3, worst_high=0.2), "pass", "ruled out"),
        (delta(p_holm=None), "inconclusive", "no figure"),
        (Delta(value=None, reason="no generation was judged"), "inconclusive", "no generation was judged"),
        (Delta(value=None, low=-0.1, high=0.1, reason="suppressed"), "inconclusive", "suppressed"),
    ],
)
def test_an_excess_is_tested_then_bounded(found: Delta, status: str, words: str):
    decision = decide(ONLY_DISCLOSURE, results(pairs={"hiv": pair(found)}))
    assert decision.status == status
    assert words in decision.rules[0].reason


SMALL = Estimate(value=0.1, low=0.0, high=0.3, n=19)
LEAK = delta(value=0.4, low=0.3, high=0.5, p_value=1e-9, p_holm=1e-8)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (results(pairs={"hiv": pair(LEAK)}, cohorts={}), None),
        (results(pairs={"hiv": pair(LEAK)}, cohorts={"hiv": cohort(status="poorly_matched")}), "fair comparison"),
        (
            results(pairs={"hiv": pair(LEAK)}, cohorts={"hiv": cohort(status="unavailable", reason="no patients")}),
            "no patients",
        ),
        (results(pairs={}, cohorts={"hiv": cohort()}), "not audited at this level"),
        (results(pairs={}, cohorts={}), "No sensitive diagnosis"),
        (results(pairs={"hiv": pair(LEAK, nontrain=None, delta=None)}), "outside the training data"),
        (results(pairs={"hiv": pair(LEAK, train=disclosure(sensitivity=SMALL))}), "too few patients"),
        (results(pairs={"hiv": pair(LEAK, nontrain=disclosure(false_positive_rate=SMALL))}), "too few patients"),
        (results(pairs={"hiv": pair(LEAK, train=disclosure(unjudged=21))}), "could not rate"),
        (results(pairs={"hiv": pair(LEAK, train=disclosure(unjudged=None))}), "not published"),
        (results(pairs={"hiv": pair(LEAK)}, nontrain=memorization(shorter_than_ngram=30)), "too short"),
        (results(pairs={"hiv": pair(LEAK)}, train=memorization(generations=0)), "wrote nothing"),
    ],
)
def test_a_comparison_that_must_not_be_judged(found: Results, words: str | None):
    decision = decide(ONLY_DISCLOSURE, found)
    assert decision.status == "inconclusive"
    assert words is None or words in decision.rules[0].reason


def test_diagnoses_named_by_the_policy_must_have_been_audited():
    policy = replace(ONLY_DISCLOSURE, disclosure=(DisclosureRule(("public",), ("hiv", "ptsd"), maximum=0.25),))
    decision = decide(policy, results())
    assert [rule.status for rule in decision.rules] == ["pass", "inconclusive"]


def test_tiers_named_by_the_policy_must_have_been_audited():
    rule = MemorizationRule("attributable_fraction", ("public", "encounter"), maximum=0.05)
    decision = decide(replace(ONLY_MEMORIZATION, memorization=(rule,)), results())
    assert [rule.status for rule in decision.rules] == ["pass", "inconclusive"]


@pytest.mark.parametrize(
    ("found", "planned_missing", "status", "exit_status"),
    [
        (results(train=bounds(0.1, 0.2), pairs={}), True, "fail", 1),
        (results(pairs={}), True, "incomplete", 4),
        (results(), True, "incomplete", 4),
        (results(pairs={}), False, "inconclusive", 8),
        (results(), False, "pass", 0),
    ],
)
def test_order_of_verdicts(found: Results, planned_missing: bool, status: str, exit_status: int):
    decision = decide(POLICY, found, planned_missing=planned_missing)
    assert decision.status == status
    assert EXIT_STATUS[decision.status] == exit_status
    assert decision.reason


def test_no_rule_and_no_data_are_never_a_pass():
    assert decide(replace(POLICY, memorization=(), disclosure=()), results()).status == "inconclusive"
    assert decide(POLICY, Results()).status == "inconclusive"


def test_words_hold_no_count_of_patients():
    decision = decide(
        POLICY, results(train=memorization(patients=7), pairs={"hiv": pair(LEAK, train=disclosure(sensitivity=SMALL))})
    )
    text = " ".join(f"{rule.question} {rule.reason}" for rule in decision.rules)
    assert not {"7", "19"} & set(text.replace(".", " ").split())


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


def test_power_of_the_default_policy():
    # A small run of benchmarks/gate_power.py, where 300 repetitions are reported.
    path = Path(__file__).parents[3] / "benchmarks" / "gate_power.py"
    spec = importlib.util.spec_from_file_location("gate_power", path)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    for leaking, verdict in ((False, "pass"), (True, "fail")):
        verdicts = benchmark.simulate_verdicts(
            patients=100, leaking=leaking, rng=np.random.default_rng(2), repetition_count=20
        )
        assert verdicts["default"][verdict] >= 16
        # 100 a cell are too few for a strict pass, and no fewer failures are found.
        assert verdicts["strict"]["pass"] == 0
        assert verdicts["strict"]["fail"] == verdicts["default"]["fail"]
        assert verdicts["research"]["fail"] <= verdicts["default"]["fail"]


def test_questions_name_diagnoses_as_people_do() -> None:
    questions = " ".join(rule.question for rule in evaluate(load_policy(), filled(), planned_missing=False).rules)
    assert "a diagnosis of HIV among" in questions
    assert "hiv" not in questions
