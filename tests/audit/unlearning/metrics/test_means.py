"""Means by group, harmonic means, changes and their intervals: hand cases, and a twin of the bootstrap."""

import random
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hand_made_bench import QUESTIONS, SPLITS, hand_made_bench, question

from clinaudit.audit.statistics.intervals import clopper_pearson_of_mean, resample_means
from clinaudit.audit.statistics.paired_differences import paired_difference
from clinaudit.audit.statistics.patient_means import NOT_SCORED, change_of_answers, mean_of_answers, places_of
from clinaudit.audit.unlearning.benchmark.records import Scores
from clinaudit.audit.unlearning.metrics.answer_scores import EMPTY_OR_SINGLE, NO_KEYWORDS, NO_LOGITS, NO_TOKENS
from clinaudit.audit.unlearning.metrics.means import (
    groups_of,
    summarize,
    summarize_group,
)
from clinaudit.reports.schema.unlearning_scores import AnswerFigures


def scores(qa_id: str = "q1", **fields: float | None) -> Scores:
    values = {"rouge_l": 0.5, "em": 0.5, "cs": 0.5, "es": 0.5, "te": 0.5, "ls": 0.5, "ls_echo_free": 0.5, **fields}
    reasons = {"em": NO_LOGITS, "te": EMPTY_OR_SINGLE, "ls": NO_KEYWORDS, "ls_echo_free": NO_KEYWORDS}
    return Scores(
        model="m",
        qa_id=qa_id,
        sample=0,
        reasons={name: reasons.get(name, "none") for name, value in values.items() if value is None},
        **values,  # type: ignore[arg-type]
    )


def summary(*rows: Scores) -> AnswerFigures:
    return summarize_group(rows, {one.qa_id: one for one in QUESTIONS})


def value(group: AnswerFigures, metric: str) -> float:
    found = group.metrics[metric].value
    assert found is not None
    return found


def test_harmonic_means_by_hand() -> None:
    group = summary(scores(rouge_l=0.2, em=0.4, cs=0.8, es=1.0, te=0.5))
    assert value(group, "mu") == pytest.approx(5 / (1 / 0.2 + 1 / 0.4 + 1 / 0.8 + 1 / 1.0 + 1 / 0.5))
    assert value(group, "mu_without_em") == pytest.approx(4 / (1 / 0.2 + 1 / 0.8 + 1 / 1.0 + 1 / 0.5))
    # 1 - 1 is 0: nothing that is wholly kept can be forgotten.
    assert value(group, "afe") == 0.0
    group = summary(scores(rouge_l=0.2, em=0.4, cs=0.8, es=0.5))
    assert value(group, "afe") == pytest.approx(4 / (1 / 0.8 + 1 / 0.6 + 1 / 0.2 + 1 / 0.5))
    assert group.parts["afe_without_em"] == ["rouge_l", "cs", "es"]


def test_the_mean_is_taken_before_the_harmonic_mean() -> None:
    # One answer without any overlap does not make the utility of the group 0 ...
    group = summary(scores("q1", rouge_l=0.0), scores("q3", rouge_l=1.0))
    assert value(group, "mu") == pytest.approx(0.5)
    # ... and a metric that is 0 everywhere does.
    group = summary(scores("q1", rouge_l=0.0), scores("q3", rouge_l=0.0))
    assert value(group, "mu") == 0.0
    assert group.metrics["mu"].low == 0.0


def test_degraded_answers_are_those_of_entropy_zero_alone() -> None:
    rows = [scores("q1", te=0.0), scores("q2", te=None), scores("q3", te=0.01), scores("q4", te=1.0)]
    group = summary(*rows)
    assert value(group, "ds") == 0.25
    assert group.empty_or_single == 1
    # The mean is over the three that have it; in MU the empty answer is a 0.
    assert value(group, "te") == pytest.approx(1.01 / 3)
    assert value(group, "mu") == pytest.approx(5 / (4 / 0.5 + 1 / (1.01 / 4)))


def test_without_token_ids_words_stand_in_and_ds_is_none() -> None:
    row = Scores("m", "q1", 0, 0.5, None, 0.5, 0.5, None, 0.5, 0.5, {"te": NO_TOKENS, "em": NO_LOGITS}, te_words=0.25)
    group = summary(row)
    assert (group.metrics["te"].value, group.metrics["te"].reason) == (None, NO_TOKENS)
    assert (group.metrics["ds"].value, group.metrics["ds"].reason) == (None, NO_TOKENS)
    assert (group.metrics["mu"].value, group.metrics["mu"].reason) == (None, NO_LOGITS)
    assert group.parts["mu_without_em"] == ["rouge_l", "cs", "te_words", "es"]
    assert value(group, "mu_without_em") == pytest.approx(4 / (3 / 0.5 + 1 / 0.25))


def test_an_answer_without_token_ids_takes_entropy_from_its_group() -> None:
    lacking = Scores("m", "q3", 0, 0.5, 0.5, 0.5, 0.5, None, 0.5, 0.5, {"te": NO_TOKENS}, te_words=1.0)
    group = summary(scores("q1", te=0.0), lacking)
    assert group.metrics["ds"].value is None
    assert "te_words" in group.parts["mu"]


def test_a_part_that_no_answer_has_is_left_out_and_not_listed() -> None:
    group = summary(scores(es=None, rouge_l=0.25))
    assert group.parts["mu_without_em"] == ["rouge_l", "cs", "te"]
    assert value(group, "mu_without_em") == pytest.approx(3 / (1 / 0.25 + 2 / 0.5))
    assert group.metrics["es"].value is None


def test_answers_without_keywords_are_counted_and_not_averaged() -> None:
    group = summary(scores("q1", ls=1.0), scores("q4", ls=None, ls_echo_free=None))
    assert (value(group, "ls"), group.without_keywords, group.answers) == (1.0, 1, 2)


