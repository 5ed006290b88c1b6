"""Words of a text that are misspelled or run together, as their author meant them (docs/methods.md, section 5).

Owns which words may be mended, and into what: the words of the panel's terms, never a short one, and never a word that
is one. Knows nothing of cues and verdicts.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from pathlib import Path
from typing import Final, NamedTuple

from rapidfuzz.distance import LCSseq

from clinaudit.priors.diagnoses import Diagnosis, drug_words
from clinaudit.templates.shown_text import Span

SPELLING_TABLE: Final = tomllib.loads(Path(__file__).with_name("spelling.toml").read_text(encoding="utf-8"))
#: Words that notes run together with a term.
_GLUE: Final = frozenset(SPELLING_TABLE["run_together"].split())
#: Words that, run together with a term in capitals, let the term be in small letters.
_TELLING: Final = {"no", *SPELLING_TABLE["answers"].split(), *(word for word in _GLUE if len(word) > 3)}
#: The shortest term whose word is mended, of one edit and of two [choice]: shorter ones are too like other words.
_ONE_EDIT, _TWO_EDITS = 6, 10
#: The shortest brand that is looked for in a capitalized word [choice].
_LEAST_BRAND: Final = 8
#: The shortest term that is looked for inside a longer word; in capitals three letters do ("HIVpositive").
_LEAST_INSIDE: Final = 5
#: The longest word that is mended (work stays linear in a text of one endless word), and the longest of those that are
#: run together [choice].
_LONGEST, _LONGEST_PIECE = 60, 16
_WORD: Final = re.compile(r"[A-Za-z](?:[A-Za-z-]*[A-Za-z])?")
#: What ends before a word that begins no sentence: another word, or a title.
_WITHIN_SENTENCE: Final = re.compile(r"(?:[\w,'\u2019)]|\b(?:mr|mrs|ms|mx|dr|prof|sr|jr|st)\.)[^\S\n]*$", re.IGNORECASE)
_TITLE_CHARS: Final = 16
#: Letters and the hyphen as they are, a blank for whatever else.
_LETTERS: Final = bytes(code if chr(code).isalpha() or chr(code) == "-" else ord(" ") for code in range(128)).ljust(256)
#: Words whose reading is kept.
_MOST_WORDS: Final = 200_000


class MendedText(NamedTuple):
    """A text with its words mended, and where each of its characters stands in the text as it was written."""

    text: str
    #: Empty where no word was mended. A mended word is taken whole.
    places: Sequence[tuple[int, int]] = ()

    def as_written(self, span: Span) -> Span:
        """Return where a span of the mended text stands in the text as it was written."""
        return Span(self.places[span.start][0], self.places[span.end - 1][1]) if self.places else span


class Spelling:
    """Mends words against the terms of a panel."""

    def __init__(self, panel: Sequence[Diagnosis]) -> None:
        terms = {term for one in panel for term in (*one.names, *one.medications, *one.symptoms)}
        words = {word for term in terms for word in _words(term)}
        # Of terms of several words few may be misspelled: other words are too near the others ("infection").
        alone = {word for term in terms if " " not in term and "/" not in term for word in _words(term)}
        alone |= {*SPELLING_TABLE["distinct"].split()} & words
        beside = SPELLING_TABLE["beside"].split()
        alone |= {*beside}
        relatives = {*beside} - {*SPELLING_TABLE["answers"].split(), "nonreactive"}
        #: Relatives, and those that few surnames are like: misspelled with a capital, others are not mended ("Mather"),
        #: these where a sentence begins, without a title ("Mr. Huband").
        self._relatives = relatives.union(f"{word}s" for word in relatives)
        self._no_surnames = {*SPELLING_TABLE["no_surnames"].split()}
        long = {word for word in alone if len(word) >= _ONE_EDIT}
        self._long = long | {f"{word}s" for word in long if word[-1] not in "sy"}
        inside = {word for word in alone if len(word) >= _LEAST_INSIDE} - _GLUE
        self._capitals = {term for term in terms if term.isupper() and term.isalpha() and len(term) > 2}
        #: Capitals of which two letters but the first changed places ("PSTD"), and in small letters beside a word that
        #: tells that they are meant ("hivneg", "denieshiv").
        self._known: dict[str, str] = {}
        for term in (one for one in self._capitals if len(one) > 3):
            for at in range(1, len(term) - 1):
                swapped = term[:at] + term[at + 1] + term[at] + term[at + 2 :]
                self._known |= {swapped: term, swapped.lower(): term}
        # The shortest lack a letter within ("mothr").
        for word in (one for one in beside if len(one) == _ONE_EDIT):
            self._known |= {word[:at] + word[at + 1 :]: word for at in range(1, len(word) - 1)}
        # In small letters some are other words ("top", "tab").
        in_any_case = {term.lower() for term in self._capitals.difference(*(one.as_written for one in panel))}
        for term, word in product(in_any_case, _TELLING):
            self._known |= {f"{term}{word}": f"{term} {word}", f"{word}{term}": f"{word} {term}"}
        in_capitals = (term for term in in_any_case if len(term) > 3)
        self._inside = inside.union((f"{word}s" for word in inside), in_capitals)
        self._pieces = self._inside | _GLUE
        not_meant = (word for one in panel for phrase in (*one.not_meant, *one.own_words) for word in _words(phrase))
        self._right = drug_words().union(words, self._long, not_meant, " ".join(SPELLING_TABLE["right"]).split())
        #: Brands that a person's name may be like ("Donato", Dovato): a capitalized word is none of them, misspelled.
        self._like_names = {
            term.lower() for one in panel for term in one.medications if term.istitle() and len(term) < _LEAST_BRAND
        }
        #: The words that may be misspelled by their first letter, in which they are not.
        self._beginning_with, self._glue = (
            {letter: [*of] for letter, of in groupby(sorted(words), lambda word: word[0])}
            for words in (self._long, _GLUE)
        )
        self._meant: dict[bytes, str | None] = {}

    def mend(self, text: str) -> MendedText:
        """Return the text with its words mended."""
        if len(self._meant) > _MOST_WORDS:
            self._meant.clear()
        written = {*text.encode("ascii", "replace").translate(_LETTERS).split()}
        for word in written.difference(self._meant):
            bare = word.strip(b"-")
            self._meant[word] = self._meant[bare] = self._read(bare.decode())
        if not any(map(self._meant.get, written)):
            return MendedText(text)
        parts, places, end = list[str](), list[tuple[int, int]](), 0
        for match in _WORD.finditer(text):
            new = self._meant.get(match.group().encode())
            if new and not self._may_be_name(text, match, new):
                parts += [text[end : match.start()], new]
                places += [*((at, at + 1) for at in range(end, match.start())), *[match.span()] * len(new)]
                end = match.end()
        return MendedText("".join(parts) + text[end:], [*places, *((at, at + 1) for at in range(end, len(text)))])

    def _may_be_name(self, text: str, word: re.Match[str], meant: str) -> bool:
        """Whether a word that may have been meant for a relative is rather a surname."""
        relatives = self._relatives.intersection(meant.split())
        if not relatives or not (word[0].istitle() or word[0].isupper()):
            return False
        before = text[max(0, word.start() - _TITLE_CHARS) : word.start()]
        return not relatives <= self._no_surnames or _WITHIN_SENTENCE.search(before) is not None

    def _read(self, word: str) -> str | None:
        """Return what a word was meant to be; None: itself."""
        small, parts = word.lower(), word.split("-")
        if word in self._known and small not in self._right:
            return self._known[word]
        if small[:1] == "o" and small[1:] in self._inside:
            return f"o {small[1:]}"  # of "h/odepression", "r/oanxiety"
        if (
            not _LEAST_INSIDE <= len(word) <= _LONGEST
            or all(part.lower() in self._right for part in parts)
            or small.removesuffix("s") in self._right
        ):
            return None
        if len(parts) == 1:
            return self._apart(word)
        # "bi-poler", "sever-depresion".
        joined = small.replace("-", "")
        if joined in self._right:
            return joined if joined in self._long else None
        meant = [part and part.lower() not in self._right and self._nearest(part) for part in parts]
        if any(meant):
            return "-".join(new or part for new, part in zip(meant, parts, strict=True))
        return self._nearest(joined)

    def _nearest(self, written: str, *, is_glue: bool = False) -> str | None:
        """Return the word that another was meant to be, with one edit or two; None where none is near.

        The edits are the letters of the longer that are in no longest common subsequence: a letter missing, too many,
        another, or at another place is one edit.
        """
        if not _ONE_EDIT <= len(written) <= _LONGEST:
            return None
        small, is_name = written.lower().replace("shun", "tion"), written.istitle()
        near = [
            (edits, word)
            for word in (self._glue if is_glue else self._beginning_with).get(small[0], ())
            if (edits := LCSseq.distance(small, word, score_cutoff=2)) <= (2 if len(word) >= _TWO_EDITS else 1)
            if not (is_name and word in self._like_names)
        ]
        return min(near)[1] if near else None

    def _apart(self, word: str) -> str | None:
        """Return the words that were run together, a term among them, one of them misspelled at most: "hxdepresion"."""
        small, pieces = word.lower(), self._pieces
        for at in range(2, len(word) - 1) if word != small else ():
            left, right = word[:at], word[at:]
            if right in self._capitals and left.lower() in _GLUE and not left.isupper():
                return f"{left} {right}"
            of_capitals = left in self._capitals and right.islower()
            if of_capitals and (meant := right if right in pieces else self._nearest(right, is_glue=True)):
                return f"{left} {meant}"
        if meant := self._nearest(word):
            return meant
        # The beginnings that consist of terms and small words, by length.
        beginnings: dict[int, list[str]] = {0: []}
        for start in range(len(small) - 1):
            for end in range(start + 2, min(start + _LONGEST_PIECE, len(small)) + 1) if start in beginnings else ():
                if small[start:end] in pieces:
                    beginnings.setdefault(end, [*beginnings[start], small[start:end]])
        whole = beginnings.pop(len(small), [])
        if len(whole) > 1 and self._inside.intersection(whole):
            return " ".join(whole)
        for at, before in beginnings.items():
            if at and (meant := self._nearest(small[at:])):
                return " ".join([*before, meant])
        for at in range(max(_ONE_EDIT, len(small) - _LONGEST_PIECE), len(small) - 1):
            if small[at:] in pieces and (meant := self._nearest(small[:at])):
                return f"{meant} {small[at:]}"
        return None


def _words(term: str) -> Iterator[str]:
    """Yield the words of a term, and what a hyphen joins as one."""
    for word in re.findall(r"[a-z]+(?:-[a-z]+)*", term.lower()):
        yield word.replace("-", "")
        if "-" in word:
            yield from word.split("-")
