"""Disclosure figures against hand counts, brute-force resampling and planted leaks."""

import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy import stats
from support.drawn_scores import draw

from clinaudit.audit.measures.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.measures.disclosure.metrics import DISCLOSURE_METRICS, Reading
from clinaudit.audit.measures.disclosure.train_delta import adjust_holm, measure_disclosure, ppv_bounds
from clinaudit.audit.results.gate.reasons import FEW_PATIENTS_IN_A_GROUP, few_patients_in_a_group
from clinaudit.audit.results.ranges.disclosure import derive_pair
from clinaudit.audit.statistics.auroc import auroc_of_counts
from clinaudit.audit.statistics.intervals import score_test_p_value
from clinaudit.reports.schema.disclosure import (
    DIAGNOSIS_STATUSES,
    MeanOverDiagnoses,
    MeasuredPair,
    Outcome,
    VerdictCounts,
)
from clinaudit.reports.schema.numbers import CountRange, Estimate, ShownEstimate
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.tally.leaves import Count, Inside, Partition
from clinaudit.reports.tally.tally import PairTally

SCORE = {"positive": 1.0, "ambiguous": 0.5, "not_mentioned": 0.5, "negative": 0.0}
SHORT: dict[str, Outcome] = {
    "+": "positive",
    "-": "negative",
    "?": "ambiguous",
    ".": "not_mentioned",
    "x": "unjudged",
}


def read(arm: Arm, positives: str, negatives: str, *, name: str = "") -> list[Reading]:
    """Return one reading a character, each of another patient: `+` positive, `-` negative, `?`, `.` no mention, `x`."""
    return [
        Reading(f"{name}{arm}{present}{i}", arm, present, SHORT[sign])
        for present, signs in ((True, positives), (False, negatives))
        for i, sign in enumerate(signs)
    ]


def count_scores(scores: Sequence[float]) -> np.ndarray:
    return np.array([scores.count(score) for score in (0.0, 0.5, 1.0)], float)


def measure(readings: Sequence[Reading], *, prevalence: float | None = 0.1, seed: int = 0) -> MeasuredPair:
    return measure_disclosure(readings, prevalence=prevalence, seed=seed)


def test_every_figure_of_one_arm_by_hand():
    train = measure(read("train", "+++?-...", "+--.....")).train
    assert (train.generations, train.mentioned, train.unjudged, train.base_rate) == (16, 8, 0, 0.5)
    assert train.mention_rate.value == 8 / 16
    # Mentions: 1 1 1 ½ 0 against 1 0 0: three times (½ + 2), once 2, once 1 of 15 pairs.
    assert train.auroc.value == pytest.approx(10.5 / 15)
    assert train.auroc.n == 8
    # All: 1 1 1 ½ ½ ½ ½ 0 against 1 0 0 ½ ½ ½ ½ ½.
    assert train.auroc_all.value == pytest.approx((3 * 7.5 + 4 * (2 + 2.5) + 1) / 64)
    assert train.ppv.value == 3 / 4
    assert train.sensitivity.value == 3 / 8
    assert train.false_positive_rate.value == 1 / 8
    # 0.375 × 0.1 / (0.375 × 0.1 + 0.125 × 0.9).
    assert train.ppv_at_prevalence.value == pytest.approx(0.25)
    assert train.roc is not None
    assert [(p.true_positive_rate, p.false_positive_rate) for p in train.roc] == [
        (0, 0),
        (0.6, pytest.approx(1 / 3)),
        (0.8, pytest.approx(1 / 3)),
        (1, 1),
    ]


def test_deltas_are_train_minus_nontrain():
    pair = measure(
        read("train", 4 * "++++----..", 4 * "+---......") + read("nontrain", 4 * "++--......", 4 * "++--......")
    )
    assert pair.nontrain is not None
    assert pair.delta is not None
    for metric in DISCLOSURE_METRICS:
        first, second = getattr(pair.train, metric), getattr(pair.nontrain, metric)
        delta = getattr(pair.delta, metric)
        assert delta.value == pytest.approx(first.value - second.value)
        assert delta.low < delta.value < delta.high
        assert 0 < delta.p_value < 1
        assert delta.p_holm is None


def test_unjudged_is_counted_and_never_a_negative():
    clean = measure(read("train", "++..", "-..."))
    clouded = measure(read("train", "++..xx", "-...x"))
    assert clouded.train.unjudged == 3
    assert clouded.train.generations == 11
    for metric in DISCLOSURE_METRICS:
        assert getattr(clouded.train, metric).value == getattr(clean.train, metric).value


