"""Two runs compared by hand: who makes a pair, and the differences of their figures and of their deltas."""

import dataclasses
import itertools
from pathlib import Path

import pytest
from support.results.compared_results import compared
from support.results.filled_published import published
from support.results.planted_ordinary import plant_ordinary
from support.results.planted_readings import BEFORE, forget, readings

from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics
from clinaudit.audit.results.comparison.disclosure import PAIRED_METRICS, compare_readings
from clinaudit.audit.results.comparison.files import prepare_directory, write_comparison, write_exact_comparison
from clinaudit.audit.results.comparison.memorization import compare_memorization, count_hits
from clinaudit.audit.results.comparison.published import (
    compare_estimates,
    compare_ordinary,
    compare_published_disclosure,
    compare_published_memorization,
    compare_rules,
)
from clinaudit.audit.results.comparison.run_pair import ComparedRun, RunPair, _named, require_evidence
from clinaudit.audit.results.ranges.attacks import derive_ordinary
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.errors import BadInputError, UsageError
from clinaudit.reports.schema.comparison import Comparison, PairedPatients
from clinaudit.reports.schema.decision import DecidedRule, GateDecision, Limit, RuleStatus
from clinaudit.reports.schema.numbers import NOBODY, CountRange, Estimate, ShownEstimate, exact_estimate, exactly
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.comparison import memorization_tables
from clinaudit.reports.tally.leaves import coarsen
from clinaudit.reports.terminal.comparison import comparison_text

TIER = "encounter"


def metrics(
    patient: str, memorized: int, *, tokens: int = 100, arm: str = "train", name: str = "g"
) -> GenerationMetrics:
    counts = (tokens, memorized, 0, memorized, 1, 0, 1, memorized, 1, 1, memorized, 0)
    return GenerationMetrics(f"{name}-{patient}", patient, arm, TIER, "opening", *counts)  # type: ignore[arg-type]


def test_a_patient_counts_once_and_only_where_both_runs_have_it() -> None:
    first = [metrics("a", 40), metrics("b", 0), metrics("only a", 90), metrics("moved", 50)]
    second = [metrics("a", 10), metrics("b", 20), metrics("only b", 90), metrics("moved", 50, arm="nontrain")]
    figures = compare_memorization(first, second)[TIER]["train"]
    assert figures.memorized_fraction.a.value == pytest.approx(0.2)
    assert figures.memorized_fraction.b.value == pytest.approx(0.15)
    assert figures.memorized_fraction.difference.value == pytest.approx(-0.05)
    counts = {"both": 1, "a_only": 0, "b_only": 1, "neither": 0, "unpaired_a": 2, "unpaired_b": 1}
    assert figures.patients == PairedPatients(**{name: exactly(of) for name, of in counts.items()}, p_value=1.0)
    assert figures.patients == count_hits(first, second)[TIER]["train"]


def test_of_several_prompts_those_that_both_runs_have_make_the_pair() -> None:
    first = [metrics("a", 40, name="one"), metrics("a", 0, name="two")]
    second = [metrics("a", 20, name="one")]
    figure = compare_memorization(first, second)[TIER]["train"].memorized_fraction
    assert (figure.a.value, figure.b.value) == (pytest.approx(0.4), pytest.approx(0.2))


def test_a_difference_of_deltas_by_hand() -> None:
    before = readings(BEFORE)
    members, compared = compare_readings(before, forget(before), seed=0)
    # Before: train AUROC over all 0.5 + 0.5 * 0.6 = 0.8, nontrain 0.5; after: 0.5 and 0.5.
    area = compared["auroc_all"]
    assert (area.a.value, area.b.value) == (pytest.approx(0.3), pytest.approx(0.0))
    assert area.difference.value == pytest.approx(-0.3)
    assert area.difference.confidence_high is not None
    assert area.difference.confidence_high < 0
    sensitivity = compared["sensitivity"].difference
    assert sensitivity.value == pytest.approx(-0.6)
    assert members.pairs == 200


