"""Near-verbatim text of all generations, patient by patient.

Owns which notes and readings of them a generation is matched against: the target patient's own, as for verbatim. A pass
of its own, so that nothing of it can reach the verbatim analysis; token ids come from the cache both times.
"""

from collections.abc import Sequence

from clinaudit.audit.composition import NoteReader
from clinaudit.audit.memorization import Generation
from clinaudit.audit.near_verbatim import NearVerbatimText, find_near_matches
from clinaudit.audit.patient_matching import PatientText, match_patients
from clinaudit.audit.progress import Progress
from clinaudit.audit.shards import ShardRunner
from clinaudit.audit.token_cache import TokenCache
from clinaudit.audit.token_sequences import lay_end_to_end
from clinaudit.audit.tokens import ModelTokenizer
from clinaudit.priors.corpus import Corpus


def find_near_verbatim_text(
    generations: Sequence[Generation],
    corpus: Corpus,
    *,
    cache: TokenCache,
    reader: NoteReader,
    n: int,
    progress: Progress,
    runner: ShardRunner | None = None,
) -> dict[str, NearVerbatimText]:
    """Return what of each generation is near-verbatim, by generation id."""
    with progress.stage("matching notes nearly", total=len(generations), unit="generations") as advance:
        return dict(
            match_patients(
                near_texts, generations, corpus, cache=cache, reader=reader, n=n, runner=runner, advance=advance
            )
        )


def near_texts(
    generations: Sequence[Generation],
    patient: PatientText,
    *,
    tokenizer: ModelTokenizer,  # noqa: ARG001 (the work of a patient is given it)
    n: int,
) -> list[tuple[str, NearVerbatimText]]:
    """Return the near-verbatim text of one patient's generations, each with its id."""
    sequences = lay_end_to_end(generation.token_ids for generation in generations)
    matches = find_near_matches(sequences, patient.sequences, n=n, note_of=patient.note_of_sequence)
    return [
        (
            generation.generation_id,
            matches.text_of(index, length=len(generation.token_ids), note_ids=patient.note_ids),
        )
        for index, generation in enumerate(generations)
    ]
