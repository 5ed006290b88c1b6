"""Notes packed into memory, where a run lays them out in a file."""

from collections.abc import Iterable, Sequence

import numpy as np

from clinaudit.priors.corpus.patient import PackedTexts
from clinaudit.templates.note import normalize_newlines


def pack_notes(patients: Iterable[Sequence[str]]) -> PackedTexts:
    """Pack the notes of some patients, each given by the texts of its notes, into memory."""
    encoded: list[bytes] = []
    first_notes = [0]
    for notes in patients:
        encoded += [normalize_newlines(note).encode("utf-8") for note in notes]
        first_notes.append(len(encoded))
    ends = np.cumsum([len(note) for note in encoded], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]]) if encoded else ends
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return PackedTexts(text, starts, ends, np.array(first_notes, dtype=np.int64))
