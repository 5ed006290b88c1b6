"""Figures of one tier from hand-made generations, with values worked out by hand (docs/methods.md, section 2)."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.tallies import inside, number, numbers

from clinaudit.audit.measures.memorization.generation_metrics import (
    GenerationMetrics,
    MeasuredGeneration,
    TextLength,
    count_source_notes,
    measure_length,
)
from clinaudit.audit.measures.memorization.source_attribution import Piece, cut_region_text
from clinaudit.audit.measures.memorization.summary import summarize_memorization
from clinaudit.audit.measures.memorization.verbatim import TokenFlags, compose_piece
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import load_profile
from clinaudit.templates.spans import Span


def figures(
    patient: str,
    *,
    tokens: int,
    flags: list[TokenFlags] = [],  # noqa: B006 (never changed)
    echo: int = 0,
    pieces: list[tuple[int, int, bool]] = [],  # noqa: B006
    regions: int = 0,
    stitched: int = 0,
) -> MeasuredGeneration:
    unmasked = sum(flag.revealing and flag.single_patient and not flag.echo for flag in flags)
    own = sum(flag.revealing and flag.patient_specific and not (flag.echo or flag.from_prompt) for flag in flags)
    notes = min(regions, 2)
    counts = (tokens, len(flags), echo, own, regions, stitched, notes, unmasked, notes, notes, own, 0)
    metrics = GenerationMetrics("g", patient, "train", "public", "text", *counts)
    lengths = tuple(TextLength(len(flags) // regions, 4 * len(flags) // regions, 7) for _ in range(regions))
    return MeasuredGeneration(metrics, tuple(Counter(flags).items()), tuple(pieces), lengths, dropped_tokens=0)


REVEALING = TokenFlags("Plan", True, single_patient=True, patient_specific=True, echo=False, from_prompt=False)
ECHO = REVEALING._replace(echo=True)
SHARED = REVEALING._replace(single_patient=False, patient_specific=False)
TEMPLATED = REVEALING._replace(section="Review of Systems", revealing=False)


def test_hand_computed_figures() -> None:
    rows = [
        # 40 of 100 memorized: 10 attributable, 10 echo, 10 shared, 10 templated.
        figures(
            "a",
            tokens=100,
            flags=[REVEALING] * 10 + [ECHO] * 10 + [SHARED] * 10 + [TEMPLATED] * 10,
            echo=10,
            pieces=[(1, 1, True), (1, 3, True), (7, 1, True), (1, 1, False)],
            regions=2,
            stitched=1,
        ),
        figures("a", tokens=50),
        figures("b", tokens=10, flags=[REVEALING] * 10, pieces=[(1, 1, True)], regions=1),
        figures("c", tokens=0),
    ]
    tally = summarize_memorization(rows, match_tokens=30, seed=0)
    summary = inside(tally.evidence)
    assert (summary.generations, summary.empty, summary.shorter_than_ngram) == (4, 1, 2)
    assert (number(tally.short.range), number(tally.short.part)) == (2, 1)
    assert summary.memorized_fraction.value == pytest.approx((0.4 + 0 + 1 + 0) / 4)
    assert summary.memorized_fraction_without_echo.value == pytest.approx((0.3 + 0 + 1 + 0) / 4)
    assert summary.attributable_fraction.value == pytest.approx((0.1 + 0 + 1 + 0) / 4)
    # Means over patients: a (0.1 + 0)/2, b 1, c 0.
    assert tally.fractions["attributable_fraction"].mean.low == pytest.approx((0.05 + 1 + 0) / 3)
    # c at 0, a above 1% and at 10% at most, b above half.
    assert [number(count) for count in tally.fractions["attributable_fraction"].bins] == [1, 0, 1, 0, 1]
    assert summary.hit_rate.value == 0.5
    # Patients a and b of three, of whatever number of generations.
    assert numbers(tally.hits) == {"any": 2, "none": 1}
    assert summary.source_notes_mean.value == pytest.approx((2 + 1) / 2)
    assert summary.stitched_share.value == pytest.approx(1 / 3)
    assert summary.templated_share.value == pytest.approx(10 / 50)
    assert summary.multi_patient_share.value == pytest.approx(1 / 5)
    assert [(item.k, item.pieces) for item in summary.k_distribution[:2]] == [("1", 4), ("2-10", 1)]
    assert [(item.notes, item.pieces) for item in summary.copy_forward[:3]] == [("1", 2), ("2", 0), ("3", 1)]
    # Patients behind the counts: a (two pieces, one note and three) and b, who has the one K = 1 piece.
    assert [item.patients for item in summary.k_distribution] == [2, 1, 0, 0, 0, 0]
    assert [item.patients for item in summary.copy_forward[:3]] == [2, 0, 1]
    assert numbers(tally.attributable) == {"any": 2, "none": 1}
    plan, systems = summary.sections
    assert plan.patients == {
        "revealing_single": 2,
        "revealing_shared": 1,
        "templated_single": 0,
        "templated_shared": 0,
    }
    assert (plan.section, plan.revealing_single, plan.revealing_shared) == ("Plan", 30, 10)
    assert (systems.templated_single, systems.templated_shared) == (10, 0)
    assert summary.region_length["tokens"].mean == pytest.approx((20 + 20 + 10) / 3)


def test_no_data_is_a_reason_never_a_zero() -> None:
    summary = inside(summarize_memorization([figures("a", tokens=40)], match_tokens=30, seed=0).evidence)
    assert summary.memorized_fraction.value == 0
    for estimate in (summary.source_notes_mean, summary.stitched_share, summary.templated_share):
        assert estimate.value is None
        assert estimate.reason
    nobody = summarize_memorization([], match_tokens=30, seed=0)
    assert (numbers(nobody.hits), inside(nobody.evidence).memorized_fraction.value) == ({"any": 0, "none": 0}, None)


def test_intervals_are_over_patients_and_reproducible() -> None:
    rows = [figures(f"p{i}", tokens=10, flags=[REVEALING] * (i % 11)) for i in range(44)]
    first, second = (
        inside(summarize_memorization(rows, match_tokens=5, seed=1).evidence).memorized_fraction for _ in range(2)
    )
    assert first == second
    assert first.low is not None
    assert first.high is not None
    assert first.low < 0.5 < first.high
    # Ten copies of one patient's generations tell no more than one of them.
    copied = [row for row in rows for _ in range(10)]
    wide = inside(summarize_memorization(copied, match_tokens=5, seed=1).evidence).memorized_fraction
    assert (wide.low, wide.high) == pytest.approx((first.low, first.high))


def test_the_headline_leaves_out_house_style_and_facts_of_the_prompt() -> None:
    house_style = REVEALING._replace(patient_specific=False)
    fact = REVEALING._replace(from_prompt=True)
    row = figures("a", tokens=100, flags=[REVEALING] * 10 + [house_style] * 20 + [fact] * 5 + [ECHO] * 4, regions=1)
    tally = summarize_memorization([row], match_tokens=30, seed=0)
    summary = inside(tally.evidence)
    assert summary.attributable_fraction.value == pytest.approx(0.1)
    assert summary.attributable_fraction_unmasked.value == pytest.approx(0.35)
    assert tally.fractions["attributable_fraction_unmasked"].mean.low == pytest.approx(0.35)
    # The paper's Figure 4 is by K as it stands.
    assert summary.sections[0].revealing_single == 39


def test_lengths_are_in_tokens_characters_and_words_and_by_k() -> None:
    row = replace(
        figures(
            "a", tokens=100, flags=[REVEALING] * 40, pieces=[(1, 1, True), (9000, 1, True), (8000, 2, True)], regions=1
        ),
        piece_lengths=(TextLength(10, 50, 9), TextLength(30, 160, 20), TextLength(40, 200, 31)),
    )
    summary = inside(summarize_memorization([row], match_tokens=30, seed=0).evidence)
    assert summary.region_length["words"].mean == 7
    assert summary.piece_length["single"]["tokens"].mean == 10
    assert summary.piece_length["shared"]["characters"].mean == 180
    assert summary.piece_length["shared"]["words"].max == 31
    assert [(row.k, row.pieces) for row in summary.k_distribution] == [
        ("1", 1),
        ("2-10", 0),
        ("11-100", 0),
        ("101-1000", 0),
        ("1001-8000", 1),
        (">8000", 1),
    ]
    assert measure_length(" no  chest\npain,\u00a0today", 6) == TextLength(6, 22, 4)


def test_source_notes_are_means_over_generations_that_repeat_anything() -> None:
    rows = [figures("a", tokens=50, flags=[REVEALING] * 40, regions=1), figures("b", tokens=50)]
    rows[0] = replace(rows[0], metrics=replace(rows[0].metrics, source_notes_any=5, source_notes_min=2))
    summary = inside(summarize_memorization(rows, match_tokens=30, seed=0).evidence)
    assert (summary.source_notes_any.value, summary.source_notes_min.value) == (5, 2)


@pytest.mark.parametrize(
    ("found", "is_answer"),
    [
        ({}, False),
        ({"memorized_tokens": 30}, True),
        ({"other_patient_tokens": 30}, True),
        ({"other_patient_sampled_tokens": 30, "other_patient_chance_tokens": 0}, True),
        ({"other_patient_sampled_tokens": 0, "other_patient_chance_tokens": 30}, True),
        ({"other_patient_tokens": 0, "other_patient_sampled_tokens": 0, "other_patient_chance_tokens": 0}, False),
    ],
)
def test_a_refusal_that_repeats_somebodys_notes_is_an_answer(found: dict[str, int], is_answer: bool) -> None:
    refusal = replace(figures("a", tokens=100).metrics, refused=True, **found)
    assert refusal.is_answer is is_answer


@pytest.mark.parametrize(
    ("holders", "expected"),
    [
        ([], (0, 0)),
        ([(0,)], (1, 1)),
        # The latest note of each piece is another; one note holds all three.
        ([(0, 1), (0, 2), (0, 3)], (4, 1)),
        ([(0,), (1,), (2,)], (3, 3)),
        # Notes 1 and 2 cover it.
        ([(1,), (1, 3), (2,), (2,)], (3, 2)),
        # Greedy takes note 4, which holds most, and then needs two more; 5 and 6 would do.
        ([(5,), (4, 5), (4, 5), (4, 6), (4, 6), (6,)], (3, 3)),
    ],
)
def test_by_hand(holders: list[tuple[int, ...]], expected: tuple[int, int]) -> None:
    assert count_source_notes(holders) == expected


def test_the_greedy_cover_lies_between_the_least_cover_and_its_bound() -> None:
    rng = np.random.default_rng(0)
    larger = 0
    for _ in range(200):
        holders = [
            tuple(int(note) for note in rng.choice(6, rng.integers(1, 4), replace=False))
            for _ in range(rng.integers(1, 8))
        ]
        notes = {note for own in holders for note in own}
        least = next(
            size
            for size in range(1, 7)
            for cover in itertools.combinations(notes, size)
            if all(set(own) & set(cover) for own in holders)
        )
        held, fewest = count_source_notes(holders)
        assert held == len(notes)
        assert least <= fewest <= least * (1 + math.log(len(holders)))
        larger += fewest > least
    assert larger < 40


def test_a_piece_that_no_note_holds_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a note"):
        count_source_notes([(1,), ()])


PROFILE = load_profile()


def test_a_token_is_templated_where_any_of_its_characters_is() -> None:
    note = "cc: cough\nsee hpi now\nplan: rest"
    # Tokens cut across the rules' spans: "cc:", "see hpi" and "plan:".
    tokens = ["c", "c: ", "co", "ugh\ns", "ee", " hpi n", "ow", "\np", "lan", ":", "", " rest"]
    ends = [sum(map(len, tokens[: index + 1])) for index in range(len(tokens))]
    spans = [Span(end - len(token), end) for token, end in zip(tokens, ends, strict=True)]
    # The generation holds the note from "c: " on, after a word of its own; its piece is all of that.
    text = "new " + note[1:]
    chars = [Span(0, 4), *(Span(start + 3, end + 3) for start, end in spans[1:])]
    region = cut_region_text(text, chars, Span(1, len(tokens)))
    piece = Piece(Span(1, len(tokens)), note[1:], note=0, note_start_chars=1, copy_forward_count=1)
    labels, segments = compose_piece(piece, region, NoteReader(PROFILE).read(note))
    segment_of, is_templated, _ = labels.tolist()
    templated = [token for token, flag in zip(tokens[1:], is_templated, strict=True) if flag]
    assert templated == ["c: ", "ugh\ns", "ee", " hpi n", "\np", "lan", ":"]
    assert [segments[segment].name for segment in segment_of] == ["Chief Complaint"] * 7 + ["Plan"] * 4
    assert [(segment.name, text[slice(*segment.span_chars)]) for segment in segments] == [
        ("Chief Complaint", "c: cough\nsee hpi now\n"),
        ("Plan", "plan: rest"),
    ]
