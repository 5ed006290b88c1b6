"""Generations as the memorization stage analyses them, one by one: its steps without its figures."""

from collections.abc import Sequence

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.patient_count import count_texts
from clinaudit.audit.measures.memorization.patient_matching import match_generations
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import analyze_matched
from clinaudit.audit.measures.memorization.verbatim import AnalyzedGeneration
from clinaudit.audit.runtime.console.progress import Progress


def analyze_generations(
    generations: Sequence[Generation], notes: MatchedCorpus, *, match_tokens: int
) -> dict[str, AnalyzedGeneration]:
    """Return each generation analysed, by its id."""
    quiet = Progress(quiet=True)
    matched = match_generations(generations, notes, match_tokens=match_tokens, progress=quiet)
    counts = count_texts(matched.texts, notes, progress=quiet)
    return {
        item.attributed.generation.generation_id: analyze_matched(item, of_shard)
        for shard, of_shard in zip(matched.shards, counts, strict=True)
        for item in shard
    }
