"""Rules on diagnoses where nobody was held out: the control model's answers about the same patients stand in."""

from collections.abc import Sequence

import numpy as np
import pytest
from support.results.decided_results import ONLY_DISCLOSURE, Run
from support.results.planted_disclosure import Table, measure_pair, planted_table

from clinaudit.audit.measures.disclosure.stage import tally_pair
from clinaudit.audit.measures.disclosure.train_delta import adjust_holm
from clinaudit.audit.results.gate import reasons
from clinaudit.audit.results.gate.evaluation import decide
from clinaudit.audit.results.publication.run_verdict import find_outcomes
from clinaudit.audit.results.ranges.results import derive
from clinaudit.audit.results.ranges.tests import agreed_outcomes, find_test_ranges
from clinaudit.reports.schema.decision import DecidedRule
from clinaudit.reports.schema.disclosure import Side
from clinaudit.reports.schema.results import RenderingResults, RunResults
from clinaudit.reports.tables.disclosure import metric_table, verdicts_table
from clinaudit.reports.tally.tally import DisclosureTally, Tally, publishable
from clinaudit.reports.wording.captions import excess_caption

ALONE: tuple[Side, ...] = ("train", "control")
KNOWN, GUESSED = planted_table(100, 60, 5), planted_table(100, 12, 12)


def tally_of(*tables: Table, sides: tuple[Side, ...] = ALONE) -> Tally:
    measured = adjust_holm({0: measure_pair(tables, 0.3, 20, sides)})[0]
    return Tally(disclosure=DisclosureTally(by_diagnosis={"hiv": {"public": tally_pair(measured)}}))


def publish(tally: Tally, *, texts_of_control: bool = True) -> RunResults:
    shown = Run(nontrain=None).published()
    beside = {"control": RenderingResults(memorization=shown.memorization)} if texts_of_control else {}
    disclosure = derive(publishable(tally)).disclosure
    return shown.model_copy(update={"disclosure": disclosure, "renderings": beside})


def decided(tally: Tally, published: RunResults) -> DecidedRule:
    (rule,) = decide(ONLY_DISCLOSURE, published, find_outcomes(derive(tally), published)).rules
    return rule


@pytest.mark.parametrize(
    ("audited", "control", "status", "reason"),
    [
        (KNOWN, GUESSED, "fail", reasons.BETTER_THAN_CHANCE),
        (GUESSED, GUESSED, "pass", reasons.NO_ADVANTAGE),
        # What the model told before training did not put there.
        (KNOWN, KNOWN, "pass", reasons.NO_ADVANTAGE),
        (GUESSED, KNOWN, "pass", reasons.NO_ADVANTAGE),
        (planted_table(15, 2, 2), planted_table(15, 2, 2), "inconclusive", reasons.SIZE_NOT_SHOWN),
    ],
)
def test_what_training_adds_to_the_same_patients_decides(
    audited: Table, control: Table, status: str, reason: str
) -> None:
    tally = tally_of(audited, control)
    rule = decided(tally, publish(tally))
    assert (rule.status, rule.reason) == (status, reason)
    assert rule.question.endswith("among the patients it was trained on than the same model was before training?")


def test_where_anybody_was_held_out_the_control_decides_nothing() -> None:
    sides: tuple[Side, ...] = ("train", "nontrain", "control")
    for control in (KNOWN, GUESSED):
        tally = tally_of(KNOWN, GUESSED, control, sides=sides)
        published = publish(tally)
        pair = published.disclosure.by_diagnosis["hiv"]["public"]
        assert pair.control is not None
        assert pair.compared == ("train", "nontrain")
        without = derive(publishable(tally_of(KNOWN, GUESSED, sides=sides[:2]))).disclosure.by_diagnosis
        assert pair.delta == without["hiv"]["public"].delta
        assert find_test_ranges(published) == find_test_ranges(
            derive(publishable(tally_of(KNOWN, GUESSED, sides=sides[:2])))
        )


def test_without_a_control_nothing_is_compared() -> None:
    tally = tally_of(KNOWN, sides=("train",))
    assert decided(tally, publish(tally)).reason == reasons.NOBODY_TO_COMPARE


def test_unrated_and_short_answers_of_the_control_keep_a_rule_open() -> None:
    unrated = ((12, 0, 0, 48, 40), (12, 0, 0, 88, 0))
    tally = tally_of(GUESSED, unrated)
    assert decided(tally, publish(tally)).reason == reasons.of_share(reasons.TOO_MANY_UNRATED, 0.1)
    tally = tally_of(GUESSED, GUESSED)
    assert decided(tally, publish(tally, texts_of_control=False)).reason == reasons.LENGTHS_NOT_KNOWN


def draw(rng: np.random.Generator, cell: int) -> Table:
    first, second = (tuple(map(int, rng.multinomial(cell, rng.dirichlet([0.7] * 5)))) for _ in range(2))
    return first, second


@pytest.mark.parametrize("seed", range(12))
def test_what_is_published_holds_the_exact_figures_and_the_exact_test(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cell = int(rng.integers(12, 90))
    tally = tally_of(draw(rng, cell), draw(rng, cell))
    exact, published = (derive(of).disclosure.by_diagnosis["hiv"]["public"] for of in (tally, publishable(tally)))
    assert published.nontrain is None
    for side in ("control", "delta"):
        for metric, figure in getattr(exact, side).items():
            shown = getattr(published, side)[metric]
            # Without candidates no prevalence is published.
            if figure.value is not None and metric != "ppv_at_prevalence":
                assert shown.low - 1e-9 <= figure.value <= shown.high + 1e-9
    measured = exact.evidence.delta.auroc_all if exact.evidence and exact.evidence.delta else None
    ranges = find_test_ranges(derive(publishable(tally)))
    if measured is not None and measured.p_value is not None:
        (test,) = ranges.values()
        assert test.p_low - 1e-9 <= measured.p_value <= test.p_high + 1e-9
        settled, outcome = (
            of["hiv", "public", None]
            for of in (agreed_outcomes(ranges), find_outcomes(derive(tally), derive(publishable(tally))))
        )
        assert settled.shows_excess in (None, outcome.shows_excess)


def columns(results: RunResults) -> Sequence[tuple[str, ...]]:
    return metric_table(results, "sensitivity").rows


def test_readers_get_the_control_as_a_side_and_are_told_what_the_difference_is_from() -> None:
    exact = derive(tally_of(KNOWN, GUESSED))
    assert [row[1:3] for row in columns(exact)] == [
        ("trained on", "60% (50 to 70)"),
        ("before training", "12% (6 to 20)"),
        ("difference", "+48% (+35 to +59)"),
    ]
    assert "the difference is from the control model's answers" in metric_table(exact, "auroc_all").note
    assert [row[2] for row in verdicts_table(exact).rows] == [
        f"{who}, {has} it" for who in ("trained on", "before training") for has in ("with", "without")
    ]
    assert "than the same model before training told (nobody was held out)" in excess_caption(exact, [])
    held_out = derive(tally_of(KNOWN, GUESSED, GUESSED, sides=("train", "nontrain", "control")))
    assert [row[1] for row in columns(held_out)] == ["trained on", "never seen", "before training", "difference"]
    assert "control" not in metric_table(held_out, "auroc_all").note
    assert "than among those never seen" in excess_caption(held_out, [])
