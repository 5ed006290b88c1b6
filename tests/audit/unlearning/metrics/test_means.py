"""Figures of groups: harmonic means by hand, who is in a group, whose interval is which, a twin of the bootstrap."""

import random
import statistics
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hmean
from support.hand_made_bench import QUESTIONS, SPLITS, hand_made_bench
from support.unlearning.many_patients import AFTER, BEFORE, figures_of

from clinaudit.audit.statistics.intervals import bounds_of_mean, resample_means
from clinaudit.audit.unlearning.metrics.answer_scores import (
    EMPTY_OR_SINGLE,
    METRICS,
    NO_KEYWORDS,
    NO_LOGITS,
    NO_TOKENS,
    SCORES,
)
from clinaudit.audit.unlearning.metrics.means import groups_of, measure_groups, patient_figures, pooled
from clinaudit.reports.schema.unlearning import AnswerGroup

Values = dict[str, float | str]


def table(**answers: Values) -> pl.DataFrame:
    """Scores of answers by question: every metric is 0.5, but what is given, a value or a reason."""
    rows = []
    for qa_id, given_values in answers.items():
        for metric in METRICS:
            value = given_values.get(metric, 0.5)
            is_reason = isinstance(value, str)
            rows.append((qa_id, metric, None if is_reason else value, value if is_reason else None))
    return pl.DataFrame(rows, schema=SCORES, orient="row")


def everybody(**answers: Values) -> dict[str, dict[str, object]]:
    """Figures by metric of all patients together; q1 is of one patient, q3, q4 and q5 of others, all factual."""
    figures = pooled(patient_figures(table(**answers), QUESTIONS, model="m"), use="train")
    groups: dict[AnswerGroup, set[str]] = {"forget": {one.patient_id for one in QUESTIONS}}
    rows = measure_groups(figures, groups, split="random:25", seed=0).iter_rows(named=True)
    return {row["metric"]: row for row in rows}


def test_harmonic_means_by_hand() -> None:
    found = everybody(q1={"rouge_l": 0.2, "em": 0.4, "cs": 0.8, "es": 1.0})
    assert found["mu"]["value"] == pytest.approx(5 / (1 / 0.2 + 1 / 0.4 + 1 / 0.8 + 1 / 1.0 + 1 / 0.5))
    assert found["mu_without_em"]["value"] == pytest.approx(4 / (1 / 0.2 + 1 / 0.8 + 1 / 1.0 + 1 / 0.5))
    # 1 - 1 is 0: nothing that is wholly kept can be forgotten.
    assert found["afe"]["value"] == 0.0
    found = everybody(q1={"rouge_l": 0.2, "em": 0.4, "cs": 0.8})
    assert found["afe"]["value"] == pytest.approx(4 / (1 / 0.8 + 1 / 0.6 + 1 / 0.2 + 1 / 0.5))


def test_the_mean_is_taken_before_the_harmonic_mean() -> None:
    # One answer without any overlap does not make the utility of the group 0 ...
    assert everybody(q1={"rouge_l": 0.0}, q3={"rouge_l": 1.0})["mu"]["value"] == pytest.approx(0.5)
    # ... and a metric that is 0 everywhere does.
    found = everybody(q1={"rouge_l": 0.0}, q3={"rouge_l": 0.0})["mu"]
    assert (found["value"], found["low"]) == (0.0, 0.0)


def test_what_no_answer_has_says_why_and_a_part_that_is_lacking_is_named() -> None:
    lacking: Values = {"em": NO_LOGITS, "te": NO_TOKENS, "ds": NO_TOKENS, "es": "no facts", "rouge_l": 0.25}
    found = everybody(q1=lacking)
    assert {metric: found[metric]["reason"] for metric in ("em", "te", "ds", "mu", "afe")} == {
        **dict.fromkeys(("em", "mu", "afe"), NO_LOGITS),
        **dict.fromkeys(("te", "ds"), NO_TOKENS),
    }
    assert (found["es"]["value"], found["es"]["n"]) == (None, 0)
    # TE is by words here, and ES is left out.
    assert found["mu_without_em"]["value"] == pytest.approx(3 / (1 / 0.25 + 2 / 0.5))
    assert found["mu_without_em"]["reason"] == "without ES"


def test_answers_without_a_metric_are_not_averaged() -> None:
    found = everybody(q1={"ls": 1.0, "te": 0.01}, q4={"ls": NO_KEYWORDS, "te": EMPTY_OR_SINGLE, "te_or_zero": 0.0})
    assert (found["ls"]["value"], found["ls"]["n"], found["te"]["value"]) == (1.0, 1, 0.01)
    # In MU the empty answer is a 0.
    assert found["mu"]["value"] == pytest.approx(5 / (4 / 0.5 + 1 / 0.25))