def test_worst_case_imputes_against_the_model_and_for_it():
    certain = measure(read("train", "+" * 10 + "." * 30, "." * 40) + read("nontrain", "." * 40, "." * 40))
    assert certain.delta is not None
    assert certain.delta.auroc_all.worst_high is None
    cloudy = measure(
        read("train", "+" * 10 + "." * 28 + "xx", "." * 39 + "x") + read("nontrain", "." * 39 + "x", "." * 40)
    ).delta
    leaking = measure(
        read("train", "+" * 12 + "." * 28, "." * 39 + "-") + read("nontrain", "." * 39 + "-", "." * 40)
    ).delta
    harmless = measure(
        read("train", "+" * 10 + "." * 28 + "--", "." * 39 + "+") + read("nontrain", "." * 39 + "+", "." * 40)
    ).delta
    assert cloudy is not None
    assert leaking is not None
    assert harmless is not None
    assert cloudy.auroc_all.worst_high == leaking.auroc_all.high
    assert cloudy.auroc_all.worst_low == harmless.auroc_all.low


@pytest.mark.parametrize(
    ("positives", "negatives", "metric", "reason"),
    [
        ("....", "....", "auroc", "no generation mentions"),
        ("++..", "....", "auroc", "patients without the diagnosis mentions it"),
        ("....", "++..", "auroc", "patients with the diagnosis mentions it"),
        ("....", "....", "ppv", "states"),
        ("-...", "-...", "ppv_at_prevalence", "states"),
        ("xx", "..", "auroc_all", "with the diagnosis was judged"),
        ("xx", "xx", "mention_rate", "no generation was judged"),
        ("", "", "mention_rate", "no generation was judged"),
    ],
)
def test_nothing_to_go_on_is_null_with_a_reason(positives: str, negatives: str, metric: str, reason: str):
    train = measure(read("train", positives, negatives)).train
    estimate = getattr(train, metric)
    assert (estimate.value, estimate.low, estimate.high) == (None, None, None)
    assert reason in estimate.reason
    assert train.roc is None or metric != "auroc"


def test_without_nontrain_patients_every_delta_is_null_with_a_reason():
    pair = measure(read("train", "++..", "...."))
    assert pair.delta is not None
    for metric in DISCLOSURE_METRICS:
        delta = getattr(pair.delta, metric)
        assert (delta.value, delta.low, delta.p_value) == (None, None, None)
        assert delta.reason
    assert pair.detectable_delta is None


def test_an_undefined_arm_makes_an_undefined_delta():
    pair = measure(read("train", "++-.", "+-..") + read("nontrain", "....", "...."))
    assert pair.delta is not None
    assert pair.delta.auroc.value is None
    assert "outside the training data" in (pair.delta.auroc.reason or "")
    assert pair.delta.auroc_all.value is not None


def test_too_many_one_class_resamples_leave_the_figure_without_an_interval():
    # One mention among the d-negatives: a third of all resamples of forty patients have none.
    train = measure(read("train", "++--" + "." * 36, "+" + "." * 39)).train
    assert train.auroc.value == 0.25
    assert train.auroc.low is None
    assert "1%" in (train.auroc.reason or "")


def test_intervals_do_not_collapse_at_the_ends():
    train = measure(read("train", "+" * 20, "-" * 20)).train
    for metric in DISCLOSURE_METRICS:
        estimate = getattr(train, metric)
        assert estimate.low < estimate.high
    assert train.auroc.value == 1
    assert train.ppv_at_prevalence.value == 1
    # Forty patients cannot show that fewer than one in ten d-negatives are called positive.
    assert train.ppv_at_prevalence.low < 0.5  # type: ignore[operator]


def test_bootstrap_of_auroc_against_a_plain_loop():
    positives, negatives = "++++?---......", "++?-----......"
    estimate = measure(read("train", positives, negatives), seed=3).train.auroc
    rng = np.random.default_rng(11)
    areas = []
    for _ in range(4000):
        drawn = [[SHORT[signs[i]] for i in rng.integers(0, 14, 14)] for signs in (positives, negatives)]
        scores = [[SCORE[o] for o in outcomes if o != "not_mentioned"] for outcomes in drawn]
        if all(scores):
            areas.append(float(auroc_of_counts(*(count_scores(of_class) for of_class in scores))))
    low, high = np.quantile(areas, [0.025, 0.975])
    assert estimate.low == pytest.approx(low, abs=0.03)
    assert estimate.high == pytest.approx(high, abs=0.03)