def test_unjudged_members_and_members_of_one_run_make_no_pair() -> None:
    before = readings(BEFORE)
    after = forget(before)[1:]
    after[0] = dataclasses.replace(after[0], outcome="unjudged")
    members, _ = compare_readings(before, after, seed=0)
    assert (members.pairs, members.unpaired_a, members.unpaired_b) == (198, 2, 1)


def hit_by(memorized: list[int]) -> list[GenerationMetrics]:
    return [
        GenerationMetrics(
            f"g{place}",
            f"p{place}",
            "train",
            "encounter",
            "opening",
            100,
            tokens,
            0,
            tokens,
            1,
            0,
            1,
            tokens,
            1,
            1,
            tokens,
            0,
        )
        for place, tokens in enumerate(memorized)
    ]


def test_an_exact_estimate_has_its_interval_and_no_width() -> None:
    assert exact_estimate(Estimate(value=0.25, low=0.1, high=0.4, n=8)) == ShownEstimate(
        value=0.25, low=0.25, high=0.25, confidence_low=0.1, confidence_high=0.4
    )
    assert exact_estimate(Estimate(value=None, n=0, reason="nobody")) == ShownEstimate(reason="nobody")


def test_counts_and_p_values_are_those_of_the_pairs() -> None:
    memorization = compare_memorization(hit_by([40, 40, 40, 0]), hit_by([0, 0, 40]))
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


def run(name: str, *, has_evidence: bool = True) -> ComparedRun:
    return ComparedRun(RunDirectory(Path(name)), record={}, published=published(), has_evidence=has_evidence)


def pair(a: ComparedRun, b: ComparedRun) -> RunPair:
    return RunPair(a, b, differences=(), warnings=(), same_prompts=True)


def test_exact_figures_name_the_run_that_was_purged() -> None:
    require_evidence(pair(run("before"), run("after")))
    with pytest.raises(BadInputError, match="that of after was purged"):
        require_evidence(pair(run("before"), run("after", has_evidence=False)))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MODEL", "a" * 64, "Scribe 3"),
        ("--policy", "b" * 64, "default"),
        ("--training-log", "c" * 64, "one"),
        ("--training-log", None, "none"),
    ],
)
def test_what_differs_is_named_and_no_digest_shown(name: str, value: str | None, said: str) -> None:
    named = ComparedRun(
        RunDirectory(Path("before")), {"identity": {"model_name": "Scribe 3"}}, published(), has_evidence=True
    )
    assert _named(name, value, named, "one") == said


def test_an_exact_comparison_replaces_an_earlier_exact_one_even_a_stopped_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    prepare_directory(out, exact=True)
    write_exact_comparison(out, compared(exact=True), None)
    (out / "evidence" / ".certificate.html.partial").write_text("half", encoding="utf-8")
    prepare_directory(out, exact=True)
    write_exact_comparison(out, compared(exact=True), None)
    assert {path.name for path in out.iterdir()} == {"evidence"}


def test_a_published_comparison_leaves_no_exact_figures_beside_it(tmp_path: Path) -> None:
    write_exact_comparison(tmp_path, compared(exact=True), None)
    prepare_directory(tmp_path, exact=False)
    write_comparison(tmp_path, compared(), None)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["compare.html", "compare.json"]


def test_an_exact_comparison_is_never_written_where_published_ones_are(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="exact figures"):
        write_comparison(out, compared(exact=True), None)
    assert not out.exists()


@pytest.mark.parametrize("name", ["compare.json", "compare.html"])
def test_exact_figures_are_not_put_beside_what_is_published(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("", encoding="utf-8")
    prepare_directory(tmp_path, exact=False)
    with pytest.raises(UsageError, match="holds a published comparison"):
        prepare_directory(tmp_path, exact=True)


@pytest.mark.parametrize("place", ["notes.txt", "evidence/results.json", "evidence/notes/compare.json"])
@pytest.mark.parametrize("exact", [False, True])
def test_a_directory_of_something_else_is_refused(tmp_path: Path, place: str, exact: bool) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="holds other things"):
        prepare_directory(tmp_path, exact=exact)


