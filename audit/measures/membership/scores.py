"""Membership scores: of a note by ratio to a control model, Min-K%++, loss and zlib ratio; of a patient their mean.

Owns the scores of one note (higher: more likely trained on), and who is compared with whom: a patient's score is the
mean of the notes' z-scores against never-seen notes of like length (docs/methods.md, section 14). Both arms are treated
alike: nobody is standardized by notes of their own. What asymmetry is left errs on the safe side: a never-seen outlier
widens the deviation of all others alone.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

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


Values = npt.NDArray[np.float64]
#: Never-seen notes of other patients, the nearest in length, that a note is compared with [choice].
LIKE_NOTES: Final = 50
#: Where all of these have one score, the deviation is 0: any other score is then far from theirs.
_LEAST_DEVIATION_OF_NOTES: Final = 1e-9


def standardize_notes(
    values: Values, *, tokens: Sequence[int], patients: Sequence[str], never_seen: Sequence[bool]
) -> Values:
    """Return the z-scores of notes, `(notes, scores)` each: away from the mean of never-seen notes of like length.

    Notes of like length are the 50 of other patients with the smallest difference of log length (among equal ones,
    those nearest in the order of lengths); all, where there are fewer. Raises `ValueError` where a note has fewer than
    two.
    """
    lengths = np.log(np.asarray(tokens, dtype=np.float64))
    _, owners = np.unique(np.asarray(patients), return_inverse=True)
    pool = np.flatnonzero(np.asarray(never_seen))
    pool = pool[np.argsort(lengths[pool], kind="stable")]
    sorted_lengths = lengths[pool]
    own_notes = np.bincount(owners[pool], minlength=len(owners))
    standardized = np.empty_like(values)
    for note, length in enumerate(lengths):
        reach = LIKE_NOTES + own_notes[owners[note]]
        place = int(np.searchsorted(sorted_lengths, length))
        near = np.arange(max(0, place - reach), min(len(pool), place + reach))
        near = near[owners[pool[near]] != owners[note]]
        nearest = np.lexsort((np.abs(near + 0.5 - place), np.abs(sorted_lengths[near] - length)))[:LIKE_NOTES]
        if len(nearest) < 2:
            raise ValueError("a note has fewer than two never-seen notes of others to be compared with")
        others = values[pool[near[nearest]]]
        deviations = np.maximum(others.std(axis=0, ddof=1), _LEAST_DEVIATION_OF_NOTES)
        standardized[note] = (values[note] - others.mean(axis=0)) / deviations
    return standardized


def mean_by_patient(standardized: Values, patients: Sequence[str]) -> tuple[list[str], Values]:
    """Return the patients, sorted, and the mean of each one's notes, `(notes, scores)` to `(patients, scores)`."""
    names, places = np.unique(np.asarray(patients), return_inverse=True)
    sums = np.zeros((len(names), standardized.shape[1]))
    np.add.at(sums, places, standardized)
    return names.tolist(), sums / np.bincount(places)[:, np.newaxis]
