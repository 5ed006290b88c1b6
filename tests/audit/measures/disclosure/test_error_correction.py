"""Correction for the judge's errors: planted truth is found again, and a slow twin draws the same mixes."""

import random

import numpy as np
import pytest
from scipy import stats
from support.drawn_scores import draw

from clinaudit.audit.measures.disclosure.error_correction import CORRECTED_METRICS, correct_disclosure
from clinaudit.audit.measures.disclosure.metrics import DISCLOSURE_METRICS, Reading
from clinaudit.audit.measures.disclosure.train_delta import measure_disclosure
from clinaudit.audit.results.gate.reasons import FEW_PATIENTS_IN_A_GROUP, few_patients_in_a_group
from clinaudit.audit.results.ranges.disclosure import derive_pair
from clinaudit.audit.statistics.misclassification import (
    JEFFREYS_PRIOR,
    draw_error_rates,
    draw_truths,
    measure_separation,
)
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, Outcome, VerdictCounts
from clinaudit.reports.schema.judge import VERDICT_CLASSES
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.tally.leaves import Count, Inside, Partition
from clinaudit.reports.tally.tally import PairTally

#: Positive, negative, ambiguous, not mentioned; rows are the truth.
ERRORS = np.array([[0.8, 0.0, 0.0, 0.2], [0.1, 0.9, 0.0, 0.0], [0.3, 0.0, 0.7, 0.0], [0.0, 0.0, 0.0, 1.0]])
MATRIX = np.array([[65.0, 0, 1, 12], [7, 70, 1, 0], [18, 0, 58, 2], [0, 0, 1, 77]])


def readings(mixes: dict[tuple[Arm, bool], tuple[float, ...]], size: int, errors: np.ndarray) -> list[Reading]:
    """Return readings whose verdicts are as common as the mixes of truths and the errors make them."""
    rows = []
    for (arm, present), mix in mixes.items():
        counts = np.round(np.array(mix) @ errors * size).astype(int)
        verdicts: list[Outcome] = [
            verdict for verdict, n in zip(VERDICT_CLASSES, counts, strict=True) for _ in range(n)
        ]
        rows += [Reading(f"{arm}-{present}-{i}", arm, present, verdict) for i, verdict in enumerate(verdicts)]
    return rows


LEAK: dict[tuple[Arm, bool], tuple[float, ...]] = {
    ("train", True): (0.30, 0.05, 0.10, 0.55),
    ("train", False): (0.05, 0.15, 0.10, 0.70),
    ("nontrain", True): (0.10, 0.05, 0.10, 0.75),
    ("nontrain", False): (0.10, 0.15, 0.10, 0.65),
}


def test_planted_truth_is_found_where_the_raw_figure_is_off() -> None:
    errors = MATRIX / MATRIX.sum(axis=1, keepdims=True)
    rows = readings(LEAK, 2000, errors)
    raw = measure_disclosure(rows, prevalence=None, seed=0, resamples=10)
    corrected = correct_disclosure(rows, 100 * MATRIX, seed=0)
    assert corrected.nontrain is not None
    assert corrected.delta is not None
    assert raw.delta is not None
    assert raw.train.sensitivity.value == pytest.approx(0.2765, abs=0.01)
    assert corrected.train.sensitivity.value == pytest.approx(0.30, abs=0.01)
    assert corrected.train.ppv.value == pytest.approx(0.30 / 0.35, abs=0.02)
    assert corrected.nontrain.sensitivity.value == pytest.approx(0.10, abs=0.01)
    assert corrected.delta.sensitivity.value == pytest.approx(0.20, abs=0.015)
    assert abs((raw.delta.sensitivity.value or 0) - 0.20) > 0.02


def test_a_judge_that_never_errs_leaves_the_figures_as_they_are() -> None:
    rows = readings(LEAK, 200, np.eye(4))
    raw = measure_disclosure(rows, prevalence=None, seed=0, resamples=10)
    corrected = correct_disclosure(rows, np.eye(4) * 100_000, seed=0)
    for arm in ("train", "nontrain", "delta"):
        for metric in CORRECTED_METRICS:
            before, after = getattr(getattr(raw, arm), metric), getattr(getattr(corrected, arm), metric)
            assert after.value == pytest.approx(before.value, abs=0.02), (arm, metric)
            # The interval over patients is not lost by the correction.
            assert after.high - after.low == pytest.approx(before.high - before.low, rel=0.35), (arm, metric)


