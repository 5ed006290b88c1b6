"""The compiled part of verbatim matching: which windows of some generations stand in some notes.

Owns arithmetic on arrays of token ids only. All indices are unsigned: with signed ones numba tests each for sign.
"""

import numba
import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]
Starts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)
# Odd 64-bit constants drawn at random: one for each id of a seed of up to eight, and one to mix.
_K0 = _U(0x910A2DEC89025CC1)
_K1 = _U(0x975835DE1C9756CF)
_K2 = _U(0x1D0B14E4DB018FED)
_K3 = _U(0x6E73E372E2338ACB)
_K4 = _U(0xA1E8C5A1C6D8F8A3)
_K5 = _U(0xBEEB8DA1658EEC67)
_K6 = _U(0xF893A2EEFB32555F)
_K7 = _U(0x71C18690EE42C90B)
_MIX = _U(0xA0761D6478BD642F)
#: Ids of a seed that are hashed without a loop.
_WHOLE_SEED = _U(8)
_SIX_BITS = _U(63)
_NONE = np.uint32(0xFFFFFFFF)


@numba.njit(inline="always")
def _seed_hash(ids: Ids, place: np.uint64, seed: np.uint64) -> np.uint64:
    if seed == _WHOLE_SEED:
        sum_ = (
            _U(ids[place]) * _K0
            + _U(ids[place + _U(1)]) * _K1
            + _U(ids[place + _U(2)]) * _K2
            + _U(ids[place + _U(3)]) * _K3
            + _U(ids[place + _U(4)]) * _K4
            + _U(ids[place + _U(5)]) * _K5
            + _U(ids[place + _U(6)]) * _K6
            + _U(ids[place + _U(7)]) * _K7
        )
    else:
        sum_ = _ZERO
        for offset in range(seed):
            sum_ = sum_ * _K0 + _U(ids[place + _U(offset)]) + _ONE
    return (sum_ ^ (sum_ >> _U(29))) * _MIX


@numba.njit(cache=True, nogil=True)
def find_windows(
    generated: Ids, generation_starts: Starts, notes: Ids, note_starts: Starts, n: int, seed: int
) -> Flags:
    """Return for each generated id whether the window of `n` ids that begins there stands in one of the notes.

    Each note is looked at every n - seed + 1 ids: any window of n ids of it holds one of those seeds whole. A seed is
    looked up among those of the generations and compared id by id, then the ids around it, up to n - seed either way:
    nothing rests on a hash. Shape (generated ids,).
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
    for note in range(_U(len(note_starts) - 1)):
        note_begin, note_end = _U(note_starts[note]), _U(note_starts[note + _ONE])
        if note_end - note_begin < windows:
            continue
        at = note_begin
        while at + width <= note_end:
            value = _seed_hash(notes, at, width)
            bit = value >> filter_shift
            if (seen[bit >> _U(6)] >> (bit & _SIX_BITS)) & _ONE:
                place = heads[value >> shift]
                while place != _NONE:
                    _mark_around(
                        generated, generation_starts, _U(place), notes, note_begin, note_end, at, width, around, begins
                    )
                    place = following[place]
            at += stride
    return begins


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
    """Mark the windows that hold the seed at `place` and stand in the note with that seed at `at`."""
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
