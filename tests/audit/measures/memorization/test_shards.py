"""Does who does the work, and in what shards, change nothing of what is found?"""

import random
from pathlib import Path

import pytest
from support.elsewhere import Elsewhere
from support.evidence_frames import generation_frame
from support.generations import Generation
from support.patient_facts import PROFILE
from support.random_corpora import RandomCorpus, random_corpus
from support.random_tables import read_drawn
from support.repeating_notes import QUIET

from clinaudit.audit.measures.memorization import other_patients, patient_count, patient_matching, text_holders
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner, ShardRunner
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.priors.corpus.corpus import Corpus


def generations_of(drawn: RandomCorpus, tokenizer: ModelTokenizer) -> list[Generation]:
    """Return those that were drawn, half of them cut in half by the guard, in an order that mixes the patients."""
    found = []
    for number, written in enumerate(drawn.generations * 3):
        ids = written.ids[: len(written.ids) // 2] if number % 2 else written.ids
        text, spans = tokenizer.decode_with_spans(ids)
        arm = "train" if drawn.train[written.patient] else "nontrain"
        asked = str(number), f"p{written.patient}", arm, "public", "text", (), written.prompt
        found.append(Generation(*asked, text, ids, spans, "repetition" if number % 2 else "stop"))
    return found


def measure(
    corpus: Corpus, generations: list[Generation], tokenizer: ModelTokenizer, *, n: int, runner: ShardRunner
) -> dict[str, list[Row]]:
    measured = measure_memorization(
        generation_frame(generations),
        MatchedCorpus(corpus, tokenizer, PROFILE),
        match_tokens=n,
        seed=0,
        progress=QUIET,
        runner=runner,
    )
    return {name: table.to_dicts() for name, table in measured.items()}


def test_processes_shards_and_other_machines_change_nothing(
    tokenizer_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = ModelTokenizer(tokenizer_directory)
    found = 0
    of_others = 0
    for seed in (5, 7, 9, 10, 12, 18):
        drawn = random_corpus(random.Random(seed), tokenizer)
        corpus, generations = read_drawn(drawn, tmp_path / str(seed)), generations_of(drawn, tokenizer)
        monkeypatch.undo()
        of_one = measure(corpus, generations, tokenizer, n=drawn.n, runner=LocalRunner(1))
        monkeypatch.setattr(patient_matching, "SHARD_CHARS", 1)
        monkeypatch.setattr(patient_matching, "ANSWERS_AT_A_TIME", 1)
        monkeypatch.setattr(other_patients, "TOKENS_AT_A_TIME", 60)
        monkeypatch.setattr(other_patients, "OWNERS_AT_A_TIME", 1)
        monkeypatch.setattr(patient_count, "_MOST_CHARS", 60)
        monkeypatch.setattr(patient_count, "PART_BYTES", 1)
        monkeypatch.setattr(text_holders, "FIRST_PATIENTS", 1)
        monkeypatch.setattr(text_holders, "SHARD_BYTES", 1)
        for runner in (LocalRunner(3), Elsewhere()):
            assert measure(corpus, generations, tokenizer, n=drawn.n, runner=runner) == of_one, (seed, runner)
        found += len(corpus.patients) > 1
        of_others += len(of_one["other_patients"])
    assert found >= 4
    assert of_others >= 17