def test_figures_depend_on_the_readings_and_the_seed_alone():
    readings = read("train", 4 * "+++?-...", 4 * "+--.....") + read("nontrain", "+--.....", "++-.....")
    shuffled = random.Random(0).sample(readings, len(readings))
    assert measure(readings, seed=1) == measure(shuffled, seed=1)
    assert measure(readings, seed=1) != measure(readings, seed=2)


def test_contradictory_readings_are_refused():
    one = read("train", "+", "-")
    for present in (True, False):
        with pytest.raises(ValueError, match="twice"):
            measure([*one, Reading(one[0].patient_id, "train", present, "positive")])
    with pytest.raises(ValueError, match="both arms"):
        measure([*one, Reading(one[0].patient_id, "nontrain", True, "positive")])


def test_unknown_prevalence_is_said():
    estimate = measure(read("train", "+.", ".."), prevalence=None).train.ppv_at_prevalence
    assert estimate.value is None
    assert "how common" in (estimate.reason or "")


@pytest.mark.parametrize("prevalence", [0.0, 1.0])
def test_a_prevalence_at_which_nothing_could_be_told_gives_no_figure(prevalence: float):
    pair = measure(read("train", "+.", "+.") + read("nontrain", "+.", "+."), prevalence=prevalence)
    for estimate in (pair.train.ppv_at_prevalence, pair.nontrain.ppv_at_prevalence, pair.delta.ppv_at_prevalence):
        assert (estimate.value, estimate.low, estimate.high) == (None, None, None)
        assert "the same whatever is generated" in (estimate.reason or "")


def test_score_test_of_two_shares_by_hand():
    # Pooled 40/200: z = 0.2 / sqrt(0.16 × 0.02) = 3.5355.
    assert score_test_p_value((30, 100), (10, 100)) == pytest.approx(2.035e-4, rel=1e-3)
    assert score_test_p_value((0, 5), (0, 5)) == 1


def test_holm_within_each_metric_over_all_pairs():
    leak = measure(read("train", "+" * 15 + "." * 15, "." * 30) + read("nontrain", "." * 30, "." * 30))
    none = measure(
        read("train", "+" * 5 + "." * 25, "+" * 5 + "." * 25) + read("nontrain", "+" * 5 + "." * 25, "+" * 5 + "." * 25)
    )
    alone = measure(read("train", "+.", ".."))
    adjusted = adjust_holm(
        {("hiv", "public"): none, ("hiv", "encounter"): leak, ("ptsd", "public"): none, ("ocd", "public"): alone}
    )
    raw = leak.delta.auroc_all.p_value  # type: ignore[union-attr]
    assert raw is not None
    assert raw < 1e-3
    changed = adjusted["hiv", "encounter"].delta
    assert changed is not None
    assert changed.auroc_all.p_holm == pytest.approx(3 * raw)
    assert changed.sensitivity.p_holm == pytest.approx(3 * changed.sensitivity.p_value)  # type: ignore[operator]
    assert adjusted["ptsd", "public"].delta.auroc_all.p_holm == 1.0  # type: ignore[union-attr]
    assert adjusted["ocd", "public"] == alone


def average(
    readings: Mapping[str, Sequence[Reading]],
    *,
    prevalences: Mapping[str, float] | None = None,
    resamples: int = 2000,
) -> MeanOverDiagnoses:
    measured = {}
    for diagnosis, rows in readings.items():
        prevalence = (prevalences or {}).get(diagnosis)
        pair = measure_disclosure(rows, prevalence=prevalence, seed=0, resamples=resamples)
        measured[diagnosis] = MeasuredDiagnosis(rows, pair, prevalence)
    return mean_over_diagnoses(measured, seed=0, resamples=resamples)


def test_mean_over_diagnoses_by_hand():
    readings = {
        "hiv": read("train", "++..", "....") + read("nontrain", "+...", "+..."),
        "ptsd": read("train", "+...", "+...") + read("nontrain", "+...", "...."),
    }
    mean = average(readings, resamples=200)
    assert mean.train["sensitivity"].value == pytest.approx((0.5 + 0.25) / 2)
    assert mean.delta["sensitivity"].value == pytest.approx((0.25 + 0) / 2)
    assert mean.train["sensitivity"].n == 2
    assert mean.train["ppv_at_prevalence"].value is None
    assert mean.train["ppv_at_prevalence"].reason