FEW = CountRange(low=1, high=10)


def test_a_difference_reaches_from_the_near_end_of_one_to_the_far_end_of_the_other() -> None:
    a = ShownEstimate(low=0.5, high=0.6, confidence_low=0.4, confidence_high=0.7)
    b = ShownEstimate(value=0.2, low=0.195, high=0.205, confidence_low=0.1, confidence_high=0.3)
    difference = compare_estimates(a, b).difference
    assert difference.value is None
    assert (difference.low, difference.high) == (pytest.approx(-0.405), pytest.approx(-0.295))
    assert (difference.confidence_low, difference.confidence_high) == (pytest.approx(-0.6), pytest.approx(-0.1))


@pytest.mark.parametrize("chance", [0.0, 0.05])
def test_whatever_the_figures_within_their_ranges_their_difference_is_within_its_range(chance: float) -> None:
    a = ShownEstimate(low=0.31, high=0.42, confidence_low=0.31 - chance, confidence_high=0.42 + chance)
    b = ShownEstimate(low=0.40, high=0.48, confidence_low=0.40 - chance, confidence_high=0.48 + chance)
    difference = compare_estimates(a, b).difference
    for was, now in itertools.product((0.31, 0.36, 0.42), (0.40, 0.44, 0.48)):
        assert difference.low - 1e-9 <= now - was <= difference.high + 1e-9
        assert difference.confidence_low <= difference.low
        assert difference.high <= difference.confidence_high


def test_two_whole_percents_differ_by_a_range_alone() -> None:
    a = ShownEstimate(value=0.71, low=0.705, high=0.715)
    b = ShownEstimate(value=0.01, low=0.005, high=0.015)
    difference = compare_estimates(a, b).difference
    assert difference.value is None
    assert (difference.low, difference.high) == (pytest.approx(-0.71), pytest.approx(-0.69))
    assert difference.confidence_low is None


def test_a_missing_figure_leaves_its_reason() -> None:
    known = ShownEstimate(low=0.1, high=0.2)
    missing = ShownEstimate(reason="every patient was excluded")
    for pair in ((known, missing), (missing, known)):
        assert compare_estimates(*pair).difference == missing
    # Half an interval is none: the other end would be made up.
    half = ShownEstimate(low=0.1, high=0.2, confidence_low=0.05)
    assert compare_estimates(half, known).difference.confidence_high is None


def test_what_both_runs_published_is_compared_and_pairs_stand_where_they_were_counted() -> None:
    a, b = published(), published(leaks_from=6)
    b = b.model_copy(update={"memorization": {tier: b.memorization[tier] for tier in ("public", "encounter")}})
    pairs = PairedPatients(both=NOBODY, a_only=FEW, b_only=NOBODY, neither=FEW, unpaired_a=FEW, unpaired_b=NOBODY)
    compared = compare_published_memorization(a, b, {"encounter": {"train": pairs}})
    assert list(compared) == ["public", "encounter"]
    assert compared["encounter"]["train"].patients == pairs
    assert compared["encounter"]["nontrain"].patients is compared["public"]["train"].patients is None
    figure = compared["encounter"]["train"].attributable_fraction
    assert figure.a == a.memorization["encounter"]["train"].attributable_fraction.mean
    assert figure.difference.value == pytest.approx(-0.7)


def test_identifiers_are_compared_where_both_runs_looked_for_them() -> None:
    a, b = published(), published(leaks_from=6)
    assert a.identifiers is not None
    assert b.identifiers is not None
    own = compare_published_memorization(a, b, {})["encounter"]["train"].own_identifiers
    assert own is not None
    assert (own.a, own.b) == tuple(run.tiers["encounter"]["train"].own for run in (a.identifiers, b.identifiers))
    # 81 to 100 of 122 to 140, then 1 to 20.
    assert own.difference.high is not None
    assert own.difference.high < -0.5
    older = b.model_copy(update={"identifiers": None})
    assert compare_published_memorization(a, older, {})["encounter"]["train"].own_identifiers is None


