"""The control model's answers about patients trained on: a side of its own; the baseline where nobody is held out."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from clinaudit.audit.measures.cohorts.cohort import CohortMember
from clinaudit.audit.measures.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.measures.disclosure.metrics import DISCLOSURE_METRICS, OUTCOMES, Reading
from clinaudit.audit.measures.disclosure.stage import collect_readings, tally_pair
from clinaudit.audit.measures.disclosure.train_delta import adjust_holm, measure_disclosure
from clinaudit.audit.measures.generation.record import Generation
from clinaudit.priors.prompts import Prior
from clinaudit.reports.schema.disclosure import MeasuredPair, Outcome, Side, compared_sides

ALONE: tuple[Side, ...] = ("train", "control")
ALL: tuple[Side, ...] = ("train", "nontrain", "control")
SCORE = {"positive": 1.0, "ambiguous": 0.5, "not_mentioned": 0.5, "negative": 0.0}
SIGNS: dict[str, Outcome] = {
    "+": "positive",
    "-": "negative",
    "?": "ambiguous",
    ".": "not_mentioned",
    "x": "unjudged",
}


def trained(*groups: tuple[str, str]) -> list[Reading]:
    """Return readings of those with the diagnosis, then of those without: a sign of each model."""
    return [
        Reading(f"{present}{i}", "train", present, SIGNS[own], control=SIGNS[before])
        for present, (audited, control) in zip((True, False), groups, strict=True)
        for i, (own, before) in enumerate(zip(audited, control, strict=True))
    ]


def never_seen(positives: str, negatives: str) -> list[Reading]:
    groups = ((True, positives), (False, negatives))
    return [Reading(f"n{has}{i}", "nontrain", has, SIGNS[s]) for has, signs in groups for i, s in enumerate(signs)]


def measure(readings: Sequence[Reading], sides: tuple[Side, ...]) -> MeasuredPair:
    return measure_disclosure(readings, prevalence=0.1, seed=0, sides=sides, resamples=200)


def test_what_a_difference_is_of() -> None:
    assert compared_sides(ALL) == ("train", "nontrain")
    assert compared_sides(ALONE) == ("train", "control")
    assert compared_sides(("train",)) == ("train",)


def test_both_models_and_their_difference_by_hand() -> None:
    rows = trained(("+++?", "+..."), ("+--.", "-+.."))
    pair = measure(rows, ALONE)
    assert pair.nontrain is None
    assert pair.control is not None
    assert pair.delta is not None
    # Audited: 1 1 1 ½ against 1 0 0 ½: three times (½ + 1 + 1 + 1) and once (0 + 1 + 1 + ½), of 16 pairs.
    assert pair.train.auroc_all.value == pytest.approx((3 * 3.5 + 2.5) / 16)
    # Control: 1 ½ ½ ½ against 0 1 ½ ½: once (1 + ½ + 1 + 1) and three times (1 + 0 + ½ + ½).
    assert pair.control.auroc_all.value == pytest.approx((3.5 + 3 * 2) / 16)
    assert pair.delta.auroc_all.value == pytest.approx(3.5 / 16)
    assert (pair.train.ppv.value, pair.control.ppv.value) == (3 / 4, 1 / 2)
    assert (pair.control.sensitivity.value, pair.control.false_positive_rate.value) == (1 / 4, 1 / 4)
    assert pair.delta.sensitivity.value == pytest.approx(1 / 2)
    assert pair.outcomes["control"]["absent"] == {
        "negative": 1,
        "not_mentioned": 2,
        "ambiguous": 0,
        "positive": 1,
        "unjudged": 0,
    }
    assert pair.detectable_delta is not None


def test_beside_patients_never_seen_the_control_changes_no_other_figure() -> None:
    own = trained(("+++?.", "+...."), ("+--..", "-+..x"))
    rows = own + never_seen("+-...", "-....")
    without = [replace(row, control=None) for row in rows]
    pair, before = measure(rows, ALL), measure(without, ("train", "nontrain"))
    assert pair.control is not None
    assert pair.control.auroc_all == measure(own, ALONE).control.auroc_all  # type: ignore[union-attr]
    rest = {"control": None, "outcomes": before.outcomes}
    assert pair.model_copy(update=rest) == before


@pytest.mark.parametrize("seed", range(20))
def test_its_figures_are_those_of_a_twin_by_definition(seed: int) -> None:
    """AUROC over all pairs of patients; the difference's interval is that of an arm of other patients."""
    rng = random.Random(seed)
    rows = trained(*[tuple("".join(rng.choices("+-?.x", k=12)) for _ in range(2)) for _ in range(2)])  # type: ignore[arg-type]
    pair = measure(rows, ALONE)
    rated = [(row.present, SCORE[row.control]) for row in rows if row.control in SCORE]
    wins = [
        (first > second) + (first == second) / 2 for has, first in rated if has for lacks, second in rated if not lacks
    ]
    assert pair.control is not None
    assert pair.control.auroc_all.value == pytest.approx(sum(wins) / len(wins))
    others = [
        Reading(f"other {row.patient_id}", "nontrain", row.present, row.control)
        for row in rows
        if row.control is not None
    ]
    twin = measure([*rows, *others], ("train", "nontrain"))
    assert pair.delta is not None
    assert twin.delta is not None
    for metric in ("auroc_all", "sensitivity", "false_positive_rate", "mention_rate"):
        assert getattr(pair.delta, metric).value == getattr(twin.delta, metric).value
    assert pair.delta.auroc_all == twin.delta.auroc_all
    assert pair.detectable_delta == twin.detectable_delta


