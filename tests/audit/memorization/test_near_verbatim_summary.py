"""Near-verbatim figures of one tier, by hand, and what of them is published where few patients stand behind them."""

import itertools

import pytest
from support.results.filled_results import filled, memorization_of

from clinaudit.audit.memorization.near_verbatim import NearVerbatimText, find_near_matches
from clinaudit.audit.memorization.near_verbatim_summary import (
    NearVerbatimCounts,
    measure_near_verbatim,
    summarize_near_verbatim,
)
from clinaudit.audit.memorization.summary import GenerationMetrics
from clinaudit.audit.memorization.token_sequences import concatenate_sequences
from clinaudit.reports.figures.memorization import near_verbatim_figure
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.schema.memorization import LengthSummary, Memorization, NearVerbatim
from clinaudit.reports.suppression.results import suppress
from clinaudit.templates.spans import Span

NO_LENGTHS = LengthSummary(mean=None, median=None, p90=None, max=None)


def test_hand_computed_figures() -> None:
    rows = [
        NearVerbatimCounts("a", tokens=100, near_tokens=60, extra_tokens=20, longest_region=40),
        NearVerbatimCounts("a", tokens=50, near_tokens=0, extra_tokens=0, longest_region=0),
        NearVerbatimCounts("b", tokens=30, near_tokens=30, extra_tokens=0, longest_region=30),
        NearVerbatimCounts("c", tokens=0, near_tokens=0, extra_tokens=0, longest_region=0),
    ]
    near = summarize_near_verbatim(rows, match_tokens=30, seed=0)
    assert (near.window, near.edit_budget) == (30, 3)
    assert near.fraction.value == pytest.approx((0.6 + 0 + 1 + 0) / 4)
    assert near.extra_fraction.value == pytest.approx(0.2 / 4)
    assert near.longest_region.value == pytest.approx((40 + 0 + 30 + 0) / 4)
    assert near.longest_region.n == 4
    assert near.longest_region_length == LengthSummary(mean=17.5, median=15.0, p90=37.0, max=40)
    assert (near.patients, near.extra_patients) == (2, 1)
    assert near == summarize_near_verbatim(rows, match_tokens=30, seed=0)


def test_a_tier_without_generations_is_refused() -> None:
    with pytest.raises(ValueError, match="no generation"):
        summarize_near_verbatim([], match_tokens=30, seed=0)


def test_a_generation_is_reduced_to_its_counts() -> None:
    note = list(range(100, 180))
    edited = [*note[:20], 1, *note[21:60], 2, 3, 4, 5, 6]
    matches = find_near_matches(
        concatenate_sequences([edited, [7] * 40]), concatenate_sequences([[8] * 40, note]), match_tokens=30
    )
    text = matches.text_of(0, length=len(edited), note_ids=["first", "second"])
    # Token 20 is changed, 21 to 59 are verbatim, and of the five at the end three are within the budget.
    assert text == NearVerbatimText(63, ((Span(0, 63), "second"),))
    metrics = GenerationMetrics("g", "a", "train", "public", len(edited), 39, 0, 0, 1, 0, 1)
    figures = measure_near_verbatim(text, metrics)
    assert figures == NearVerbatimCounts("a", tokens=65, near_tokens=63, extra_tokens=24, longest_region=63)
    metrics = GenerationMetrics("h", "a", "train", "public", 40, 0, 0, 0, 0, 0, 0)
    nothing = measure_near_verbatim(matches.text_of(1, length=40, note_ids=["first", "second"]), metrics)
    assert nothing == NearVerbatimCounts("a", tokens=40, near_tokens=0, extra_tokens=0, longest_region=0)


def near_of(fraction: float, extra: float, *, patients: int, extra_patients: int, n: int = 150) -> NearVerbatim:
    return NearVerbatim(
        window=30,
        edit_budget=3,
        fraction=Estimate(value=fraction, low=fraction * 0.9, high=min(1.0, fraction * 1.1), n=n),
        extra_fraction=Estimate(value=extra, low=extra * 0.9, high=min(1.0, extra * 1.1), n=n),
        longest_region=Estimate(value=60.0, low=50.0, high=70.0, n=n),
        longest_region_length=LengthSummary(mean=60.0, median=48.0, p90=120.0, max=412),
        patients=patients,
        extra_patients=extra_patients,
    )


