"""Near-verbatim text of a few generations, by hand."""

import pytest
from support.tallies import inside, numbers

from clinaudit.audit.measures.memorization.beside_summary import summarize_near_verbatim
from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics, MeasuredGeneration
from clinaudit.audit.measures.memorization.near_verbatim import NearVerbatimText, find_near_matches
from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences
from clinaudit.reports.schema.memorization import LengthSummary
from clinaudit.reports.tally.leaves import Fraction
from clinaudit.templates.spans import Span


def test_hand_computed_figures() -> None:
    rows = [
        MeasuredGeneration(
            GenerationMetrics(name, name[0], "train", "public", "text", tokens, memorized, *[0] * 10),
            *((), (), (), 0),
            near_tokens=near,
            longest_near_region=longest,
        )
        for name, tokens, memorized, near, longest in [
            ("a1", 100, 40, 60, 40),
            ("a2", 50, 0, 0, 0),
            ("b", 30, 30, 30, 30),
            ("c", 0, 0, 0, 0),
        ]
    ]
    memorized = Fraction.of([], 0.4)
    tally = summarize_near_verbatim(rows, memorized=memorized, match_tokens=30, seed=0)
    near = inside(tally.evidence)
    assert (tally.window.value, tally.edit_budget.value) == (30, 3)
    assert tally.fraction.sum_of == (memorized, tally.extra_fraction)
    assert near.fraction.value == pytest.approx((0.6 + 0 + 1 + 0) / 4)
    assert near.extra_fraction.value == pytest.approx(0.2 / 4)
    assert near.longest_region.value == pytest.approx((40 + 30) / 2)
    assert near.longest_region.n == 2
    assert near.longest_region_length == LengthSummary(mean=17.5, median=15.0, p90=37.0, max=40)
    assert numbers(tally.patients) == {"any": 2, "none": 1}
    assert numbers(tally.extra_patients) == {"any": 1, "none": 2}
    assert tally == summarize_near_verbatim(rows, memorized=memorized, match_tokens=30, seed=0)


def test_near_text_of_a_generation_by_hand() -> None:
    note = list(range(100, 180))
    edited = [*note[:20], 1, *note[21:60], 2, 3, 4, 5, 6]
    matches = find_near_matches(
        concatenate_sequences([edited, [7] * 40]), concatenate_sequences([[8] * 40, note]), match_tokens=30
    )
    text = matches.text_of(0, length=len(edited), note_ids=["first", "second"])
    # Token 20 is changed, 21 to 59 are verbatim, and of the five at the end three are within the budget.
    assert text == NearVerbatimText(63, ((Span(0, 63), "second"),))
    assert matches.text_of(1, length=40, note_ids=["first", "second"]) == NearVerbatimText(0, ())
