"""Patient specificity of matched text: K and masked K of all of it, and what follows for each generation.

Owns the one scan of the corpus that serves all generations, and one of it masked (docs/methods.md, section 2). Knows
nothing of metrics over many generations (summary.py).
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import Final

from clinaudit.audit.measures.memorization.patient_matching import MatchedGeneration
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.specificity.patient_count import count_patients
from clinaudit.audit.measures.memorization.verbatim import AnalyzedGeneration, label_tokens
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.spill import Items, Made, batches
from clinaudit.priors.corpus.note_texts import PackedTexts

#: A text as it stands, and masked.
Texts = tuple[str, str]
#: How many train patients have a note that holds each text, and a masked note that holds the masked one.
TextCounts = Mapping[Texts, tuple[int, int]]


#: Texts that are looked for at a time, about 1 kB each; for each such batch the notes are read once.
_MOST_TEXTS: Final = 100_000


def count_texts(
    texts: Items[Sequence[Texts]], notes: MatchedCorpus, *, progress: Progress, runner: ShardRunner = ALL_CORES
) -> Items[TextCounts]:
    """Count the train patients whose notes hold some texts, list by list; a list is never divided."""
    readings = sum(1 for _ in batches(map(len, texts), int, _MOST_TEXTS))

    def count(title: str, which: int, packed: PackedTexts) -> list[Sequence[int]]:
        counts: list[Sequence[int]] = []
        with progress.stage(title, total=readings * packed.size, unit="bytes of notes") as advance:
            for some in batches(texts, len, _MOST_TEXTS):
                wanted = {pair[which] for own in some for pair in own}
                found = count_patients(wanted, packed, runner=runner, advance=advance)
                counts += (array("I", (found[pair[which]] for pair in own)) for own in some)
        return counts

    if not any(texts):
        return Made(len(texts), lambda _: {})
    plain = count("counting patients", 0, notes.corpus.packed("train"))
    masked = count("counting patients in masked notes", 1, notes.masked("train", runner, progress))
    return Made(len(texts), lambda at: dict(zip(texts[at], zip(plain[at], masked[at], strict=True), strict=True)))


def analyze_matched(matched: MatchedGeneration, counts: TextCounts) -> AnalyzedGeneration:
    """Label the tokens of a generation by who else's notes hold them; both counts include the target."""
    item, pieces, near = matched.attributed, matched.masked, matched.runs
    outside = item.generation.arm != "train"
    of_pieces = [counts[own.piece.text, mask.text] for own, mask in zip(item.pieces, pieces, strict=True)]
    plain, masked = (tuple(pair[which] + outside for pair in of_pieces) for which in range(2))
    tokens = label_tokens(item, list(zip(plain, masked, strict=True)), pieces)
    near_tokens = 0
    if near is not None:
        near_tokens = near.count_tokens({at for at, pair in near.texts.items() if max(counts[pair]) + outside > 1})
    return AnalyzedGeneration(item, plain, masked, tokens, near_tokens)
