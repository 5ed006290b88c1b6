"""The compiled part of near-verbatim matching: exact seeds, and their extension with at most k edits.

Owns arithmetic on arrays only; the definition, and why it finds every near match, are in near_verbatim.py. Seeds are
found by a rolling hash (Karp and Rabin 1987) and verified; they are extended along diagonals (Ukkonen 1985; Landau and
Vishkin 1989). Indices of the inner loops are unsigned: numba tests each signed one for being negative. Arrays are
copied cell by cell: numba compiles the wording of the error of `a[:] = b`, too, which doubled the seconds that first
use takes.
"""

import numba
import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]
Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_U = np.uint64
# Odd 64-bit constants without structure (golden ratio, and primes of the xxHash family).
_BASE = _U(0x9E3779B97F4A7C15)
_MIX = _U(0xC2B2AE3D27D4EB4F)
_ONE = _U(1)
#: Before the first token of a generation, and before that of a note: equal to no token and not to each other.
_BEFORE_GENERATION = -1
_BEFORE_NOTE = -2
_NEVER = -1
#: Columns of a region: note, generation, first token, token after the last (of all generations laid end to end).
_COLUMNS = 4
#: Columns of a window's nearest place: edits, sequence of the notes, place there less place in the generations.
NEAREST_COLUMNS = 3


@numba.njit(inline="always")
def _slot_of(value: np.uint64, bits: np.uint64) -> np.uint64:
    return ((value ^ (value >> _U(32))) * _MIX) >> (_U(64) - bits)


@numba.njit(cache=True, nogil=True)
def hash_grams(ids: Ids, starts: Places, length: int, hashes: Words, places: Places, befores: Places) -> None:
    """Hash every run of `length` ids within a sequence with a rolling hash (Karp and Rabin 1987).

    `places` become where each run begins, `befores` the id before it.
    """
    power = _ONE
    for _ in range(length - 1):
        power *= _BASE
    gram = 0
    for sequence in range(len(starts) - 1):
        value = _U(0)
        for last in range(starts[sequence], starts[sequence + 1]):
            first = last - length + 1
            if first > starts[sequence]:
                value -= (_U(ids[first - 1]) + _ONE) * power
            value = value * _BASE + _U(ids[last]) + _ONE
            if first >= starts[sequence]:
                hashes[gram] = value
                places[gram] = first
                befores[gram] = np.int64(ids[first - 1]) if first > starts[sequence] else _BEFORE_GENERATION
                gram += 1


@numba.njit(cache=True, nogil=True)
def fill_slots(hashes: Words, bits: int, slot_hashes: Words, slot_grams: Places) -> None:
    """Put each hash of an ascending list, with its first place in the list, into a hash table with linear probing.

    The table has 2^`bits` slots; -1 marks a free one.
    """
    mask = _U(len(slot_grams) - 1)
    for gram in range(len(hashes)):
        if gram and hashes[gram] == hashes[gram - 1]:
            continue
        slot = _slot_of(hashes[gram], _U(bits))
        while slot_grams[slot] >= 0:
            slot = (slot + _ONE) & mask
        slot_hashes[slot] = hashes[gram]
        slot_grams[slot] = gram


@numba.njit(cache=True, nogil=True)
def reach(
    generated: Ids,
    generated_at: int,
    generated_room: int,
    noted: Ids,
    noted_at: int,
    noted_room: int,
    step: int,
    budget: int,
    before: Places,
    now: Places,
    reached: Places,
) -> None:
    """Fill `reached[c]`, c from 0 to `budget`: the most generated tokens that c edits align, one way from a place.

    Furthest-reaching points on diagonals (Ukkonen 1985). Generated token number x from the place on (`step` 1: to the
    right, -1: to the left) is compared with the note's number x + d. `before` and `now`, shape (2 * budget + 3,), hold
    for each diagonal d the furthest x reached with c - 1 and with c edits. Along a diagonal the distance never falls,
    so the furthest x is enough. The alignment may end anywhere in the note.
    """
    middle = budget + 1
    before[:] = _NEVER
    now[:] = _NEVER
    for edits in range(budget + 1):
        furthest = 0
        for diagonal in range(-edits, edits + 1):
            cell = middle + diagonal
            x = before[cell]
            if edits == 0:
                x = 0
            else:
                if x >= 0 and x < generated_room and x + diagonal < noted_room:
                    x += 1  # substituted
                skipped = before[cell - 1]
                if skipped >= 0 and skipped + diagonal <= noted_room:
                    x = max(x, skipped)  # a token of the note is missing
                added = before[cell + 1]
                if added >= 0 and added < generated_room:
                    x = max(x, added + 1)  # a token was added
            if x >= 0:
                y = x + diagonal
                while (
                    x < generated_room
                    and y < noted_room
                    and generated[_U(generated_at + step * x)] == noted[_U(noted_at + step * y)]
                ):
                    x += 1
                    y += 1
                furthest = max(furthest, x)
            now[cell] = x
        reached[edits] = furthest
        if furthest == generated_room:
            reached[edits:] = furthest
            return
        for cell in range(len(now)):
            before[cell] = now[cell]