def test_where_a_model_says_nothing_the_reason_names_it() -> None:
    silent = measure(trained(("++", "xx"), ("--", "xx")), ALONE)
    assert silent.delta is not None
    assert silent.delta.auroc_all.reason == "for the model before training: no generation was judged"
    audited = measure(trained(("xx", "++"), ("xx", "--")), ALONE)
    assert audited.delta is not None
    assert audited.delta.auroc_all.reason == "for patients in the training data: no generation was judged"


def test_means_are_of_the_same_sides_and_holm_counts_the_comparisons_once() -> None:
    alone = {
        name: measure(trained((name[0] * 9 + ".", "." * 10), ("." * 10, "." * 10)), ALONE) for name in ("+ptsd", ".hiv")
    }
    rows = {name: trained((name[0] * 9 + ".", "." * 10), ("." * 10, "." * 10)) for name in alone}
    mean = mean_over_diagnoses(
        {name: MeasuredDiagnosis(rows[name], alone[name], 0.1) for name in alone}, seed=0, resamples=50
    )
    # 0.95 and ½ less ½.
    assert mean.delta["auroc_all"].value == pytest.approx(0.225)
    assert (mean.nontrain, mean.control["auroc_all"].value) == ({}, 0.5)
    tested = adjust_holm(alone)["+ptsd"].delta
    assert tested is not None
    assert tested.auroc_all.p_holm == pytest.approx(2 * (tested.auroc_all.p_value or 0))


def generation(patient: str, outcome: str, rendering: str = "opening") -> Generation:
    prior = Prior(patient, "train", "encounter", rendering, ("hiv",), "p", 9, excluded=False, reason=None)  # type: ignore[arg-type]
    return Generation(
        generation_id=f"{patient} {rendering} {outcome}",
        patient_id=patient,
        arm="train",
        tier=prior.tier,
        rendering=prior.rendering,
        diagnoses=prior.diagnoses,
        cohorts=(),
        prompt="p",
        text="",
        token_ids=(),
        token_chars=(),
        finish_reason="stop",
    )


