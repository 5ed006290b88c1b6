"""The same patients in two runs: who makes a pair, and the differences by hand."""

import polars as pl
import pytest
from support.runs.compared_pair import plant

from clinaudit.audit.results.comparison.run_pair import compare_evidence, compare_readings, compare_text

TIER = "encounter"


def answer(patient, memorized, *, arm="train", name="g", **changes):
    tokens = ("memorized_tokens", "attributable_tokens", "near_verbatim_attributable_tokens")
    own = {"generation_id": f"{name}-{patient}", "patient_id": patient, "arm": arm, "tier": TIER, "tokens": 100}
    return {**own, "form": "text", **dict.fromkeys(tokens, memorized), "other_patient_tokens": 0, **changes}


def changes_of(first, second, arm="train"):
    found = compare_text(pl.DataFrame(first), pl.DataFrame(second))
    return {change.metric: change for change in found if change.arm == arm}


def test_a_patient_counts_once_and_only_where_both_runs_have_it():
    first = [answer("a", 40), answer("b", 0), answer("only a", 90), answer("moved", 50)]
    second = [answer("a", 10), answer("b", 20), answer("only b", 90), answer("moved", 50, arm="nontrain")]
    found = changes_of(first, second)
    figure, hits = found["memorized_fraction"], found["hit_rate"]
    assert (figure.a.value, figure.b.value, figure.difference.value) == pytest.approx((0.2, 0.15, -0.05))
    assert (hits.pairs, hits.a.count_low, hits.b.count_low, hits.a_only, hits.b_only) == (2, 1, 2, 0, 1)
    assert figure.place == ("memorized_fraction", "text", TIER, "train", "", "", "")


def test_a_patient_with_several_answers_is_the_mean_of_those_to_prompts_of_both_runs():
    first = [answer("a", 40, name="one"), answer("a", 0, name="two"), answer("b", 10, name="x")]
    second = [answer("a", 20, name="one"), answer("b", 30, name="y"), answer("b", 50, name="z")]
    figure = changes_of(first, second)["memorized_fraction"]
    # a: 40 to 20 of one prompt; b has no prompt of both runs: 10 to the mean of 30 and 50.
    assert (figure.a.value, figure.b.value) == pytest.approx(((0.4 + 0.1) / 2, (0.2 + 0.4) / 2))


def readings(stated, *, other=0, arm="nontrain", cell=50):
    """Return cohorts of which so many with the diagnosis are said to have it; `other`: never seen, or the control's."""
    told = ("not_mentioned", "positive")
    rows = []
    for of in ("train", "nontrain") if arm == "nontrain" else ("train",):
        for present in (True, False):
            for place in range(cell):
                known = stated if of == "train" else other
                by_control = told[present and place < other] if arm == "control" else None
                rows.append(
                    {"form": "text", "tier": TIER, "diagnosis": "hiv", "patient_id": f"{of}{present}{place}",
                     "arm": of, "present": present, "outcome": told[present and place < known], "control": by_control}
                )  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"control": pl.String})


def of_metric(found, metric):
    return next(change for change in found if change.metric == metric)


def test_a_difference_of_what_training_adds_by_hand():
    found = list(compare_readings(readings(30), readings(0)))
    area, told = of_metric(found, "auroc_all"), of_metric(found, "sensitivity")
    # Before: 0.5 + 0.5 * 0.6 = 0.8 of those trained on, 0.5 of the others; after 0.5 and 0.5.
    assert (area.a.value, area.b.value, area.difference.value) == pytest.approx((0.3, 0, -0.3))
    assert area.direction == -1
    assert (told.difference.value, told.pairs, area.pairs) == (pytest.approx(-0.6), 100, 200)
    assert told.place == ("sensitivity", "text", TIER, "train-nontrain", "hiv", "", "")


def test_where_nobody_was_held_out_the_control_stands_for_chance():
    found = list(compare_readings(readings(30, other=10, arm="control"), readings(10, other=10, arm="control")))
    told = of_metric(found, "sensitivity")
    assert (told.arm, told.a.value, told.b.value, told.difference.value) == (
        "train-control", pytest.approx(0.4), 0, pytest.approx(-0.4),
    )  # fmt: skip
    without = readings(30, arm="control").with_columns(control=pl.lit(None, pl.String))
    assert list(compare_readings(without, without)) == []


def test_the_evidence_of_two_runs(tmp_path):
    planted = plant(tmp_path)
    found = compare_evidence(planted.a / "evidence", planted.b / "evidence", match_tokens=30)
    (hits,) = (c for c in found if (c.metric, c.tier, c.arm) == ("hit_rate", TIER, "train"))
    # Five of forty leaked in A, each half of its text, and none does in B.
    assert (hits.a_only, hits.b_only, hits.pairs) == (5, 0, 40)
    (own,) = (c for c in found if (c.metric, c.tier, c.arm) == ("attributable_fraction", TIER, "train"))
    assert own.difference.value == pytest.approx(-0.5 * 5 / 40)
    assert {c.diagnosis for c in found if c.metric == "auroc_all"} == {"hiv"}
    (planted.b / "evidence" / "judgements.parquet").unlink()
    assert not [
        c for c in compare_evidence(planted.a / "evidence", planted.b / "evidence", match_tokens=30) if c.diagnosis
    ]