@numba.njit(inline="always")
def _is_known(matched: Places, aligned: Flags, lowest: int, highest: int, note: int) -> bool:
    for window in range(lowest, highest + 1):  # noqa: SIM110 (numba compiles no generator within `all`)
        if matched[window] != note or aligned[window]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def mark_windows_near_run(
    generated: Ids,
    first: int,
    beyond: int,
    noted: Ids,
    begin: int,
    end: int,
    place: int,
    at: int,
    run: int,
    n: int,
    budget: int,
    seed: int,
    note: int,
    sequence: int,
    scratch: npt.NDArray[np.int64],
    matched: Places,
    aligned: Flags,
    nearest: Places,
) -> bool:
    """Set `matched[i]` to `note` for each window from i on that one exact run makes a near match; return if any is.

    Where `aligned[i]`, `nearest[i]` becomes this place if it takes fewer edits than the one known, or as many and is in
    a later sequence or farther left in the same.

    The run of `run` equal tokens begins at `generated[place]`, of a generation from `first` to `beyond`, and at
    `noted[at]`, of a note from `begin` to `end`. Windows that hold fewer than `seed` tokens of it are left to other
    runs. `scratch` has the shape (4, 2 * budget + 3).
    """
    if _is_known(matched, aligned, max(first, place + seed - n), min(beyond - n, place + run - seed), note):
        return False
    left, right, before, now = scratch[0], scratch[1], scratch[2], scratch[3]
    room = n - seed
    left_room, right_room = min(place - first, room), min(beyond - place - run, room)
    reach(generated, place - 1, left_room, noted, at - 1, at - begin, -1, budget, before, now, left)
    reach(generated, place + run, right_room, noted, at + run, end - at - run, 1, budget, before, now, right)
    is_any = False
    shift = at - place
    # The edits that a window needs on either side of the run: fewer on the left, more on the right as it moves on.
    before_run, after_run = budget, 0
    for window in range(place - left[budget], place + run + right[budget] - n + 1):
        while before_run and place - left[before_run - 1] <= window:
            before_run -= 1
        while window + n > place + run + right[after_run]:
            after_run += 1
        edits = before_run + after_run
        if edits > budget:
            continue
        matched[window] = note
        is_any = True
        if aligned[window]:
            known = nearest[window]
            if edits < known[0] or (edits == known[0] and (sequence != known[1] or shift < known[2])):
                known[0], known[1], known[2] = edits, sequence, shift
    return is_any


@numba.njit(cache=True, nogil=True)
def merge_windows(matched: Places, first: int, beyond: int, note: int, n: int, regions: Places) -> int:
    """Merge the windows of a generation that match `note` and share tokens; return the number of `regions`.

    A region is its first token and the token after its last. `regions` has room for as many as the generation has
    tokens, shape (tokens, 2).
    """
    found = 0
    open_until = first
    for place in range(first, beyond):
        if matched[place] != note:
            continue
        if found == 0 or place >= open_until:
            regions[found, 0] = place
            found += 1
        open_until = place + n
        regions[found - 1, 1] = open_until
    return found


