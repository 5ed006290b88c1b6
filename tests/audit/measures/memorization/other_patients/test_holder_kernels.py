"""The compiled search for holders beside one that looks at every text in every note."""

import numpy as np
import pytest

from clinaudit.audit.measures.memorization.other_patients.holder_kernels import NOBODY, index_texts, note_holders

#: Of texts of 1, 11 and 47 bytes and more.
SHAPES = [(1, 1), (8, 4), (40, 8)]
#: Letters of the notes, and how many random bytes they repeat: with few, one anchor stands in many places.
HOSTILE = [("ab", 3), ("abc", 7), ("abcdefgh", 60), ("abcdefghijklmnopqrstuvwxyz ", 5_000), ("a", 1)]


def _random_notes(rng: np.random.Generator, letters: str, repeated: int) -> list[bytes]:
    unit = "".join(rng.choice(list(letters), size=repeated))
    notes = []
    for _ in range(24):
        first = rng.integers(0, repeated)
        text = (unit * (700 // repeated + 2))[first : first + rng.integers(0, 400)]
        for _ in range(rng.integers(0, 3)):
            at = rng.integers(0, len(text) + 1)
            text = text[:at] + rng.choice(list(letters)) + text[at:]
        notes.append(text.encode())
    return notes


def _random_texts(
    rng: np.random.Generator, notes: list[bytes], least: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[bytes]]:
    """Return bytes that parts of the notes make, and windows of them, ascending."""
    parts = [note[a : a + rng.integers(least, 200)] for note in notes for a in [rng.integers(0, len(note) + 1)]]
    whole = b"".join(parts) + notes[0] + b"0123456789" * 20
    begins = np.sort(rng.integers(0, len(whole) - least + 1, size=300))
    ends = np.minimum(begins + rng.integers(least, 160, size=300), len(whole))
    return np.frombuffer(whole, dtype=np.uint8), begins, ends, [whole[a:b] for a, b in zip(begins, ends, strict=True)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("letters", "repeated"), HOSTILE)
@pytest.mark.parametrize("seed", range(3))
def test_finds_the_first_two_holders_of_either_side(
    shape: tuple[int, int], letters: str, repeated: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    notes = _random_notes(rng, letters, repeated)
    text, begins, ends, texts = _random_texts(rng, notes, sum(shape) - 1)
    sides = [notes[:12], notes[12:]]
    # Patients of one to three notes each.
    first_notes = [0, 1, 3, 4, 7, 9, 10, 12]
    index, number_of = index_texts(text, begins, ends, *shape)
    holders = np.full((len(index.begins), 4), NOBODY, dtype=np.int32)
    expected = np.full((len(texts), 4), NOBODY, dtype=np.int32)
    for side, own in enumerate(sides):
        lengths = np.array([len(note) for note in own], dtype=np.int64)
        note_ends = np.cumsum(lengths)
        arrays = (np.frombuffer(b"".join(own), dtype=np.uint8), note_ends - lengths, note_ends, np.array(first_notes))
        order = rng.permutation(len(first_notes) - 1)
        for first in range(0, len(order), 3):
            # Nothing is ever done with, so that all holders are noted.
            note_holders(index, arrays, order[first : first + 3], first, side, 0, holders)
        for place, wanted in enumerate(texts):
            having = [
                number
                for number, patient in enumerate(order)
                if any(wanted in note for note in own[first_notes[patient] : first_notes[patient + 1]])
            ]
            expected[place, 2 * side : 2 * side + len(having[:2])] = having[:2]
    np.testing.assert_array_equal(holders[number_of], expected)
    for place, wanted in enumerate(texts):
        number = number_of[place]
        assert text[index.begins[number] : index.ends[number]].tobytes() == wanted


def test_forgets_a_text_that_two_hold() -> None:
    note = b"The wound over the left ankle is clean and dry, and the stitches came out today."
    texts = np.frombuffer(note, dtype=np.uint8)
    index, _ = index_texts(texts, np.array([0]), np.array([len(note)]), 40, 8)
    arrays = (np.tile(texts, 3), np.arange(3) * len(note), np.arange(1, 4) * len(note), np.arange(4))
    holders = np.full((1, 4), NOBODY, dtype=np.int32)
    note_holders(index, arrays, np.array([2]), 0, 0, 3, holders)
    assert (holders.tolist(), index.wanted.tolist()) == ([[0, NOBODY, NOBODY, NOBODY]], [1])
    note_holders(index, arrays, np.array([1, 0]), 1, 0, 3, holders)
    assert (holders.tolist(), index.wanted.tolist()) == ([[0, 1, NOBODY, NOBODY]], [0])
