"""The compiled part of n-gram matching: which n-grams of some generations stand in some notes.

Seed and extend: notes are sampled at a stride, hashed seeds are filtered by a bitmap (a Bloom filter of one hash) and
looked up, and every hit is verified id by id. Owns arithmetic on arrays of token ids only. All indices are unsigned:
with signed ones numba tests each for sign.
"""

import numba
import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]
Starts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)
# Odd 64-bit constants whose bits look random, one for each two ids of a seed and one to mix: splitmix64 of 1 to 4 with
# the lowest bit set, and a multiplier of wyhash.
_K0 = _U(0x910A2DEC89025CC1)
_K1 = _U(0x975835DE1C9756CF)
_K2 = _U(0x1D0B14E4DB018FED)
_K3 = _U(0x6E73E372E2338ACB)
_MIX = _U(0xA0761D6478BD642F)
#: Ids of a seed that are hashed without a loop.
_WHOLE_SEED = _U(8)
_SIX_BITS = _U(63)
_NONE = np.uint32(0xFFFFFFFF)


@numba.njit(inline="always")
def _pair(ids: Ids, place: np.uint64) -> np.uint64:
    """Return two ids as one 64-bit word."""
    word: np.uint64 = _U(ids[place]) | _U(ids[place + _ONE]) << _U(32)
    return word


@numba.njit(inline="always")
def _seed_hash(ids: Ids, place: np.uint64, seed: np.uint64) -> np.uint64:
    if seed == _WHOLE_SEED:
        sum_ = (
            _pair(ids, place) * _K0
            + _pair(ids, place + _U(2)) * _K1
            + _pair(ids, place + _U(4)) * _K2
            + _pair(ids, place + _U(6)) * _K3
        )
    else:
        sum_ = _ZERO
        for offset in range(seed):
            sum_ = sum_ * _K0 + _U(ids[place + _U(offset)]) + _ONE
    value: np.uint64 = (sum_ ^ (sum_ >> _U(29))) * _MIX
    return value


@numba.njit(cache=True, nogil=True)
def find_windows(
    generated: Ids, generation_starts: Starts, notes: Ids, note_starts: Starts, n: int, seed: int
) -> Flags:
    """Return for each generated id whether the n-gram that begins there stands in one of the notes; shape (ids,).

    Each note is sampled every n - seed + 1 ids: any n-gram of the note then holds one sampled seed whole. A seed is
    looked up among the seeds of the generations and compared id by id. Then it is extended by up to n - seed ids either
    way. No result rests on a hash.
    """
    begins = np.zeros(len(generated), dtype=np.bool_)
    windows = _U(n)
    width = _U(seed)
    around = windows - width
    stride = around + _ONE
    bits = _U(4)
    while (_ONE << bits) < _U(len(generated)):
        bits += _ONE
    shift = _U(64) - bits
    # Seeds of one hash bucket are chained: `heads` by bucket, `following` by place of the seed.
    heads = np.full(_ONE << bits, _NONE, dtype=np.uint32)
    following = np.empty(len(generated), dtype=np.uint32)
    filter_shift = _U(64) - bits - _U(3)
    seen = np.zeros(max(_ONE, (_ONE << (bits + _U(3))) >> _U(6)), dtype=np.uint64)
    for generation in range(_U(len(generation_starts) - 1)):
        begin, end = _U(generation_starts[generation]), _U(generation_starts[generation + _ONE])
        if end - begin < windows:
            continue
        for place in range(begin, end - width + _ONE):
            value = _seed_hash(generated, _U(place), width)
            following[place] = heads[value >> shift]
            heads[value >> shift] = np.uint32(place)
            bit = value >> filter_shift
            seen[bit >> _U(6)] |= _ONE << (bit & _SIX_BITS)
    # In two steps: a loop that only reads and hashes is compiled to far faster code than one that also compares.
    places, owners = _find_candidates(notes, note_starts, windows, width, stride, seen, filter_shift)
    for index in range(len(places)):
        at, note = _U(places[index]), _U(owners[index])
        place = heads[_seed_hash(notes, at, width) >> shift]
        while place != _NONE:
            _mark_around(
                generated,
                generation_starts,
                _U(place),
                notes,
                _U(note_starts[note]),
                _U(note_starts[note + _ONE]),
                at,
                width,
                around,
                begins,
            )
            place = following[place]
    return begins


@numba.njit
def _find_candidates(
    notes: Ids,
    note_starts: Starts,
    windows: np.uint64,
    width: np.uint64,
    stride: np.uint64,
    seen: npt.NDArray[np.uint64],
    filter_shift: np.uint64,
) -> tuple[Ids, Ids]:
    """Return the places in the notes whose seeds pass the filter, and the note of each."""
    places = np.empty(_U(len(notes)) // stride + _U(len(note_starts)), dtype=np.uint32)
    owners = np.empty(len(places), dtype=np.uint32)
    found = _ZERO
    for note in range(_U(len(note_starts) - 1)):
        at, end = _U(note_starts[note]), _U(note_starts[note + _ONE])
        if end - at < windows:
            continue
        while at + width <= end:
            bit = _seed_hash(notes, at, width) >> filter_shift
            places[found] = np.uint32(at)
            owners[found] = np.uint32(note)
            found += (seen[bit >> _U(6)] >> (bit & _SIX_BITS)) & _ONE
            at += stride
    return places[:found], owners[:found]


@numba.njit
def _mark_around(
    generated: Ids,
    generation_starts: Starts,
    place: np.uint64,
    notes: Ids,
    note_begin: np.uint64,
    note_end: np.uint64,
    at: np.uint64,
    width: np.uint64,
    around: np.uint64,
    begins: Flags,
) -> None:
    """Mark the n-grams that hold the seed at `place` and stand in the note with that seed at `at`."""
    for offset in range(width):
        if generated[place + _U(offset)] != notes[at + _U(offset)]:
            return
    generation = _U(np.searchsorted(generation_starts, np.int64(place), side="right")) - _ONE
    begin, end = _U(generation_starts[generation]), _U(generation_starts[generation + _ONE])
    most = min(around, place - begin, at - note_begin)
    left = _ZERO
    while left < most and generated[place - left - _ONE] == notes[at - left - _ONE]:
        left += _ONE
    most = min(around, end - place - width, note_end - at - width)
    right = _ZERO
    while right < most and generated[place + width + right] == notes[at + width + right]:
        right += _ONE
    if left + right >= around:
        for window in range(place - left, place + right + _ONE - around):
            begins[window] = True
