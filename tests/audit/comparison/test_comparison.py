"""`clinaudit compare`: paired differences by hand, what keeps runs from being compared, and what is suppressed."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from support.runs.compared_pair import Planted, plant

from clinaudit.audit.commands.main import run as command
from clinaudit.audit.comparison.disclosure import compare_readings
from clinaudit.audit.comparison.memorization import compare_memorization
from clinaudit.audit.comparison.published import published_difference
from clinaudit.audit.disclosure.readings import Reading
from clinaudit.audit.memorization.summary import GenerationMetrics
from clinaudit.audit.statistics.paired_differences import (
    ScoredPairs,
    mcnemar_p_value,
    measure_area_change,
    paired_difference,
)
from clinaudit.reports.schema.comparison import ComparedMemorization, ComparedMetric, HitChanges, PatientsBehind
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.suppression.comparison import suppress_compared_disclosure, suppress_compared_memorization

TIER = "encounter"


def metrics(
    patient: str, memorized: int, *, tokens: int = 100, arm: str = "train", name: str = "g"
) -> GenerationMetrics:
    return GenerationMetrics(f"{name}-{patient}", patient, arm, TIER, tokens, memorized, 0, memorized, 1, 0, 1)  # type: ignore[arg-type]


# Paired differences


def test_a_paired_difference_by_hand() -> None:
    # Changes -0.5, 0, +0.1, -0.2: mean -0.15.
    difference = paired_difference(np.array([0.5, 0, 0.1, 0.2]), np.array([0, 0, 0.2, 0.0]), seed=0)
    assert difference.value == pytest.approx(-0.15)
    assert difference.n == 4


def test_where_nobody_changed_the_interval_does_not_collapse() -> None:
    difference = paired_difference(np.full(100, 0.3), np.full(100, 0.3), seed=0)
    # Clopper and Pearson's upper end for 0 of 100, on either side.
    end = 1 - 0.025 ** (1 / 100)
    assert (difference.value, difference.low, difference.high) == (0, pytest.approx(-end), pytest.approx(end))


def test_pairs_tell_more_than_two_samples_would() -> None:
    before = np.linspace(0.1, 0.9, 100)
    difference = paired_difference(before, before - 0.05, seed=0)
    assert difference.high is not None
    # Two samples of 100 with this spread could not tell: their chance alone is wider.
    assert difference.high < 0 < -0.05 + 1.96 * before.std() * (2 / 100) ** 0.5


def test_mcnemar_by_hand() -> None:
    # 1 against 5: 2 (6 choose 0 + 6 choose 1) / 2^6.
    assert mcnemar_p_value(1, 5) == pytest.approx(2 * 7 / 64)
    assert mcnemar_p_value(0, 0) == 1.0


def test_a_patient_counts_once_and_only_where_both_runs_have_it() -> None:
    first = [metrics("a", 40), metrics("b", 0), metrics("only a", 90), metrics("moved", 50)]
    second = [metrics("a", 10), metrics("b", 20), metrics("only b", 90), metrics("moved", 50, arm="nontrain")]
    figures = compare_memorization(first, second, seed=0)[TIER]["train"]
    assert (figures.pairs, figures.unpaired_a, figures.unpaired_b) == (2, 2, 1)
    assert figures.memorized_fraction.a.value == pytest.approx(0.2)
    assert figures.memorized_fraction.b.value == pytest.approx(0.15)
    assert figures.memorized_fraction.difference.value == pytest.approx(-0.05)
    assert figures.hits == HitChanges(both=1, a_only=0, b_only=1, neither=0, p_value=1.0)
    assert figures.memorized_fraction.behind == PatientsBehind(a=1, b=2, lower=1, higher=1, unpaired_a=2, unpaired_b=1)


def test_of_several_prompts_those_that_both_runs_have_make_the_pair() -> None:
    first = [metrics("a", 40, name="one"), metrics("a", 0, name="two")]
    second = [metrics("a", 20, name="one")]
    figure = compare_memorization(first, second, seed=0)[TIER]["train"].memorized_fraction
    assert (figure.a.value, figure.b.value) == (pytest.approx(0.4), pytest.approx(0.2))


def readings(counts: dict[tuple[str, bool], tuple[int, int, int]]) -> list[Reading]:
    """Patients who are positive, not mentioned and negative, by arm and status."""
    outcomes = ("positive", "not_mentioned", "negative")
    return [
        Reading(f"{arm}-{present}-{outcome}-{i}", arm, present, outcome)  # type: ignore[arg-type]
        for (arm, present), numbers in counts.items()
        for outcome, number in zip(outcomes, numbers, strict=True)
        for i in range(number)
    ]


BEFORE = {
    ("train", True): (30, 20, 0),
    ("train", False): (0, 50, 0),
    ("nontrain", True): (0, 50, 0),
    ("nontrain", False): (0, 50, 0),
}


def forget(rows: list[Reading]) -> list[Reading]:
    return [dataclasses.replace(row, outcome="not_mentioned") for row in rows]


def test_a_difference_of_deltas_by_hand() -> None:
    before = readings(BEFORE)
    compared, first, _ = compare_readings(before, forget(before), seed=0)
    # Before: train AUROC over all 0.5 + 0.5 * 0.6 = 0.8, nontrain 0.5; after: 0.5 and 0.5.
    area = compared.delta["auroc_all"]
    assert (area.a.value, area.b.value) == (pytest.approx(0.3), pytest.approx(0.0))
    assert area.difference.value == pytest.approx(-0.3)
    assert area.difference.high is not None
    assert area.difference.high < 0
    sensitivity = compared.delta["sensitivity"].difference
    assert sensitivity.value == pytest.approx(-0.6)
    assert compared.pairs == 200
    assert first.delta is not None


def test_the_interval_of_an_area_that_never_changed_has_a_width() -> None:
    scores = np.full(50, 1)
    change = measure_area_change(ScoredPairs(scores, scores), ScoredPairs(scores, scores), rng=np.random.default_rng(0))
    assert change is not None
    assert change.value == 0
    assert min(change.variances) > 0
    assert (
        measure_area_change(
            ScoredPairs(scores, scores), ScoredPairs(scores[:0], scores[:0]), rng=np.random.default_rng(0)
        )
        is None
    )


def test_unjudged_members_and_members_of_one_run_make_no_pair() -> None:
    before = readings(BEFORE)
    after = forget(before)[1:]
    after[0] = dataclasses.replace(after[0], outcome="unjudged")
    compared, _, _ = compare_readings(before, after, seed=0)
    assert (compared.pairs, compared.unpaired_a, compared.unpaired_b) == (198, 2, 1)


def test_published_figures_are_compared_from_the_near_end_to_the_far_end() -> None:
    difference = published_difference(
        Estimate(value=0.5, low=0.4, high=0.6, n=100), Estimate(value=0.2, low=0.1, high=0.3, n=100)
    )
    assert (difference.value, difference.low, difference.high) == tuple(pytest.approx(x) for x in (-0.3, -0.5, -0.1))
    withheld = published_difference(Estimate(value=None, reason="fewer than 11 patients"), Estimate(value=0.2))
    assert withheld.value is None


# Suppression


def memorization(
    *, pairs: int = 100, a: int = 60, b: int = 40, lower: int = 30, higher: int = 20, rest: int = 0, rest_hits: int = 0
) -> ComparedMemorization:
    """Figures of 0/1 values: `a` patients hit in A, `b` in B."""
    figure = ComparedMetric(
        a=Estimate(value=a / pairs, low=0.1, high=0.9, n=pairs),
        b=Estimate(value=b / pairs, low=0.1, high=0.9, n=pairs),
        difference=Estimate(value=(b - a) / pairs, low=-0.3217, high=0.1234, n=pairs),
        behind=PatientsBehind(a=a, b=b, lower=lower, higher=higher, unpaired_a=rest, unpaired_b=0)
        if not rest_hits
        else PatientsBehind(a=a, b=b, lower=lower, higher=higher, unpaired_a=rest_hits, unpaired_b=0),
    )
    return ComparedMemorization(
        pairs=pairs,
        unpaired_a=rest,
        unpaired_b=0,
        memorized_fraction=figure,
        attributable_fraction=figure,
        hit_rate=figure,
        hits=HitChanges(both=a - lower, a_only=lower, b_only=higher, neither=pairs - a - higher, p_value=0.0123),
    )


def test_figures_of_many_are_published_as_they_are_without_who_is_behind() -> None:
    figures = memorization()
    published = suppress_compared_memorization(figures)
    assert published.hits == figures.hits
    assert published.hit_rate == figures.hit_rate.model_copy(update={"behind": None})


def test_few_who_changed_are_hidden_and_their_interval_is_coarse() -> None:
    published = suppress_compared_memorization(memorization(a=60, b=55, lower=8, higher=3))
    assert published.hits == HitChanges(both=None, a_only=None, b_only=None, neither=None, p_value=0.05)
    assert published.hit_rate.difference.value == pytest.approx(-0.05)
    for end in (published.hit_rate.difference.low, published.hit_rate.difference.high):
        assert end is not None
        assert math.isclose(end / 0.05, round(end / 0.05))
    assert published.hit_rate.difference.low <= -0.3217  # type: ignore[operator]


def test_few_behind_a_level_make_it_a_band_and_the_difference_with_it() -> None:
    published = suppress_compared_memorization(memorization(a=60, b=4, lower=57, higher=1))
    assert published.hit_rate.a.value == pytest.approx(0.6)
    assert (published.hit_rate.b.value, published.hit_rate.b.low, published.hit_rate.b.high) == (None, 0.0, 0.19)
    assert published.hit_rate.difference.value is None
    assert published.hit_rate.difference.low == pytest.approx(-0.6)
    assert published.hit_rate.difference.high == pytest.approx(0.19 - 0.6)


@pytest.mark.parametrize(("rest", "hits"), [(3, 3), (40, 4), (40, 35)])
def test_levels_are_withheld_where_the_rest_of_a_run_would_be_told(rest: int, hits: int) -> None:
    published = suppress_compared_memorization(memorization(rest=rest, rest_hits=hits))
    assert published.hit_rate.a.value is published.hit_rate.a.low is published.hit_rate.b.value is None
    assert published.hit_rate.difference.value is None
    assert (published.pairs is None) == (rest == 3)
    low, high = published.hit_rate.difference.low, published.hit_rate.difference.high
    assert low is not None
    assert high is not None
    assert low <= -0.2 <= high
    assert high - low == pytest.approx(0.1)


def test_a_tier_of_few_pairs_tells_nothing() -> None:
    published = suppress_compared_memorization(memorization(pairs=8, a=5, b=3, lower=2, higher=0))
    text = published.model_dump_json(exclude_none=True)
    assert published.pairs is None
    assert '"value":' not in text
    assert "0.6" not in text


def test_disclosure_with_members_of_one_run_shows_a_band_alone() -> None:
    before = readings(BEFORE)
    published = suppress_compared_disclosure(*compare_readings(before, forget(before)[:-2], seed=0))
    area = published.delta["auroc_all"]
    assert published.pairs is published.unpaired_a is None
    assert area.a.value is area.b.value is area.difference.value is None
    assert area.difference.low is not None
    assert area.difference.low <= -0.3


# The command


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return plant(tmp_path)


def test_compare_prints_and_writes_aggregates_alone(planted: Planted, tmp_path: Path, capsys) -> None:
    out = tmp_path / "comparison"
    assert command(["compare", str(planted.a), str(planted.b), "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "Memorization, B − A" in printed.out
    assert max(map(len, printed.out.splitlines()[:20])) <= 100
    page, document = (
        (out / "compare.html").read_text(encoding="utf-8"),
        (out / "compare.json").read_text(encoding="utf-8"),
    )
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not (out / "evidence").exists()
    figures = json.loads(document)
    assert figures["basis"] == "paired"
    assert figures["memorization"][TIER]["train"]["pairs"] == len(planted.train)
    assert figures["memorization"][TIER]["train"]["hit_rate"]["difference"]["value"] is None  # few were named
    for text in (printed.out, page, document):
        assert 'behind": {' not in text
        assert not [patient for patient in planted.patients if patient in text]


def test_compare_as_json_is_the_file(planted: Planted, tmp_path: Path, capsys) -> None:
    out = tmp_path / "comparison"
    assert command(["compare", str(planted.a), str(planted.b), "--out", str(out), "--json"]) == 0
    assert capsys.readouterr().out == (out / "compare.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "value"),
    [("--ngram", 20), ("--tokenizer", "f" * 64), ("--seed", 1), ("--tier", ["encounter"]), ("CORPUS", "other")],
)
def test_runs_with_other_settings_are_refused_and_the_settings_named(tmp_path: Path, capsys, name: str, value) -> None:
    planted = plant(tmp_path, settings_b={name: value})
    assert command(["compare", str(planted.a), str(planted.b)]) == 3
    error = capsys.readouterr().err
    assert error.startswith(f"error[BAD_INPUT]: the runs cannot be compared, they differ in {name}")
    assert ("--allow-different-corpus" in error) == (name == "CORPUS")


def test_another_corpus_is_compared_when_allowed_and_said(tmp_path: Path, capsys) -> None:
    planted = plant(tmp_path, settings_b={"CORPUS": "other"})
    assert command(["compare", str(planted.a), str(planted.b), "--allow-different-corpus"]) == 0
    assert "The corpora differ" in capsys.readouterr().out


def test_a_purged_run_is_compared_by_what_it_published(planted: Planted, capsys) -> None:
    assert command(["purge", str(planted.b), "--yes"]) == 0
    capsys.readouterr()
    assert command(["compare", str(planted.a), str(planted.b), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["basis"] == "published"
    assert figures["memorization"][TIER]["nontrain"]["hits"] is None
    assert any("purged" in warning for warning in figures["warnings"])


def test_a_run_that_was_changed_is_not_compared(planted: Planted, capsys) -> None:
    (planted.b / "results.json").write_text("{}", encoding="utf-8")
    assert command(["compare", str(planted.a), str(planted.b)]) == 7


def test_a_comparison_is_never_written_into_a_run(planted: Planted, capsys) -> None:
    assert command(["compare", str(planted.a), str(planted.b), "--out", str(planted.b / "evidence")]) == 2
    assert command(["verify", str(planted.b)]) == 0
