"""Generations beside their own patients' notes, verbatim and nearly, in one reading of the notes.

Owns what is done for one patient, here or in a worker. The two findings are of types of their own, so that nothing of
the near-verbatim one reaches the verbatim figures. Knows nothing of other patients.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clinaudit.audit.composition import NoteReader
from clinaudit.audit.memorization import Generation, LocatedGeneration, locate_generations
from clinaudit.audit.near_verbatim import NearVerbatimText, find_near_matches
from clinaudit.audit.patient_matching import PatientText, match_patients
from clinaudit.audit.progress import Progress
from clinaudit.audit.shards import ShardRunner
from clinaudit.audit.token_cache import TokenCache
from clinaudit.audit.token_sequences import lay_end_to_end
from clinaudit.audit.tokens import ModelTokenizer
from clinaudit.priors.corpus import Corpus


@dataclass(frozen=True, slots=True)
class MatchedGeneration:
    """What of a generation stands in its patient's notes, and what nearly does."""

    located: LocatedGeneration
    near: NearVerbatimText


def match_generations(
    generations: Sequence[Generation],
    corpus: Corpus,
    *,
    cache: TokenCache,
    reader: NoteReader,
    n: int,
    progress: Progress,
    runner: ShardRunner | None = None,
) -> list[MatchedGeneration]:
    """Match every generation, patient by patient, patients in the order of their first generation."""
    with progress.stage("matching notes", total=len(generations), unit="generations") as advance:
        return match_patients(
            match_with_patient, generations, corpus, cache=cache, reader=reader, n=n, runner=runner, advance=advance
        )


def match_with_patient(
    generations: Sequence[Generation], patient: PatientText, *, tokenizer: ModelTokenizer, n: int
) -> list[MatchedGeneration]:
    """Match the generations of one patient."""
    sequences = lay_end_to_end(generation.token_ids for generation in generations)
    near = find_near_matches(sequences, patient.sequences, n=n, note_of=patient.note_of_sequence)
    located = locate_generations(generations, patient, tokenizer=tokenizer, n=n)
    return [
        MatchedGeneration(item, near.text_of(index, length=len(item.generation.token_ids), note_ids=patient.note_ids))
        for index, item in enumerate(located)
    ]