@numba.njit(cache=True, nogil=True)
def scan_notes(
    generated: Ids,
    starts: Places,
    owners: Places,
    noted: Ids,
    note_starts: Places,
    order: Places,
    note_of: Places,
    n: int,
    budget: int,
    seed: int,
    hashes: Words,
    places: Places,
    befores: Places,
    next_grams: Places,
    bits: int,
    slot_hashes: Words,
    slot_grams: Places,
    aligned: Flags,
    nearest: Places,
) -> Places:
    """Return the near-verbatim regions of all generations against each note, shape (regions, `_COLUMNS`).

    `nearest` become the places that the windows in `aligned` are nearest to (`mark_windows_near_run`).

    `owners` are the generations of the tokens. The notes' sequences are taken in `order`, in which those of one note
    (`note_of`) follow each other. `hashes`, `places` and `befores` are the generations' runs of `seed` tokens,
    ascending in (hash, id before); `next_grams` lead from each to the first with another of the two, the slots to the
    first of each hash.
    """
    # The last note that the window from each token on was found to be near.
    matched = np.full(len(generated), _NEVER, dtype=np.int64)
    is_touched = np.zeros(len(starts) - 1, dtype=np.bool_)
    scratch = np.zeros((4, 2 * budget + 3), dtype=np.int64)
    merged = np.empty((len(generated), 2), dtype=np.int64)
    regions = np.empty((64, _COLUMNS), dtype=np.int64)
    found = 0
    mask = _U(len(slot_grams) - 1)
    power = _ONE
    for _ in range(seed - 1):
        power *= _BASE
    length = _U(seed)
    for turn in range(len(order)):
        sequence = order[turn]
        note, begin, end = note_of[sequence], note_starts[sequence], note_starts[sequence + 1]
        value = _U(0)
        for last in range(_U(begin), _U(end)):
            if last >= _U(begin) + length:
                value -= (_U(noted[last - length]) + _ONE) * power
            value = value * _BASE + _U(noted[last]) + _ONE
            if last + _ONE < _U(begin) + length:
                continue
            slot = _slot_of(value, _U(bits))
            while slot_grams[slot] >= 0 and slot_hashes[slot] != value:
                slot = (slot + _ONE) & mask
            gram = slot_grams[slot]
            if gram < 0:
                continue
            at = np.int64(last) - seed + 1
            id_before = np.int64(noted[at - 1]) if at > begin else _BEFORE_NOTE
            while gram < len(hashes) and hashes[gram] == value:
                if befores[gram] == id_before:
                    # Not the first tokens of their run. Where text is periodic nearly all are such: pass them at once.
                    gram = next_grams[gram]
                    continue
                place = places[gram]
                gram += 1
                owner = owners[place]
                first, beyond = starts[owner], starts[owner + 1]
                run = 0
                while place + run < beyond and at + run < end and generated[place + run] == noted[at + run]:
                    run += 1
                if run >= seed and mark_windows_near_run(
                    generated,
                    first,
                    beyond,
                    noted,
                    begin,
                    end,
                    place,
                    at,
                    run,
                    n,
                    budget,
                    seed,
                    note,
                    sequence,
                    scratch,
                    matched,
                    aligned,
                    nearest,
                ):
                    is_touched[owner] = True
        if turn + 1 < len(order) and note_of[order[turn + 1]] == note:
            continue
        for generation in range(len(is_touched)):
            if not is_touched[generation]:
                continue
            is_touched[generation] = False
            more = merge_windows(matched, starts[generation], starts[generation + 1], note, n, merged)
            if found + more > len(regions):
                grown = np.empty((2 * len(regions) + more, _COLUMNS), dtype=np.int64)
                for region in range(found):
                    for column in range(_COLUMNS):
                        grown[region, column] = regions[region, column]
                regions = grown
            for region in range(more):
                regions[found, 0] = note
                regions[found, 1] = generation
                regions[found, 2] = merged[region, 0]
                regions[found, 3] = merged[region, 1]
                found += 1
    return regions[:found].copy()


@numba.njit(cache=True, nogil=True)
def align_windows(
    generated: Ids,
    noted: Ids,
    note_starts: Places,
    windows: Places,
    nearest: Places,
    n: int,
    budget: int,
    passages: Places,
    kept: Places,
) -> None:
    """Align each window with the passage that it is nearest to, with the fewest edits (Sellers 1980, in a band).

    `passages[w]` become the first token and the token after the last, of all notes, of the passage that ends first;
    `kept[w, x]` the token there that the window's token x equals, -1 where it equals none. Read from the end, a pair of
    tokens comes before an added token, and that before a missing one. Shapes: (windows, 2), (windows, n).
    """
    # No path of so few edits to the first of the ends leaves the diagonals within twice the budget of the known one.
    width = 4 * budget + 1
    far = n + budget
    cost = np.empty((n + 1, width), dtype=np.int64)
    for row in range(len(windows)):
        window = windows[row]
        begin, end = note_starts[nearest[window, 1]], note_starts[nearest[window, 1] + 1]
        left = window + nearest[window, 2] - 2 * budget
        for x in range(n + 1):
            for cell in range(width):
                y = left + x + cell
                least = far
                if begin <= y <= end:
                    if x == 0:
                        least = 0
                    else:
                        if y > begin:
                            least = cost[x - 1, cell] + (generated[window + x - 1] != noted[y - 1])
                        if cell + 1 < width:
                            least = min(least, cost[x - 1, cell + 1] + 1)
                        if cell > 0:
                            least = min(least, cost[x, cell - 1] + 1)
                cost[x, cell] = least
        cell = 0
        for other in range(width):
            if cost[n, other] < cost[n, cell]:
                cell = other
        x = n
        passages[row, 1] = left + x + cell
        while x:
            y = left + x + cell
            is_equal = y > begin and generated[window + x - 1] == noted[y - 1]
            if y > begin and cost[x, cell] == cost[x - 1, cell] + (not is_equal):
                x -= 1
                kept[row, x] = y - 1 if is_equal else -1
            elif cell + 1 < width and cost[x, cell] == cost[x - 1, cell + 1] + 1:
                x -= 1
                cell += 1
                kept[row, x] = -1
            else:
                cell -= 1
        passages[row, 0] = left + cell
