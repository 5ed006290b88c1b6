"""A patient's score: the mean of the notes' z-scores against never-seen notes of like length (docs/methods.md).

Owns who is compared with whom. Both arms are treated alike: nobody is standardized by notes of their own. What
asymmetry is left errs on the safe side: a never-seen outlier widens the deviation of all others alone.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
#: Never-seen notes of other patients, the nearest in length, that a note is compared with [choice].
LIKE_NOTES: Final = 50
#: Where all of these have one score, the deviation is 0: any other score is then far from theirs.
_LEAST_DEVIATION: Final = 1e-9


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
        deviations = np.maximum(others.std(axis=0, ddof=1), _LEAST_DEVIATION)
        standardized[note] = (values[note] - others.mean(axis=0)) / deviations
    return standardized


def mean_by_patient(standardized: Values, patients: Sequence[str]) -> tuple[list[str], Values]:
    """Return the patients, sorted, and the mean of each one's notes, `(notes, scores)` to `(patients, scores)`."""
    names, places = np.unique(np.asarray(patients), return_inverse=True)
    sums = np.zeros((len(names), standardized.shape[1]))
    np.add.at(sums, places, standardized)
    return names.tolist(), sums / np.bincount(places)[:, np.newaxis]
