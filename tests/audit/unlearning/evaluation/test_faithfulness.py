"""Faithfulness: pairs of models counted by hand, the metrics that fall with knowledge, and models that lack one."""

import importlib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[4] / "benchmarks"))
    return importlib.import_module("unlearning_faithfulness")


def test_pairs_of_models_are_counted(measured: Any) -> None:
    saw = [{"ls": 0.4, "rouge_l": 0.9}, {"ls": 0.2, "rouge_l": 0.8}, {"ls": 0.3, "rouge_l": 0.7}]
    never = [{"ls": 0.3, "rouge_l": 0.1}, {"ls": 0.1, "rouge_l": 0.2}, {"ls": 0.25, "rouge_l": 0.3}]
    found = measured.measure_faithfulness(saw, never)
    # 0.4 beats three, 0.2 one, 0.3 two and ties with one.
    assert found["ls"].auroc.value == pytest.approx(6.5 / 9)
    assert found["rouge_l"].auroc.value == 1.0
    # Three of each kind are no proof, even where they never overlap.
    assert found["rouge_l"].auroc.low is not None
    assert found["rouge_l"].auroc.low < 0.9
    assert (found["ls"].with_patients, found["ls"].without_patients) == (3, 3)


def test_forget_efficacy_is_high_where_nothing_is_known(measured: Any) -> None:
    found = measured.measure_faithfulness([{"afe": 0.1}, {"afe": 0.2}], [{"afe": 0.8}, {"afe": 0.9}])
    assert found["afe"].auroc.value == 1.0


def test_models_without_a_metric_do_not_count(measured: Any) -> None:
    found = measured.measure_faithfulness([{"em": 0.9}, {"em": None}, {}], [{"em": 0.1}, {"em": 0.2}])
    assert (found["em"].auroc.value, found["em"].auroc.reason) == (None, measured.TOO_FEW_MODELS)
    assert (found["em"].with_patients, found["em"].without_patients) == (1, 2)
    with pytest.raises(ValueError, match="both kinds"):
        measured.measure_faithfulness([], [{"em": 0.1}])
