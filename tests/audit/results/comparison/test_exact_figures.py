"""The exact comparison as its page shows it: ranges of no width, the paired interval, the p-value beside them."""

import pytest

from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics
from clinaudit.audit.results.comparison.memorization import compare_memorization
from clinaudit.reports.schema.numbers import CountRange, Estimate, EstimateRange, exact_estimate


def metrics(memorized: list[int]) -> list[GenerationMetrics]:
    return [
        GenerationMetrics(
            f"g{place}", f"p{place}", "train", "encounter", "opening", 100, tokens, 0, tokens, 1, 0, 1, tokens
        )
        for place, tokens in enumerate(memorized)
    ]


def test_an_exact_estimate_has_its_interval_and_no_width() -> None:
    assert exact_estimate(Estimate(value=0.25, low=0.1, high=0.4, n=8)) == EstimateRange(
        value=0.25, low=0.25, high=0.25, confidence_low=0.1, confidence_high=0.4
    )
    assert exact_estimate(Estimate(value=None, n=0, reason="nobody")) == EstimateRange(reason="nobody")


def test_counts_and_p_values_are_those_of_the_pairs() -> None:
    memorization = compare_memorization(metrics([40, 40, 40, 0]), metrics([0, 0, 40]), seed=0)
    change = memorization["encounter"]["train"]
    assert change.patients is not None
    assert change.patients.a_only == CountRange(low=2, high=2)
    assert change.patients.unpaired_a == CountRange(low=1, high=1)
    difference = change.memorized_fraction.difference
    # Of three pairs: 40 to 0, 40 to 0, 40 to 40 tokens of 100.
    assert difference.value is not None
    assert difference.value == difference.low == difference.high == pytest.approx(-0.8 / 3)
    assert difference.confidence_low is not None
    assert difference.confidence_low < difference.value
    assert change.memorized_fraction.pairs == 3
    assert change.patients.p_value == 0.5
