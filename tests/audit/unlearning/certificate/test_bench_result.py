"""What a benchmark's result says of patients: what answers keep of each, and what forgetting cost others, by hand."""

from pathlib import Path

import pytest
from support.unlearning.bench_results import Kept, constant, except_for, write_bench_result

from clinaudit.audit.unlearning.certificate.bench_result import (
    NEVER_TRAINED,
    NOT_ASKED,
    BenchResult,
    add_answers,
    lacks_answers,
    measure_answers,
    measure_collateral,
    read_bench_result,
)
from clinaudit.audit.unlearning.certificate.joint_test import ANSWERS, OWN_TEXT, Pool
from clinaudit.reports.schema.certificate import PriceFigure

NAMED = [f"n{place}" for place in range(5)]
RETAINED = [f"r{place}" for place in range(6)]
#: Kept of the i-th never-trained: i / 200.
CONTROLS = {f"c{place:02}": place / 200 for place in range(95)}


def result(root: Path, after: Kept, *, controls: int = 95, **others: Kept) -> BenchResult:
    """The result of a model that keeps so much; `before` of another."""
    known = dict(list(CONTROLS.items())[:controls])
    models = {"after": except_for(known, after), **others}
    write_bench_result(root, models, forget=NAMED, retain=RETAINED, never_trained=list(known))
    return read_bench_result(root, model=None, digest="b" * 64, corpus_digest="c" * 64)


def test_what_answers_keep_of_a_patient_is_the_most_of_any_use_of_questions(tmp_path) -> None:
    def kept(patient: str, use: str) -> tuple[float, float]:
        return ({"train": 0.2, "holdout": 0.3}[use] if patient == "n0" else 0.4, 0.9)

    measured = measure_answers(result(tmp_path, kept).after)
    # Kept: 1 - AFE of parts that are all alike is what is kept.
    assert (measured["n0"], measured["n1"]) == (pytest.approx(0.3), pytest.approx(0.4))


def test_patients_whom_the_benchmark_does_not_ask_about_are_lacking(tmp_path) -> None:
    found = result(tmp_path, constant(0.1))
    after = measure_answers(found.after)
    assert [lacks_answers(found, one, after) for one in ("n0", "nobody", "c03")] == [None, NOT_ASKED, NEVER_TRAINED]
    # Who was probed and not asked is no control, and keeps the figures of the audit.
    audits = Pool({"c00": {OWN_TEXT: 3.0}, "c99": {OWN_TEXT: 4.0}}, {"c00", "c99"}, {"c00": 7})
    pool = add_answers(audits, after, CONTROLS)
    assert (pool.never_seen, pool.figures["c99"], pool.chart_tokens) == ({"c00"}, {OWN_TEXT: 4.0}, {"c00": 7})
    assert pool.figures["c00"] == {OWN_TEXT: 3.0, ANSWERS: pytest.approx(0.0)}


FORGOTTEN = ["n0", "n1"]
SAME = [f"s{place}" for place in range(4)]
OTHERS = [f"o{place}" for place in range(3)]
CATEGORIES = {
    "n0": "cancer",
    "n1": "other",
    **dict.fromkeys(SAME, "cancer"),
    "o0": "kidney",
    "o1": "other",
    "o2": "kidney",
}


def cost(root: Path, after: Kept, *, named: list[str] = FORGOTTEN) -> dict[str, PriceFigure]:
    write_bench_result(
        root,
        {"before": constant(0.6), "after": after},
        forget=FORGOTTEN,
        retain=[*SAME, *OTHERS],
        never_trained=["c0"],
        category_of=lambda patient: CATEGORIES.get(patient, "kidney"),
    )
    result = read_bench_result(root, model="after", digest=None, corpus_digest=None)
    return {group.group: group for group in measure_collateral(result, named) or []}


def test_patients_with_a_named_ones_disease_stand_apart(tmp_path) -> None:
    after = except_for({"s0": 0.45, "s1": 0.55, "s2": 0.59, "s3": 0.65}, constant(0.6))
    groups = cost(tmp_path, after)
    # Who has none of the taxonomy shares it with nobody: o1 is no companion of n1.
    assert {name: group.change.n for name, group in groups.items()} == {"same": 4, "others": 3}
    # Harmonic mean of 0.56 (ROUGE-L, CS, ES: the mean of the four) and a TE of 0.8: 4 / (3 / 0.56 + 1 / 0.8).
    same, others = groups["same"], groups["others"]
    before = 4 / (3 / 0.6 + 1 / 0.8)
    assert same.after.value == pytest.approx(4 / (3 / 0.56 + 1 / 0.8))
    assert [same.before.value, others.before.value, others.after.value] == pytest.approx([before] * 3)
    assert same.change.value == pytest.approx(4 / (3 / 0.56 + 1 / 0.8) - before)
    assert others.change.value == 0
    assert others.change.low is not None
    assert others.change.low < 0


def test_who_is_named_is_not_retained_and_without_a_model_before_there_is_no_cost(tmp_path) -> None:
    groups = cost(tmp_path / "x", constant(0.6), named=["n0", "s0", "nobody"])
    assert {name: group.change.n for name, group in groups.items()} == {"same": 3, "others": 3}
    root = write_bench_result(
        tmp_path / "y", {"after": constant(0.6)}, forget=FORGOTTEN, retain=SAME, never_trained=["c0"]
    )
    assert (
        measure_collateral(read_bench_result(root, model=None, digest="b" * 64, corpus_digest=None), FORGOTTEN) is None
    )
