"""Corpora of any size for the benchmarks: the demo's notes, long free text between, and parts copied forward.

Every patient has 2 to 27 notes of about 9 kB: one of the demo's charts (headers, boilerplate, lists), a narrative of
words drawn by Zipf's law, and with a chance of 70% the narrative of the visit before, as notes are copied forward.
Their boilerplate is the same in many charts, as are the words of their lists.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from clinaudit.audit.demo.corpus import write_notes
from clinaudit.audit.demo.population import draw_population
from clinaudit.priors.corpus.note_texts import PackedTexts

_CHARTS_PER_ARM = 10_000
_WORDS = 30_000
_COPIED_FORWARD = 0.7
_WRITE_BYTES = 1 << 24


class CorpusWriter:
    """Writes invented patients, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        letters = np.frombuffer(b"etaoinshrdlucmfwypvbgkjqxz", dtype=np.uint8)
        ranks = np.minimum(self._rng.geometric(0.12, size=(_WORDS, 12)) - 1, 25)
        lengths = self._rng.integers(2, 12, _WORDS)
        words = [bytes(letters[row[:length]]) for row, length in zip(ranks, lengths, strict=True)]
        self._words = np.array([*words, *(b"%d." % number for number in range(400))], dtype=object)
        weights = 1 / np.arange(1, len(self._words) + 1)
        self._weights = np.cumsum(weights / weights.sum())
        people = draw_population(seed=seed, patients_per_arm=_CHARTS_PER_ARM)
        self._charts = [[note.text.encode() for note in write_notes(person, seed=seed)] for person in people]

    def patients(self, size: int) -> Iterator[list[bytes]]:
        """Yield patients, each as the texts of its notes, until they have `size` bytes together."""
        written = 0
        while written < size:
            chart = self._charts[self._rng.integers(len(self._charts))]
            notes: list[bytes] = []
            before = b""
            for visit in range(int(self._rng.integers(2, 28))):
                history = before if self._rng.random() < _COPIED_FORWARD else b""
                before = self._narrative(int(self._rng.integers(60, 200)))
                parts = (chart[visit % len(chart)], self._narrative(700), history, before)
                notes.append(b"\n".join(parts))
                written += len(notes[-1])
            yield notes

    def _narrative(self, words: int) -> bytes:
        drawn = np.searchsorted(self._weights, self._rng.random(words))
        return b" ".join(self._words[np.minimum(drawn, len(self._words) - 1)])


def write_corpus(folder: Path, *, size: int, seed: int = 0) -> None:
    """Write a corpus of about `size` bytes into `folder`, as `open_corpus` reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    lengths: list[int] = []
    first_notes = [0]
    with (folder / "text.bin").open("wb", buffering=_WRITE_BYTES) as file:
        for notes in CorpusWriter(seed).patients(size):
            file.writelines(notes)
            lengths += map(len, notes)
            first_notes.append(len(lengths))
    np.save(folder / "lengths.npy", np.array(lengths, dtype=np.int64))
    np.save(folder / "first_notes.npy", np.array(first_notes, dtype=np.int64))


def open_corpus(folder: Path, *, size: int | None = None) -> PackedTexts:
    """Map a corpus, or its first patients up to `size` bytes, into memory."""
    ends = np.cumsum(np.load(folder / "lengths.npy"))
    starts = ends - np.load(folder / "lengths.npy")
    first_notes = np.load(folder / "first_notes.npy")
    if size is not None:
        patients = max(1, int(np.searchsorted(ends[first_notes[1:] - 1], size, side="right")))
        first_notes = first_notes[: patients + 1]
        starts, ends = starts[: first_notes[-1]], ends[: first_notes[-1]]
    text = np.memmap(folder / "text.bin", dtype=np.uint8, mode="r")
    return PackedTexts(text, starts, ends, first_notes)


def draw_regions(notes: PackedTexts, number: int, *, seed: int, least: int = 120, most: int = 600) -> list[str]:
    """Draw distinct texts of `least` to `most` bytes from the notes; a fifth of them end in words no note has."""
    rng = np.random.default_rng(seed)
    regions: dict[str, None] = {}
    while len(regions) < number:
        note = int(rng.integers(len(notes.starts)))
        length = int(rng.integers(least, most))
        size = int(notes.ends[note] - notes.starts[note])
        begin = int(notes.starts[note]) + int(rng.integers(0, max(1, size - length)))
        text = bytes(notes.text[begin : min(begin + length, int(notes.ends[note]))])
        if rng.random() < 0.2:
            text = text[:-20] + b" QX %d" % rng.integers(10**9)
        if len(text) >= least:
            regions[text.decode("utf-8", errors="ignore")] = None
    return list(regions)
