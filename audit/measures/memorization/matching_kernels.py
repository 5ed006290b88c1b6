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
Numbers = npt.NDArray[np.int32]
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


@numba.njit(cache=True, nogil=True)
def _powers(most: int) -> Words:
    """Return the factors of the ids that leave a rolling hash of 0 to `most` ids."""
    powers = np.ones(most + 1, dtype=np.uint64)
    for n in range(most):
        powers[n + 1] = powers[n] * _BASE
    return powers


@numba.njit(cache=True, nogil=True)
def _hash_prefixes(text: Bytes, begin: int, end: int, prefixes: Words) -> None:
    """Set the hashes of what begins at `begin`, of 0 bytes and more: from two of them follows that of a stretch."""
    prefixes[0] = 0
    for at in range(end - begin):
        prefixes[at + 1] = prefixes[at] * _BASE + np.uint64(text[begin + at]) + np.uint64(1)


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
    leaving = _powers(n)[n]
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
def find_runs(
    grams: Places, starts: Places, other_grams: Places, other_starts: Places, size: int, most: int
) -> tuple[Places, Places, Places, Places, Places]:
    """Return the longest runs of grams that a sequence shares with another one; of each five numbers, shape (runs,).

    These are the sequence and the other one, where the run begins in either (all sequences laid end to end), and its
    ids. `grams` are those that `find_grams` returns for n = `size`, which is 2 at least. A gram that a sequence holds
    more than `most` times begins and prolongs no run: the work stays bounded where text repeats itself. Runs come by
    other sequence, sequence, and place.
    """
    counts = np.zeros(len(grams), dtype=np.int64)
    is_rare = np.zeros(len(grams), dtype=np.bool_)
    for sequence in range(len(starts) - 1):
        own = range(starts[sequence], starts[sequence + 1])
        for x in own:
            counts[grams[x]] += grams[x] >= 0
        for x in own:
            is_rare[x] = 0 < counts[grams[x]] <= most and grams[x] >= 0
        for x in own:
            counts[grams[x]] = 0
    # By gram the last place in the other sequence, and by place the one before.
    last = np.full(len(grams), -1, dtype=np.int64)
    before = np.full(len(other_grams), -1, dtype=np.int64)
    # By diagonal, the difference of places: the run that came last. None goes on in another sequence: the last places
    # of a sequence begin no gram.
    run_at = np.full(len(grams) + len(other_grams), -1, dtype=np.int64)
    runs = [np.int64(0) for _ in range(0)]
    for other in range(len(other_starts) - 1):
        others = range(other_starts[other], other_starts[other + 1])
        for y in others:
            gram = other_grams[y]
            if gram >= 0:
                counts[gram] += 1
                before[y], last[gram] = last[gram], y
        for sequence in range(len(starts) - 1):
            for x in range(starts[sequence], starts[sequence + 1]):
                if not is_rare[x] or counts[grams[x]] > most:
                    continue
                y = last[grams[x]]
                while y >= 0:
                    run = run_at[y - x + len(grams)]
                    if run >= 0 and runs[run + 2] + runs[run + 4] - size + 1 == x:
                        runs[run + 4] += 1
                    else:
                        run_at[y - x + len(grams)] = len(runs)
                        runs.extend([np.int64(sequence), np.int64(other), np.int64(x), y, np.int64(size)])
                    y = before[y]
        for y in others:
            if other_grams[y] >= 0:
                counts[other_grams[y]], last[other_grams[y]] = 0, -1
    table = np.array(runs).reshape(len(runs) // 5, 5)
    return (table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy(), table[:, 3].copy(), table[:, 4].copy())


@numba.njit(cache=True, nogil=True)
def chain_runs(owners: Places, readings: Places, starts: Places, places: Places, lengths: Places, most: int) -> Places:
    """Return for each of the runs of `find_runs` one run of its chain, the same for all of a chain; shape (runs,).

    A run goes on another one of the same sequences where it begins later and ends later in both, at most `most` tokens
    after the other's end.
    """
    chains = np.arange(len(starts))
    for one in range(len(starts)):
        end, place_end = starts[one] + lengths[one], places[one] + lengths[one]
        other = one + 1
        while (
            other < len(starts)
            and readings[other] == readings[one]
            and owners[other] == owners[one]
            and starts[other] <= end + most
        ):
            goes_on = starts[one] < starts[other] and places[one] < places[other] <= place_end + most
            if goes_on and end < starts[other] + lengths[other] and place_end < places[other] + lengths[other]:
                first, second = one, other
                while chains[first] != first:
                    first = chains[first]
                while chains[second] != second:
                    second = chains[second]
                chains[second] = first
            other += 1
    for run in range(len(starts)):
        chain = run
        while chains[chain] != chain:
            chain = chains[chain]
        chains[run] = chain
    return chains


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
) -> tuple[npt.NDArray[np.uint8], Words, Places, Words]:
    """Choose an anchor of each of some stretches of a text: of its strings the one that is rarest in the whole text.

    Return its width, its hash and its offset in the stretch, and the stretch's hash, shape (stretches,) each. Its width
    is the first of `widths` that the stretch has room for; strings are counted at every eighth of their width, by a
    part of their hash.
    """
    chosen = np.zeros(len(begins), dtype=np.uint8)
    anchors = np.zeros(len(begins), dtype=np.uint64)
    offsets = np.zeros(len(begins), dtype=np.int64)
    shift = np.uint64(64 - _COUNTED_BITS)
    prefixes = np.empty(len(text) + 1, dtype=np.uint64)
    _hash_prefixes(text, 0, len(text), prefixes)
    powers = _powers(max(32, (ends - begins).max() if len(begins) else 0))
    whole = np.empty(len(begins), dtype=np.uint64)
    for index in range(len(begins)):
        whole[index] = prefixes[ends[index]] - prefixes[begins[index]] * powers[ends[index] - begins[index]]
    for width in widths:
        if chosen.all():
            break
        stride = max(1, width // 8)
        hashes = np.zeros(max(0, (len(text) - width) // stride + 1), dtype=np.uint64)
        crowds = np.zeros(1 << _COUNTED_BITS, dtype=np.int32)
        for number in range(len(hashes)):
            begin = number * stride
            hashes[number] = _mix(prefixes[begin + width] - prefixes[begin] * powers[width])
            crowds[hashes[number] >> shift] += 1
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
    return chosen, anchors, offsets, whole


@numba.njit(cache=True, nogil=True)
def chain_anchors(anchors: Words, wanted: Places) -> tuple[Numbers, Numbers]:
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
    hashes: Words,
    heads: Numbers,
    following: Numbers,
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
    shift = np.uint64(64 - _bits_for(len(heads) // 4))
    longest = (note_ends - note_starts).max() if len(note_starts) else 0
    powers, prefixes = _powers(max(longest, width)), np.empty(longest + 1, dtype=np.uint64)
    for patient in range(len(first_notes) - 1):
        for note in range(first_notes[patient], first_notes[patient + 1]):
            start, size = note_starts[note], note_ends[note] - note_starts[note]
            _hash_prefixes(notes, start, start + size, prefixes)
            for begin in range(size - width + 1):
                mixed = _mix(prefixes[begin + width] - prefixes[begin] * powers[width])
                number = heads[mixed >> shift]
                while number >= 0:
                    at, length = begin - offsets[number], ends[number] - begins[number]
                    # By their hashes first: where text repeats itself, many that share an anchor differ at the end.
                    if (
                        anchors[number] == mixed
                        and lasts[number] != patient
                        and counts[number] < most
                        and 0 <= at <= size - length
                        and prefixes[at + length] - prefixes[at] * powers[length] == hashes[number]
                        and _is_same(text, begins[number], notes, start + at, length)
                    ):
                        firsts[number] = firsts[number] if counts[number] else patient
                        lasts[number] = patient
                        counts[number] += 1
                    number = following[number]
