"""Near-verbatim text of all generations, patient by patient.

Owns which notes and readings of them a generation is matched against: the target patient's own, as for verbatim. A pass
of its own, so that nothing of it can reach the verbatim analysis; token ids come from the cache both times.
"""

from collections.abc import Iterable

from clinaudit.audit.composition import NoteReader
from clinaudit.audit.memorization import Generation, PatientText
from clinaudit.audit.near_verbatim import NearVerbatimText, find_near_matches
from clinaudit.audit.progress import Progress
from clinaudit.audit.token_cache import TokenCache
from clinaudit.audit.token_sequences import lay_end_to_end
from clinaudit.priors.corpus import Corpus


def find_near_verbatim_text(
    generations: Iterable[Generation],
    corpus: Corpus,
    *,
    cache: TokenCache,
    reader: NoteReader,
    n: int,
    progress: Progress,
) -> dict[str, NearVerbatimText]:
    """Return what of each generation is near-verbatim, by generation id."""
    by_patient: dict[str, list[Generation]] = {}
    for generation in generations:
        by_patient.setdefault(generation.patient_id, []).append(generation)
    found: dict[str, NearVerbatimText] = {}
    total = sum(map(len, by_patient.values()))
    with progress.stage("matching notes nearly", total=total, unit="generations") as advance:
        for patient_id, own in by_patient.items():
            notes = [(note.note_id, note.text) for note in corpus.notes_of(patient_id)]
            patient = PatientText(notes, cache, reader)
            sequences = lay_end_to_end(generation.token_ids for generation in own)
            matches = find_near_matches(sequences, patient.sequences, n=n, note_of=patient.note_of_sequence)
            note_ids = [note_id for note_id, _ in notes]
            for index, generation in enumerate(own):
                length = len(generation.token_ids)
                found[generation.generation_id] = matches.text_of(index, length=length, note_ids=note_ids)
            advance(len(own))
    return found