def test_the_mean_is_over_answers_and_the_interval_over_patients() -> None:
    # Both questions of P1, one of P2.
    found = everybody(q1={"rouge_l": 1.0}, q2={"rouge_l": 1.0}, q3={"rouge_l": 0.0})["rouge_l"]
    assert (found["value"], found["n"]) == (pytest.approx(2 / 3), 2)
    low, high = bounds_of_mean(4 / 3, 2)
    assert found["low"] <= low
    assert found["high"] >= high


def test_groups_are_of_role_kind_and_use(tmp_path: Path) -> None:
    bench = hand_made_bench(tmp_path)
    scores = table(**{asked.qa_id: {"ls": place / 10} for place, asked in enumerate(QUESTIONS)})
    figures = patient_figures(scores, bench.questions, model="m")
    found = measure_groups(figures, groups_of(bench, SPLITS[0]), split="random:25", seed=0).filter(metric="ls")
    assert {row[:3]: row[3] for row in found.select("group", "kind", "use", "value").iter_rows()} == {
        ("forget", "factual", "train"): 0.0,
        ("forget", "reasoning", "train"): 0.1,
        ("retain", "factual", "train"): 0.2,
        ("retain", "factual", "holdout"): 0.3,
        ("never_trained", "factual", "train"): 0.4,
        # P2 has the disease of P1, P3 another.
        ("same", "factual", "train"): 0.2,
        ("others", "factual", "holdout"): 0.3,
    }
    other = measure_groups(figures, groups_of(bench, SPLITS[1]), split="cancer:25", seed=0)
    assert other.filter(metric="ls", group="forget")["value"].to_list() == [0.2]


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000))
def test_resamples_equal_a_twin_that_draws_patients_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    answers = {patient: [(rng.random(), rng.random()) for _ in range(rng.randint(1, 4))] for patient in range(8)}
    sums = np.array([np.sum(own, axis=0) for own in answers.values()])
    counts = np.array([[len(own)] * 2 for own in answers.values()], dtype=float)
    ours = resample_means(sums, counts, seed=seed, resamples=2000)
    theirs = []
    for _ in range(2000):
        drawn = [answer for patient in rng.choices(list(answers), k=8) for answer in answers[patient]]
        theirs.append(statistics.harmonic_mean([statistics.fmean(column) for column in zip(*drawn, strict=True)]))
    harmonic = 2 / (1 / ours).sum(axis=1)
    for point in (0.025, 0.5, 0.975):
        assert np.quantile(harmonic, point) == pytest.approx(np.quantile(theirs, point), abs=0.03)


MANY = figures_of(BEFORE, AFTER)


def figure(metric: str, group: str = "retain", figures: pl.DataFrame = MANY) -> dict[str, float]:
    (row,) = figures.filter(metric=metric, group=group, kind="factual").to_dicts()
    return row


def values_of(scores: pl.DataFrame, metric: str) -> np.ndarray:
    own = scores.filter(pl.col("qa_id").str.starts_with("factual-r"), metric=metric)
    return own["value"].to_numpy()


def test_a_change_is_paired() -> None:
    before, after = (values_of(scores, "rouge_l") for scores in (BEFORE, AFTER))
    change = figure("rouge_l_change")
    assert change["value"] == pytest.approx((after - before).mean())
    error = 1.96 * (after - before).std() / 10
    assert change["low"] == pytest.approx(change["value"] - error, abs=error / 8)
    # The levels' own intervals overlap, though every answer fell.
    assert figure("rouge_l")["high"] > before.mean() - 1.96 * before.std() / 10
    assert change["high"] < 0


def test_a_change_of_mu_is_that_of_harmonic_means() -> None:
    parts = ("rouge_l", "cs", "te_or_zero", "es")
    sides = [[values_of(scores, part).mean() for part in parts] for scores in (BEFORE, AFTER)]
    change = figure("mu_without_em_change")
    assert change["value"] == pytest.approx(hmean(sides[1]) - hmean(sides[0]))
    assert change["high"] < 0
    # Of twenty patients only the safe interval, in which both levels count as independent.
    assert figure("mu_without_em_change", "forget")["high"] > 0.2


def test_nothing_changes_of_what_is_lacking() -> None:
    assert figure("em_change")["value"] is None
    assert MANY.filter(metric="mu_change").is_empty()
    # An answer without the metric in one of both models leaves no pair.
    lacking = AFTER.with_columns(
        pl.when(pl.col("qa_id") == "factual-r005", pl.col("metric") == "ls")
        .then(None)
        .otherwise("value")
        .alias("value")
    )
    assert figure("ls_change", figures=figures_of(BEFORE, lacking))["value"] is None
