"""What docs/methods.md, section 2, says of one patient's notes and a generation, computed the slow, obvious way."""

import functools
import itertools
from dataclasses import dataclass

from support.boilerplate_twin import boilerplate_characters

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer

Ids = tuple[int, ...]
boilerplate_of = functools.lru_cache(maxsize=64)(boilerplate_characters)


def lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def as_text(ids: Ids) -> str:
    """One character an id, so that `in` compares ids."""
    return "".join(map(chr, ids))


def patients_holding(text: str, patients: list[list[str]]) -> int:
    """K: in how many patients' notes a text stands."""
    return sum(any(text in lf(note) for note in notes) for notes in patients)


def prompt_readings(tokenizer: ModelTokenizer, prompt: str) -> list[str]:
    """The ids of a prompt as it ends, and with white space after it."""
    return [as_text(tokenizer.encode(prompt + end)) for end in ("", "\n", "\n\n", " ", " \n") if prompt]


@functools.lru_cache(maxsize=8)
def characters(whole: bytes) -> tuple[str, list[int]]:
    """The text of some bytes, and for each byte the index of the character it contributes to."""
    # The last character of all that is decoded through a byte is the one the byte belongs to.
    owners = [len(whole[: index + 1].decode("utf-8", errors="replace")) - 1 for index in range(len(whole))]
    return whole.decode("utf-8", errors="replace"), owners


@functools.lru_cache(maxsize=8)
def spelled(tokenizer: ModelTokenizer, ids: Ids) -> tuple[bytes, list[int]]:
    """The bytes of some tokens, and how many of them stand before each token; last, how many there are."""
    spellings = [tokenizer.bytes_of(token) for token in ids]
    return b"".join(spellings), [0, *itertools.accumulate(map(len, spellings))]


@dataclass
class Twin:
    """One patient's notes, oldest first."""

    tokenizer: ModelTokenizer
    notes: list[str]
    n: int

    def __post_init__(self) -> None:
        self.clean = [lf(note) for note in self.notes]
        self.encoded = [as_text(self.tokenizer.encode(text)) for text in {*self.notes, *self.clean}]

    def matches(self, ids: Ids) -> list[int]:
        """Where each window begins that stands in a note."""
        return matches_in(ids, self.encoded, self.n)

    def memorized(self, ids: Ids) -> tuple[bool, ...]:
        return covered(self.matches(ids), self.n, len(ids))

    def echo(self, ids: Ids, prompt: str) -> tuple[bool, ...]:
        in_prompt = covered(matches_in(ids, prompt_readings(self.tokenizer, prompt), self.n), self.n, len(ids))
        return tuple(own and given for own, given in zip(self.memorized(ids), in_prompt, strict=True))

    def regions(self, ids: Ids) -> list[tuple[int, int]]:
        regions: list[tuple[int, int]] = []
        for start in self.matches(ids):
            if regions and start <= regions[-1][1] - 1:
                regions[-1] = (regions[-1][0], start + self.n)
            else:
                regions.append((start, start + self.n))
        return regions

    def text(self, ids: Ids, start: int, end: int) -> str:
        """Characters that the bytes of tokens start..end contribute to."""
        whole, begins = spelled(self.tokenizer, ids)
        before, through = begins[start], begins[end]
        if before == through:
            return ""
        text, owners = characters(whole)
        return lf(text[owners[before] : owners[through - 1] + 1])

    def holders(self, text: str) -> list[int]:
        """Indices of the notes that hold a text."""
        return [index for index, note in enumerate(self.clean) if text in note]

    def split(self, ids: Ids, start: int, end: int) -> tuple[set[tuple[int, int]], int]:
        """The pieces of a region, and how many of its tokens were dropped."""
        if start >= end:
            return set(), 0

        def stands(a: int, b: int) -> bool:
            text = self.text(ids, a, b)
            return bool(text) and bool(self.holders(text))

        if stands(start, end):
            return {(start, end)}, 0
        prefix = max([b for b in range(start + 1, end) if stands(start, b)], default=start)
        suffix = min([a for a in range(start + 1, end) if stands(a, end)], default=end)
        found = {(start, prefix)} if prefix > start else set()
        found |= {(suffix, end)} if suffix < end else set()
        if not found:
            more, dropped = self.split(ids, start + 1, end - 1)
            return more, dropped + min(2, end - start)
        more, dropped = self.split(ids, prefix, suffix)
        return found | more, dropped

    def boilerplate(self, ids: Ids, start: int, end: int) -> list[bool]:
        """Of each token of a piece whether any of its characters is boilerplate in the source note."""
        note = self.clean[self.holders(self.text(ids, start, end))[-1]]
        at, flags = note.index(self.text(ids, start, end)), boilerplate_of(note)
        found = []
        for token in range(start, end):
            stop = at + len(self.text(ids, start, token + 1))
            found.append(any(flags[stop - len(self.text(ids, token, token + 1)) : stop]))
        return found

    def attributable(self, ids: Ids, prompt: str, pieces: list[tuple[int, int, int]]) -> int:
        """Tokens of the headline: no boilerplate in some piece, in one of a single patient, no echo.

        `pieces` are (start, end, patients), the patients as many as hold the piece.
        """
        telling = {
            start + place
            for start, end, _ in pieces
            for place, flag in enumerate(self.boilerplate(ids, start, end))
            if not flag
        }
        single = {token for start, end, patients in pieces if patients == 1 for token in range(start, end)}
        echo = {token for token, flag in enumerate(self.echo(ids, prompt)) if flag}
        return len(telling & single - echo)


def matches_in(ids: Ids, encoded: list[str], n: int) -> list[int]:
    generated = as_text(ids)
    return [
        start
        for start in range(len(ids) - n + 1)
        if any(generated[start : start + n] in sequence for sequence in encoded)
    ]


def covered(starts: list[int], n: int, length: int) -> tuple[bool, ...]:
    inside = {index for start in starts for index in range(start, start + n)}
    return tuple(index in inside for index in range(length))
