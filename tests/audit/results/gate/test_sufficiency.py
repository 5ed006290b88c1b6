"""What a pass needs besides its limits, asked of classes; a stricter policy never gives a better verdict."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.results.decided_results import (
    ASKING,
    LEAK,
    ONLY_MEMORIZATION,
    POLICY,
    STRICT,
    Compared,
    Matched,
    Run,
    Text,
    changed,
    compared,
    decide,
)
from support.results.published_people import judge_quality

from clinaudit.audit.results.gate import reasons
from clinaudit.audit.results.gate.policy import load_policy
from clinaudit.audit.results.gate.sufficiency import why_not_comparable
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.judge import JudgeResults


def judged(least: float) -> JudgeResults:
    quality = judge_quality(("hiv",))
    return quality.model_copy(update={"sensitivity": quality.sensitivity.model_copy(update={"confidence_low": least})})


def test_what_a_pass_needs_is_met() -> None:
    decision = decide(STRICT, Run())
    assert decision.status == "pass", [rule.reason for rule in decision.rules]


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (compared(detectable=0.101), reasons.POWER_TOO_SMALL),
        (compared(detectable=None), reasons.POWER_NOT_KNOWN),
        (Run(cohorts={"hiv": Matched(smd=-0.2, flag="imbalanced")}), reasons.NOT_ALIKE),
        # To one decimal 0.1, and flagged: 0.14 is not within 0.1.
        (Run(cohorts={"hiv": Matched(smd=0.1, flag="imbalanced")}), reasons.NOT_ALIKE),
        (Run(cohorts={"hiv": Matched(smd=None, flag="imbalanced")}), reasons.NOT_ALIKE),
        (compared(patients=30), reasons.FEWER_THAN_ASKED),
        (compared(patients=50), reasons.SIZE_NOT_SHOWN),
        (Run(train=Text(patients=49)), reasons.SIZE_NOT_SHOWN),
        (Run(train=Text(patients=39)), reasons.FEWER_THAN_ASKED),
        (Run(train=Text(patients=240, short=12)), reasons.maybe_too_short(0.06, "train")),
        (Run(nontrain=Text(patients=240, short=12)), reasons.maybe_too_short(0.06, "nontrain")),
        (Run(nontrain=Text(patients=0)), reasons.NOBODY_BESIDE),
    ],
)
def test_a_pass_without_what_it_needs_is_inconclusive(run: Run, reason: str) -> None:
    assert decide(POLICY, run).status in ("pass", "inconclusive")
    decision = decide(STRICT, run)
    assert decision.status == "inconclusive"
    assert reason in [rule.reason for rule in decision.rules]


@pytest.mark.parametrize(
    "run",
    [
        compared(LEAK, detectable=0.2),
        Run(pairs={"hiv": Compared(LEAK)}, cohorts={"hiv": Matched(smd=0.2, flag="imbalanced")}),
        compared(LEAK, patients=30),
        Run(pairs={"hiv": Compared(LEAK)}, train=Text(short=12)),
    ],
)
def test_what_a_pass_needs_excuses_no_failure(run: Run) -> None:
    assert decide(STRICT, run).status == "fail"


@pytest.mark.parametrize(
    ("patients", "status"), [(19, "inconclusive"), (20, "inconclusive"), (21, "pass"), (30, "pass")]
)
def test_a_size_counts_by_the_low_end_of_its_class(patients: int, status: str) -> None:
    # 20 patients stand in the class 11 to 20: that they are 20 must not be told by the verdict.
    assert decide(ONLY_MEMORIZATION, Run(train=Text(patients=patients))).status == status


def test_balance_is_held_to_one_decimal_where_the_limit_is_not_the_flags() -> None:
    policy = replace(POLICY, to_pass=replace(POLICY.to_pass, maximum_smd=0.2))
    assert decide(policy, Run(cohorts={"hiv": Matched(smd=-0.2, flag="imbalanced")})).status == "pass"
    assert decide(policy, Run(cohorts={"hiv": Matched(smd=0.3, flag="imbalanced")})).status == "inconclusive"


def test_only_a_certain_lack_of_verdicts_or_length_forbids_a_comparison() -> None:
    # 1 to 10 of 91 to 100 may be above 10%, but need not be: what is unrated counts at its worst before a pass.
    assert decide(POLICY, compared(unjudged=9)).status == "pass"
    assert decide(POLICY, compared(LEAK, unjudged=9)).status == "fail"
    maybe_short = Run(pairs={"hiv": Compared(LEAK)}, train=Text(patients=120, short=12))
    assert why_not_comparable(POLICY, maybe_short.published(), "hiv", "public") is None
    kept = Run(train=Text(patients=120, short=12))
    rule = decide(POLICY, kept).rules[-1]
    assert (rule.status, rule.reason) == ("inconclusive", reasons.maybe_too_short(0.1, "train"))


def test_memorization_without_the_other_arm_passes_only_where_the_policy_does_not_ask_for_it() -> None:
    alone = Run(nontrain=None)
    assert decide(ONLY_MEMORIZATION, alone).status == "pass"
    assert decide(replace(ONLY_MEMORIZATION, to_pass=ASKING), alone).status == "inconclusive"


@st.composite
def measured(draw: st.DrawFn) -> Run:
    """A run at and around every limit of the policies that ship."""
    low, high = sorted(draw(st.tuples(*[st.sampled_from([0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2])] * 2)))
    train = Text(
        low,
        high,
        patients=draw(st.sampled_from([19, 21, 49, 51, 200])),
        short=draw(st.sampled_from([0, 1, 9, 11, 21, 31])) if draw(st.booleans()) else 0,
    )
    if train.short > train.patients:
        train = replace(train, short=train.patients)
    upper = draw(st.sampled_from([0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.4]))
    pair = Compared(
        changed(
            high=upper,
            worst_high=draw(st.none() | st.floats(0, 1)),
            p_holm=draw(st.sampled_from([0.04, 0.5])),
        ),
        patients=draw(st.sampled_from([19, 21, 51, 100])),
        unjudged=draw(st.sampled_from([0, 11])),
        detectable=draw(st.none() | st.sampled_from([0.1, 0.11])),
    )
    smd, flag = draw(st.sampled_from([(None, "balanced"), (0.1, "balanced"), (0.1, "imbalanced")]))
    return Run(
        train=train,
        nontrain=draw(st.none() | st.just(train)),
        pairs={"hiv": pair},
        cohorts={"hiv": Matched(smd=smd, flag=flag)},
        judge=judged(draw(st.sampled_from([0.6, 0.75, 0.9]))),
        tiers=TIER_IDS,
    )


@settings(deadline=None)
@given(measured())
def test_a_stricter_policy_never_gives_a_better_verdict(run: Run) -> None:
    order = ("fail", "inconclusive", "pass")
    verdicts = [decide(load_policy(Path(name)), run) for name in ("strict", "default", "research")]
    by_rule = [{rule.id: order.index(rule.status) for rule in verdict.rules} for verdict in verdicts]
    for stricter, laxer in pairwise(by_rule):
        assert all(stricter[rule] <= status for rule, status in laxer.items())
    ranks = [order.index(verdict.status) for verdict in verdicts]
    assert ranks == sorted(ranks)
