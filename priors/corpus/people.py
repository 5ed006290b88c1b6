"""Which ids of a corpus are one person: a hospital's exports hold many people under two (docs/corpus-format.md).

Owns when two ids are the same person: by name and date of birth, or by their notes. Knows nothing of files, of what a
note says (who reads a name off a note is given), or of how the ids' rows are joined (`joined_ids`).
"""

import hashlib
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from itertools import groupby, permutations
from typing import Final

import numpy as np

from clinaudit.priors.corpus.patient import Note, Patient
from clinaudit.priors.surrogate_tags import is_tag

#: What a note states of its patient: name and date of birth, None where it does not.
StatedIdentity = Callable[[Note], tuple[str | None, date | None]]
#: Least share of equal notes, of the notes of the id that has fewer: all that an old id holds may stand under the new
#: one, which has more. Of the id with more it would be a small share, and K would count one person twice all the same.
SHARE: Final = (4, 5)
#: A note that stands under more ids is a form letter, and a name and birth date of more a placeholder.
MOST_IDS: Final = 10
#: Nor does a shorter note ("no show"). It has hardly the 30 tokens of a match, so that K never counts it.
LEAST_WORDS: Final = 20
_WORD: Final = re.compile(r"[^\W_]+")
_TITLES: Final = frozenset({"mr", "mrs", "ms", "miss", "mx", "dr", "prof"})
_NO_GAP: Final = re.compile(r"['’`.]")


def find_people(
    patients: Iterable[Patient], notes: Mapping[str, tuple[Note, ...]], stated: StatedIdentity
) -> dict[str, str]:
    """Return the person's id, the first of theirs, for every id of a person who has more than one, that one included.

    `notes` are those of each patient, in order of time; `stated` is asked of the last where a table does not tell.
    """
    above: dict[str, str] = {}

    def first_of(patient_id: str) -> str:
        while (up := above.get(patient_id)) is not None:
            above[patient_id] = above.get(up, up)
            patient_id = up
        return patient_id

    for pair in (*_pairs_by_identity(patients, notes, stated), *_pairs_by_notes(notes)):
        first, other = sorted(map(first_of, pair))
        if first != other:
            above[other] = first
    ids = above.keys() | above.values()
    return {patient_id: first_of(patient_id) for patient_id in sorted(ids)}


def _pairs_by_identity(
    patients: Iterable[Patient], notes: Mapping[str, tuple[Note, ...]], stated: StatedIdentity
) -> Iterator[tuple[str, str]]:
    """Yield each id with the first that has the same name and date of birth, both known.

    A single word is no full name, and one that more ids have than a person does stands for nobody ("Test Patient").
    """
    holders: dict[object, list[str]] = {}
    for patient in patients:
        name, birth = patient.name if patient.name and not is_tag(patient.name) else None, patient.dob
        if name is None or birth is None:
            name_of_note, birth_of_note = stated(notes[patient.patient_id][-1])
            name = name or name_of_note
            if patient.birth_year is None or (birth_of_note and birth_of_note.year == patient.birth_year):
                birth = birth or birth_of_note
        words = _name_words(name or "")
        if len(words) > 1 and birth is not None:
            holders.setdefault((words, birth), []).append(patient.patient_id)
    for first, *others in holders.values():
        if len(others) < MOST_IDS:
            yield from ((first, other) for other in others)


def _name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in one order: without case, accents and punctuation, "Lund, Ada" is "Ada Lund".

    Titles and initials are left out: one registration has them and another has not.
    """
    plain = unicodedata.normalize("NFKD", _NO_GAP.sub("", name)).casefold()
    words = _WORD.findall("".join(char for char in plain if not unicodedata.combining(char)))
    return tuple(sorted(word for word in words if word not in _TITLES and not (len(word) == 1 and word.isalpha())))


def _pairs_by_notes(notes: Mapping[str, tuple[Note, ...]]) -> Iterator[tuple[str, str]]:
    """Yield each two ids of which the one with fewer notes has at least four in five under the other as well.

    Form letters and short notes count on neither side. One pass over all notes, of which digests alone are kept.
    """
    ids = list(notes)
    digests, owners = array("Q"), array("q")
    for place, own in enumerate(notes.values()):
        for note in own:
            words = note.text.split()
            if len(words) >= LEAST_WORDS:
                digest = hashlib.blake2b(" ".join(words).encode("utf-8"), digest_size=8).digest()
                digests.append(int.from_bytes(digest, "little"))
                owners.append(place)
    _, text, copies = np.unique(np.array(digests, dtype=np.uint64), return_inverse=True, return_counts=True)
    telling = Counter(owners)
    shared: Counter[tuple[int, int]] = Counter()
    repeated = np.flatnonzero(copies[text] > 1)
    repeated = repeated[np.argsort(text[repeated], kind="stable")]
    for _, equal in groupby(repeated.tolist(), key=text.tolist().__getitem__):
        held = Counter(owners[place] for place in equal)
        if len(held) > MOST_IDS:
            telling.subtract(held)
            continue
        for one, other in permutations(held, 2):
            shared[one, other] += held[one]
    for (one, other), notes_of_one in shared.items():
        if telling[one] <= telling[other] and notes_of_one * SHARE[1] >= telling[one] * SHARE[0]:
            yield ids[one], ids[other]
