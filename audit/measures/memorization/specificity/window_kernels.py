"""The compiled part of the window engine: hashes of windows (q-grams of bytes), the index, and the corpus scan.

Owns arithmetic on arrays only; window_index.py says what the arrays mean. All indices are unsigned: with signed ones
numba tests each for being negative, which made hashing alone five times slower.
"""

import numba
import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Ids = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]
_U = np.uint64
# Odd 64-bit constants whose bits look random: the golden ratio, two primes of xxHash, one multiplier each of rrmxmx and
# wyhash.
_K0 = _U(0x9E3779B97F4A7C15)
_K1 = _U(0xC2B2AE3D27D4EB4F)
_K2 = _U(0x165667B19E3779F9)
_K3 = _U(0xD6E8FEB86659FD93)
_K4 = _U(0xA0761D6478BD642F)
_ZERO, _ONE = _U(0), _U(1)
_WORD_BYTES = _U(8)
#: Bits of the hash that say which two bits of a filter word stand for it; the word itself is chosen by the highest.
_FIRST_BIT = _U(20)
_SECOND_BIT = _U(14)
_SIX_BITS = _U(63)
_FINGERPRINT = _U(0xFFFFFFFF)
_HALF = _U(32)


@numba.njit(inline="always")
def _mix(sum_: np.uint64) -> np.uint64:
    return (sum_ ^ (sum_ >> _U(29))) * _K4


@numba.njit(inline="always")
def _word_at(text: Bytes, place: np.uint64) -> np.uint64:
    """Return eight bytes as a little-endian number; the compiler makes one load of it."""
    word = _U(0)
    for byte in range(8):
        word |= _U(text[place + _U(byte)]) << _U(8 * byte)
    return word


@numba.njit(inline="always")
def _hash_at(text: Bytes, place: np.uint64, words: np.uint64) -> np.uint64:
    """Return the hash of the window of one or four words that begins at a byte."""
    sum_: np.uint64 = _word_at(text, place) * _K0
    if words != _ONE:
        sum_ += _word_at(text, place + _U(8)) * _K1
        sum_ += _word_at(text, place + _U(16)) * _K2
        sum_ += _word_at(text, place + _U(24)) * _K3
    value: np.uint64 = _mix(sum_)
    return value


@numba.njit(cache=True, nogil=True)
def count_windows(text: Bytes, begin: int, end: int, words: int, tally: Ids) -> None:
    """Count the windows that begin at each byte of `text[begin:end]` by the highest bits of their hashes.

    `tally`, shape (cells,), has a power of two of cells; windows that share a cell are counted together.
    """
    shift = _U(64) - _U(np.log2(len(tally)))
    width = _U(words) * _WORD_BYTES
    place = _U(begin)
    while place + width <= _U(end):
        tally[_hash_at(text, place, _U(words)) >> shift] += np.uint32(1)
        place += _ONE


@numba.njit(cache=True, nogil=True)
def choose_blocks(text: Bytes, starts: Places, words: int, stride: int, tally: Ids, blocks: Ids) -> None:
    """Choose for each text its rarest block: the `stride` consecutive windows of least tally, the first on a tie.

    Text i is `text[starts[i]:starts[i + 1]]` and holds at least `stride` windows. `blocks[i]` becomes the place in it
    of the block's first window (bytes).
    """
    shift = _U(64) - _U(np.log2(len(tally)))
    width = _U(words) * _WORD_BYTES
    run = _U(stride)
    for index in range(len(blocks)):
        begin, end = _U(starts[index]), _U(starts[index + 1])
        windows = end - begin - width + _ONE
        total = _U(0)
        for window in range(run):
            total += _U(tally[_hash_at(text, begin + _U(window), _U(words)) >> shift])
        best, blocks[index] = total, np.uint32(0)
        for first in range(_ONE, windows - run + _ONE):
            total -= _U(tally[_hash_at(text, begin + _U(first) - _ONE, _U(words)) >> shift])
            total += _U(tally[_hash_at(text, begin + _U(first) + run - _ONE, _U(words)) >> shift])
            if total < best:
                best, blocks[index] = total, np.uint32(first)


@numba.njit(cache=True, nogil=True)
def count_buckets(text: Bytes, starts: Places, blocks: Ids, words: int, stride: int, buckets: Ids) -> None:
    """Count the windows of all blocks by bucket, shifted by one cell; `buckets` has a power of two of cells and one."""
    shift = _U(64) - _U(np.log2(len(buckets) - 1))
    for index in range(len(blocks)):
        first = _U(starts[index]) + _U(blocks[index])
        for window in range(_U(stride)):
            buckets[(_hash_at(text, first + _U(window), _U(words)) >> shift) + _ONE] += np.uint32(1)


@numba.njit(cache=True, nogil=True)
def mark_crowded(
    text: Bytes,
    starts: Places,
    blocks: Ids,
    words: int,
    stride: int,
    buckets: Ids,
    most: int,
    crowded: npt.NDArray[np.bool_],
) -> None:
    """Mark the texts with a window in a bucket of more than `most`; `buckets` are counts, shifted by one cell."""
    shift = _U(64) - _U(np.log2(len(buckets) - 1))
    for index in range(len(blocks)):
        first = _U(starts[index]) + _U(blocks[index])
        for window in range(_U(stride)):
            if buckets[(_hash_at(text, first + _U(window), _U(words)) >> shift) + _ONE] > most:
                crowded[index] = True


