"""Formulas of identifiers, by hand."""

from typing import Any

import pytest
from support.evidence_frames import evidence

from clinaudit.audit.pii.stage import estimate_identifiers
from clinaudit.reports.estimates.frame import Estimates

HERE = {"form": "text", "tier": "public", "arm": "train"}
PLANTED = [{"hipaa": "C", "planted": 50, "found": 40}, {"hipaa": "D", "planted": 50, "found": 0}]


def table_of(patients: str, values: list[dict[str, Any]], **more: Any) -> Estimates:
    """Return the estimates of one answer a letter, of the patient so named: answers g0, g1, ..."""
    asked = {"arm": "train", "tier": "public", "tokens": 9, **more}
    answers = [{**asked, "generation_id": f"g{at}", "patient_id": who} for at, who in enumerate(patients)]
    return Estimates(estimate_identifiers(evidence(generation_metrics=answers, identifiers=values, planted=PLANTED)))


def value(answer: int, name: str, owner: str, **more: Any) -> dict[str, Any]:
    return {
        "generation_id": f"g{answer}",
        "char_start": 0,
        "hipaa": "C",
        "kind": "date",
        "value": name,
        "owner": owner,
        "verified": False,
        "sampled": False,
        "by_chance": False,
        **more,
    }


def counts(table: Estimates, **place: str) -> dict[str, int | None]:
    metrics = ("own_identifiers", "other_identifiers", "other_identifiers_sampled", "other_identifiers_chance")
    found = {metric: table.find(metric, **place) for metric in metrics}
    return {metric: row.count_low for metric, row in found.items() if row is not None}


def test_an_own_identifier_is_one_that_nobody_else_has() -> None:
    table = table_of(
        "aabcd",
        [
            value(0, "1", "own", verified=True),
            value(1, "1", "own", verified=True),
            value(2, "2", "own"),
            value(3, "3", "echo"),
            value(4, "4", "other_train", verified=True),
            value(4, "5", "other_train"),
            value(4, "6", "other_nontrain"),
        ],
    )
    own = table.find("own_identifiers", **HERE)
    assert own is not None
    assert (own.count_low, own.of_low, own.value) == (1, 4, 0.25)
    assert counts(table, **HERE)["other_identifiers"] == 1
    rate = table.find("identifiers_per_1000", **HERE)
    assert rate is not None
    # Two answers give a's, one another's: 3 of 5 answers, of 2 patients.
    assert (rate.value, rate.behind) == (pytest.approx(600.0), 2)


def test_by_chance_a_value_counts_in_the_first_answer_that_has_it() -> None:
    table = table_of(
        "babc",
        [
            value(1, "x", "other_train", sampled=True, verified=True),
            value(2, "x", "other_train", sampled=True, verified=True),
            value(2, "y", "other_train", sampled=True),
            value(3, "x", "other_train", sampled=True, verified=True),
            value(3, "z", "other_nontrain", by_chance=True),
            # The same value of another kind is another.
            value(0, "z", "other_nontrain", by_chance=True, kind="code"),
        ],
    )
    # b answers first, so that x and y are both b's; c has x as well.
    assert counts(table, **HERE) == {
        "own_identifiers": 0,
        "other_identifiers": 3,
        "other_identifiers_sampled": 1,
        "other_identifiers_chance": 2,
    }


def test_a_category_counts_values_by_where_they_stand_first_over_all_tiers() -> None:
    table = table_of(
        "ab",
        [
            value(0, "1", "own", verified=True, hipaa="C"),
            value(0, "1", "own", verified=True, hipaa="D", char_start=9),
            value(1, "2", "own", verified=True, hipaa="D"),
        ],
    )
    place = {"form": "text", "arm": "train", "by": "category"}
    assert counts(table, part="C", **place)["own_identifiers"] == 1
    # Nothing that was planted of D was found: no row says that nothing leaked.
    assert counts(table, part="D", **place) == {}
    recalls = {row.part: (row.count_low, row.of_low) for row in table.rows("detector_recall")}
    assert recalls == {"C": (40, 50), "D": (0, 50)}


def test_nobody_with_an_identifier_is_a_row_of_none() -> None:
    table = table_of("ab", [])
    assert set(counts(table, **HERE).values()) == {0}
    rate = table.find("identifiers_per_1000", **HERE)
    assert rate is not None
    assert (rate.value, rate.behind) == (0.0, 0)


def test_without_two_pools_nothing_is_said_of_chance() -> None:
    values = [value(0, "1", "other_train", verified=True, sampled=None, by_chance=None)]
    table = table_of("ab", values, other_patient_sampled_tokens=None)
    assert counts(table, **HERE) == {"own_identifiers": 0, "other_identifiers": 1}