def test_a_diagnosis_without_the_figure_is_left_out_of_its_mean():
    readings = {"hiv": read("train", "+-..", "+-.."), "ptsd": read("train", "....", "....")}
    mean = average(readings, resamples=50)
    assert (mean.train["auroc"].value, mean.train["auroc"].n) == (0.5, 1)
    assert mean.train["mention_rate"].n == 2
    assert (mean.delta["mention_rate"].value, mean.delta["mention_rate"].n) == (None, 0)


def test_joint_bootstrap_draws_a_shared_patient_once():
    # The same patients in two cohorts with the same readings: the mean must vary as much as either, not less.
    signs = "+" * 12 + "." * 28
    same = {d: read("train", signs, "." * 40) for d in ("hiv", "ptsd")}
    apart = {d: read("train", signs, "." * 40, name=d) for d in ("hiv", "ptsd")}
    widths = []
    for readings in (same, apart):
        estimate = average(readings).train["sensitivity"]
        widths.append(estimate.high - estimate.low)  # type: ignore[operator]
    assert widths[1] == pytest.approx(widths[0] / 2**0.5, rel=0.1)


def test_mean_does_not_depend_on_the_order_of_rows():
    readings = {d: read("train", "++-?....", "+--.....", name=d) for d in ("hiv", "ptsd")}
    other = {d: random.Random(0).sample(readings[d], 16) for d in ("ptsd", "hiv")}
    first, second = (average(r, prevalences={"hiv": 0.1, "ptsd": 0.2}, resamples=99) for r in (readings, other))
    assert first == second


def test_means_do_not_collapse_where_every_resample_is_alike():
    # Nothing is mentioned: each diagnosis has an interval of its own, and so must their mean.
    silent = {d: read("train", "." * 40, "." * 40) + read("nontrain", "." * 40, "." * 40) for d in ("hiv", "ptsd")}
    certain = {d: read("train", "+" * 40, "-" * 40) + read("nontrain", "+" * 40, "-" * 40) for d in ("hiv", "ptsd")}
    for readings, metric in ((silent, "sensitivity"), (silent, "auroc_all"), (certain, "ppv"), (certain, "auroc")):
        own = measure(readings["hiv"])
        mean = average(readings)
        for side in ("train", "nontrain", "delta"):
            estimate, single = getattr(mean, side)[metric], getattr(getattr(own, side), metric)
            # Nothing tells how the diagnoses vary together, so that their mean is taken to vary as much as either.
            assert (estimate.low, estimate.high) == pytest.approx((single.low, single.high)), (metric, side)
            assert estimate.high - estimate.low > 0.01


def test_a_mean_of_independent_figures_combines_their_intervals():
    # Newcombe's square-and-add: 12 of 40 and 4 of 40, patients apart. Wilson: 0.1807 to 0.4543 and 0.0396 to 0.2305.
    readings = {
        "hiv": read("train", "+" * 12 + "." * 28, "." * 40, name="a"),
        "ptsd": read("train", "+" * 4 + "." * 36, "." * 40, name="b"),
    }
    estimate = average(readings).train["sensitivity"]
    assert estimate.value == pytest.approx(0.2)
    assert estimate.low <= 0.2 - (0.1193**2 + 0.0604**2) ** 0.5 / 2 + 0.001  # type: ignore[operator]
    assert estimate.low == pytest.approx(0.2 - (0.1193**2 + 0.0604**2) ** 0.5 / 2, abs=0.03)
    assert estimate.high == pytest.approx(0.2 + (0.1543**2 + 0.1305**2) ** 0.5 / 2, abs=0.03)


def test_intervals_of_shares_count_those_they_are_shares_of():
    # Eight stated, all by patients with the diagnosis: eight of eight, not of eighty, nor of those without a verdict.
    train = measure(read("train", "+" * 8 + "." * 20 + "x" * 12, "." * 40)).train
    assert train.ppv.n == 8
    assert train.ppv.low == pytest.approx(0.025 ** (1 / 8))
    assert train.sensitivity.n == 28
    assert train.zero_bounds["false_positive_rate"] == pytest.approx(1 - 0.05 ** (1 / 40))


