"""What the guard cut, by hand; and, from notes to figures, a text with and without its cut."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.patient_facts import PROFILE
from support.repeating_notes import PLAIN, QUIET, REPEATING, corpus_with
from support.tallies import inside, number, numbers

from clinaudit.audit.measures.generation.own_repeats import Recitations
from clinaudit.audit.measures.generation.record import GeneratedText, Generation
from clinaudit.audit.measures.memorization.beside_summary import GuardedText, summarize_guard
from clinaudit.audit.measures.memorization.generation_metrics import GenerationMetrics, MeasuredGeneration
from clinaudit.audit.measures.memorization.patient_text import OwnNotes
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.runtime.model.token_cache import open_token_cache
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory


def measured(generation_id: str, patient_id: str, tokens: int, memorized: int, attributable: int) -> MeasuredGeneration:
    counts = tokens, memorized, 0, attributable, 0, 0, 0, attributable
    metrics = GenerationMetrics(generation_id, patient_id, "train", "encounter", "opening", *counts)
    return MeasuredGeneration(metrics, (), (), (), (), 0)


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

    run = RunDirectory(tmp_path / "run")
    run.create()
    with open_token_cache(run, "digest", tokenizer) as cache:
        notes = OwnNotes(corpus, cache, PROFILE)
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
    assert alone.tables == beside.tables == given.tables
    assert alone.metrics == beside.metrics
    for summary in (first, second):
        assert replace(summary, guard=None) == third
    # A recitation is memorized whole; of the cut one 60 of 60 tokens are, too, but fewer are the patient's own.
    of_first, of_second = inside(first.guard.evidence), inside(second.guard.evidence)
    assert of_second.unguarded_memorized_fraction.value == 1.0
    longer_share = of_second.unguarded_attributable_fraction.value
    assert longer_share is not None
    assert of_first.unguarded_attributable_fraction == inside(first.evidence).attributable_fraction
    assert longer_share != inside(first.evidence).attributable_fraction.value
