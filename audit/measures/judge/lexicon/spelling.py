"""Words of a text that are misspelled or run together, as their author meant them (docs/methods.md, section 5).

Owns which words may be mended, and into what: the words of the panel's terms, never a short one, and never a word that
is one. Knows nothing of cues and verdicts.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from clinaudit.priors.diagnoses import Diagnosis, drug_words
from clinaudit.templates.spans import Span

SPELLING_TABLE: Final = tomllib.loads(Path(__file__).with_name("spelling.toml").read_text(encoding="utf-8"))
#: Words that stand for themselves.
_RIGHT: Final = frozenset(chain.from_iterable(words.split() for words in SPELLING_TABLE["right"]))
#: Words that notes run together with a term.
_GLUE: Final = frozenset(SPELLING_TABLE["run_together"].split())
#: Words of terms of several words that may be misspelled; of the others ("infection") other words are too near.
_DISTINCT: Final = frozenset(SPELLING_TABLE["distinct"].split())
#: The shortest term whose word is mended, of one edit and of two [choice]: shorter ones are too like other words.
_ONE_EDIT, _TWO_EDITS = 6, 10
#: The shortest brand that is looked for in a capitalized word [choice].
_LEAST_BRAND: Final = 8
#: The shortest term that is looked for inside a longer word; in capitals three letters do ("HIVpositive").
_LEAST_INSIDE = 5
#: The longest word that is mended: work stays linear in a text of one endless word.
_LONGEST: Final = 60
#: The longest word of those that are run together [choice].
_LONGEST_PIECE: Final = 16
_WORD: Final = re.compile(r"[A-Za-z](?:[A-Za-z-]*[A-Za-z])?")
#: Letters and the hyphen as they are, a blank for whatever else.
_LETTERS: Final = bytes(code if chr(code).isalpha() or chr(code) == "-" else ord(" ") for code in range(128)).ljust(256)
_MOST_WORDS: Final = 200_000


class MendedText(NamedTuple):
    """A text with its words mended, and for each of these where it stands in it and in the text as it was."""

    text: str
    mended: tuple[Span, ...] = ()
    written: tuple[Span, ...] = ()

    def as_written(self, span: Span) -> Span:
        """Return where a span of the mended text stands in the text as it was; it takes a mended word whole."""
        if not self.mended:
            return span
        return Span(self._position(span.start, is_end=False), self._position(span.end, is_end=True))

    def _position(self, at: int, *, is_end: bool) -> int:
        index = bisect_right([span.start for span in self.mended], at - is_end) - 1
        if index < 0:
            return at
        mended, written = self.mended[index], self.written[index]
        if at < mended.end or (is_end and at == mended.end):
            return written.end if is_end else written.start
        return at - mended.end + written.end


class Spelling:
    """Mends words against the terms of a panel."""

    def __init__(self, panel: Sequence[Diagnosis]) -> None:
        terms = {term for one in panel for term in (*one.names, *one.medications, *one.symptoms)}
        words = {word for term in terms for word in _words(term)}
        alone = {word for term in terms if " " not in term and "/" not in term for word in _words(term)}
        long = {word for word in alone | (_DISTINCT & words) if len(word) >= _ONE_EDIT}
        self._long = long | {f"{word}s" for word in long if word[-1] not in "sy"}
        self._inside = {word for word in alone | (_DISTINCT & words) if len(word) >= _LEAST_INSIDE} - _GLUE
        self._capitals = {term for term in terms if term.isupper() and term.isalpha() and len(term) > 2}
        self._inside |= {term.lower() for term in self._capitals if len(term) > 3} | {
            f"{word}s" for word in self._inside
        }
        self._pieces = self._inside | _GLUE
        self._right = (
            _RIGHT
            | drug_words()
            | words
            | self._long
            | {word for one in panel for phrase in one.not_meant for word in _words(phrase)}
        )
        #: Brands that a person's name may be like ("Donato", Dovato): a capitalized word is none of them, misspelled.
        self._like_names = {
            term.lower() for one in panel for term in one.medications if term.istitle() and len(term) < _LEAST_BRAND
        }
        #: A word with one or two letters left out -> the words that it may be.
        self._shortened: dict[str, set[str]] = {}
        for word in self._long:
            for form in _shorten(word, 2 if len(word) >= _TWO_EDITS else 1):
                self._shortened.setdefault(form, set()).add(word)
        #: First letter and length of a word that may be a target with so many edits.
        self._edits = {(word[0], len(word) + more): 1 for word in self._long for more in (-1, 0, 1)}
        for word in self._long:
            if len(word) >= _TWO_EDITS:
                self._edits |= {(word[0], len(word) + more): 2 for more in (-2, -1, 0, 1, 2)}
        self._stands: set[bytes] = set()
        self._meant: dict[bytes, str] = {}

    def mend(self, text: str) -> MendedText:
        """Return the text with its words mended."""
        words = {*text.encode("ascii", "replace").translate(_LETTERS).split()}
        for word in words - self._stands - self._meant.keys():
            bare = word.strip(b"-")
            meant = self._read(bare.decode()) if _LEAST_INSIDE <= len(bare) <= _LONGEST else None
            if meant is None:
                self._stands.add(word)
            else:
                self._meant[word] = self._meant[bare] = meant
        if len(self._stands) > _MOST_WORDS:
            self._stands.clear()
        if self._meant.keys().isdisjoint(words):
            return MendedText(text)
        parts: list[str] = []
        mended: list[Span] = []
        written: list[Span] = []
        end = length = 0
        for match in _WORD.finditer(text):
            meant = self._meant.get(match.group().encode())
            if meant is not None:
                length += match.start() - end
                parts += [text[end : match.start()], meant]
                mended.append(Span(length, length + len(meant)))
                written.append(Span(*match.span()))
                length += len(meant)
                end = match.end()
        return MendedText("".join([*parts, text[end:]]), tuple(mended), tuple(written))

    def _read(self, word: str) -> str | None:
        """Return what a word was meant to be; None: itself."""
        small = word.lower()
        if "-" in word:
            return self._joined(word)
        if small in self._right or small.removesuffix("s") in self._right:
            return None
        return self._nearest(word) or self._apart(word)

    def _joined(self, word: str) -> str | None:
        """Return what a word with a hyphen was meant to be: "bi-poler", "sever-depresion"."""
        parts = word.split("-")
        if all(part.lower() in self._right for part in parts):
            return None
        joined = word.lower().replace("-", "")
        if joined in self._long or joined in self._right:
            return joined if joined in self._long else None
        meant = [part and part.lower() not in self._right and self._nearest(part) for part in parts]
        if any(meant):
            return "-".join(new or part for new, part in zip(meant, parts, strict=True))
        return self._nearest(joined)

    def _nearest(self, written: str) -> str | None:
        """Return the word that another was meant to be, with one edit or two; None where none is near."""
        word = written.lower()
        most = self._edits.get((word[0], len(word)), 0) if len(word) >= _ONE_EDIT else 0
        if not most:
            return None
        near = set().union(*(self._shortened[form] for form in self._shortened.keys() & _shorten(word, most)))
        best = [
            (edits, target)
            for target in near
            if not (written.istitle() and target in self._like_names)
            and target[0] == word[0]
            and (edits := _distance(word, target)) <= (2 if len(target) >= _TWO_EDITS else 1)
        ]
        return min(best)[1] if best else None

    def _apart(self, word: str) -> str | None:
        """Return the words that were run together, a term among them, one of them misspelled at most: "hxdepresion"."""
        for at in () if word.islower() else range(2, len(word) - 1):
            left, right = word[:at], word[at:]
            if left in self._capitals and right.islower() and right in self._pieces:
                return f"{left} {right}"
            if right in self._capitals and left.lower() in _GLUE and not left.isupper():
                return f"{left} {right}"
        small = word.lower()
        beginnings = self._beginnings(small)
        pieces = beginnings.get(len(small), [])
        if len(pieces) > 1 and self._inside.intersection(pieces):
            return " ".join(pieces)
        for at, before in beginnings.items():
            if at and len(small) - at >= _ONE_EDIT and (meant := self._nearest(small[at:])):
                return " ".join([*before, meant])
        for at in range(max(_ONE_EDIT, len(small) - _LONGEST_PIECE), len(small) - 1):
            if small[at:] in self._pieces and (meant := self._nearest(small[:at])):
                return f"{meant} {small[at:]}"
        return None

    def _beginnings(self, word: str) -> dict[int, list[str]]:
        """Return the beginnings of a word that consist of terms and small words: their length -> these words."""
        found: dict[int, list[str]] = {0: []}
        for start in range(len(word) - 1):
            if start in found:
                for end in range(start + 2, min(start + _LONGEST_PIECE, len(word)) + 1):
                    if word[start:end] in self._pieces:
                        found.setdefault(end, [*found[start], word[start:end]])
        return found


def _words(term: str) -> Iterator[str]:
    """Yield the words of a term, and what a hyphen joins as one."""
    for word in re.findall(r"[a-z]+(?:-[a-z]+)*", term.lower()):
        yield word.replace("-", "")
        if "-" in word:
            yield from word.split("-")


def _shorten(word: str, most: int) -> set[str]:
    """Return a word with up to so many letters left out, the first kept."""
    forms = {word}
    for _ in range(most):
        forms |= {form[:at] + form[at + 1 :] for form in forms for at in range(1, len(form))}
    return forms


def _distance(word: str, other: str) -> int:
    """Return the edits between two words; two letters in the wrong order are one (Damerau 1964)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, 1):
        two_before, before, row = before, row, [at]
        for place, wanted in enumerate(other, 1):
            edits = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != wanted))
            if at > 1 and place > 1 and letter == other[place - 2] and word[at - 2] == wanted:
                edits = min(edits, two_before[place - 2] + 1)
            row.append(edits)
    return row[-1]
