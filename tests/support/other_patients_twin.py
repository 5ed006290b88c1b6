"""What docs/methods.md, section 2, "Other patients' text" says of one generation, computed the slow, obvious way."""

import functools
import itertools
from collections.abc import Collection
from dataclasses import dataclass

from support.memorization_twin import Ids, Twin, characters, covered, lf, matches_in, prompt_readings

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer

Windows = list[tuple[int, int]]
#: Owner, first and last token, note, its characters, and the tokens that are revealing there.
Piece = tuple[int, int, int, int, int, int, tuple[int, ...]]


@functools.lru_cache(maxsize=8)
def laid_end_to_end(tokenizer: ModelTokenizer, ids: Ids) -> tuple[bytes, list[int]]:
    """The bytes of all tokens, and where those of each begin."""
    parts = [tokenizer.bytes_of(token) for token in ids]
    return b"".join(parts), [0, *itertools.accumulate(map(len, parts))]


@dataclass
class OtherPatientsTwin:
    """All patients' notes, oldest first, and which patients are of the train split."""

    tokenizer: ModelTokenizer
    patients: list[list[str]]
    train: list[bool]
    n: int

    def __post_init__(self) -> None:
        self.clean = [[lf(note) for note in own] for own in self.patients]

    def texts(self, ids: Ids, *, target: int, prompt: str | None) -> list[tuple[int, str]]:
        """First token and text of each window that shares no token with a match or with echo."""
        memorized = Twin(self.tokenizer, self.patients[target], self.n).memorized(ids)
        given = matches_in(ids, prompt_readings(self.tokenizer, prompt or ""), self.n)
        echo = covered(given, self.n, len(ids))
        found = []
        for first in range(len(ids) - self.n + 1):
            text = self.text(ids, first, first + self.n)
            if text and not any(memorized[first : first + self.n] + echo[first : first + self.n]):
                found.append((first, text))
        return found

    def text(self, ids: Ids, start: int, end: int) -> str:
        """Characters that the bytes of tokens start..end contribute to."""
        whole, before = laid_end_to_end(self.tokenizer, ids)
        if before[start] == before[end]:
            return ""
        text, owners = characters(whole)
        return lf(text[owners[before[start]] : owners[before[end] - 1] + 1])

    def holders(self, text: str) -> set[int]:
        return {patient for patient, own in enumerate(self.clean) if any(text in note for note in own)}

    def sole(
        self, texts: list[tuple[int, str]], *, target: int, of: Collection[int], none_of: Collection[int]
    ) -> Windows:
        """First token and owner of each window that one patient of `of` holds, and neither `none_of` nor the target."""
        found = []
        for first, text in texts:
            holders = self.holders(text)
            owners = holders & set(of)
            if len(owners) == 1 and not holders & {target, *none_of}:
                found.append((first, min(owners)))
        return found

    def runs(self, windows: Windows) -> list[tuple[int, int, int]]:
        """Owner, first and last token of the windows of each owner that share tokens, merged."""
        found: list[tuple[int, int, int]] = []
        for first, owner in sorted(windows, key=lambda window: (window[1], window[0])):
            if found and found[-1][0] == owner and first < found[-1][2]:
                found[-1] = (owner, found[-1][1], first + self.n)
            else:
                found.append((owner, first, first + self.n))
        return found

    def pieces(self, ids: Ids, windows: Windows) -> list[Piece]:
        """The pieces of all runs, by place and owner."""
        found = [piece for run in self.runs(windows) for piece in self.pieces_of_run(ids, *run)]
        return sorted(found, key=lambda piece: (piece[1], piece[2], f"p{piece[0]}"))

    def pieces_of_run(self, ids: Ids, owner: int, start: int, end: int) -> list[Piece]:
        own = Twin(self.tokenizer, self.patients[owner], self.n)
        found = []
        for first, last in own.split(ids, start, end)[0]:
            text = self.text(ids, first, last)
            note = own.holders(text)[-1]
            at = self.clean[owner][note].index(text)
            flags = own.boilerplate(ids, first, last)
            revealing = [token for token, flag in zip(range(first, last), flags, strict=True) if not flag]
            found.append((owner, first, last, note, at, at + len(text), tuple(revealing)))
        return found


def counted(pieces: list[Piece]) -> int:
    """Tokens that are revealing in some piece."""
    return len({token for *_, revealing in pieces for token in revealing})
