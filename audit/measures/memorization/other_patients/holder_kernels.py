"""The compiled part of the search for holders: which patients' notes hold the text of which windows.

Multiple string matching by hashes of whole texts (Karp and Rabin 1987), each hit compared byte for byte: no result
rests on a hash. Texts differ in length. So the first 2^c bytes of each, with 2^c at most its length, lead to the
lengths that occur with them, and each of these to the text. Time grows with the bytes of the notes and the lengths of
a beginning (some dozen), never with the number of texts that begin alike: notes are full of those. Owns arithmetic on
arrays only. Indices are unsigned where it counts: numba tests each signed one for being negative.
"""

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)
#: An odd base of the polynomial hash (splitmix64 of 1, lowest bit set), and a multiplier of wyhash.
_BASE = _U(0x910A2DEC89025CC1)
_MIX = _U(0xA0761D6478BD642F)
_SIX_BITS = _U(63)
#: No text, beginning or length.
_NOTHING = np.int32(-1)
#: No patient: above every number.
NOBODY = np.int32(0x7FFFFFFF)
#: Columns of the holders: the first two patients of each side.
HOLDER_COLUMNS = 4
#: Bits of the filter for each beginning.
_FILTER_BITS = 16


class TextIndex(NamedTuple):
    """Distinct texts, found by their beginnings and lengths."""

    #: Bytes that hold the texts.
    text: Bytes
    #: Where each distinct text begins and ends there, shape (texts,), and its hash.
    begins: Places
    ends: Places
    hashes: Words
    #: A hash table of the texts, and one of the beginnings; open addressing, `_NOTHING` where empty.
    slots: Numbers
    beginning_slots: Numbers
    #: Hash of each beginning, and its first length.
    beginning_hashes: Words
    heads: Numbers
    #: Bytes of each (beginning, length), the next length of the same beginning, and how many texts that are still
    #: searched for have it.
    lengths: Places
    following: Numbers
    texts_of: Numbers
    #: Of each text, its (beginning, length).
    length_of: Numbers
    #: One bit a hash of a beginning, and one flag for the first two bytes of a text.
    filter: Words
    is_first_pair: npt.NDArray[np.bool_]
    #: Powers of the base, up to the longest text; and the lengths of beginnings that occur, bytes.
    powers: Words
    classes: Places


@numba.njit(inline="always")
def _mixed(value: np.uint64, salt: np.uint64) -> np.uint64:
    mixed: np.uint64 = (value ^ (value >> _U(32)) ^ (salt * _BASE)) * _MIX
    return mixed ^ (mixed >> _U(29))


@numba.njit(inline="always")
def _pair_of(text: Bytes, at: int, end: int) -> np.int64:
    """Return two bytes as one number; the second is 0 beyond the end."""
    pair: np.int64 = (np.int64(text[at]) << 8) | (np.int64(text[at + 1]) if at + 1 < end else np.int64(0))
    return pair


@numba.njit(inline="always")
def _is_same(text: Bytes, begin: int, other: Bytes, at: int, length: int) -> bool:
    for offset in range(_U(length)):  # noqa: SIM110 (numba compiles no generator within `all`)
        if text[_U(begin) + offset] != other[_U(at) + offset]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def index_texts(text: Bytes, begins: Places, ends: Places) -> tuple[TextIndex, Numbers]:
    """Index the texts from `begins` to `ends` of some bytes, at least one byte each; at least one text.

    Returns the index, and for each text the number of the distinct one that it equals, shape (texts,).
    """
    count = len(begins)
    bits = _U(4)
    while (_ONE << bits) < _U(2 * count):
        bits += _ONE
    mask = (_ONE << bits) - _ONE
    slots = np.full(_ONE << bits, _NOTHING, dtype=np.int32)
    beginning_slots = np.full(_ONE << bits, _NOTHING, dtype=np.int32)
    number_of = np.empty(count, dtype=np.int32)
    firsts = np.empty(count, dtype=np.int64)
    hashes = np.empty(count, dtype=np.uint64)
    beginning_hashes = np.empty(count, dtype=np.uint64)
    heads = np.empty(count, dtype=np.int32)
    lengths = np.empty(count, dtype=np.int64)
    following = np.empty(count, dtype=np.int32)
    texts_of = np.zeros(count, dtype=np.int32)
    length_of = np.empty(count, dtype=np.int32)
    is_first_pair = np.zeros(1 << 16, dtype=np.bool_)
    is_class = np.zeros(64, dtype=np.bool_)
    longest = np.int64(0)
    texts, beginnings, found = 0, 0, 0
    for place in range(count):
        begin, length = begins[place], ends[place] - begins[place]
        longest = max(longest, length)
        power = 0
        while np.int64(2) << power <= length:
            power += 1
        value, start = _ZERO, _ZERO
        for offset in range(length):
            value = value * _BASE + _U(text[begin + offset]) + _ONE
            if offset + 1 == np.int64(1) << power:
                start = value
        value = _mixed(value, _U(length))
        slot = value & mask
        while slots[slot] != _NOTHING:
            known = firsts[slots[slot]]
            if (
                hashes[slots[slot]] == value
                and ends[known] - begins[known] == length
                and _is_same(text, begins[known], text, begin, length)
            ):
                break
            slot = (slot + _ONE) & mask
        if slots[slot] != _NOTHING:
            number_of[place] = slots[slot]
            continue
        slots[slot] = texts
        number_of[place] = texts
        firsts[texts] = place
        hashes[texts] = value
        is_class[power] = True
        pair = _pair_of(text, begin, begin + length)
        if length == 1:
            for second in range(256):
                is_first_pair[(pair & 0xFF00) | second] = True
        is_first_pair[pair] = True
        start = _mixed(start, _U(power))
        slot = start & mask
        while beginning_slots[slot] != _NOTHING and beginning_hashes[beginning_slots[slot]] != start:
            slot = (slot + _ONE) & mask
        if beginning_slots[slot] == _NOTHING:
            beginning_slots[slot] = beginnings
            beginning_hashes[beginnings] = start
            heads[beginnings] = _NOTHING
            beginnings += 1
        beginning = beginning_slots[slot]
        group = heads[beginning]
        while group != _NOTHING and lengths[group] != length:
            group = following[group]
        if group == _NOTHING:
            group = found
            lengths[group] = length
            following[group] = heads[beginning]
            heads[beginning] = group
            found += 1
        texts_of[group] += 1
        length_of[texts] = group
        texts += 1
    filter_bits = _U(6)
    while (_ONE << filter_bits) < _U(_FILTER_BITS * beginnings):
        filter_bits += _ONE
    seen = np.zeros((_ONE << filter_bits) >> _U(6), dtype=np.uint64)
    for beginning in range(beginnings):
        bit = beginning_hashes[beginning] >> (_U(64) - filter_bits)
        seen[bit >> _U(6)] |= _ONE << (bit & _SIX_BITS)
    powers = np.ones(longest + 1, dtype=np.uint64)
    for power in range(longest):
        powers[power + 1] = powers[power] * _BASE
    classes = np.flatnonzero(is_class)
    distinct = firsts[:texts].copy()
    return (
        TextIndex(
            text,
            begins[distinct],
            ends[distinct],
            hashes[:texts].copy(),
            slots,
            beginning_slots,
            beginning_hashes[:beginnings].copy(),
            heads[:beginnings].copy(),
            lengths[:found].copy(),
            following[:found].copy(),
            texts_of[:found].copy(),
            length_of[:texts].copy(),
            seen,
            is_first_pair,
            powers,
            classes,
        ),
        number_of,
    )


