"""Which interval a figure of the document has, that each says how it was made, and changes to the model before."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import hmean
from support.unlearning.many_patients import AFTER, BEFORE, BENCH, MAKING

from clinaudit.audit.statistics.intervals import clopper_pearson_of_mean
from clinaudit.audit.unlearning.benchmark.records import Scores
from clinaudit.audit.unlearning.metrics.score_document import describe_scores
from clinaudit.reports.schema.unlearning_scores import Figure, ScoresDocument


@pytest.fixture(scope="module")
def document() -> ScoresDocument:
    # As it is written, and read again.
    made = describe_scores({"before": BEFORE, "after": AFTER}, BENCH, MAKING)
    return ScoresDocument.model_validate_json(made.text())


def figure_of(document: ScoresDocument, metric: str, group: str, *, change: bool = False) -> Figure:
    scores = document.models["after"]
    found = (scores.change if change else scores.side(group)).find(metric, group, "factual", "train")
    assert found is not None
    return found


def values_of(scores: list[Scores], metric: str) -> np.ndarray:
    return np.array([getattr(one, metric) for one in scores if one.qa_id.startswith("factual-r")], dtype=np.float64)


def figures_in(held: Any) -> Iterator[dict[str, Any]]:
    """Yield everything with an interval."""
    if isinstance(held, dict):
        if "interval" in held:
            yield held
        for own in held.values():
            yield from figures_in(own)


def test_many_patients_have_the_bootstraps_interval(document: ScoresDocument) -> None:
    values = values_of(AFTER, "rouge_l")
    found = figure_of(document, "rouge_l", "retain")
    assert (found.method, found.answers) == ("bootstrap", 100)
    # Near 1.96 standard errors to either side.
    error = 1.96 * values.std() / 10
    assert found.low == pytest.approx(values.mean() - error, abs=error / 8)
    assert found.high == pytest.approx(values.mean() + error, abs=error / 8)
    assert figure_of(document, "mu_without_em", "retain").method == "bootstrap"
    # 90 of them share a disease with a forgotten patient, and ten do not.
    assert figure_of(document, "afe_without_em", "same").method == "bootstrap"
    assert figure_of(document, "afe_without_em", "others").method == "beta_bounds"


def test_few_patients_and_skewed_figures_keep_the_beta_bounds(document: ScoresDocument) -> None:
    for metric, group in (("rouge_l", "forget"), ("ls", "retain"), ("ls_echo_free", "retain"), ("te", "retain")):
        assert figure_of(document, metric, group).method == "beta_bounds", metric
    found = figure_of(document, "ls", "retain")
    # Many resamples miss the one patient.
    assert (found.low, found.high) == (0.0, clopper_pearson_of_mean(1.0, 100).high)


def test_every_interval_says_how_it_was_made(document: ScoresDocument) -> None:
    held = json.loads(document.text())
    found = list(figures_in(held["models"]))
    assert len(found) > 50
    for figure in found:
        has_interval = figure["interval"] != [None, None]
        assert has_interval == (figure.get("method") in ("bootstrap", "beta_bounds"))
    assert {figure["method"] for figure in found if "method" in figure} == {"bootstrap", "beta_bounds"}


def test_changes_are_of_the_same_questions_of_the_same_patients(document: ScoresDocument) -> None:
    before, after = (values_of(scores, "rouge_l") for scores in (BEFORE, AFTER))
    change = figure_of(document, "rouge_l", "retain", change=True)
    assert change.value == pytest.approx((after - before).mean())
    assert change.method == "bootstrap"
    error = 1.96 * (after - before).std() / 10
    assert change.low == pytest.approx(change.value - error, abs=error / 8)
    # The levels' own intervals overlap, though every answer fell.
    earlier = document.models["before"].find("rouge_l", "retain", "factual", "train")
    now = figure_of(document, "rouge_l", "retain")
    assert earlier is not None
    assert earlier.low is not None
    assert now.high is not None
    assert change.high is not None
    assert now.high > earlier.low
    assert change.high < 0


def test_a_change_of_mu_is_that_of_harmonic_means(document: ScoresDocument) -> None:
    sides = [[values_of(scores, part).mean() for part in ("rouge_l", "cs", "te", "es")] for scores in (BEFORE, AFTER)]
    change = figure_of(document, "mu_without_em", "retain", change=True)
    assert change.value == pytest.approx(hmean(sides[1]) - hmean(sides[0]))
    assert change.method == "bootstrap"
    assert change.high is not None
    assert change.high < 0
    # Of twenty patients only the safe interval, in which both levels count as independent.
    assert figure_of(document, "mu_without_em", "forget", change=True).method == "beta_bounds"


def test_nothing_is_compared_with_itself_or_where_it_is_lacking(document: ScoresDocument) -> None:
    assert not document.models["before"].change.model_fields_set
    # No model was at hand for exact memorization.
    assert not {"em", "mu", "afe"} & document.models["after"].change.model_fields_set
    alone = describe_scores({"after": AFTER}, BENCH, replace(MAKING, before=None))
    assert not alone.models["after"].change.model_fields_set
    # An answer without the metric in one of both models counts in neither.
    lacking = [replace(one, ls=None) if one.qa_id == "factual-r005" else one for one in AFTER]
    found = describe_scores({"before": BEFORE, "after": lacking}, BENCH, MAKING)
    change = found.models["after"].change.find("ls", "retain", "factual", "train")
    assert change is not None
    assert (change.value, change.answers) == (0.0, 99)