@numba.njit(cache=True, nogil=True)
def fill_buckets(
    text: Bytes,
    starts: Places,
    blocks: Ids,
    words: int,
    stride: int,
    next_free: Ids,
    cells: Words,
    bloom: Words,
) -> None:
    """Put each window of each block into its bucket and into the Bloom filter.

    `next_free`, shape (buckets,), holds the buckets' first cells and is changed. A cell becomes text × stride + window
    in its upper half and a fingerprint of the window in its lower half.
    """
    shift = _U(64) - _U(np.log2(len(next_free)))
    bloom_shift = _U(64) - _U(np.log2(len(bloom)))
    for index in range(len(blocks)):
        first = _U(starts[index]) + _U(blocks[index])
        for window in range(_U(stride)):
            value = _hash_at(text, first + _U(window), _U(words))
            cell = _U(next_free[value >> shift])
            next_free[value >> shift] += np.uint32(1)
            cells[cell] = (_U(index) * _U(stride) + _U(window)) << _HALF | (value & _FINGERPRINT)
            bits = (_ONE << ((value >> _FIRST_BIT) & _SIX_BITS)) | (_ONE << ((value >> _SECOND_BIT) & _SIX_BITS))
            bloom[value >> bloom_shift] |= bits


@numba.njit(cache=True, nogil=True)
def scan_patients(
    corpus: Bytes,
    corpus_words: Words,
    note_starts: Places,
    note_ends: Places,
    first_notes: Places,
    patients_begin: int,
    patients_end: int,
    text: Bytes,
    places: Places,
    words: int,
    stride: int,
    buckets: Ids,
    cells: Words,
    bloom: Words,
    last_patient: npt.NDArray[np.int32],
    counts: Ids,
) -> None:
    """Count for each text the patients from `patients_begin` to `patients_end` with a note that holds it.

    The corpus is sampled where `stride` divides the place: in any occurrence of a text, exactly one window of its block
    begins at such a place. What passes the filter and the fingerprints is compared byte for byte, inside one note.
    `places`, shape (texts + 1, 2), are (start of the text, start of its block in it); they lie together because each
    candidate needs both. `counts` and `last_patient` (-1: none yet), shape (texts,), are this scan's own.
    """
    bucket_shift = _U(64) - _U(np.log2(len(buckets) - 1))
    bloom_shift = _U(64) - _U(np.log2(len(bloom)))
    step = _U(stride)
    # A power of two: a shift takes one cycle, a division some fifteen.
    step_bits = _U(np.log2(stride))
    longest = _ZERO
    for note in range(first_notes[patients_begin], first_notes[patients_end]):
        longest = max(longest, _U(note_ends[note] - note_starts[note]))
    # In two steps, note by note: a loop that only reads and hashes is compiled to far faster code than one that also
    # compares.
    candidates = np.empty(longest // step + _ONE, dtype=np.uint64)
    hashes = np.empty(longest // step + _ONE, dtype=np.uint64)
    for patient in range(patients_begin, patients_end):
        for note in range(first_notes[patient], first_notes[patient + 1]):
            begin, end = _U(note_starts[note]), _U(note_ends[note])
            found = _find_candidates(corpus_words, begin, end, _U(words), step, bloom, bloom_shift, candidates, hashes)
            for candidate in range(found):
                at, value = candidates[candidate], hashes[candidate]
                bucket = value >> bucket_shift
                for cell in range(_U(buckets[bucket]), _U(buckets[bucket + _ONE])):
                    if (cells[cell] ^ value) & _FINGERPRINT != _ZERO:
                        continue
                    slot = cells[cell] >> _HALF
                    index = slot >> step_bits
                    if last_patient[index] == patient:
                        continue
                    before = _U(places[index, 1]) + (slot & (step - _ONE))
                    first, last = _U(places[index, 0]), _U(places[index + _ONE, 0])
                    if at < begin + before or at - before + (last - first) > end:
                        continue
                    if _is_equal(corpus, at - before, text, first, last - first):
                        last_patient[index] = patient
                        counts[index] += np.uint32(1)


@numba.njit
def _find_candidates(
    corpus_words: Words,
    begin: np.uint64,
    end: np.uint64,
    width: np.uint64,
    step: np.uint64,
    bloom: Words,
    bloom_shift: np.uint64,
    candidates: Words,
    hashes: Words,
) -> np.uint64:
    """Write the places (bytes) and hashes of a note's windows that pass the filter; return how many."""
    found = _ZERO
    place = (begin + step - _ONE) // step * (step // _WORD_BYTES)
    limit = end // _WORD_BYTES
    while place + width <= limit:
        sum_ = corpus_words[place] * _K0
        if width != _ONE:
            sum_ += corpus_words[place + _U(1)] * _K1
            sum_ += corpus_words[place + _U(2)] * _K2
            sum_ += corpus_words[place + _U(3)] * _K3
        value = _mix(sum_)
        seen = bloom[value >> bloom_shift]
        candidates[found] = place * _WORD_BYTES
        hashes[found] = value
        found += (seen >> ((value >> _FIRST_BIT) & _SIX_BITS)) & (seen >> ((value >> _SECOND_BIT) & _SIX_BITS)) & _ONE
        place += step // _WORD_BYTES
    return found


@numba.njit(inline="always")
def _is_equal(corpus: Bytes, at: np.uint64, text: Bytes, first: np.uint64, length: np.uint64) -> bool:
    # The ends first: texts that share their windows (lines of dashes between other words) differ there. Then from the
    # end: those with one beginning (regions that a model ended differently) differ late.
    if corpus[at] != text[first] or corpus[at + length - _ONE] != text[first + length - _ONE]:
        return False
    left = length
    while left >= _WORD_BYTES:
        left -= _WORD_BYTES
        if _word_at(corpus, at + left) != _word_at(text, first + left):
            return False
    while left > _ZERO:
        left -= _ONE
        if corpus[at + left] != text[first + left]:
            return False
    return True