def test_fewer_labelled_texts_widen_the_range() -> None:
    rows = readings(LEAK, 100, ERRORS)
    widths = []
    for scale in (1.0, 0.3):
        figure = correct_disclosure(rows, scale * MATRIX, seed=0).train.sensitivity
        assert figure.low is not None
        assert figure.high is not None
        widths.append(figure.high - figure.low)
    assert widths[1] > widths[0]


def test_a_twin_that_draws_one_generation_at_a_time_agrees() -> None:
    verdicts = np.array([[30.0, 10, 20, 40]])
    errors = draw_error_rates(MATRIX, np.random.default_rng(0), 400)
    drawn = draw_truths(verdicts, errors, np.random.default_rng(1))[:, 0] + JEFFREYS_PRIOR
    drawn /= drawn.sum(axis=-1, keepdims=True)
    rng = random.Random(2)
    seen = [verdict for verdict, n in enumerate(verdicts[0]) for _ in range(int(n))]
    twin = []
    for matrix in errors[:120]:
        mix = [0.25] * 4
        for _ in range(40):
            truths = [JEFFREYS_PRIOR] * 4
            for verdict in seen:
                weights = [mix[truth] * matrix[truth, verdict] for truth in range(4)]
                truths[rng.choices(range(4), weights)[0]] += 1
            gammas = [rng.gammavariate(weight, 1) for weight in truths]
            mix = [value / sum(gammas) for value in gammas]
        twin.append([weight / sum(truths) for weight in truths])
    assert drawn.mean(axis=0) == pytest.approx(np.mean(twin, axis=0), abs=0.03)
    assert drawn.std(axis=0) == pytest.approx(np.std(twin, axis=0), abs=0.02)


def test_error_rates_are_drawn_around_the_matrix() -> None:
    drawn = draw_error_rates(MATRIX, np.random.default_rng(0), 4000)
    assert drawn.sum(axis=-1) == pytest.approx(np.ones((4000, 4)))
    assert drawn.mean(axis=0) == pytest.approx(
        (MATRIX + JEFFREYS_PRIOR) / (MATRIX.sum(axis=1, keepdims=True) + 2), abs=0.01
    )


def test_unjudged_generations_are_left_out_as_in_the_raw_figures() -> None:
    rows = readings(LEAK, 100, ERRORS)
    unjudged = [Reading(f"u{i}", "train", True, "unjudged") for i in range(50)]
    assert correct_disclosure([*rows, *unjudged], MATRIX, seed=0) == correct_disclosure(rows, MATRIX, seed=0)


def test_the_seed_and_nothing_else_decides() -> None:
    rows = readings(LEAK, 60, ERRORS)
    shuffled = random.Random(1).sample(rows, len(rows))
    first = correct_disclosure(rows, MATRIX, seed=3)
    assert correct_disclosure(shuffled, MATRIX, seed=3) == first
    assert correct_disclosure(rows, MATRIX, seed=4) != first


def test_what_cannot_be_corrected_is_said() -> None:
    rows = readings(LEAK, 60, ERRORS)
    train_only = [row for row in rows if row.arm == "train"]
    without_absent = [row for row in train_only if row.present]
    for wrong in ([], without_absent, train_only):
        pair = correct_disclosure(wrong, MATRIX, seed=0)
        assert pair.delta is not None
        assert pair.nontrain is not None
        assert pair.nontrain.auroc_all.value is None
        assert pair.nontrain.auroc_all.reason
        assert pair.delta.ppv.value is None
    with pytest.raises(ValueError, match="twice"):
        correct_disclosure([*rows, rows[0]], MATRIX, seed=0)


