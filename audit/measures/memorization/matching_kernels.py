"""The compiled part of n-gram matching: which n-grams of some sequences stand in others.

Owns arithmetic on arrays of token ids, or of bytes, only. A gram is looked up by a rolling hash (Karp and Rabin 1987),
and every hit is compared id by id: no result rests on a hash.
"""

import numba
import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]
# Odd 64-bit constants without structure: the golden ratio, and a multiplier of wyhash.
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xA0761D6478BD642F)


@numba.njit(inline="always")
def _is_same(known: Ids, at: int, others: Ids, begin: int, n: int) -> bool:
    """Whether two n-grams are equal; by hand, since `np.array_equal` goes on after the first difference."""
    same = 0
    while same < n and known[at + same] == others[begin + same]:
        same += 1
    return same == n


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
    bits = 4
    while (1 << bits) < 4 * len(known):
        bits += 1
    # Distinct grams of one bucket are chained by their places.
    heads = np.full(1 << bits, -1, dtype=np.int64)
    following = np.empty(len(known), dtype=np.int64)
    shift = np.uint64(64 - bits)
    leaving = np.uint64(1)
    for _ in range(n):
        leaving *= _BASE
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
                bucket = ((value ^ (value >> np.uint64(29))) * _MIX) >> shift
                at = heads[bucket]
                while at >= 0 and not _is_same(known, at, ids, begin, n):
                    at = following[at]
                if at < 0 and is_known:
                    at, following[begin], heads[bucket] = begin, heads[bucket], begin
                places[begin] = at
    return first, found
