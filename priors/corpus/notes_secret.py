"""Secrets drawn from all notes: the same for the same notes, and nobody without the notes has them.

A published digest of something hidden confirms a guess of it. One that is keyed with such a secret does not, and is
still the same in every run on one corpus, so that runs can be compared. Owns the draw. Knows nothing of what is keyed.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator

from clinaudit.priors.corpus.corpus import Corpus


def draw_secret(texts: Iterable[str], *, purpose: bytes) -> bytes:
    """Return 32 bytes drawn from the texts in their order; another purpose gives others."""
    digest = hashlib.sha256(purpose)
    for text in texts:
        data = text.encode("utf-8")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()


def all_texts(corpus: Corpus) -> Iterator[str]:
    """Yield the text of every note of the corpus's arms, in the order of the patients' ids."""
    return (note.text for patient_id in sorted(corpus.patients) for note in corpus.notes_of(patient_id))


def keyed_digest(key: bytes, content: bytes) -> str:
    """Return the hexadecimal HMAC-SHA-256 of the content."""
    return hmac.digest(key, content, "sha256").hex()
