"""The compiled part of the search for holders: which patients' notes hold the text of which windows.

Multiple string matching by hashes of whole texts (Karp and Rabin 1987), each hit compared byte for byte: no result
rests on a hash. Only at anchors is anything looked up: places whose next k bytes have the least hash of k places in
turn (minimizers: Schleimer et al. 2003, Roberts et al. 2004). What stands in 2k - 1 bytes decides on one of them, so a
text of that length has the same anchors wherever it stands. Each text is sought at the rarest of its own, by how often
they occur in what was generated: notes are full of text that many generations repeat, and a text that a value sets
apart has an anchor that the value is part of. Owns arithmetic on arrays only. Indices are unsigned where it counts:
numba tests each signed one for being negative.
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
#: No text, anchor or shape.
_NOTHING = np.int32(-1)
#: No patient: above every number.
NOBODY = np.int32(0x7FFFFFFF)
#: Columns of the holders: the first two patients of each side.
HOLDER_COLUMNS = 4
#: Bits of the filter for each anchor.
_FILTER_BITS = 16
#: Bits of the hash that tell anchors apart where they are counted.
_COUNTED_BITS = _U(20)


class TextIndex(NamedTuple):
    """Distinct texts, found by an anchor that each of them has, and by their hash."""

    #: Bytes of an anchor, and of how many places in turn it has the least hash.
    width: int
    turns: int
    #: Bytes that hold the texts.
    text: Bytes
    #: Where each distinct text begins and ends there, shape (texts,), and its hash.
    begins: Places
    ends: Places
    hashes: Words
    #: A hash table of the texts; open addressing, `_NOTHING` where empty.
    slots: Numbers
    #: Hash of each anchor, and a hash table of them.
    anchors: Words
    anchor_slots: Numbers
    #: How many texts of each anchor are still searched for.
    wanted: Numbers
    #: A shape is how texts stand about their anchor: bytes before it, and in all. Those of one anchor stand together;
    #: here is the first of each anchor, and the number of all shapes.
    first_shapes: Places
    #: Of each shape: bytes before the anchor, bytes in all, texts that are still searched for; shape (shapes, 3).
    shapes: Numbers
    #: And one bit a hash of its texts.
    signs: Words
    #: Of each text, its anchor and its shape, shape (texts, 2).
    places: Numbers
    #: One bit a hash of an anchor.
    filter: Words
    #: Powers of the base, up to the longest text.
    powers: Words


class _Scratch(NamedTuple):
    """Room for texts of up to so many bytes: hashes up to each, hashes of anchors, and what `_find_anchors` finds."""

    sums: Words
    hashes: Words
    anchors: Places
    firsts: Places


@numba.njit(inline="always")
def _mixed(value: np.uint64, salt: np.uint64) -> np.uint64:
    mixed: np.uint64 = (value ^ (value >> _U(32)) ^ (salt * _BASE)) * _MIX
    return mixed ^ (mixed >> _U(29))


@numba.njit(inline="always")
def _is_same(text: Bytes, begin: int, other: Bytes, at: int, length: int) -> bool:
    for offset in range(_U(length)):  # noqa: SIM110 (numba compiles no generator within `all`)
        if text[_U(begin) + offset] != other[_U(at) + offset]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _make_room(size: int) -> _Scratch:
    return _Scratch(
        np.zeros(size + 1, dtype=np.uint64),
        np.empty(size + 1, dtype=np.uint64),
        np.empty(size + 1, dtype=np.int64),
        np.empty(size + 1, dtype=np.int64),
    )


@numba.njit(cache=True, nogil=True)
def _find_anchors(text: Bytes, begin: int, end: int, shape: tuple[int, int], power: np.uint64, room: _Scratch) -> int:
    """Find the anchors of some bytes: `room` holds them in order, and the first place whose turn each of them wins.

    Places are counted from `begin`. Returns how many there are; none in less than `width + turns - 1` bytes. `shape` is
    the width and the turns of an anchor, `power` that of the base for the width.
    """
    width, turns = shape
    sums, hashes, anchors, firsts = room
    size = end - begin
    value = _ZERO
    for offset in range(_U(size)):
        value = value * _BASE + _U(text[_U(begin) + offset]) + _ONE
        sums[offset + _ONE] = value
    count = 0
    least = 0
    for at in range(size - width + 1):
        value = _mixed(sums[_U(at + width)] - sums[_U(at)] * power, _ZERO)
        hashes[_U(at)] = value
        if value < hashes[_U(least)]:
            least = at
        elif least + turns <= at:
            least += 1
            for other in range(least + 1, at + 1):
                if hashes[_U(other)] < hashes[_U(least)]:
                    least = other
        if at + 1 >= turns and (count == 0 or anchors[_U(count - 1)] != least):
            anchors[_U(count)] = least
            firsts[_U(count)] = at + 1 - turns
            count += 1
    return count


@numba.njit(inline="always")
def _slot_of(slots: Numbers, hashes: Words, value: np.uint64) -> np.uint64:
    """Return where a hash stands in a table, or where it would."""
    mask = _U(len(slots) - 1)
    slot = value & mask
    while slots[slot] != _NOTHING and hashes[slots[slot]] != value:
        slot = (slot + _ONE) & mask
    return slot


@numba.njit(inline="always")
def _table_of(count: int) -> Numbers:
    bits = _U(4)
    while (_ONE << bits) < _U(2 * count):
        bits += _ONE
    return np.full(_ONE << bits, _NOTHING, dtype=np.int32)


@numba.njit(inline="always")
def _end_of_stretch(begins: Places, ends: Places, first: int) -> tuple[int, int]:
    """Return the first text behind `first` that begins beyond those before it, and where those end."""
    last, end = first + 1, ends[first]
    while last < len(begins) and begins[last] < end:
        end = max(end, ends[last])
        last += 1
    return last, end


def index_texts(text: Bytes, begins: Places, ends: Places, width: int, turns: int) -> tuple[TextIndex, Numbers]:
    """Index some texts in bytes: from `begins` (ascending) to `ends`, at least one.

    Each has `width + turns - 1` bytes at least, which are of the anchors. Returns the index, and for each text the
    number of the distinct one that it equals, shape (texts,).
    """
    powers = np.append(_ONE, np.cumprod(np.full(max(int((ends - begins).max()), width), _BASE)))
    number_of, firsts, hashes, starts, offsets, slots = _choose_anchors(text, begins, ends, (width, turns), powers)
    begins, ends = begins[firsts], ends[firsts]
    lengths = (ends - begins).astype(np.int32)
    order = np.lexsort((lengths, offsets, starts))
    is_first = np.append(True, np.diff(starts[order]) != 0)
    is_other = is_first | np.append(True, (np.diff(offsets[order]) != 0) | (np.diff(lengths[order]) != 0))
    (of_anchors,), (of_shapes,) = np.nonzero(is_first), np.nonzero(is_other)
    places = np.empty((len(order), 2), dtype=np.int32)
    places[order, 0], places[order, 1] = np.cumsum(is_first) - 1, np.cumsum(is_other) - 1
    texts_of = np.diff(of_shapes, append=len(order))
    shapes = np.stack([offsets[order][of_shapes], lengths[order][of_shapes], texts_of], axis=1).astype(np.int32)
    anchors = starts[order][of_anchors]
    return TextIndex(
        width,
        turns,
        text,
        begins,
        ends,
        hashes,
        slots,
        anchors,
        _lay_out_table(anchors),
        np.diff(of_anchors, append=len(order)).astype(np.int32),
        np.searchsorted(of_shapes, np.append(of_anchors, len(order))),
        shapes,
        np.bitwise_or.reduceat(_ONE << (hashes[order] >> _U(58)), of_shapes),
        places,
        _lay_out_filter(anchors),
        powers,
    ), number_of


@numba.njit(cache=True, nogil=True)
def _lay_out_table(hashes: Words) -> Numbers:
    """Return a table of distinct hashes by their lowest bits."""
    slots: Numbers = _table_of(len(hashes))
    for number in range(len(hashes)):
        slots[_slot_of(slots, hashes, hashes[number])] = number
    return slots


@numba.njit(cache=True, nogil=True)
def _lay_out_filter(hashes: Words) -> Words:
    """Return one bit a hash, by its highest bits."""
    bits = _U(6)
    while (_ONE << bits) < _U(_FILTER_BITS * len(hashes)):
        bits += _ONE
    seen = np.zeros((_ONE << bits) >> _U(6), dtype=np.uint64)
    for value in hashes:
        bit = value >> (_U(64) - bits)
        seen[bit >> _U(6)] |= _ONE << (bit & _SIX_BITS)
    return seen


@numba.njit(cache=True, nogil=True)
def _choose_anchors(
    text: Bytes, begins: Places, ends: Places, shape: tuple[int, int], powers: Words
) -> tuple[Numbers, Places, Words, Words, Numbers, Numbers]:
    """Number the distinct texts and choose an anchor of each; `shape` is the width and the turns of anchors.

    Returns the number of each text, and of each distinct text the first that equals it, its hash, the hash of its
    anchor, and the bytes before that; then the hash table of the distinct texts.
    """
    width, turns = shape
    count = len(begins)
    widest, first = np.int64(0), 0
    while first < count:
        last, end = _end_of_stretch(begins, ends, first)
        widest = max(widest, end - begins[first])
        first = last
    room = _make_room(widest)
    sums, hash_at, anchors, turn_of = room
    crowds = np.zeros(_ONE << _COUNTED_BITS, dtype=np.int32)
    first = 0
    while first < count:
        last, end = _end_of_stretch(begins, ends, first)
        for place in range(_find_anchors(text, begins[first], end, shape, powers[width], room)):
            crowds[hash_at[anchors[place]] >> (_U(64) - _COUNTED_BITS)] += 1
        first = last
    slots = _table_of(count)
    mask = _U(len(slots) - 1)
    number_of = np.empty(count, dtype=np.int32)
    firsts = np.empty(count, dtype=np.int64)
    hashes = np.empty(count, dtype=np.uint64)
    starts = np.empty(count, dtype=np.uint64)
    offsets = np.empty(count, dtype=np.int32)
    texts, first = 0, 0
    while first < count:
        last, end = _end_of_stretch(begins, ends, first)
        origin = begins[first]
        found = _find_anchors(text, origin, end, shape, powers[width], room)
        earliest = 0
        for number in range(first, last):
            at, length = begins[number] - origin, ends[number] - begins[number]
            value = _mixed(sums[at + length] - sums[at] * powers[length], _U(length))
            slot = value & mask
            while slots[slot] != _NOTHING:
                other = firsts[slots[slot]]
                if (
                    hashes[slots[slot]] == value
                    and ends[other] - begins[other] == length
                    and _is_same(text, begins[other], text, begins[number], length)
                ):
                    break
                slot = (slot + _ONE) & mask
            if slots[slot] != _NOTHING:
                number_of[number] = slots[slot]
                continue
            while earliest + 1 < found and turn_of[earliest + 1] <= at:
                earliest += 1
            place, rarest = earliest, earliest
            while place < found and turn_of[place] <= at + length - (width + turns - 1):
                start, least = hash_at[anchors[place]], hash_at[anchors[rarest]]
                # Of those that are equally rare the same one for all texts that have it.
                if (crowds[start >> (_U(64) - _COUNTED_BITS)], start) < (
                    crowds[least >> (_U(64) - _COUNTED_BITS)],
                    least,
                ):
                    rarest = place
                place += 1
            slots[slot] = number_of[number] = texts
            firsts[texts], hashes[texts] = number, value
            starts[texts], offsets[texts] = hash_at[anchors[rarest]], anchors[rarest] - at
            texts += 1
        first = last
    return number_of, firsts[:texts].copy(), hashes[:texts].copy(), starts[:texts].copy(), offsets[:texts].copy(), slots


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
    # Each look into a tuple within the loops would count references.
    width, turns, given, begins, ends, hashes, slots, anchor_hashes, anchor_slots = index[:9]
    wanted, first_shapes, shapes, signs, places, seen, powers = index[9:]
    mask = _U(len(slots) - 1)
    shift = _ZERO
    while (_U(1 << 6) * _U(len(seen))) << shift != _ZERO:
        shift += _ONE
    room = _make_room(0)
    sums, at_places, anchors, _ = room
    mine = 2 * side
    for turn in range(len(patients)):
        patient, number = patients[turn], first_number + turn
        for note in range(first_notes[patient], first_notes[patient + 1]):
            begin, end = note_begins[note], note_ends[note]
            size = end - begin
            if size >= len(sums):
                room = _make_room(2 * size)
                sums, at_places, anchors, _ = room
            for turn_of in range(_find_anchors(corpus, begin, end, (width, turns), powers[width], room)):
                place = anchors[turn_of]
                start = at_places[place]
                bit = start >> shift
                if not (seen[bit >> _U(6)] >> (bit & _SIX_BITS)) & _ONE:
                    continue
                anchor = anchor_slots[_slot_of(anchor_slots, anchor_hashes, start)]
                if anchor == _NOTHING or wanted[anchor] == 0:
                    continue
                for shape in range(first_shapes[anchor], first_shapes[anchor + 1]):
                    at, length = place - shapes[shape, 0], np.int64(shapes[shape, 1])
                    if shapes[shape, 2] == 0 or at < 0 or at + length > size:
                        continue
                    whole = _mixed(sums[at + length] - sums[at] * powers[length], _U(length))
                    if not (signs[shape] >> (whole >> _U(58))) & _ONE:
                        continue
                    slot = whole & mask
                    while True:
                        text = slots[slot]
                        if text == _NOTHING:
                            break
                        if (
                            hashes[text] == whole
                            and ends[text] - begins[text] == length
                            and holders[text, mine] != number
                            and holders[text, mine + 1] == NOBODY
                            and not _is_done(holders, text, sure)
                            and _is_same(given, begins[text], corpus, begin + at, length)
                        ):
                            is_first = holders[text, mine] == NOBODY
                            holders[text, mine if is_first else mine + 1] = number
                            if _is_done(holders, text, sure):
                                shapes[places[text, 1], 2] -= 1
                                wanted[places[text, 0]] -= 1
                            break
                        slot = (slot + _ONE) & mask


@numba.njit(inline="always")
def _is_done(holders: Numbers, text: int, sure: int) -> bool:
    is_done: bool = (
        holders[text, 1] < sure or holders[text, 3] < sure or (holders[text, 0] < sure and holders[text, 2] < sure)
    )
    return is_done
