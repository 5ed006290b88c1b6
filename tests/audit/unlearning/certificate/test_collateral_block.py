"""What forgetting cost others: who shares a disease, and how far answers on each became worse, by hand."""

from pathlib import Path

import pytest
from support.unlearning.bench_results import Kept, constant, except_for, write_bench_result

from clinaudit.audit.unlearning.certificate.bench_result import read_bench_result
from clinaudit.audit.unlearning.certificate.compared_answers import measure_collateral
from clinaudit.reports.schema.certificate import CollateralGroup

NAMED = ["n0", "n1"]
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


def cost(root: Path, after: Kept, *, named: list[str] = NAMED) -> dict[str, CollateralGroup]:
    write_bench_result(
        root,
        {"before": constant(0.6), "after": after},
        forget=NAMED,
        retain=[*SAME, *OTHERS],
        never_trained=["c0"],
        category_of=lambda patient: CATEGORIES.get(patient, "kidney"),
    )
    result = read_bench_result(root, model="after", digest=None, corpus_digest=None)
    return {group.group: group for group in measure_collateral(result, named) or []}


def test_patients_with_a_named_ones_disease_stand_apart_and_each_is_in_one_bin(tmp_path) -> None:
    after = except_for({"s0": 0.45, "s1": 0.55, "s2": 0.59, "s3": 0.65}, constant(0.6))
    groups = cost(tmp_path, after)
    # Who has none of the taxonomy shares it with nobody: o1 is no companion of n1.
    assert {name: group.patients for name, group in groups.items()} == {"same": 4, "others": 3}
    assert groups["same"].bins == {"much worse": 1, "worse": 1, "about the same": 1, "better": 1}
    assert groups["others"].bins == {"much worse": 0, "worse": 0, "about the same": 3, "better": 0}
    # Harmonic mean of 0.56 (ROUGE-L, CS, ES: the mean of the four) and a TE of 0.8: 4 / (3 / 0.56 + 1 / 0.8).
    same, others = groups["same"], groups["others"]
    before = 4 / (3 / 0.6 + 1 / 0.8)
    assert same.after.value == pytest.approx(4 / (3 / 0.56 + 1 / 0.8))
    assert same.before.value == others.before.value == others.after.value == pytest.approx(before)
    assert same.change.value == pytest.approx(4 / (3 / 0.56 + 1 / 0.8) - before)
    assert others.change.confidence_low == others.change.confidence_high == 0


def test_who_is_named_is_not_retained_and_without_a_model_before_there_is_no_cost(tmp_path) -> None:
    groups = cost(tmp_path / "x", constant(0.6), named=["n0", "s0", "nobody"])
    assert {name: group.patients for name, group in groups.items()} == {"same": 3, "others": 3}
    root = write_bench_result(tmp_path / "y", {"after": constant(0.6)}, forget=NAMED, retain=SAME, never_trained=["c0"])
    assert measure_collateral(read_bench_result(root, model=None, digest="b" * 64, corpus_digest=None), NAMED) is None
