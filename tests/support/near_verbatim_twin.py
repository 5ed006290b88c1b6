"""What docs/methods.md, section 2a, says of near-verbatim text, computed the slow, obvious way."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from support.memorization_twin import Ids, Twin, characters, lf, patients_holding, prompt_readings, spelled

from clinaudit.templates.note import NoteReader


class Run(NamedTuple):
    """Generated tokens `start` to `end` that stand in a note from `place` on."""

    start: int
    end: int
    place: int

    @property
    def place_end(self) -> int:
        return self.place + self.end - self.start


def shared_runs(ids: Sequence[int], note: Sequence[int], n: int) -> list[Run]:
    size = max(2, n // 5)
    of_note = [tuple(note[y : y + size]) for y in range(len(note) - size + 1)]
    of_ids = [tuple(ids[x : x + size]) for x in range(len(ids) - size + 1)]
    times = Counter(of_note) | Counter(of_ids)  # the greater of both
    seeds = {
        (x, y) for x, gram in enumerate(of_ids) for y, other in enumerate(of_note) if gram == other and times[gram] <= n
    }
    runs = []
    for x, y in seeds:
        if (x - 1, y - 1) not in seeds:
            length = next(more for more in range(len(ids)) if (x + more, y + more) not in seeds)
            runs.append(Run(x, x + length + size - 1, y))
    return runs


def goes_on(one: Run, other: Run, e: int) -> bool:
    is_later = other.start > one.start and other.end > one.end and other.place > one.place
    is_near = other.start <= one.end + e and other.place <= one.place_end + e
    return is_later and is_near and other.place_end > one.place_end


def chains(runs: list[Run], e: int) -> Iterator[set[Run]]:
    left = set(runs)
    while left:
        chain = {left.pop()}
        while more := {one for one in left if any(goes_on(one, own, e) or goes_on(own, one, e) for own in chain)}:
            chain |= more
            left -= more
        yield chain


def near_regions(ids: Sequence[int], note: Sequence[int], n: int) -> list[frozenset[Run]]:
    """The runs of each near-verbatim region."""
    regions: list[frozenset[Run]] = []
    for chain in chains(shared_runs(ids, note, n), n // 5):
        inside = {token for run in chain for token in range(run.start, run.end)}
        merged: list[tuple[int, int]] = []
        for start in range(len(ids) - n + 1):
            if len(inside.intersection(range(start, start + n))) >= n - n // 5:
                overlaps = bool(merged) and start < merged[-1][1]
                merged[len(merged) - overlaps :] = [(merged[-1][0] if overlaps else start, start + n)]
        # Whoever shares a token lies within.
        regions += [frozenset(run for run in chain if run.start < end and run.end > start) for start, end in merged]
    return regions


class NearTwin:
    """One patient's notes, and those of all patients who count, none with a value of its own."""

    def __init__(self, twin: Twin, people: list[list[str]], reader: NoteReader) -> None:
        self.twin, self.people, self.reader = twin, people, reader
        readings = [(index, text) for index, note in enumerate(twin.notes) for text in {note, lf(note)}]
        self.readings = [(index, tuple(twin.tokenizer.encode(text))) for index, text in readings]

    def tokens(self, ids: Ids, prompt: str) -> tuple[set[int], set[int]]:
        """The tokens that near windows add to the attributable ones, and those that echo would have let in."""
        memorized = self.twin.memorized(ids)
        in_prompt = {
            token
            for reading in prompt_readings(self.twin.tokenizer, prompt)
            for region in near_regions(ids, tuple(map(ord, reading)), self.twin.n)
            for run in region
            for token in range(run.start, run.end)
        }
        found = {
            token
            for index, note in self.readings
            for region in near_regions(ids, note, self.twin.n)
            for run in region
            for token in self._of_run(index, note, run)
            if not memorized[token]
        }
        return found - in_prompt, found & in_prompt

    def _of_run(self, index: int, note: Ids, run: Run) -> Iterator[int]:
        text = self.twin.text(note, run.place, run.place_end)
        if not text.strip() or patients_holding(text, self.people) > 1:
            return
        boilerplate = self.reader.read(self.twin.notes[index]).boilerplate
        for token in range(run.start, run.end):
            if not any(boilerplate[slice(*self._chars(note, token - run.start + run.place))]):
                yield token

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
