"""Answers beside patients never trained on: level, all together, reference, and how many would be enough, by hand."""

from itertools import combinations
from math import comb
from pathlib import Path

import pytest
from support.unlearning.bench_results import Kept, constant, except_for, write_bench_result

from clinaudit.audit.unlearning.certificate.bench_result import read_bench_result
from clinaudit.audit.unlearning.certificate.question_block import (
    ABOVE_LEVEL,
    ABOVE_TOGETHER,
    ECHO_FREE,
    ECHOING,
    FEW_NEVER_TRAINED,
    KEPT,
    NEVER_TRAINED,
    NOT_ASKED,
    Questioned,
    enough_to_permute,
    permutation_p_value,
    weigh_answers,
)
from clinaudit.reports.schema.certificate import Shortfall

NAMED = [f"n{place}" for place in range(5)]
RETAINED = [f"r{place}" for place in range(6)]
#: Kept of the i-th never-trained: i / 100.
CONTROLS = {f"c{place:02}": place / 100 for place in range(30)}


def weigh(
    root: Path,
    after: Kept,
    *,
    reference: Kept | None = None,
    before: Kept | None = None,
    controls: int = 30,
    named: list[str] = NAMED,
) -> Questioned:
    known = dict(list(CONTROLS.items())[:controls])
    models = {"after": except_for(known, after)}
    if before is not None:
        models["before"] = before
    if reference is not None:
        models["retrained"] = reference
    write_bench_result(root, models, forget=NAMED, retain=RETAINED, never_trained=list(known))
    result = read_bench_result(root, model=None, digest="b" * 64, corpus_digest="c" * 64)
    return weigh_answers(result, named)


def test_one_patient_above_the_level_leaks_and_the_others_do_not(tmp_path) -> None:
    # ceil(0.95 * 31) = 30th smallest of 30: 0.29.
    asked = weigh(tmp_path, except_for({"n0": 0.3, "n1": 0.29}, constant(0.1, 0.1)), before=constant(0.9, 0.5))
    assert asked.leaks == {"n0": {ABOVE_LEVEL}, "n1": set(), "n2": set(), "n3": set(), "n4": set()}
    assert set().union(*asked.lacking.values()) == set()
    row = next(row for row in asked.rows["n0"] if (row.use, row.measure) == ("holdout", KEPT))
    assert (row.before, row.level, row.controls, row.status) == (
        pytest.approx(0.9),
        pytest.approx(0.29),
        30,
        "still leaks",
    )
    assert row.after == pytest.approx(0.3)
    # Kept: 1 - AFE of parts that are all alike is what is kept. None of 30 is above the largest of them.
    assert {(row.use, row.measure) for row in asked.rows["n0"]} == {
        (use, measure) for use in ("train", "holdout", "rephrased") for measure in (KEPT, ECHO_FREE)
    }
    assert asked.block.controls_above_level.value == 0
    assert asked.shortfalls == []


def test_patients_within_the_level_leak_together_where_chance_would_not_put_them_so_high(tmp_path) -> None:
    # Each at 0.28, the last but one of 30: all five together are no chance.
    asked = weigh(tmp_path, constant(0.28, 0.28))
    assert {frozenset(own) for own in asked.leaks.values()} == {frozenset({ABOVE_TOGETHER})}
    assert {row.status for rows in asked.rows.values() for row in rows} == {"forgotten"}
    groups = {(group.use, group.measure): group for group in asked.block.groups}
    assert {group.is_above for (_, measure), group in groups.items() if measure != ECHOING} == {True}
    # An answer that repeats the question has it, too: the paper's score is shown, and decides nothing.
    assert {group.is_above for (_, measure), group in groups.items() if measure == ECHOING} == {None}
    one = groups["train", KEPT]
    assert (one.patients, one.controls) == (5, 30)
    assert one.after.value == pytest.approx(0.28)
    assert one.before.reason == "no such model was evaluated"
    # The mean of each part over all never-trained is 0.145.
    assert one.floor.value == pytest.approx(0.145)


def test_what_a_retrained_model_keeps_as_well_is_no_memory(tmp_path) -> None:
    # It must not keep more of them than of those it never saw: of these it keeps more here, too.
    reference = except_for(dict.fromkeys(CONTROLS, 0.5), constant(0.4, 0.4))
    assert set().union(*weigh(tmp_path / "x", constant(0.4, 0.4), reference=reference).leaks.values()) == set()
    assert weigh(tmp_path / "y", constant(0.41, 0.41), reference=reference).leaks["n0"] == {ABOVE_LEVEL, ABOVE_TOGETHER}
    remembers = except_for(dict.fromkeys(CONTROLS, 0.1), constant(0.4, 0.4))
    assert weigh(tmp_path / "z", constant(0.4, 0.4), reference=remembers).leaks["n0"] == {ABOVE_LEVEL, ABOVE_TOGETHER}


def test_too_few_never_trained_make_no_level_and_so_many_more_are_enough(tmp_path) -> None:
    asked = weigh(tmp_path, constant(0.1, 0.1), controls=19)
    assert asked.lacking == {one: {FEW_NEVER_TRAINED} for one in NAMED}
    assert asked.shortfalls == [
        Shortfall(figure="answers to questions on the patient", group="controls", patients=19, enough=20)
    ]
    # What keeps nothing is within any level.
    assert weigh(tmp_path / "nothing", constant(0.0, 0.0), controls=19).lacking == {one: set() for one in NAMED}


def test_patients_whom_the_benchmark_does_not_ask_about_are_lacking(tmp_path) -> None:
    asked = weigh(tmp_path, constant(0.1), named=["n0", "nobody", "c03"])
    assert asked.lacking == {"n0": set(), "nobody": {NOT_ASKED}, "c03": {NEVER_TRAINED}}
    # One who is named is no control.
    assert {row.controls for row in asked.rows["n0"]} == {29}


def test_the_p_value_is_that_of_all_exchanges_by_hand() -> None:
    named, controls = [0.9, 0.4], [0.5, 0.1, 0.2]
    values = [*named, *controls]
    means = [sum(pick) / 2 - (sum(values) - sum(pick)) / 3 for pick in combinations(values, 2)]
    observed = sum(named) / 2 - sum(controls) / 3
    # 0.9 with 0.4 or with 0.5: two of the ten.
    share = sum(mean >= observed - 1e-12 for mean in means) / comb(5, 2)
    assert permutation_p_value(named, controls, seed=0) == pytest.approx(share) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("controls", "tests", "enough"),
    [
        # 1/21 <= 0.05.
        (20, 1, 1),
        (18, 1, 2),
        # 6/21 and 6/231 = 0.026.
        (20, 6, 2),
        # 6/120 = 0.05.
        (119, 6, 1),
        (118, 6, 2),
        # 6/C(k+1, 1): 6/120.
        (1, 6, 119),
        (0, 1, None),
    ],
)
def test_so_many_named_patients_are_enough_for_the_test_of_all_together(controls, tests, enough) -> None:
    assert enough_to_permute(controls, tests=tests) == enough


def test_one_named_patient_is_too_few_for_all_together_and_two_are_enough(tmp_path) -> None:
    alone = weigh(tmp_path / "one", constant(0.2, 0.2), named=["n0"])
    # Six tests: 6 / C(31, 1) > 0.05, 6 / C(32, 2) < 0.05.
    assert alone.shortfalls == [
        Shortfall(figure="answers to questions on all named patients together", group="named", patients=1, enough=2)
    ]
    assert weigh(tmp_path / "two", constant(0.2, 0.2), named=["n0", "n1"]).shortfalls == []
