"""The bootstrap of disclosure figures against implementations published by others, on the same data."""

import numpy as np
import pytest
from scipy import stats
from support.drawn_scores import draw

from clinaudit.audit.measures.disclosure.metrics import Reading
from clinaudit.audit.measures.disclosure.train_delta import measure_disclosure


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
    area, low, high = library.Bootstrapping(labels, scores, "roc_auc", n_bootstraps=2000, random_state=0)
    estimate = measure_disclosure(read("train", positive, negative), prevalence=None, seed=0)
    assert estimate.train.auroc.value == pytest.approx(area)
    assert estimate.train.auroc.low == pytest.approx(low, abs=0.015)
    assert estimate.train.auroc.high == pytest.approx(high, abs=0.015)
