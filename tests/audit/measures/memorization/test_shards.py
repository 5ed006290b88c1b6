"""Does who does the work, and in what shards, change nothing of what is found?"""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from support.elsewhere import Elsewhere
from support.patient_facts import PROFILE
from support.random_corpora import RandomCorpus, random_corpus
from support.random_tables import read_drawn
from support.repeating_notes import QUIET

from clinaudit.audit.measures.generation.own_repeats import Recitations
from clinaudit.audit.measures.generation.record import GeneratedText, Generation
from clinaudit.audit.measures.memorization import patient_matching, patient_specificity
from clinaudit.audit.measures.memorization.other_patients import holders
from clinaudit.audit.measures.memorization.other_patients import stage as other_patients
from clinaudit.audit.measures.memorization.other_patients.holders import SearchedText
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner, ShardRunner
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.spill import Spill
from clinaudit.errors import IncompleteError
from clinaudit.priors.corpus.corpus import Corpus


def generations_of(drawn: RandomCorpus, tokenizer: ModelTokenizer) -> list[Generation]:
    """Return those that were drawn, each cut in half by the guard and whole, in an order that mixes the patients."""
    found = []
    for number, written in enumerate(drawn.generations * 3):
        whole, half = written.ids, written.ids[: len(written.ids) // 2]
        (text, spans), (cut, cut_spans) = tokenizer.decode_with_spans(whole), tokenizer.decode_with_spans(half)
        arm = "train" if drawn.train[written.patient] else "nontrain"
        asked = str(number), f"p{written.patient}", arm, "public", "text", (), (), written.prompt
        generation = Generation(*asked, text, whole, spans, "stop")
        if number % 2:
            longer = GeneratedText(text, whole, spans)
            generation = replace(
                generation,
                text=cut,
                token_ids=half,
                token_chars=cut_spans,
                finish_reason="repetition",
                unguarded=longer,
            )
        found.append(generation)
    return found


def measure(
    corpus: Corpus, generations: list[Generation], tokenizer: ModelTokenizer, *, n: int, runner: ShardRunner
) -> object:
    measured = measure_memorization(
        generations,
        MatchedCorpus(corpus, tokenizer, PROFILE),
        match_tokens=n,
        seed=0,
        progress=QUIET,
        recitations=Recitations(frozenset(), {}),
        runner=runner,
    )
    return measured.results, list(measured.metrics), {name: list(rows) for name, rows in measured.tables.items()}


def test_processes_shards_and_other_machines_change_nothing(
    tokenizer_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = ModelTokenizer(tokenizer_directory)
    found = 0
    for seed in range(6):
        drawn = random_corpus(random.Random(seed), tokenizer)
        corpus, generations = read_drawn(drawn, tmp_path / str(seed)), generations_of(drawn, tokenizer)
        monkeypatch.undo()
        of_one = measure(corpus, generations, tokenizer, n=drawn.n, runner=LocalRunner(1))
        monkeypatch.setattr(patient_matching, "SHARD_CHARS", 1)
        monkeypatch.setattr(other_patients, "_TEXTS_AT_A_TIME", 2)
        monkeypatch.setattr(other_patients, "_OWNERS_AT_A_TIME", 1)
        monkeypatch.setattr(holders, "_PATIENTS_AT_A_TIME", 2)
        monkeypatch.setattr(patient_specificity, "_MOST_TEXTS", 2)
        for runner in (LocalRunner(3), Elsewhere(), Backwards()):
            assert measure(corpus, generations, tokenizer, n=drawn.n, runner=runner) == of_one, (seed, runner)
        # A list, or read anew from a file each time.
        spilled = Spill(tmp_path, generations)
        assert measure(corpus, spilled, tokenizer, n=drawn.n, runner=LocalRunner(2)) == of_one
        found += len(corpus.patients) > 1
    assert found >= 4


def test_after_an_interrupt_no_part_goes_on(
    tokenizer_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = ModelTokenizer(tokenizer_directory)
    drawn = random_corpus(random.Random(0), tokenizer)
    corpus, generations = read_drawn(drawn, tmp_path / "0"), generations_of(drawn, tokenizer)
    begun, ended = Event(), Event()

    def find(part: list[SearchedText], *_: object, advance: Callable[[int], None], **_options: object) -> None:
        if part[0].text == generations[0].text and not begun.is_set():
            begun.wait(60)
            raise KeyboardInterrupt
        begun.set()
        try:
            for _ in range(600):
                advance(1)
                time.sleep(0.1)
        except IncompleteError:
            ended.set()
            raise

    monkeypatch.setattr(other_patients, "_TEXTS_AT_A_TIME", 1)
    monkeypatch.setattr(other_patients, "usable_cores", lambda: 2)
    monkeypatch.setattr(other_patients, "_find_runs", find)
    with pytest.raises(KeyboardInterrupt):
        measure(corpus, generations, tokenizer, n=drawn.n, runner=LocalRunner(1))
    assert ended.is_set()


class Backwards(Elsewhere):
    """Gives the last shard first, as a cluster may."""

    def map(self, *args, **resources):
        return reversed(list(super().map(*args, **resources)))
