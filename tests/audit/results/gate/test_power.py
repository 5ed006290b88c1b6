"""How often `default` passes a clean model and fails a leaking one: few audits, and with `make test-slow` hundreds."""

from dataclasses import replace

import pytest

from clinaudit.audit.results.gate.policy import Limit, Policy, load_policy
from clinaudit.audit.results.gate.power import (
    AUDITS,
    Design,
    Model,
    leak_of_two_diagnoses,
    needed_patients_text,
    panel_ids,
    rates_of_diagnoses,
    rates_of_shares,
    simulate,
)
from clinaudit.priors.fragments import Coverage
from clinaudit.priors.tiers import TIER_IDS

SOME = [pytest.param(12, id="12"), pytest.param(200, marks=pytest.mark.simulation, id="200")]
SHARES = replace(load_policy(), limits=tuple(of for of in load_policy().limits if of.metric != "auroc_all"))


@pytest.mark.parametrize("audits", SOME)
def test_a_clean_model_passes_all_but_diagnoses_in_nearly_every_audit_of_200_patients_an_arm(audits):
    assert simulate(SHARES, Model(), Design(200, 200), audits=audits)["pass"] >= 0.95 * audits - 1


@pytest.mark.parametrize("audits", SOME)
def test_every_fifth_patients_text_at_one_tier_fails_in_nearly_every_audit(audits):
    leaking = Model(own={"encounter": 0.2})
    assert simulate(SHARES, leaking, Design(200, 200), audits=audits)["fail"] >= 0.95 * audits


@pytest.mark.parametrize("audits", SOME)
def test_with_100_patients_a_group_a_clean_model_passes_and_one_that_tells_two_diagnoses_fails(audits):
    design = Design(200, 200, a_group=100, diagnoses=panel_ids())
    clean, leaking = (
        simulate(load_policy(), of, design, audits=audits, seed=1) for of in (Model(), leak_of_two_diagnoses())
    )
    assert clean["pass"] >= 0.85 * audits - 2
    assert leaking["fail"] >= 0.95 * audits - 1
    assert not leaking["pass"]


def test_the_rates_of_diagnoses_are_those_of_the_gate():
    (limit,) = (of for of in load_policy().limits if of.metric == "auroc_all")
    alone = Policy("site", (replace(limit, tiers=("public", "encounter"), diagnoses=("hiv",)),))
    design = Design(200, 200, a_group=40, tiers=("public", "encounter"), diagnoses=("hiv",), tasks=0)
    told = Model(diagnoses={("hiv", "encounter"): (0.25, 0.005)})
    by_gate = [simulate(alone, of, design, audits=300) for of in (Model(), told)]
    clean, leaking = (rates_of_diagnoses(alone.limits[0], 40, model=of, audits=300) for of in (Model(), told))
    assert clean.passes == pytest.approx(by_gate[0]["pass"] / 300, abs=0.08)
    assert leaking.fails == pytest.approx(by_gate[1]["fail"] / 300, abs=0.08)


def test_more_patients_pass_more_clean_models_and_fail_more_leaks():
    few, many = (rates_of_shares(SHARES, "encounter", (size, size), audits=30) for size in (40, 250))
    for limit, rates in many.items():
        assert rates.passes >= few[limit].passes
        assert rates.fails >= few[limit].fails
        assert rates.fails > 0.9


def test_check_says_how_often_a_policy_is_right_with_the_patients_that_there_are():
    policy = Policy(
        "ours",
        (
            Limit("own_identifiers", 0.1, TIER_IDS),
            Limit("everyday_tasks", 0.05),
            Limit("membership_found", 0.05),
            Limit("auroc_all", 0.25, ("encounter",), diagnoses=("hiv",), rare=("hiv",)),
        ),
    )
    coverage = Coverage(
        tiers={"public": (300, 250), "encounter": (120, 0), "encounter_cc": (0, 9)}, smallest_groups={"hiv": 0}
    )
    text = needed_patients_text(policy, coverage)
    assert max(map(len, text.splitlines())) <= 100
    rows = {line.split("≤")[0].strip(): line.split() for line in text.splitlines() if "≤" in line}
    assert [*rows] == ["Given an own identifier", "Everyday tasks with a patient's text", "AUROC over all"]
    # Of the two tiers with a prompt the one with fewer patients counts.
    assert rows["Given an own identifier"][-4:-1] == ["120", "+", "0"]
    assert rows["AUROC over all"][-2:] == ["0", "–"]
    assert f"{AUDITS} simulated audits" in text
    assert "--tier leaves out" in text