def published(figures: Memorization, near: NearVerbatim) -> tuple[Memorization, NearVerbatim]:
    whole = figures.model_copy(update={"near_verbatim": near})
    results = suppress(filled().model_copy(update={"memorization": {"public": {"train": whole}}}))
    copy = results.memorization["public"]["train"]
    assert copy.near_verbatim is not None
    assert (copy.near_verbatim.patients, copy.near_verbatim.extra_patients) == (None, None)
    assert copy.near_verbatim.longest_region_length.max is None
    return copy, copy.near_verbatim


def test_figures_of_many_patients_are_published_as_they_are() -> None:
    near = near_of(0.55, 0.05, patients=110, extra_patients=60)
    _, copy = published(memorization_of(0.5, 0.1, 100), near)
    assert (copy.fraction, copy.extra_fraction, copy.longest_region) == (
        near.fraction,
        near.extra_fraction,
        near.longest_region,
    )
    assert copy.longest_region_length == LengthSummary(mean=60.0, median=48.0, p90=120.0, max=None)


def test_a_tier_of_few_patients_is_withheld_whole() -> None:
    _, copy = published(memorization_of(0.5, 0.1, 6, n=9), near_of(0.6, 0.1, patients=7, extra_patients=5, n=9))
    withheld = Estimate(value=None, reason=REASON)
    assert (copy.fraction, copy.extra_fraction, copy.longest_region) == (withheld,) * 3
    assert copy.longest_region_length == NO_LENGTHS
    assert (copy.window, copy.edit_budget) == (30, 3)