@numba.njit(cache=True, nogil=True)
def note_holders(
    index: TextIndex,
    notes: tuple[Bytes, Places, Places, Places],
    patients: Places,
    first_number: int,
    side: int,
    sure: int,
    holders: Numbers,
) -> None:
    """Note in `holders` which texts the notes of some patients hold; shape (texts, `HOLDER_COLUMNS`).

    `notes` are the bytes, where each note begins and ends, and each patient's first note (as `PackedTexts`). `patients`
    are places there, taken in this order and numbered from `first_number` on. The holders of a text are the first two
    numbers of `side` 0, then of side 1; `NOBODY` is above all. A text is done with, and no longer searched for, once
    two patients below `sure` of one side hold it, or one of each. The index then forgets it.
    """
    corpus, note_begins, note_ends, first_notes = notes
    mask = _U(len(index.slots) - 1)
    shift = _ZERO
    while (_U(1 << 6) * _U(len(index.filter))) << shift != _ZERO:
        shift += _ONE
    sums = np.zeros(1, dtype=np.uint64)
    mine = 2 * side
    for turn in range(len(patients)):
        patient, number = patients[turn], first_number + turn
        for note in range(first_notes[patient], first_notes[patient + 1]):
            begin, end = note_begins[note], note_ends[note]
            size = end - begin
            if size + 1 > len(sums):
                sums = np.zeros(2 * size + 1, dtype=np.uint64)
            value = _ZERO
            for offset in range(_U(size)):
                value = value * _BASE + _U(corpus[_U(begin) + offset]) + _ONE
                sums[offset + _ONE] = value
            for at in range(size):
                if not index.is_first_pair[_pair_of(corpus, begin + at, end)]:
                    continue
                for power in index.classes:
                    width = np.int64(1) << power
                    if at + width > size:
                        break
                    start = _mixed(sums[at + width] - sums[at] * index.powers[width], _U(power))
                    bit = start >> shift
                    if not (index.filter[bit >> _U(6)] >> (bit & _SIX_BITS)) & _ONE:
                        continue
                    slot = start & mask
                    while True:
                        beginning = index.beginning_slots[slot]
                        if beginning == _NOTHING or index.beginning_hashes[beginning] == start:
                            break
                        slot = (slot + _ONE) & mask
                    if beginning == _NOTHING:
                        continue
                    before, group = _NOTHING, index.heads[beginning]
                    while group != _NOTHING:
                        if index.texts_of[group] == 0:
                            group = index.following[group]
                            if before == _NOTHING:
                                index.heads[beginning] = group
                            else:
                                index.following[before] = group
                            continue
                        length = index.lengths[group]
                        if at + length <= size:
                            whole = _mixed(sums[at + length] - sums[at] * index.powers[length], _U(length))
                            slot = whole & mask
                            while True:
                                text = index.slots[slot]
                                if text == _NOTHING:
                                    break
                                if (
                                    index.hashes[text] == whole
                                    and index.ends[text] - index.begins[text] == length
                                    and holders[text, mine] != number
                                    and holders[text, mine + 1] == NOBODY
                                    and not _is_done(holders, text, sure)
                                    and _is_same(index.text, index.begins[text], corpus, begin + at, length)
                                ):
                                    first = holders[text, mine] == NOBODY
                                    holders[text, mine if first else mine + 1] = number
                                    if _is_done(holders, text, sure):
                                        index.texts_of[index.length_of[text]] -= 1
                                    break
                                slot = (slot + _ONE) & mask
                        before, group = group, index.following[group]


@numba.njit(inline="always")
def _is_done(holders: Numbers, text: int, sure: int) -> bool:
    is_done: bool = (
        holders[text, 1] < sure or holders[text, 3] < sure or (holders[text, 0] < sure and holders[text, 2] < sure)
    )
    return is_done