def members(*arms: str) -> list[CohortMember]:
    cells = [(arm, has) for arm in arms for has in (True, False)]
    return [
        CohortMember(f"{arm[0]}{has:d}{number}", arm, has, f"set-{number}", 0.5)  # type: ignore[arg-type]
        for number in range(3)
        for arm, has in cells
    ]


def test_the_control_is_read_of_those_trained_on_and_a_set_that_it_lacks_is_left_out() -> None:
    of_hiv = members("train", "nontrain")
    answered = [generation(one.patient_id, "positive") for one in of_hiv]
    outcomes: dict[tuple[str, str], Outcome] = {(of.generation_id, "hiv"): "positive" for of in answered}
    control: dict[tuple[str, str, str], Outcome] = {
        (one.patient_id, "encounter", "hiv"): "not_mentioned"
        for one in of_hiv
        if one.arm == "train" and one.patient_id != "t02"
    }
    collected = collect_readings({"hiv": of_hiv}, [], answered, outcomes, tiers=["encounter"], control=control)
    readings, dropped, sides = collected["hiv"]["encounter"]
    assert sides == ALL
    assert dropped == {"the control model was not asked": 1}
    assert {(row.arm, row.control) for row in readings} == {("train", "not_mentioned"), ("nontrain", None)}
    assert len(readings) == 8
    without = collect_readings({"hiv": of_hiv}, [], answered, outcomes, tiers=["encounter"])["hiv"]["encounter"]
    assert (len(without.readings), without.dropped_sets, without.sides) == (12, {}, ("train", "nontrain"))


def test_a_set_of_those_trained_on_alone_is_two_patients() -> None:
    of_hiv = members("train")
    answered = [generation(one.patient_id, "positive") for one in of_hiv if one.patient_id != "t11"]
    outcomes: dict[tuple[str, str], Outcome] = {(of.generation_id, "hiv"): "positive" for of in answered}
    control: dict[tuple[str, str, str], Outcome] = {(one.patient_id, "encounter", "hiv"): "negative" for one in of_hiv}
    found = collect_readings({"hiv": of_hiv}, [], answered, outcomes, tiers=["encounter"], control=control)
    readings, dropped, sides = found["hiv"]["encounter"]
    assert ([row.patient_id for row in readings], dropped, sides) == (
        ["t10", "t00", "t12", "t02"],
        {"not generated": 1},
        ALONE,
    )
    tally = tally_pair(measure(readings, sides))
    assert tally.verdicts.keys() == {"train", "control"}
    assert tally.verdicts["control"]["present"]["negative"].range.low == 2
    assert tally.read_of_a_set() == 4


@pytest.mark.simulation
@pytest.mark.parametrize("alike", [0.0, 0.5, 0.9])
def test_where_training_adds_nothing_the_test_rejects_at_most_at_its_level(alike: float) -> None:
    """Both models guess: each states it of 60% of those who have it and of 30% of the others, often together."""
    rng, rejected, rounds, cell = np.random.default_rng(5), 0, 1_000, 60
    for _ in range(rounds):
        rows = []
        for present, share in ((True, 0.6), (False, 0.3)):
            first, second = rng.random((2, cell)) < share
            second = np.where(rng.random(cell) < alike, first, second)
            told = [[OUTCOMES[3] if said else OUTCOMES[1] for said in of] for of in (first, second)]
            rows += [
                Reading(f"{present}{i}", "train", present, own, control=before)
                for i, (own, before) in enumerate(zip(*told, strict=True))
            ]
        delta = measure_disclosure(rows, prevalence=None, seed=0, resamples=2, sides=ALONE).delta
        assert delta is not None
        rejected += (delta.auroc_all.p_value or 1.0) <= 0.05
    assert rejected / rounds <= 0.065


def test_every_metric_of_the_difference_is_there() -> None:
    delta = measure(trained(("+-?." * 5, ".+-." * 5), ("-..." * 5, "+-.." * 5)), ALONE).delta
    assert delta is not None
    assert all(getattr(delta, metric).value is not None for metric in DISCLOSURE_METRICS)
