"""Does who does the work, and in what shards, change nothing of what is found?"""

import random

from support.elsewhere import Elsewhere
from support.measured_text import measured_rows
from support.patient_facts import PROFILE
from support.random_corpora import random_corpus
from support.random_tables import answers_of, read_drawn

from clinaudit.audit.measures.memorization import masked_notes, other_patients, patient_specificity, stage
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.cluster import LocalRunner
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer


def test_processes_shards_and_other_machines_change_nothing(tokenizer_directory, tmp_path, monkeypatch):
    tokenizer = ModelTokenizer(tokenizer_directory)
    found = 0
    of_others = 0
    for seed in (9, 12):
        drawn = random_corpus(random.Random(seed), tokenizer)
        # Each patient's answers stand apart.
        drawn.generations.extend(drawn.generations)
        notes = MatchedCorpus(read_drawn(drawn, tmp_path / str(seed)), tokenizer, PROFILE)
        generations = answers_of(drawn, tokenizer)
        monkeypatch.undo()
        of_one = measured_rows(generations, notes, match_tokens=drawn.n, runner=LocalRunner(1))
        monkeypatch.setattr(stage, "SHARD_CHARS", 1)
        monkeypatch.setattr(stage, "ANSWERS_AT_A_TIME", 1)
        monkeypatch.setattr(other_patients, "TOKENS_AT_A_TIME", 60)
        monkeypatch.setattr(other_patients, "OWNERS_AT_A_TIME", 1)
        monkeypatch.setattr(patient_specificity, "_MOST_CHARS", 60)
        monkeypatch.setattr(masked_notes, "PART_BYTES", 1)
        monkeypatch.setattr(patient_specificity, "FIRST_PATIENTS", 1)
        monkeypatch.setattr(patient_specificity, "SHARD_BYTES", 1)
        for runner in (LocalRunner(2), Elsewhere()):
            notes = MatchedCorpus(notes.corpus, tokenizer, PROFILE)
            assert measured_rows(generations, notes, match_tokens=drawn.n, runner=runner) == of_one, (seed, runner)
        found += len(drawn.patients) > 1
        of_others += len(of_one["other_patients"])
    assert found >= 2
    assert of_others >= 3
