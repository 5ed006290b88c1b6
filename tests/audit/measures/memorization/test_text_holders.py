"""The search for holders beside one that looks for every text in every note."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from support.packed_notes import pack_notes

from clinaudit.audit.measures.memorization import text_holders
from clinaudit.audit.measures.memorization.text_holders import find_holders, number_texts, order_patients
from clinaudit.audit.statistics.pools import SPLITS, draw_pools

#: Letters of the notes, and how many random bytes they repeat: with few, one anchor stands in many places.
HOSTILE = [("ab", 3), ("abc", 7), ("abcdefgh", 60), ("abcdefghijklmnopqrstuvwxyz ", 5_000), ("a", 1)]


def _random_notes(rng: np.random.Generator, letters: str, repeated: int) -> list[str]:
    unit = "".join(rng.choice(list(letters), size=repeated))
    notes = []
    for _ in range(24):
        first = rng.integers(0, repeated)
        text = (unit * (700 // repeated + 2))[first : first + rng.integers(0, 400)]
        for _ in range(rng.integers(0, 3)):
            at = rng.integers(0, len(text) + 1)
            text = text[:at] + rng.choice(list(letters)) + text[at:]
        notes.append(text)
    return notes


def _random_texts(rng: np.random.Generator, notes: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Return bytes that parts of the notes make, and windows of them of all lengths."""
    parts = [note[a : a + rng.integers(1, 200)] for note in notes for a in [rng.integers(0, len(note) + 1)]]
    whole = "".join(parts) + notes[0] + "0123456789" * 20
    begins = np.sort(rng.integers(0, len(whole), size=300))
    ends = np.minimum(begins + rng.choice([1, 7, 8, 9, 31, 32, 35, 36, 100, 160], size=300), len(whole))
    texts = [whole[a:b] for a, b in zip(begins, ends, strict=True)]
    return np.frombuffer(whole.encode(), dtype=np.uint8), begins, ends, texts


@pytest.mark.parametrize(("letters", "repeated"), HOSTILE)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("trained", [7, 2])
def test_finds_the_first_two_holders_of_either_split(
    letters: str, repeated: int, seed: int, trained: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_holders, "FIRST_PATIENTS", 2)
    monkeypatch.setattr(text_holders, "SHARD_BYTES", 300)
    rng = np.random.default_rng(seed)
    notes = _random_notes(rng, letters, repeated)
    text, begins, ends, texts = _random_texts(rng, notes)
    # Patients of one to three notes each.
    patients = [notes[a:b] for a, b in pairwise([0, 1, 3, 4, 7, 9, 10, 12, 14, 17, 20, 21, 24])]
    own = {"train": patients[:trained], "nontrain": patients[trained:]}
    pools = draw_pools({split: len(of) for split, of in own.items()}, seed=seed)
    orders = order_patients(pools, {split: len(of) for split, of in own.items()})
    distinct, numbers = number_texts(text, begins, ends)
    assert len(distinct) == len(set(texts))
    asked: Counter[str] = Counter()
    found = find_holders(
        distinct,
        {split: pack_notes(of) for split, of in own.items()},
        pools,
        advance=lambda some: asked.update(patients=some),
    )
    assert asked["patients"] == len(patients)
    held = {key: [row[1:] for row in of.rows()] for (key,), of in found.partition_by("text", as_dict=True).items()}
    settled = 0
    for number, wanted in zip(numbers.tolist(), texts, strict=True):
        holders = [
            (split, rank)
            for split in SPLITS
            for rank, place in enumerate(orders[split])
            if any(wanted in note for note in own[split][place])
        ]
        if sum(rank < min(pools.size.values()) for _, rank in holders) >= 2:
            settled += 1
            assert number not in held
        elif len(holders) < 2:
            assert held.get(number, []) == holders
        else:
            # Of two holders the first of either split are there, as far as pools go.
            assert len(held[number]) >= 2
            assert set(held[number]) <= set(holders)
            drawn = [
                [own for own in holders if own[0] == split and own[1] < len(pools.drawn[split])] for split in SPLITS
            ]
            assert {own for of in drawn for own in of[:2]} <= set(held[number])
    assert settled


def test_equal_texts_have_one_number_and_texts_of_one_hash_have_two(monkeypatch: pytest.MonkeyPatch) -> None:
    text = np.frombuffer(b"she raises goats. she raises goats! he keeps bees.", dtype=np.uint8)
    begins, ends = np.array([0, 18, 0, 36]), np.array([16, 34, 17, 50])
    for told in (hash, lambda _: 7):
        monkeypatch.setattr(text_holders, "hash", told, raising=False)
        distinct, numbers = number_texts(text, begins, ends)
        assert [
            bytes(text[distinct.begins[number] :][: distinct.lengths[number]]).decode() for number in numbers.tolist()
        ] == ["she raises goats", "she raises goats", "she raises goats.", "he keeps bees."]
        assert len(set(numbers.tolist())) == 3