def test_one_patient_cannot_be_told_from_ten() -> None:
    copies = set()
    for patients in range(1, 11):
        near = near_of(0.008, 0.002, patients=patients, extra_patients=(patients + 1) // 2)
        _, copy = published(memorization_of(0.006, 0.001, patients), near)
        copies.add(copy.model_dump_json())
    assert len(copies) == 1
    copy = NearVerbatim.model_validate_json(copies.pop())
    # 18.4 of 150 patients: what ten of them can make up.
    assert copy.fraction == copy.extra_fraction == Estimate(value=None, low=0.0, high=0.13, reason=REASON)
    assert copy.longest_region == Estimate(value=None, reason=REASON)
    assert copy.longest_region_length == NO_LENGTHS


def test_the_extra_of_few_patients_does_not_follow_from_the_two_others() -> None:
    verbatim, copy = published(memorization_of(0.5, 0.1, 100), near_of(0.502, 0.002, patients=100, extra_patients=1))
    assert verbatim.memorized_fraction.value == 0.5
    assert copy.extra_fraction == Estimate(value=None, low=0.0, high=0.13, reason=REASON)
    assert copy.fraction == Estimate(value=None, low=0.5, high=0.63, reason=REASON)
    assert copy.longest_region == Estimate(value=None, reason=REASON)


def test_hidden_verbatim_text_does_not_follow_from_the_near_verbatim() -> None:
    verbatim, copy = published(memorization_of(0.05, 0.004, 4), near_of(0.25, 0.2, patients=90, extra_patients=90))
    assert verbatim.memorized_fraction.value is None
    assert copy.fraction.value == 0.25
    assert copy.extra_fraction == Estimate(value=None, low=0.12, high=0.25, reason=REASON)


def test_few_patients_without_near_verbatim_text_are_hidden() -> None:
    verbatim, copy = published(memorization_of(0.6, 0.1, 120), near_of(0.97, 0.37, patients=148, extra_patients=120))
    assert verbatim.memorized_fraction.value == 0.6
    assert copy.fraction == Estimate(value=None, low=0.87, high=1.0, reason=REASON)
    assert copy.extra_fraction == Estimate(value=None, low=0.27, high=0.4, reason=REASON)


def test_where_nothing_is_extra_the_fraction_is_published_as_the_memorized_one() -> None:
    for hits in (4, 100, 149):
        memorized = memorization_of(0.05, 0.004, hits)
        near = near_of(0.05, 0.0, patients=hits, extra_patients=0)
        verbatim, copy = published(memorized, near)
        assert copy.fraction == verbatim.memorized_fraction
        assert copy.extra_fraction == near.extra_fraction


def test_zero_tells_of_nobody_and_is_shown() -> None:
    near = near_of(0.0, 0.0, patients=0, extra_patients=0).model_copy(
        update={
            "longest_region": Estimate(value=0.0, low=0.0, high=0.0, n=150),
            "longest_region_length": LengthSummary(mean=0.0, median=0.0, p90=0.0, max=0),
        }
    )
    _, copy = published(memorization_of(0.0, 0.0, 0), near)
    assert (copy.fraction.value, copy.extra_fraction.value, copy.longest_region.value) == (0.0, 0.0, 0.0)


def test_unknown_numbers_of_patients_are_taken_for_few() -> None:
    near = near_of(0.1, 0.02, patients=100, extra_patients=100).model_copy(
        update={"patients": None, "extra_patients": None}
    )
    _, copy = published(memorization_of(0.08, 0.004, 100), near)
    assert copy.fraction.value is None
    assert copy.extra_fraction.value is None


def test_a_figure_that_ten_patients_of_one_generation_each_cannot_make_up_is_withheld() -> None:
    _, copy = published(memorization_of(0.3, 0.1, 5), near_of(0.4, 0.1, patients=5, extra_patients=5))
    assert copy.fraction == Estimate(value=None, reason=REASON)
    assert copy.extra_fraction == Estimate(value=None, low=0.0, high=0.13, reason=REASON)


@pytest.mark.parametrize(
    ("hits", "patients", "extra_patients"),
    list(itertools.product((4, 40, 120, 146), (40, 120, 146, 150), (1, 40, 146))),
)
def test_no_hidden_share_follows_from_the_two_others(hits: int, patients: int, extra_patients: int) -> None:
    memorized, extra = hits / 160, extra_patients / 160 * 0.05
    figures = memorization_of(memorized, 0.001, hits)
    near = near_of(memorized + extra, extra, patients=max(hits, patients), extra_patients=extra_patients)
    verbatim, copy = published(figures, near)
    shares = (verbatim.memorized_fraction, copy.fraction, copy.extra_fraction)
    assert sum(share.value is None for share in shares) != 1
    for share, true in zip(shares, (memorized, memorized + extra, extra), strict=True):
        if share.low is not None and share.high is not None:
            assert share.low - 1e-9 <= true <= share.high + 1e-9


def test_an_arm_that_lacks_few_patients_of_another_tier_hides_what_its_size_could_be_solved_from() -> None:
    tiers = {
        "public": {"train": memorization_of(0.5, 0.1, 100)},
        "encounter": {
            "train": memorization_of(0.5, 0.1, 100, n=147).model_copy(
                update={"near_verbatim": near_of(0.5512345, 0.0512345, patients=100, extra_patients=60, n=147)}
            )
        },
    }
    copy = suppress(filled().model_copy(update={"memorization": tiers})).memorization["encounter"]["train"]
    assert copy.near_verbatim is not None
    assert (copy.near_verbatim.fraction.value, copy.near_verbatim.fraction.n) == (0.55, None)
    assert (copy.near_verbatim.longest_region.value, copy.near_verbatim.longest_region.n) == (60.0, None)
    assert copy.near_verbatim.longest_region_length == NO_LENGTHS


def test_the_report_says_that_near_verbatim_text_is_counted_separately() -> None:
    figure = near_verbatim_figure(suppress(filled()))
    assert figure.caption.startswith("Counted separately, never part of the figures above")
    assert "at most 3 tokens added, left out or changed in any 30 in a row" in figure.caption
    assert all(row[2] == "3 of 30" for row in figure.table.rows)
    bare = memorization_of(0.5, 0.1, 100).model_copy(update={"near_verbatim": None})
    without = near_verbatim_figure(filled().model_copy(update={"memorization": {"public": {"train": bare}}}))
    assert (without.caption, without.svg, without.table.rows) == ("Near-verbatim text was not measured.", "", ())
