"""Notes in which a reader marked what identifies somebody, and how masked text differs from the marks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support import aci_bench

#: A year alone may stay, and may be masked.
YEAR = "year"


@dataclass(frozen=True)
class Mark:
    """A stretch that identifies somebody; its kind is a category of the taxonomy, or `YEAR`."""

    start: int
    end: int
    kind: str


def read_marks() -> dict[str, list[Mark]]:
    """Return the marks of each note of ACI-Bench that was read; some notes have none."""
    marks: dict[str, list[Mark]] = {}
    for line in Path(aci_bench.__file__).with_name("identifier_marks.tsv").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        note_id, *place = line.split("\t")
        of_note = marks.setdefault(note_id, [])
        if place:
            of_note.append(Mark(int(place[0]), int(place[1]), place[2]))
    return marks


def left_of(text: str, marks: Iterable[Mark], hidden: Sequence[tuple[int, int]]) -> list[Mark]:
    """Return the marks of which a letter or a figure can still be read."""
    places = {place for start, end in hidden for place in range(start, end)}
    return [
        mark
        for mark in marks
        if any(text[place].isalnum() and place not in places for place in range(mark.start, mark.end))
    ]


def wrong_of(marks: Iterable[Mark], hidden: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what is hidden where nothing is marked."""
    found = list(marks)
    return [(start, end) for start, end in hidden if not any(mark.start < end and start < mark.end for mark in found)]


def kinds_of(marks: Mapping[str, Iterable[Mark]]) -> set[str]:
    """Return every kind of some marks."""
    return {mark.kind for of_note in marks.values() for mark in of_note}
