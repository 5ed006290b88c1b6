"""The compiled part of matching: which n-grams of some sequences, and which of many texts, stand in others.

Owns arithmetic on arrays of token ids, or of bytes, only. What is looked for is looked up by a rolling hash (Karp and
Rabin 1987), and every hit is compared id by id, or byte by byte: no result rests on a hash.
"""

import numba
import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
# Odd 64-bit constants without structure: the golden ratio, and a multiplier of wyhash.
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xA0761D6478BD642F)
#: Bits of a hash by which strings are counted.
_COUNTED_BITS = 22


@numba.njit(inline="always")
def _is_same(known: Ids, at: int, others: Ids, begin: int, n: int) -> bool:
    """Whether two n-grams are equal; by hand, since `np.array_equal` goes on after the first difference."""
    same = 0
    while same < n and known[at + same] == others[begin + same]:
        same += 1
    return same == n


@numba.njit(inline="always")
def _mix(value: np.uint64) -> np.uint64:
    return (value ^ (value >> np.uint64(29))) * _MIX


@numba.njit(inline="always")
def _power(n: int) -> np.uint64:
    """Return the factor of the id that leaves a rolling hash of n ids."""
    power = np.uint64(1)
    for _ in range(n):
        power *= _BASE
    return power


@numba.njit(inline="always")
def _bits_for(count: int) -> int:
    """Return how many bits number the buckets of so many hashes: at least four buckets each."""
    bits = 4
    while (1 << bits) < 4 * count:
        bits += 1
    return bits


@numba.njit(cache=True, nogil=True)
def find_grams(
    known: Ids,
    known_starts: Places,
    others: Ids,
    other_starts: Places,
    n: int,
) -> tuple[Places, Places]:
    """Return for each id the first place in `known` of the n-gram that begins there, or -1; of both, shape (ids,).

    -1 stands where a sequence ends before the n-gram does, and where `known` does not hold it. Example: of the known
    sequence 5 5 5 6 and the other 5 6, with n = 2, it is 0 0 2 -1, and 2 -1.
    """
    first = np.full(len(known), -1, dtype=np.int64)
    found = np.full(len(others), -1, dtype=np.int64)
    bits = _bits_for(len(known))
    # Distinct grams of one bucket are chained by their places.
    heads = np.full(1 << bits, -1, dtype=np.int64)
    following = np.empty(len(known), dtype=np.int64)
    shift = np.uint64(64 - bits)
    leaving = _power(n)
    for ids, starts, places, is_known in ((known, known_starts, first, True), (others, other_starts, found, False)):
        for sequence in range(len(starts) - 1):
            value = np.uint64(0)
            for end in range(starts[sequence], starts[sequence + 1]):
                begin = end - n + 1
                value = value * _BASE + np.uint64(ids[end]) + np.uint64(1)
                if begin > starts[sequence]:
                    value -= (np.uint64(ids[begin - 1]) + np.uint64(1)) * leaving
                if begin < starts[sequence]:
                    continue
                bucket = _mix(value) >> shift
                at = heads[bucket]
                while at >= 0 and not _is_same(known, at, ids, begin, n):
                    at = following[at]
                if at < 0 and is_known:
                    at, following[begin], heads[bucket] = begin, heads[bucket], begin
                places[begin] = at
    return first, found


@numba.njit(cache=True, nogil=True)
def number_stretches(text: Bytes, begins: Places, ends: Places) -> tuple[Places, Places]:
    """Number the distinct ones of some stretches of a text in order: return where each stands first, and all numbers.

    The former are indices of stretches, shape (distinct,); the latter have the shape (stretches,).
    """
    bits = _bits_for(len(begins))
    heads = np.full(1 << bits, -1, dtype=np.int64)
    following = np.empty(len(begins), dtype=np.int64)
    firsts = np.empty(len(begins), dtype=np.int64)
    numbers = np.empty(len(begins), dtype=np.int64)
    count = 0
    for index in range(len(begins)):
        begin, length = begins[index], ends[index] - begins[index]
        value = np.uint64(length)
        for at in range(begin, begin + length):
            value = value * _BASE + np.uint64(text[at]) + np.uint64(1)
        bucket = _mix(value) >> np.uint64(64 - bits)
        number = heads[bucket]
        while number >= 0:
            other = firsts[number]
            if ends[other] - begins[other] == length and _is_same(text, begin, text, begins[other], length):
                break
            number = following[number]
        if number < 0:
            number, firsts[count], following[count], heads[bucket] = count, index, heads[bucket], count
            count += 1
        numbers[index] = number
    return firsts[:count].copy(), numbers