def test_groups_are_of_role_kind_and_use(tmp_path: Path) -> None:
    bench = hand_made_bench(tmp_path)
    rows = [scores(asked.qa_id, ls=place / 10) for place, asked in enumerate(QUESTIONS)]
    groups = summarize(rows, bench, groups_of(bench, SPLITS[0]))
    assert {key: group.metrics["ls"].value for key, group in groups.items()} == {
        ("forget", "factual", "train"): 0.0,
        ("forget", "reasoning", "train"): 0.1,
        ("retain", "factual", "train"): 0.2,
        ("retain", "factual", "holdout"): 0.3,
        ("never_trained", "factual", "train"): 0.4,
        # P2 has the disease of P1, P3 another.
        ("same", "factual", "train"): 0.2,
        ("others", "factual", "holdout"): 0.3,
    }
    other = summarize(rows, bench, groups_of(bench, SPLITS[1]))
    assert other["forget", "factual", "train"].metrics["ls"].value == 0.2
    with pytest.raises(ValueError, match="exactly one model"):
        summarize([], bench, {})


def test_whole_patients_are_drawn() -> None:
    # Ten answers of one patient, and one of another: a draw of answers would seldom miss the second one, one of
    # patients gives (0, 10/11 or 1) with 1/4, 1/2 and 1/4.
    sums, counts = np.array([[10.0], [0.0]]), np.array([[10.0], [1.0]])
    drawn = resample_means(sums, counts, seed=0)[:, 0]
    assert set(np.unique(drawn.round(12))) == {0.0, round(10 / 11, 12), 1.0}
    assert (drawn == 0.0).mean() == pytest.approx(0.25, abs=0.03)
    # All of the bootstrap, and patients as the number that the Beta bounds know.
    rows = [*(scores("q1", rouge_l=1.0) for _ in range(10)), scores("q3", rouge_l=0.0)]
    estimate = summary(*rows).metrics["rouge_l"]
    assert (estimate.low, estimate.high) == (0.0, 1.0)


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


def test_intervals_are_never_narrower_than_the_beta_bounds() -> None:
    # All equal: the bootstrap is a point.
    group = summary(*(scores(qa_id, rouge_l=0.5) for qa_id in ("q1", "q3", "q4", "q5")))
    bounds = clopper_pearson_of_mean(2.0, 4)
    assert (group.metrics["rouge_l"].low, group.metrics["rouge_l"].high) == (bounds.low, bounds.high)
    # Of equal parts the harmonic mean is the part, and so are its bounds.
    assert group.metrics["mu"].low == pytest.approx(bounds.low)
    assert group.metrics["afe"].high == pytest.approx(bounds.high)


def test_an_empty_group_raises() -> None:
    with pytest.raises(ValueError, match="no answer"):
        summarize_group([], {"q": question("q", "P", "?", "!")})


_SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=12)


def test_the_mean_is_over_answers_and_the_interval_over_patients() -> None:
    patients = places_of(["b", "a", "a", "a"])
    assert patients.tolist() == [1, 0, 0, 0]
    estimate = mean_of_answers(np.array([1.0, 0.0, 0.0, np.nan]), patients, seed=0, reason="none")
    assert (estimate.value, estimate.n) == (pytest.approx(1 / 3), 3)
    # Two patients, whatever they answered.
    bounds = clopper_pearson_of_mean(2 / 3, 2)
    assert estimate.low is not None
    assert estimate.high == 1.0
    assert estimate.low <= (bounds.low or 0)


def test_no_answer_is_no_mean() -> None:
    patients = places_of(["a", "a"])
    nothing = np.array([np.nan, np.nan])
    assert mean_of_answers(nothing, patients, seed=0, reason="why").reason == "why"
    assert mean_of_answers(np.empty(0), places_of([]), seed=0, reason="why").value is None
    estimate = change_of_answers(np.array([0.5, np.nan]), np.array([np.nan, 0.5]), patients, seed=0)
    assert (estimate.value, estimate.n, estimate.reason) == (None, 0, NOT_SCORED)


def test_a_change_is_of_the_answers_that_have_both() -> None:
    before, after = np.array([0.0, 1.0, np.nan]), np.array([0.5, 0.5, 1.0])
    estimate = change_of_answers(before, after, places_of(["a", "b", "c"]), seed=0)
    assert (estimate.value, estimate.n) == (0.0, 2)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low <= -0.5 < 0.5 <= estimate.high


def test_where_nobody_changed_there_is_still_doubt() -> None:
    same = np.full(3, 0.5)
    estimate = change_of_answers(same, same, places_of(["a", "b", "c"]), seed=0)
    assert estimate.value == 0.0
    assert estimate.low is not None
    assert estimate.low < -0.3


@settings(max_examples=20, deadline=None)
@given(_SHARES)
def test_of_one_answer_a_patient_it_is_the_figure_of_the_audit(values: list[float]) -> None:
    before = np.array(values)
    after = before[::-1].copy()
    patients = places_of([f"{place:02}" for place in range(len(values))])
    ours = change_of_answers(before, after, patients, seed=1)
    theirs = paired_difference(before, after)
    assert ours.value == pytest.approx(theirs.value)
    # Ours unites a bootstrap with rise and fall, theirs joins these by their correlation: of few patients they differ.
    for found in (ours, theirs):
        assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    mean, same = (
        mean_of_answers(before, patients, seed=1, reason="none"),
        clopper_pearson_of_mean(before.sum(), before.size),
    )
    assert mean.value == pytest.approx(same.value)
    # The interval of several answers is the wider of a bootstrap's and that of the audit.
    assert mean.low <= same.low + 1e-9
    assert mean.high >= same.high - 1e-9
