"""What the tables of evidence hold for compositions: each memorized token once, and the regions' text."""

import random
from collections import Counter
from pathlib import Path

from support.evidence_frames import generation_frame
from support.patient_facts import PROFILE
from support.random_corpora import random_corpus
from support.random_tables import answers_of, read_drawn
from support.repeating_notes import QUIET

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer


def test_every_memorized_token_counts_in_one_section_and_every_region_with_its_text(
    tokenizer_directory: Path, tmp_path: Path
) -> None:
    tokenizer = ModelTokenizer(tokenizer_directory)
    stitched = 0
    for seed in (5, 7, 9, 10, 12, 18):
        drawn = random_corpus(random.Random(seed), tokenizer)
        corpus = read_drawn(drawn, tmp_path / str(seed))
        generations = answers_of(drawn, tokenizer)
        notes, one = MatchedCorpus(corpus, tokenizer, PROFILE), LocalRunner(1)
        found = measure_memorization(
            generation_frame(generations), notes, match_tokens=drawn.n, seed=0, progress=QUIET, runner=one
        )
        tables = {name: table.to_dicts() for name, table in found.items()}
        by_section: Counter[str] = Counter()
        for row in tables["memorized_text"]:
            by_section[row["generation_id"]] += row["tokens"]
        for row in tables["generation_metrics"]:
            assert by_section[row["generation_id"]] == row["memorized_tokens"]
            pieces = [piece for piece in tables["regions"] if piece["generation_id"] == row["generation_id"]]
            whole = {piece["region_id"]: piece for piece in pieces if not piece["stitched"]}
            stitched += row["stitched_regions"]
            if row["stitched_regions"] == 0:
                assert row["region_characters"] == sum(len(piece["text"]) for piece in whole.values())
                assert row["region_words"] == sum(len(piece["text"].split()) for piece in whole.values())
    assert stitched
