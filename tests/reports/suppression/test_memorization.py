"""Small cells in the memorization figures: bins, sections and means that few patients stand behind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results.filled_results import filled
from support.results.planted_memorization import memorization_of

from clinaudit.audit.statistics.patient_distribution import describe_distribution
from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.schema.memorization import (
    POOLED_SECTIONS,
    CopyForwardBin,
    KBin,
    Memorization,
    SectionComposition,
)
from clinaudit.reports.suppression.memorization import suppress_memorization, suppress_sections
from clinaudit.reports.suppression.results import suppress


def test_a_tier_of_few_patients_is_withheld_whole() -> None:
    results = filled().model_copy(update={"memorization": {"public": {"train": memorization_of(0.5, 0.2, 6, n=9)}}})
    figures = suppress(results).memorization["public"]["train"]
    assert (figures.generations, figures.patients, figures.paper_view) == (None, None, None)
    assert figures.memorized_fraction == Estimate(value=None, reason=REASON)
    assert figures.sections == []
    assert figures.region_length["tokens"].mean is None


def one_tier(figures: Memorization) -> Memorization:
    results = filled().model_copy(update={"memorization": {"public": {"train": figures}}})
    return suppress(results).memorization["public"]["train"]


FRACTIONS = (
    "memorized_fraction",
    "memorized_fraction_without_echo",
    "memorized_fraction_bounds",
    "attributable_fraction",
    "attributable_fraction_bounds",
)


def test_regions_of_few_patients_are_withheld_and_means_are_bounds() -> None:
    figures = one_tier(memorization_of(0.05, 0.004, 4))
    assert (figures.hit_rate.value, figures.hit_rate.low) == (None, 1 / 150)
    assert figures.stitched_share.reason == REASON
    assert (figures.k_distribution, figures.sections, figures.copy_forward) == ([], [], [])
    # 7.5 patients wholly memorized would do: the bound is that of ten, 18.4 of 150.
    assert figures.memorized_fraction == Estimate(value=None, low=0.0, high=0.13, reason=REASON)
    # 0.6 of one patient would do: the gate's own bound, 0.064, rounded up.
    assert figures.attributable_fraction == Estimate(value=None, low=0.0, high=0.07, reason=REASON)
    assert figures.paper_view is not None
    assert figures.paper_view.memorized_fraction == Estimate(value=None, reason=REASON)


def test_one_hit_cannot_be_told_from_ten() -> None:
    """One hit of 41: its value and an upper end of three times that told of one patient."""
    published = set()
    for hits in range(1, 11):
        # The bootstrap's upper end falls towards the mean as more patients share it.
        mean = Estimate(value=0.008049, low=0.0, high=0.008049 * (1 + 2 / hits**0.5), n=41)
        update = {name: mean for name in FRACTIONS if not name.endswith("bounds")}
        bounds = Estimate(value=0.008049, low=0.0, high=0.1036, n=41)
        update |= {name: bounds for name in FRACTIONS if name.endswith("bounds")}
        figures = memorization_of(0.5, 0.1, hits, n=41).model_copy(
            update={**update, "dropped_tokens": hits, "paper_view": None}
        )
        published.add(one_tier(figures).model_dump_json())
    assert len(published) == 1
    figures = Memorization.model_validate_json(published.pop())
    for name in FRACTIONS:
        assert getattr(figures, name) == Estimate(value=None, low=0.0, high=0.11, reason=REASON)
    assert figures.dropped_tokens is None
    assert figures.attributable_patients is None


def test_few_attributable_patients_among_many_hit_are_a_bound() -> None:
    exact = memorization_of(0.05, 0.002, 60).model_copy(update={"attributable_patients": 1})
    figures = one_tier(exact)
    assert figures.memorized_fraction == exact.memorized_fraction
    assert figures.attributable_fraction == Estimate(value=None, low=0.0, high=0.07, reason=REASON)
    assert figures.attributable_fraction_bounds == figures.attributable_fraction
    # Where nobody counted them, a sum that ten could make up is taken for few.
    unknown = one_tier(exact.model_copy(update={"attributable_patients": None}))
    assert unknown.attributable_fraction == figures.attributable_fraction
    many = one_tier(exact.model_copy(update={"attributable_patients": 30}))
    assert many.attributable_fraction == exact.attributable_fraction
    assert many.attributable_patients == 30


def test_a_mean_does_not_tell_how_few_were_not_hit() -> None:
    # At most 1.5 of 150 can have nothing memorized where 99% of all text is.
    figures = one_tier(memorization_of(0.99, 0.5, 149))
    assert figures.memorized_fraction == Estimate(value=None, low=0.87, high=1.0, reason=REASON)
    assert figures.attributable_fraction.value == 0.5


@pytest.mark.parametrize(("dropped", "published"), [(0, 0), (3, None), (33, None)])
def test_dropped_tokens_are_shown_only_where_there_are_none(dropped: int, published: int | None) -> None:
    figures = memorization_of(0.5, 0.1, 100).model_copy(update={"dropped_tokens": dropped})
    assert one_tier(figures).dropped_tokens == published


def with_bins(*, k: list[KBin], copy_forward: list[CopyForwardBin] | None = None) -> Memorization:
    return memorization_of(0.5, 0.1, 100).model_copy(update={"k_distribution": k, "copy_forward": copy_forward or []})


def test_a_bin_of_one_patient_is_hidden_with_what_gives_it_back() -> None:
    bins = [KBin(k="1", pieces=1, patients=1), KBin(k="2-10", pieces=40, patients=40), KBin(k="11-100", pieces=0)]
    figures = one_tier(with_bins(k=bins))
    assert [(bin_.k, bin_.pieces) for bin_ in figures.k_distribution] == [("1", None), ("2-10", 40), ("11-100", 0)]
    # 40 pieces and the share of those with K > 1 make 41.
    assert figures.multi_patient_share == Estimate(value=None, reason=REASON)


def test_bins_of_an_unknown_number_of_patients_are_hidden() -> None:
    figures = one_tier(with_bins(k=[KBin(k="1", pieces=500), KBin(k="2-10", pieces=0)]))
    assert [bin_.pieces for bin_ in figures.k_distribution] == [None, 0]


def test_a_hidden_copy_forward_bin_is_joined_by_a_second() -> None:
    copy_forward = [
        CopyForwardBin(notes="1", pieces=90, patients=50),
        CopyForwardBin(notes="2", pieces=40, patients=20),
        CopyForwardBin(notes="3", pieces=30, patients=2),
        CopyForwardBin(notes="4", pieces=0, patients=0),
    ]
    figures = one_tier(with_bins(k=[KBin(k="1", pieces=160, patients=60)], copy_forward=copy_forward))
    assert [bin_.pieces for bin_ in figures.copy_forward] == [90, None, None, 0]


def section(name: str, single: tuple[int, int], shared: tuple[int, int] = (0, 0)) -> SectionComposition:
    """`single` and `shared` of the revealing tokens: tokens, patients."""
    return SectionComposition(
        section=name,
        revealing_single=single[0],
        revealing_shared=shared[0],
        templated_single=0,
        templated_shared=0,
        patients={"revealing_single": single[1], "revealing_shared": shared[1]},
    )


def counts_of(rows: list[SectionComposition]) -> list[tuple[str, int | None, int | None]]:
    return [(row.section, row.revealing_single, row.revealing_shared) for row in rows]


def test_tokens_of_one_patient_in_a_section_are_pooled_with_those_of_many() -> None:
    sections = [
        section("plan", (900, 40), (400, 30)),
        section("assessment", (500, 20), (8, 1)),
        section("vitals", (33, 1)),
    ]
    published = suppress_sections(sections)
    assert counts_of(published) == [
        ("plan", 900, None),
        # 500 + 33, and 400 + 8: the totals stay, and neither part can be told from the other.
        (POOLED_SECTIONS, 533, 408),
    ]
    assert all(row.patients is None for row in published)


def test_a_kind_that_only_few_patients_have_is_not_summed_up() -> None:
    sections = [section("plan", (19, 1), (400, 30)), section("vitals", (7, 1), (90, 20))]
    published = suppress_sections(sections)
    assert counts_of(published) == [("plan", None, 400), ("vitals", None, 90), (POOLED_SECTIONS, None, 0)]
    figures = one_tier(memorization_of(0.5, 0.1, 100).model_copy(update={"sections": sections}))
    assert figures.templated_share == Estimate(value=None, reason=REASON)


def test_sections_without_patients_behind_them_are_hidden() -> None:
    bare = section("plan", (900, 0)).model_copy(update={"patients": None})
    assert counts_of(suppress_sections([bare])) == [(POOLED_SECTIONS, None, 0)]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 60)), min_size=1, max_size=6))
def test_no_published_token_count_rests_on_few_patients(cells: list[tuple[int, int]]) -> None:
    sections = [section(str(place), (tokens, min(tokens, who))) for place, (tokens, who) in enumerate(cells)]
    published = {row.section: row.revealing_single for row in suppress_sections(sections)}
    behind = {row.section: row.patients["revealing_single"] for row in sections if row.patients}
    for name, tokens in published.items():
        if tokens and name != POOLED_SECTIONS:
            assert behind[name] > 10
    pooled = published.get(POOLED_SECTIONS, 0)
    if pooled:
        hidden = [row for row in sections if row.revealing_single and not published.get(row.section)]
        assert sum(row.revealing_single or 0 for row in hidden) == pooled
        assert len(hidden) >= 2
        assert max(behind[row.section] for row in hidden) > 10


def test_nearly_all_hit_hides_how_many_regions_rest_on() -> None:
    results = filled().model_copy(update={"memorization": {"public": {"train": memorization_of(0.5, 0.1, 148)}}})
    figures = suppress(results).memorization["public"]["train"]
    assert figures.source_notes_mean.value == 2.81
    assert figures.source_notes_mean.n is None


def test_a_tier_that_lacks_few_patients_of_another_hides_its_counts() -> None:
    tiers = {
        "public": {"train": memorization_of(0.5, 0.1, 100)},
        "encounter": {"train": memorization_of(0.5, 0.1, 100, n=147)},
    }
    published = suppress(filled().model_copy(update={"memorization": tiers})).memorization
    assert published["public"]["train"].patients == 150
    figures = published["encounter"]["train"]
    assert (figures.patients, figures.generations, figures.hit_rate.n, figures.memorized_fraction.n) == (None,) * 4
    assert figures.hit_rate.value == 0.68


def test_means_that_tell_how_few_patients_have_much_are_upper_bounds() -> None:
    fractions = {f"p{i}": [0.2 if i == 0 else 0.005 if i < 15 else 0.0] for i in range(60)}
    figures = memorization_of(0.5, 0.27 / 60, 15, n=60).model_copy(
        update={"distribution": describe_distribution(fractions, seed=0)}
    )
    published = suppress_memorization(figures)
    assert published.attributable_patients == 15
    assert published.attributable_fraction == published.attributable_fraction_bounds
    # 0.0045 + 0.06, outwards to two decimals.
    assert (published.attributable_fraction.value, published.attributable_fraction.high) == (None, 0.07)
    assert published.distribution is not None
    assert {item.patients for item in published.distribution.bins} == {None}
    # The worst tenth would be the whole sum; of the memorized fraction the sum is large.
    assert published.distribution.worst_tenth.value is None
    assert published.memorized_fraction == figures.memorized_fraction


def test_a_bound_of_nearly_all_is_not_replaced_by_one_that_tells_the_sum() -> None:
    fractions = {f"p{i}": [0.2 if i == 0 else 0.0] for i in range(40)}
    figures = memorization_of(0.95, 0.2 / 40, 39, n=40).model_copy(
        update={"distribution": describe_distribution(fractions, seed=0), "attributable_patients": 1}
    )
    published = suppress_memorization(figures)
    # 18.4 of 40, the bound for ten.
    assert (published.memorized_fraction.low, published.memorized_fraction.high) == (pytest.approx(0.54), 1.0)


def test_of_twelve_patients_it_is_not_told_which_side_of_the_hit_rate_is_small() -> None:
    shown = {
        suppress_memorization(memorization_of(0.5, 0.1, hits, n=12)).hit_rate.model_dump_json() for hits in range(1, 12)
    }
    assert len(shown) == 1
    for hits in (1, 11):
        assert suppress_memorization(memorization_of(0.5, 0.1, hits, n=12)).region_length["tokens"].mean is None


def test_exact_k_of_few_patients_is_pooled() -> None:
    bins = [
        KBin(k="1", pieces=50, patients=20),
        KBin(k="2", pieces=13, patients=12),
        KBin(k="7", pieces=12, patients=3),
        KBin(k="11-100", pieces=11, patients=11),
    ]
    figures = memorization_of(0.5, 0.1, 100).model_copy(update={"k_distribution": bins})
    results = filled().model_copy(update={"memorization": {"public": {"train": figures}}})
    assert suppress(results).memorization["public"]["train"].k_distribution == [
        KBin(k="1", pieces=50),
        KBin(k="2-10", pieces=25),
        KBin(k="11-100", pieces=11),
    ]
