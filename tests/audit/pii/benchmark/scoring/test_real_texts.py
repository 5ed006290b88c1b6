"""Whether samples and real texts tell the same of systems: worked by hand."""

from typing import Any

import pytest

from clinaudit.audit.pii.benchmark.scoring.score_document import (
    compare_with_real,
    performance_consistency,
    ranking_consistency,
)


def systems_of(**f1: float) -> dict[str, Any]:
    """`systems` of a document of scores, where each has one F1 in detection, and was not asked the other tasks."""
    return {
        system: {
            "detection": {metric: {"f1": value} for metric in ("strict_f1", "ent_f1", "rouge_l_f")},
            "query_related": None,
            "masking": None,
        }
        for system, value in f1.items()
    }


def test_agreement_with_real_texts() -> None:
    assert performance_consistency(0.893, 0.912) == pytest.approx(0.979, abs=5e-4)  # Table 16, GPT4o
    assert performance_consistency(0.9, 0.6) == performance_consistency(0.6, 0.9) == pytest.approx(2 / 3)
    assert performance_consistency(0, 0) == 1
    assert performance_consistency(0, 0.5) == 0
    # Tables 6 and 18: one swap of neighbours among seven would give 1 - 6 * 2 / (7 * 48).
    single = [0.893, 0.858, 0.903, 0.881, 0.866, 0.748, 0.787]
    real = [0.912, 0.887, 0.923, 0.901, 0.884, 0.762, 0.798]
    assert ranking_consistency(single, real) == pytest.approx(1 - 6 * 2 / (7 * 48))
    assert ranking_consistency([0.1], [0.2]) is None
    assert ranking_consistency([0.1, 0.2], [0.3, 0.3]) is None
    with pytest.raises(ValueError, match="both sides"):
        ranking_consistency([0.1], [])


def test_systems_are_compared_that_were_scored_on_both() -> None:
    here, there = systems_of(a=0.9, b=0.8, c=0.7, d=0.6, e=0.1), systems_of(a=0.45, b=0.8, c=0.2, d=0.1, f=1.0)
    compared = compare_with_real(here, there)
    assert list(compared) == ["detection"]
    performance = {system: values["strict_f1"] for system, values in compared["detection"]["performance"].items()}
    assert performance == pytest.approx({"a": 0.5, "b": 1.0, "c": 2 / 7, "d": 1 / 6})
    # Of four the first two change places: 1 - 6 * 2 / (4 * 15).
    assert compared["detection"]["ranking"]["ent_f1"] == {"rho": pytest.approx(0.8), "systems": 4, "reason": None}
    assert compare_with_real(here, systems_of(z=1.0)) == {}


def test_an_order_of_three_systems_or_of_equals_says_nothing() -> None:
    three = systems_of(a=0.9, b=0.8, c=0.7)
    ranking = compare_with_real(three, three)["detection"]["ranking"]["strict_f1"]
    assert (ranking["rho"], ranking["systems"]) == (None, 3)
    assert ranking["reason"].startswith("too few systems to say")
    alike = systems_of(a=0.5, b=0.5, c=0.5, d=0.5)
    ranking = compare_with_real(systems_of(a=0.9, b=0.8, c=0.7, d=0.6), alike)["detection"]["ranking"]["strict_f1"]
    assert (ranking["rho"], ranking["systems"]) == (None, 4)
    assert "there is no order" in ranking["reason"]
