"""Patient specificity of matched text: K and masked K of all of it, and what follows for each generation.

Owns the one scan of the corpus that serves all generations, and one of it masked (docs/methods.md, section 2). Knows
nothing of metrics over many generations (summary.py).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from clinaudit.audit.measures.memorization.patient_matching import MatchedGeneration
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.specificity.patient_count import count_patients
from clinaudit.audit.measures.memorization.verbatim import AnalyzedGeneration, label_tokens
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress


@dataclass(frozen=True, slots=True)
class TextCounts:
    """How many train patients have a note that holds each text, as it stands, and masked."""

    plain: Mapping[str, int]
    masked: Mapping[str, int]


def count_texts(
    texts: Collection[str],
    masked_texts: Collection[str],
    notes: MatchedCorpus,
    *,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> TextCounts:
    """Count the train patients whose notes hold each text, and whose masked notes each masked one."""
    packed = notes.corpus.packed("train")
    with progress.stage("counting patients", total=packed.size, unit="bytes of notes") as advance:
        plain = count_patients(texts, packed, runner=runner, advance=advance)
    if not masked_texts:
        return TextCounts(plain, {})
    packed = notes.masked("train", runner, progress)
    with progress.stage("counting patients in masked notes", total=packed.size, unit="bytes of notes") as advance:
        return TextCounts(plain, count_patients(masked_texts, packed, runner=runner, advance=advance))


def analyze_matched(matched: MatchedGeneration, counts: TextCounts) -> AnalyzedGeneration:
    """Label the tokens of a generation by who else's notes hold them; both counts include the target."""
    item, pieces, near = matched.attributed, matched.masked, matched.runs
    outside = item.generation.arm != "train"
    patient_counts = tuple(counts.plain[piece.piece.text] + outside for piece in item.pieces)
    masked_patient_counts = tuple(counts.masked[piece.text] + outside for piece in pieces)
    tokens = label_tokens(item, list(zip(patient_counts, masked_patient_counts, strict=True)), pieces)
    near_tokens = 0
    if near is not None:
        shared = {
            place
            for place, (text, mask) in near.texts.items()
            if counts.plain[text] + outside > 1 or counts.masked[mask] + outside > 1
        }
        near_tokens = near.count_tokens(shared)
    return AnalyzedGeneration(item, patient_counts, masked_patient_counts, tokens, near_tokens)