def test_a_figure_says_how_many_generations_it_was_computed_on() -> None:
    unjudged = [Reading(f"u{i}", "train", True, "unjudged") for i in range(50)]
    pair = correct_disclosure([*readings(LEAK, 60, np.eye(4)), *unjudged], MATRIX, seed=0)
    assert pair.nontrain is not None
    assert pair.delta is not None
    assert [side.ppv.n for side in (pair.train, pair.nontrain, pair.delta)] == [120, 120, 240]


def test_separation_of_two_classes_is_youdens_index() -> None:
    assert measure_separation(np.array([[0.8, 0.2], [0.1, 0.9]])) == pytest.approx(0.7)
    # Of three, where two texts in ten of the first class are read as the third.
    assert measure_separation(np.array([[0.8, 0, 0.2], [0, 1, 0], [0, 0, 1]])) == pytest.approx(0.8)


def test_separation_is_the_least_distance_between_two_mixes_of_truths() -> None:
    errors = MATRIX / MATRIX.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    differences = rng.normal(size=(20_000, 4))
    differences -= differences.mean(axis=1, keepdims=True)
    differences /= np.abs(differences).sum(axis=1, keepdims=True)
    found = np.abs(differences @ errors).sum(axis=1).min()
    least = float(measure_separation(errors))
    assert least <= found <= least + 0.02


@pytest.mark.parametrize("right", [0.25, 0.3, 0.4])
def test_a_judge_that_tells_little_corrects_nothing(right: float) -> None:
    matrix = np.full((4, 4), 78 * (1 - right) / 3)
    np.fill_diagonal(matrix, 78 * right)
    pair = correct_disclosure(readings(LEAK, 100, ERRORS), matrix, seed=0)
    for side in (pair.train, pair.nontrain, pair.delta):
        assert side is not None
        assert side.sensitivity.value is None
        assert "mistakes what is said too often" in (side.sensitivity.reason or "")


def test_a_class_without_labelled_texts_corrects_nothing() -> None:
    matrix = MATRIX.copy()
    matrix[2] = 0
    assert correct_disclosure(readings(LEAK, 100, ERRORS), matrix, seed=0).train.ppv.value is None


def test_a_share_of_nobody_reaches_zero_and_one_of_everybody_one() -> None:
    nobody: dict[tuple[Arm, bool], tuple[float, ...]] = {
        ("train", True): (1.0, 0.0, 0.0, 0.0),
        ("train", False): (0.0, 0.2, 0.0, 0.8),
        ("nontrain", True): (0.0, 0.0, 0.0, 1.0),
        ("nontrain", False): (0.0, 0.2, 0.0, 0.8),
    }
    pair = correct_disclosure(readings(nobody, 20, np.eye(4)), np.eye(4) * 78, seed=0)
    assert pair.nontrain is not None
    assert pair.train.sensitivity.high == pytest.approx(1)
    assert pair.train.ppv.high == pytest.approx(1)
    assert pair.nontrain.sensitivity.low == pytest.approx(0)
    # Nobody is told of, in either group: PPV could be anything.
    assert (pair.nontrain.ppv.low, pair.nontrain.ppv.high) == pytest.approx((0, 1), abs=0.01)


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


def read(arm: str, positive: list[float], negative: list[float]) -> list[Reading]:
    name = {0.0: "negative", 0.5: "ambiguous", 1.0: "positive"}
    return [
        Reading(f"{arm}{present}{i}", arm, present, name[score])  # type: ignore[arg-type]
        for present, scores in ((True, positive), (False, negative))
        for i, score in enumerate(scores)
    ]


def test_bootstrap_of_ppv_at_prevalence_is_scipys():
    positive, negative = draw(2)
    told = [np.array([score == 1 for score in scores], float) for scores in (positive, negative)]
    ours = measure_disclosure(read("train", positive, negative), prevalence=0.2, seed=0)

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
    estimate = measure_disclosure(read("train", positive, negative), prevalence=None, seed=0)
    assert estimate.train.auroc.value == pytest.approx(area)
    assert estimate.train.auroc.low == pytest.approx(low, abs=0.015)
    assert estimate.train.auroc.high == pytest.approx(high, abs=0.015)