@numba.njit(cache=True, nogil=True)
def choose_anchors(
    text: Bytes, begins: Places, ends: Places, widths: tuple[int, ...]
) -> tuple[npt.NDArray[np.uint8], Words, Places]:
    """Choose an anchor of each of some stretches of a text: of its strings the one that is rarest in the whole text.

    Return its width, its hash and its offset in the stretch, shape (stretches,) each. Its width is the first of
    `widths` that the stretch has room for; strings are counted at every eighth of their width, by a part of their hash.
    """
    chosen = np.zeros(len(begins), dtype=np.uint8)
    anchors = np.zeros(len(begins), dtype=np.uint64)
    offsets = np.zeros(len(begins), dtype=np.int64)
    shift = np.uint64(64 - _COUNTED_BITS)
    for width in widths:
        if chosen.all():
            break
        stride = max(1, width // 8)
        hashes = np.zeros(max(0, (len(text) - width) // stride + 1), dtype=np.uint64)
        crowds = np.zeros(1 << _COUNTED_BITS, dtype=np.int32)
        leaving = _power(width)
        value = np.uint64(0)
        for end in range(len(text)):
            begin = end - width + 1
            value = value * _BASE + np.uint64(text[end]) + np.uint64(1)
            if begin > 0:
                value -= (np.uint64(text[begin - 1]) + np.uint64(1)) * leaving
            if begin >= 0 and begin % stride == 0:
                hashes[begin // stride] = _mix(value)
                crowds[_mix(value) >> shift] += 1
        for index in range(len(begins)):
            first, last = (begins[index] + stride - 1) // stride, (ends[index] - width) // stride
            if chosen[index] or last < first:
                continue
            least = first
            for at in range(first + 1, last + 1):
                crowd, fewest = crowds[hashes[at] >> shift], crowds[hashes[least] >> shift]
                # Of those that are equally rare the same one for all stretches that hold it.
                if crowd < fewest or (crowd == fewest and hashes[at] < hashes[least]):
                    least = at
            chosen[index], anchors[index], offsets[index] = width, hashes[least], least * stride - begins[index]
    return chosen, anchors, offsets


@numba.njit(cache=True, nogil=True)
def chain_anchors(anchors: Words, wanted: Places) -> tuple[Places, Places]:
    """Return the first of the `wanted` anchors in each bucket of hashes, and of each anchor the next one; -1: none."""
    bits = _bits_for(len(wanted))
    heads = np.full(1 << bits, -1, dtype=np.int32)
    following = np.full(len(anchors), -1, dtype=np.int32)
    for number in wanted:
        bucket = anchors[number] >> np.uint64(64 - bits)
        following[number], heads[bucket] = heads[bucket], number
    return heads, following


@numba.njit(cache=True, nogil=True)
def find_texts(
    text: Bytes,
    begins: Places,
    ends: Places,
    anchors: Words,
    offsets: Places,
    heads: Places,
    following: Places,
    width: int,
    notes: Bytes,
    note_starts: Places,
    note_ends: Places,
    first_notes: Places,
    most: int,
    counts: Places,
    firsts: Places,
    lasts: Places,
) -> None:
    """Add to `counts` in how many patients' notes each text stands, and say who the first and the last of them are.

    The texts are those of `chain_anchors`, with anchors of one width; the notes are those of `PackedTexts`. A text that
    `most` patients hold is looked for no more.
    """
    leaving = _power(width)
    shift = np.uint64(64 - _bits_for(len(heads) // 4))
    for patient in range(len(first_notes) - 1):
        for note in range(first_notes[patient], first_notes[patient + 1]):
            start, stop = note_starts[note], note_ends[note]
            value = np.uint64(0)
            for end in range(start, stop):
                begin = end - width + 1
                value = value * _BASE + np.uint64(notes[end]) + np.uint64(1)
                if begin > start:
                    value -= (np.uint64(notes[begin - 1]) + np.uint64(1)) * leaving
                if begin < start:
                    continue
                mixed = _mix(value)
                number = heads[mixed >> shift]
                while number >= 0:
                    at, length = begin - offsets[number], ends[number] - begins[number]
                    if (
                        anchors[number] == mixed
                        and lasts[number] != patient
                        and counts[number] < most
                        and start <= at
                        and at + length <= stop
                        and _is_same(text, begins[number], notes, at, length)
                    ):
                        firsts[number] = firsts[number] if counts[number] else patient
                        lasts[number] = patient
                        counts[number] += 1
                    number = following[number]
