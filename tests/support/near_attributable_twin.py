"""What docs/methods.md, section 2a, says of the attributable tokens of near matches, computed the slow, obvious way."""

from collections.abc import Iterator, Sequence

from support.memorization_twin import Ids, Twin, characters, covered, lf, patients_holding, prompt_readings, spelled

from clinaudit.templates.note import NoteReader

Path = list[tuple[int, int]]


def align(window: Sequence[int], note: Sequence[int]) -> tuple[int, int, int, Path]:
    """The fewest edits (Sellers 1980), the passage that ends first with so few, and its pairs of equal tokens."""
    rows = [[0] * (len(note) + 1)]
    for count, token in enumerate(window, start=1):
        row = [count]
        for place, other in enumerate(note, start=1):
            row.append(min(rows[-1][place - 1] + (token != other), rows[-1][place] + 1, row[-1] + 1))
        rows.append(row)
    edits = min(rows[-1])
    x, y = len(window), rows[-1].index(edits)
    end, pairs = y, []
    while x:
        is_equal = y > 0 and window[x - 1] == note[y - 1]
        if y > 0 and rows[x][y] == rows[x - 1][y - 1] + (not is_equal):
            x, y = x - 1, y - 1
            pairs += [(x, y)] if is_equal else []
        elif rows[x][y] == rows[x - 1][y] + 1:
            x -= 1
        else:
            y -= 1
    return edits, y, end, pairs


def near_starts(ids: Ids, note: Ids, n: int) -> list[int]:
    return [start for start in range(len(ids) - n + 1) if align(ids[start : start + n], note)[0] <= n // 10]


class NearTwin:
    """One patient's notes, and those of all patients who count, none with a value of its own."""

    def __init__(self, twin: Twin, people: list[list[str]], reader: NoteReader) -> None:
        self.twin, self.people, self.reader = twin, people, reader
        order = [(index, 0, note) for index, note in enumerate(twin.notes)]
        order += [(index, 1, lf(note)) for index, note in enumerate(twin.notes) if "\r" in note]
        #: Readings, oldest note first; of a note as it stands, then with line feeds.
        self.readings = [(index, tuple(twin.tokenizer.encode(text))) for index, _, text in sorted(order)]

    def tokens(self, ids: Ids, prompt: str) -> tuple[set[int], set[int]]:
        """The tokens that near matches add to the attributable ones, and those of them that echo would have let in."""
        twin, n = self.twin, self.twin.n
        memorized = twin.memorized(ids)
        readings = [tuple(map(ord, reading)) for reading in prompt_readings(twin.tokenizer, prompt)]
        in_prompt = covered([start for reading in readings for start in near_starts(ids, reading, n)], n, len(ids))
        found = {
            start + x
            for start in range(len(ids) - n + 1)
            if not all(memorized[start : start + n])
            for x in self._of_window(ids[start : start + n])
            if not memorized[start + x]
        }
        return {token for token in found if not in_prompt[token]}, {token for token in found if in_prompt[token]}

    def _of_window(self, window: Ids) -> Iterator[int]:
        least, best = self.twin.n // 10, None
        for index, note in self.readings:
            edits, begin, end, pairs = align(window, note)
            if edits <= least:
                least, best = edits, (index, note, begin, end, pairs)
        if best is None:
            return
        index, note, begin, end, pairs = best
        run = -(-self.twin.n // 2)
        runs = [self.twin.text(note, at, at + run) for at in range(begin, end - run + 1)]
        if any(patients_holding(text, self.people) > 1 for text in runs if text):
            return
        boilerplate = self.reader.read(self.twin.notes[index]).boilerplate
        yield from (x for x, y in pairs if not any(boilerplate[slice(*self._chars(note, y))]))

    def _chars(self, note: Ids, place: int) -> tuple[int, int]:
        """Characters of a token, in the note with line feeds."""
        whole, begins = spelled(self.twin.tokenizer, note)
        text, owners = characters(whole)
        before, through = begins[place], begins[place + 1]
        if before == through:
            return 0, 0
        first = owners[before]
        begin = len(lf(text[:first])) - (text[first] == "\n" and text[:first].endswith("\r"))
        return begin, begin + len(lf(text[first : owners[through - 1] + 1]))
