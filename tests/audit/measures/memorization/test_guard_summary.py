"""What the guard cut, by hand; and, from notes to figures, a text with and without its cut."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.patient_facts import PROFILE
from support.repeating_notes import PLAIN, QUIET, REPEATING, corpus_with
from support.tallies import inside, number, numbers

from clinaudit.audit.measures.generation.own_repeats import Recitations
from clinaudit.audit.measures.generation.record import GeneratedText, Generation
from clinaudit.audit.measures.memorization.beside_summary import GuardedText, summarize_guard, summarize_near_verbatim
from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics, MeasuredGeneration
from clinaudit.audit.measures.memorization.near_verbatim import NearVerbatimText, find_near_matches
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus, concatenate_sequences
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.reports.schema.memorization import LengthSummary
from clinaudit.reports.tally.leaves import Fraction
from clinaudit.templates.spans import Span


def measured(generation_id: str, patient_id: str, tokens: int, memorized: int, attributable: int) -> MeasuredGeneration:
    counts = tokens, memorized, 0, attributable, 0, 0, 0, attributable, 0, 0, attributable
    metrics = GenerationMetrics(generation_id, patient_id, "train", "encounter", "opening", *counts)
    return MeasuredGeneration(metrics, (), (), (), 0)


def test_hand_computed_account() -> None:
    rows = [
        measured("a1", "a", 100, 50, 10),
        measured("a2", "a", 40, 0, 0),
        measured("b", "b", 50, 0, 0),
        measured("c", "c", 10, 0, 0),
        measured("d", "d", 0, 0, 0),
    ]
    # a1 and b are cut at repeats of the patient's own note; c merely loops.
    longer = {"a1": measured("a1", "a", 200, 150, 60).metrics, "b": measured("b", "b", 100, 100, 0).metrics}
    cuts = {("a", "encounter"): 30, ("b", "encounter"): 50, ("c", "encounter"): 0, ("d", "public"): 9}
    guarded = GuardedText(
        frozenset({"a1", "b", "c", "elsewhere"}),
        longer,
        Recitations(frozenset({"a", "b", "d", "nobody here"}), cuts),
    )
    tally = summarize_guard(rows, guarded, seed=0)
    guard = inside(tally.evidence)
    assert numbers(tally.repeating) == {"any": 3, "none": 1}
    assert numbers(tally.ended) == {"spared": 2, "cut": 1, "none": 1}
    assert (guard.ended_generations, guard.spared_generations) == (3, 2)
    # Once a patient: a 30, b 50, c 0; d has no recitation at this tier.
    assert guard.recitation_tokens_cut.value == pytest.approx(80 / 3)
    assert (guard.recitation_tokens_cut.n, guard.recitation_cut_patients) == (3, 2)
    assert guard.unguarded_memorized_fraction.value == pytest.approx((0.75 + 0 + 1 + 0 + 0) / 5)
    assert guard.unguarded_attributable_fraction.value == pytest.approx(0.3 / 5)
    assert guard.unguarded_hit_rate.value == pytest.approx(2 / 5)
    assert (guard.unguarded_hit_patients, guard.unguarded_hit_patients_share.value) == (2, 2 / 4)
    # Means over patients: a (0.75 + 0) / 2, b 1, c and d 0.
    assert guard.by_patient["unguarded_memorized_fraction"].mean.value == pytest.approx((0.375 + 1) / 4)


def test_no_generation_is_no_figure() -> None:
    with pytest.raises(ValueError, match="no generation"):
        summarize_guard([], GuardedText(frozenset(), {}, Recitations(frozenset(), {})), seed=0)


def test_without_recitations_of_background_prompts_there_is_no_figure_of_them() -> None:
    guarded = GuardedText(frozenset(), {}, Recitations(frozenset(), {}))
    guard = inside(summarize_guard([measured("a", "a", 9, 0, 0)], guarded, seed=0).evidence)
    assert guard.recitation_tokens_cut.value is None
    assert guard.recitation_tokens_cut.reason == "there was nothing to count"


def text_of(tokenizer: ModelTokenizer, token_ids: tuple[int, ...]) -> GeneratedText:
    text, spans = tokenizer.decode_with_spans(token_ids)
    return GeneratedText(text, token_ids, tuple(spans))


def test_the_second_count_stands_beside_and_changes_nothing(tmp_path: Path, tokenizer_directory: Path) -> None:
    tokenizer = ModelTokenizer(tokenizer_directory)
    corpus = corpus_with(tmp_path / "corpus", {"p": [REPEATING], "q": [PLAIN.replace("Ada", "Ola")]})
    whole = text_of(tokenizer, tokenizer.encode(REPEATING))
    cut = text_of(tokenizer, whole.token_ids[:60])

    def generation(longer: GeneratedText | None) -> Generation:
        return Generation(
            generation_id="g",
            patient_id="p",
            arm="train",
            tier="encounter",
            rendering="opening",
            diagnoses=(),
            cohorts=(),
            prompt="",
            text=cut.text,
            token_ids=cut.token_ids,
            token_chars=cut.token_chars,
            finish_reason="repetition",
            unguarded=longer,
        )

    notes = MatchedCorpus(corpus, tokenizer, PROFILE)
    account = Recitations(frozenset("p"), {("p", "encounter"): 7})
    alone, beside, given = (
        measure_memorization(
            [generation(longer)], notes, match_tokens=30, seed=0, progress=QUIET, recitations=recitations
        )
        for longer, recitations in ((None, account), (whole, account), (None, None))
    )
    first, second, third = (run.results["opening"]["encounter"]["train"] for run in (alone, beside, given))
    # `analyze` has no account.
    assert third.guard is None
    assert first.guard is not None
    assert second.guard is not None
    assert [number(of.guard.ended["spared"]) for of in (first, second)] == [0, 1]
    # All else is as ever: tables, metrics and every figure of the paper.
    of_alone, *others = ({name: list(rows) for name, rows in run.tables.items()} for run in (alone, beside, given))
    assert others == [of_alone, of_alone]
    assert list(alone.metrics) == list(beside.metrics)
    for summary in (first, second):
        assert replace(summary, guard=None) == third
    # A recitation is memorized whole; of the cut one 60 of 60 tokens are, too, but fewer are the patient's own.
    of_first, of_second = inside(first.guard.evidence), inside(second.guard.evidence)
    assert of_second.unguarded_memorized_fraction.value == 1.0
    longer_share = of_second.unguarded_attributable_fraction.value
    assert longer_share is not None
    assert of_first.unguarded_attributable_fraction == inside(first.evidence).attributable_fraction
    assert longer_share != inside(first.evidence).attributable_fraction.value


def test_hand_computed_figures() -> None:
    rows = [
        MeasuredGeneration(
            GenerationMetrics(name, name[0], "train", "public", "text", tokens, memorized, *[0] * 9),
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


def test_a_tier_without_generations_is_refused() -> None:
    with pytest.raises(ValueError, match="no generation"):
        summarize_near_verbatim([], memorized=Fraction.of([], 0.0), match_tokens=30, seed=0)


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
