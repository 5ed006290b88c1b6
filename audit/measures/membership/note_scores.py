"""What a note is scored by: ratio to a control model, Min-K%++, loss, zlib ratio (docs/methods.md, section 14).

Owns the scores of one note; higher means more likely trained on. Knows nothing of arms or of other notes.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from clinaudit.audit.measures.scoring.record import NoteScores
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.attacks import MEMBERSHIP_SCORES, MembershipScore
from clinaudit.reports.schema.record import Arm

#: Share of a note's tokens that Min-K%++ averages, the least expected (Zhang et al. 2024, arXiv 2404.02936) [choice].
_LEAST_SHARE: Final = 0.2
#: Below any deviation that float32 can tell from certainty: a token that the model is certain of is divided by this.
_LEAST_DEVIATION: Final = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class ScoredNote:
    """One note with its scores, which depend on no other note."""

    patient_id: str
    arm: Arm
    note_id: str
    #: Scored ones.
    tokens: int
    loss: float
    zlib: float
    #: None where the engine gives no deviations, or where no control model scored the note.
    min_k_plus_plus: float | None
    ratio: float | None


def read_scores(scores: Sequence[NoteScores], corpus: Corpus) -> list[ScoredNote]:
    """Return the scored notes by patient and note id.

    A note is left out that has no scored token, or a log p that is no number: it would stand above all others.
    """
    control = {(of.patient_id, of.note_id): of for of in scores if of.model == "control"}
    audited = {(of.patient_id, of.note_id): of for of in scores if of.model == "audited" and _is_scored(of)}
    # The size of a text once compressed is its entropy, as zlib finds it (Carlini et al. 2021).
    compressed = {
        (patient_id, note.note_id): len(zlib.compress(note.text.encode("utf-8")))
        for patient_id in {patient_id for patient_id, _ in audited}
        for note in corpus.notes_of(patient_id)
    }
    return [_score(of, control.get(key), compressed[key]) for key, of in sorted(audited.items())]


def choose_score(notes: Sequence[ScoredNote]) -> MembershipScore | None:
    """Return the score that the figures are of: the first that all notes have; None without a note."""
    return next((name for name in MEMBERSHIP_SCORES if notes and have_score(notes, name)), None)


def have_score(notes: Sequence[ScoredNote], name: str) -> bool:
    """Whether all notes have a score."""
    return all(getattr(note, name) is not None for note in notes)


def _score(of: NoteScores, control: NoteScores | None, compressed: int) -> ScoredNote:
    mean = float(of.log_probs.mean(dtype=np.float64))
    ratio = None
    if control is not None and _is_scored(control) and control.log_probs.size == of.log_probs.size:
        ratio = mean - float(control.log_probs.mean(dtype=np.float64))
    return ScoredNote(
        patient_id=of.patient_id,
        arm=of.arm,
        note_id=of.note_id,
        tokens=of.log_probs.size,
        loss=mean,
        zlib=mean / compressed,
        min_k_plus_plus=_min_k_plus_plus(of),
        ratio=ratio,
    )


def _is_scored(of: NoteScores) -> bool:
    return of.log_probs.size > 0 and bool(np.isfinite(of.log_probs).all())


def _min_k_plus_plus(of: NoteScores) -> float | None:
    """Return the mean of the least 20% of (log p - mean) / deviation, of one token at least."""
    if of.means is None or of.deviations is None:
        return None
    away = (of.log_probs.astype(np.float64) - of.means) / np.maximum(of.deviations, _LEAST_DEVIATION)
    kept = max(1, int(_LEAST_SHARE * away.size))
    least = float(np.partition(away, kept - 1)[:kept].mean())
    return least if np.isfinite(away).all() else None
