"""The window engine: multiple string matching with a sampled q-gram index, a Bloom filter and exact verification.

It finds many texts in a corpus by looking at every 8th to 64th byte of the corpus only (the stride). Owns the index of
a set of texts and the scan with it. A *window* is a q-gram of bytes. For each text a *block* is chosen: as many
consecutive windows as the stride has bytes. Any occurrence of the text puts exactly one of them at a place that the
stride divides. So the scan hashes the windows at those places alone. A Bloom filter that stays in the processor's cache
drops most of them, and the index looks up the rest. What is left is compared byte for byte, inside one note: no result
rests on a hash. Knows nothing of regions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.specificity import window_kernels as kernels
from clinaudit.priors.corpus.note_texts import PackedTexts, release_pages

_WORD_BYTES = 8
#: Cells of the tally that separates rare windows from boilerplate, and the bytes of the corpus it is made from.
_TALLY_CELLS = 1 << 20
_SAMPLE_BYTES = 16 << 20
_SAMPLE_PARTS = 64
#: Most windows of one kind where a narrower stride is still a choice: with more, the filter outgrows the cache.
_MOST_WINDOWS = 4 << 20
#: Most windows in one bucket where a narrower stride is still a choice, and where none is. Texts that differ in few
#: places share most windows of a wide block and few of a narrow one. A text that shares them still (a line of dashes
#: before a number) would be compared at every dash, and is left to the other engine.
_MOST_IN_BUCKET = 32
_MOST_IN_ANY_BUCKET = 4096
#: Bits of the filter for each window, up to the largest filter (words of 64 bits): a blocked Bloom filter (Putze,
#: Sanders and Singler 2007) with a false positive rate of 1.4%.
_FILTER_BITS = 16
_LEAST_FILTER_WORDS = 1 << 10
_MOST_FILTER_WORDS = 1 << 20


@dataclass(frozen=True, slots=True)
class WindowKind:
    """The width of the windows, and the stride at which the corpus is sampled."""

    words: int
    #: Bytes.
    stride: int

    @property
    def least_bytes(self) -> int:
        """Bytes of the shortest text that always has a whole window at a place that the stride divides."""
        return self.words * _WORD_BYTES + self.stride - 1


#: For long texts, the widest stride first; and for short ones. Windows of 32 bytes are rare in any corpus; windows of
#: eight bytes are single words.
LONG_KINDS = (WindowKind(4, 64), WindowKind(4, 32), WindowKind(4, 16))
SHORT_KIND = WindowKind(1, 8)
#: The shortest text that the engine takes (UTF-8 bytes).
LEAST_BYTES = SHORT_KIND.least_bytes


@dataclass(frozen=True, slots=True, eq=False)
class WindowIndex:
    """Texts of one kind, by the hashes of the windows of their blocks."""

    kind: WindowKind
    #: Place of each text among those the engine was given, shape (texts,).
    members: npt.NDArray[np.int64]
    #: The texts, concatenated (bytes).
    text: npt.NDArray[np.uint8]
    #: Where each text begins there, and its block's first window in the text (bytes), shape (texts + 1, 2).
    places: npt.NDArray[np.int64]
    #: First cell of each bucket of hashes, shape (buckets + 1,), and the cells: text × stride + window, fingerprint.
    buckets: npt.NDArray[np.uint32]
    cells: npt.NDArray[np.uint64]
    #: Two bits a window, in one word.
    bloom: npt.NDArray[np.uint64]


def build_indexes(texts: Sequence[bytes], notes: PackedTexts) -> tuple[list[WindowIndex], list[int]]:
    """Index texts of at least `LEAST_BYTES` each, by kind; a sample of `notes` shows which windows are boilerplate.

    Returns the indexes, and the places of the texts in none of them: too many other texts share their windows.
    """
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    left = np.ones(len(texts), dtype=np.bool_)
    tallies: dict[int, npt.NDArray[np.uint32]] = {}
    indexes: list[WindowIndex] = []
    for kind in (*LONG_KINDS, SHORT_KIND):
        members = np.flatnonzero(left & (lengths >= kind.least_bytes))
        is_last = kind in (LONG_KINDS[-1], SHORT_KIND)
        if not len(members) or (not is_last and len(members) * kind.stride > _MOST_WINDOWS):
            continue
        if kind.words not in tallies:
            tallies[kind.words] = _tally(notes, kind.words)
        index = _build_index(kind, members, texts, tallies[kind.words], is_last=is_last)
        if index is not None:
            left[index.members] = False
            indexes.append(index)
    return indexes, np.flatnonzero(left).tolist()


def _tally(notes: PackedTexts, words: int) -> npt.NDArray[np.uint32]:
    tally = np.zeros(_TALLY_CELLS, dtype=np.uint32)
    size = len(notes.text)
    part = _SAMPLE_BYTES // _SAMPLE_PARTS
    for begin in range(0, size, max(part, size // _SAMPLE_PARTS)):
        kernels.count_windows(notes.text, begin, min(begin + part, size), words, tally)
    return tally


def _build_index(
    kind: WindowKind,
    members: npt.NDArray[np.int64],
    texts: Sequence[bytes],
    tally: npt.NDArray[np.uint32],
    *,
    is_last: bool,
) -> WindowIndex | None:
    """Index the members whose windows share no overfull bucket; None where there are none."""
    text, starts = _lay_out([texts[member] for member in members])
    # The texts' own windows count too: those that many texts share make long buckets.
    tally = tally.copy()
    kernels.count_windows(text, 0, len(text), kind.words, tally)
    blocks = np.zeros(len(members), dtype=np.uint32)
    kernels.choose_blocks(text, starts, kind.words, kind.stride, tally, blocks)
    buckets = np.zeros(_power_of_two(len(members) * kind.stride, least=2) + 1, dtype=np.uint32)
    kernels.count_buckets(text, starts, blocks, kind.words, kind.stride, buckets)
    crowded = np.zeros(len(members), dtype=np.bool_)
    most = _MOST_IN_ANY_BUCKET if is_last else _MOST_IN_BUCKET
    kernels.mark_crowded(text, starts, blocks, kind.words, kind.stride, buckets, most, crowded)
    if crowded.any():
        members, blocks = members[~crowded], blocks[~crowded]
        if not len(members):
            return None
        text, starts = _lay_out([texts[member] for member in members])
        buckets[:] = 0
        kernels.count_buckets(text, starts, blocks, kind.words, kind.stride, buckets)
    np.cumsum(buckets, out=buckets)
    windows = len(members) * kind.stride
    filter_words = _power_of_two(windows * _FILTER_BITS // 64, least=_LEAST_FILTER_WORDS)
    bloom = np.zeros(min(filter_words, _MOST_FILTER_WORDS), dtype=np.uint64)
    cells = np.zeros(windows, dtype=np.uint64)
    kernels.fill_buckets(text, starts, blocks, kind.words, kind.stride, buckets[:-1].copy(), cells, bloom)
    places = np.stack([starts, np.append(blocks, np.uint32(0))], axis=1)
    return WindowIndex(kind, members, text, places, buckets, cells, bloom)


def _lay_out(texts: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(one) for one in texts], out=starts[1:])
    return np.frombuffer(b"".join(texts), dtype=np.uint8), starts


def _power_of_two(number: int, *, least: int) -> int:
    return max(least, 1 << max(0, number - 1).bit_length())


def count_in_range(
    indexes: Sequence[WindowIndex], notes: PackedTexts, *, texts: int, patients: range
) -> npt.NDArray[np.uint32]:
    """Return for each of the engine's `texts` texts how many of a range of patients hold it, shape (texts,).

    Releases the pages of a memory-mapped corpus that it has read, so that they do not add up.
    """
    counts = np.zeros(texts, dtype=np.uint32)
    # "<u8": the kernels read the texts' bytes as little-endian words, too.
    words = notes.text[: len(notes.text) // _WORD_BYTES * _WORD_BYTES].view("<u8")
    for index in indexes:
        found = np.zeros(len(index.members), dtype=np.uint32)
        kernels.scan_patients(
            notes.text,
            words,
            notes.starts,
            notes.ends,
            notes.first_notes,
            patients.start,
            patients.stop,
            index.text,
            index.places,
            index.kind.words,
            index.kind.stride,
            index.buckets,
            index.cells,
            index.bloom,
            np.full(len(index.members), -1, dtype=np.int32),
            found,
        )
        counts[index.members] = found
    release_pages(notes, patients)
    return counts