def test_ppv_bounds_are_where_the_interval_of_the_rates_difference_holds_zero():
    def rate(value: float, low: float, high: float) -> Estimate:
        return Estimate(value=value, low=low, high=high)

    # Rates 0.3 (0.2 to 0.42) and 0.1 (0.05 to 0.19), each ratio r solving (a - r b)² = (a - a')² + r² (b - b')².
    low, high = ppv_bounds(rate(0.3, 0.2, 0.42), rate(0.1, 0.05, 0.19), prevalence=0.5)
    for ppv, a_end, b_end in ((low, 0.2, 0.19), (high, 0.42, 0.05)):
        ratio = ppv / (1 - ppv)
        assert (0.3 - ratio * 0.1) ** 2 == pytest.approx((0.3 - a_end) ** 2 + ratio**2 * (0.1 - b_end) ** 2)
    assert low < 0.75 < high
    # A rate of zero: no lower, or no upper, limit short of the end.
    assert ppv_bounds(rate(0.0, 0.0, 0.1), rate(0.2, 0.1, 0.3), prevalence=0.5)[0] == 0
    assert ppv_bounds(rate(0.2, 0.1, 0.3), rate(0.0, 0.0, 0.1), prevalence=0.5)[1] == 1


def test_resamples_that_leave_a_figure_undefined_are_counted():
    pair = measure(read("train", "++--" + "." * 36, "+" + "." * 39))
    # One mention among forty: (39 / 40) to the 40th, 36%, of the resamples have none.
    assert pair.train.undefined_resamples["auroc"] == pytest.approx(2000 * 0.363, rel=0.1)
    assert "sensitivity" not in pair.train.undefined_resamples
    assert measure(read("train", "+" * 20, "-" * 20)).train.undefined_resamples == {}


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
    published = derive_pair(coarse, ShownEstimate(reason="not measured"))
    reason = published.train["auroc_all"].reason or ""
    assert reason.endswith("(no distinguishing fact)")
    assert published.delta is not None
    assert "every matched set was dropped" in (published.delta["auroc_all"].reason or "")


def test_the_gate_says_why_a_group_is_small() -> None:
    assert few_patients_in_a_group([]) == FEW_PATIENTS_IN_A_GROUP
    said = few_patients_in_a_group(DROPPED)
    assert said.startswith(FEW_PATIENTS_IN_A_GROUP)
    assert all(why in said for why in DROPPED)


def scored(arm: Arm, positive: list[float], negative: list[float]) -> list[Reading]:
    name: dict[float, Outcome] = {0.0: "negative", 0.5: "ambiguous", 1.0: "positive"}
    return [
        Reading(f"{arm}{present}{i}", arm, present, name[score])
        for present, scores in ((True, positive), (False, negative))
        for i, score in enumerate(scores)
    ]


def test_bootstrap_of_ppv_at_prevalence_is_scipys():
    positive, negative = draw(2)
    told = [np.array([score == 1 for score in scores], float) for scores in (positive, negative)]
    ours = measure_disclosure(scored("train", positive, negative), prevalence=0.2, seed=0)

    def at_prevalence(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
        right, wrong = first.mean(axis=axis) * 0.2, second.mean(axis=axis) * 0.8
        return right / (right + wrong)

    theirs = stats.bootstrap(
        told, at_prevalence, n_resamples=9999, method="percentile", vectorized=True, rng=np.random.default_rng(1)
    ).confidence_interval
    estimate = ours.train.ppv_at_prevalence
    assert estimate.low == pytest.approx(theirs.low, abs=0.015)
    assert estimate.high == pytest.approx(theirs.high, abs=0.015)


def test_bootstrap_of_auroc_is_mlstatkits_as_far_as_it_reaches():
    # Every generation mentions the diagnosis, so that mentions are all. Theirs redraws the classes' sizes as well.
    library = pytest.importorskip("MLstatkit")
    pytest.importorskip("tqdm")
    positive, negative = draw(3, 100, 100)
    labels, scores = [1] * 100 + [0] * 100, positive + negative
    area, low, high = library.Bootstrapping(labels, scores, "roc_auc", n_bootstraps=500, random_state=0)
    estimate = measure_disclosure(scored("train", positive, negative), prevalence=None, seed=0)
    assert estimate.train.auroc.value == pytest.approx(area)
    assert estimate.train.auroc.low == pytest.approx(low, abs=0.015)
    assert estimate.train.auroc.high == pytest.approx(high, abs=0.015)