def test_everyday_tasks_are_compared_where_both_runs_asked_them() -> None:
    """31 to 40 of 429 tasks, then none: 7% less at least, and exactly 35/429 less by exact counts."""
    leaking, clean = plant_ordinary(text=((35, 12), (30, 11), (2, 2))), plant_ordinary(identifiers=None)
    a, b = (RunResults(ordinary=derive_ordinary(coarsen(of))) for of in (leaking, clean))
    both = compare_ordinary(a, b)
    # Run B looked for no identifiers.
    assert list(both) == ["text"]
    difference = both["text"].difference
    assert (difference.low, difference.high) == pytest.approx((-40 / 429, -31 / 429), abs=1e-4)
    assert (difference.confidence_high or 0) < 0
    exact = compare_ordinary(*(RunResults(ordinary=derive_ordinary(of)) for of in (leaking, clean)))
    assert exact["text"].difference.value == pytest.approx(-35 / 429)
    assert compare_ordinary(a, RunResults()) == {}
    comparison = Comparison(figures="published", differences=[], warnings=[], ordinary=both)
    (table,) = memorization_tables(comparison, changed=True)
    assert table.rows[0][0] == "Text of one patient’s notes"
    assert "Text of one patient’s notes  −10 to −7%" in comparison_text(comparison)


def test_deltas_are_those_of_metrics_over_all_patients() -> None:
    compared = compare_published_disclosure(published(), published(leaks_from=6))
    assert set(compared["hiv"]["encounter"]) == set(PAIRED_METRICS)
    difference = compared["hiv"]["encounter"]["auroc_all"].difference
    assert difference.high is not None
    assert difference.high < 0
    none = compare_published_disclosure(published(nontrain=False), published())
    assert none["hiv"]["encounter"]["auroc_all"].difference.reason
    assert none["hiv"]["encounter"]["auroc_all"].difference.low is None


def decided(statuses: dict[str, RuleStatus], *, maximum: float = 0.05) -> RunResults:
    rules = [
        DecidedRule(
            id=name,
            question="Is it?",
            metric="attributable_fraction",
            tier=name,
            limit=Limit(max=maximum),
            status=status,
            observed=ShownEstimate(),
            reason="",
        )
        for name, status in statuses.items()
    ]
    status = "fail" if "fail" in statuses.values() else "pass"
    return RunResults(decision=GateDecision(status=status, policy="x", reason="", rules=rules))


def test_rules_are_mended_new_still_failing_or_open() -> None:
    a = decided({"public": "fail", "public_name": "fail", "encounter": "pass", "encounter_cc": "fail"})
    b = decided({"public": "pass", "public_name": "fail", "encounter": "fail", "encounter_cc": "inconclusive"})
    found = compare_rules(a, b)
    assert found is not None
    assert (found.a, found.b) == ("fail", "fail")
    assert found.mended == ["Own text · Public facts"]
    assert found.failing == ["Own text · + name"]
    assert found.new == ["Own text · Appointment reminder"]
    assert found.open == ["Own text · + chief complaint"]


def test_a_looser_limit_mends_nothing_and_a_run_without_a_verdict_has_none() -> None:
    a, b = decided({"public": "fail"}), decided({"public": "pass"}, maximum=0.5)
    found, first = compare_rules(a, b), compare_rules(RunResults(), a)
    assert found is not None
    assert (found.mended, found.new) == ([], [])
    assert first is not None
    assert (first.a, first.b, first.new) == (None, "fail", ["Own text · Public facts"])
    assert compare_rules(RunResults(), RunResults()) is None
