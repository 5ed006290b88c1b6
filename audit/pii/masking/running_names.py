"""Names in running text: what a language model names, lists of names and words, and what stands beside.

None of the three is enough. The small model was trained on news, and takes headings and findings for people; names of
the lists are those of scores and devices too; and in a terse note nothing stands beside a name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final

from clinaudit.audit.pii.detectors import word_lists as lists
from clinaudit.audit.pii.detectors.rules import expand
from clinaudit.audit.pii.masking.not_masked import is_clinical, is_product
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.taxonomy import Detector, EntitySpan, categories
from clinaudit.audit.pii.values.normal_form import STATES

_RE: Final = Patterns(__name__, expand)
#: How far before a name is read, in characters.
_CHARS: Final = 50
#: Written in capitals throughout, so short a word is an abbreviation.
_LONGEST_ABBREVIATION: Final = 5
#: A sentence, or a line of few; the model sees a few words to both sides alone.
_PIECE: Final = re.compile(
    r"[^\n]{1,200}?(?:(?<=[\w)%]{4})[.!?](?=\s)|$)|[^\n]{1,200}(?=\s|$)|[^\n]{1,200}", re.MULTILINE
)
#: How many of them are known again: a masked text is looked over once more.
_PIECES: Final = 50_000
#: A letter that is a numeral as well.
_NUMERALS: Final = frozenset("IVX")
#: In small letters a further word of a name is none of the language.
_IS_SMALL_LAST: Final = lists.says("-plain -word -verb")
#: Sentences -> what a model names in each.
Names = Callable[[Sequence[str]], Iterable[Sequence[EntitySpan]]]
#: Capitalized words in a row.
_Run = list[re.Match[str]]


class RunningNames:
    """Finds people and places in running text."""

    name = "names in running text"

    def __init__(self, known: Iterable[Detector], named: Names | None = None) -> None:
        """`known` know more of what they find, and need no list; `named` says what a model names, None: no model."""
        self._known = tuple(known)
        self._named = named
        self._names_of: dict[str, Sequence[EntitySpan]] = {}

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; who is spoken of as a person is one, whatever the model calls them."""
        named = list(self._named_in(text))
        found = {span._replace(category=kind) for span in named if (kind := _agreed(text, span)) is not None}
        labels = {place: span.category for span in named for place in range(span.start, span.end)}
        taken = bytearray(len(text))
        for span in (span for one in self._known for span in one.detect(text)):
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
        done = 0
        for run in map(_cut, _runs(text, taken)):
            if run and (start := run[0].start()) >= done:
                end = run[-1].end()
                is_paired = start > 1 and text[start - 1] == "/" and (bool(taken[start - 2]) or done == start - 1)
                if _is_name(text, run, [labels[place] for place in range(start, end) if place in labels], is_paired):
                    done = _first_after(text, end)
                    found.add(EntitySpan(start, done, "full_name", self.name))
        for word in _RE.small.finditer(text):
            begin = max(0, word.start() - _CHARS)
            if _is_sure_first_name(word[0]) and _RE.sure_before.search(text, begin, word.start()):
                found.add(EntitySpan(word.start(), _small_name_ends(text, word.end()), "full_name", self.name))
        return sorted(found)

    def _named_in(self, text: str) -> Iterator[EntitySpan]:
        """Yield what the model names in those sentences in which somebody can be named; it looks no further itself."""
        if self._named is None:
            return
        if len(self._names_of) > _PIECES:
            self._names_of.clear()
        pieces = [
            piece
            for piece in _PIECE.finditer(text)
            if any(_may_be_name(word[0]) for word in _RE.capitalized.finditer(piece[0]))
        ]
        new = [one for one in dict.fromkeys(piece[0] for piece in pieces) if one not in self._names_of]
        self._names_of.update(zip(new, self._named(new), strict=True))
        for piece in pieces:
            for start, end, *said in self._names_of[piece[0]]:
                yield EntitySpan(piece.start() + start, piece.start() + end, *said)


@lru_cache(maxsize=100_000)
def _is_sure_first_name(word: str) -> bool:
    return lists.is_first_name(word) and lists.is_sure_name(word) and not _is_other(word)


@lru_cache(maxsize=100_000)
def _may_be_name(word: str) -> bool:
    """Whether a capitalized word is more than a word of the language or of medicine."""
    is_word = lists.is_plain_word(word) and not (lists.is_first_name(word) or lists.is_last_name(word))
    return not is_word and not is_clinical(word)


def _runs(text: str, taken: bytearray) -> Iterator[_Run]:
    """Yield capitalized words in a row."""
    row: _Run = []
    for word in _RE.word.finditer(text):
        is_capital, is_taken = word[0][0].isupper(), taken[word.start()]
        is_within = row and not is_taken and word[0][0].islower()
        if is_within and _RE.between.fullmatch(text, row[-1].end(), word.end() + 1):
            # "van" of "Anna van Dam".
            continue
        if is_taken or not (row and is_capital and _RE.between.fullmatch(text, row[-1].end(), word.start())):
            if row:
                yield row
            row = []
        row += [word] if is_capital and not is_taken else []
    if row:
        yield row


def _cut(row: _Run) -> _Run:
    """Return a row without words at the ends that are no names: "Surgeon Leung" is "Leung"."""
    row = list(row)
    while row and len(row[0][0]) > 1 and lists.is_plain_word(row[0][0]) and not lists.is_first_name(row[0][0]):
        del row[0]
    # In capitals the sentence goes on: "GORDON LARKIN FOUND DOWN".
    last = lists.is_first_name if all(word[0].isupper() for word in row) else lists.is_last_name
    while row and lists.is_plain_word(row[-1][0]) and not last(row[-1][0]):
        if len(row) > 1 and any(map(str.isalpha, row[-1].string[row[-2].end() : row[-1].start()])):
            # Words in small letters join it to the one before: "Pieter van der Meulen".
            break
        del row[-1]
    return row


def _is_name(text: str, run: _Run, labels: Sequence[str], is_paired: bool) -> bool:
    """Whether words in a row are a name; `labels`: what a model names there; `is_paired`: as "Lund" in "Krag/Lund"."""
    start, end, words = run[0].start(), run[-1].end(), [word[0] for word in run]
    is_one, first, begin = len(words) == 1, words[0], max(0, start - _CHARS)
    is_known = is_one and lists.is_known_name(first) and lists.is_first_name(first)
    if is_known and not text.startswith(("'", "’"), end) and _RE.relative_before.search(text, begin, start):
        # A relative's first name may be a brand's: "daughter Yasmin".
        return True
    if first in _NUMERALS and text[start + 1] != "." and not is_one and _RE.numbered.search(text, begin, start):
        # "Factor V Leiden".
        return False
    if any(map(_is_of_medicine, words)) or all(map(_is_other, words)) or _is_of_a_score(text, end, words):
        return False
    if lists.is_eponym(text, start, end) or lists.is_dosed_drug(text, start, end):
        return False
    is_person = "full_name" in labels
    if not is_person and is_one and _is_short(first):
        # "ABCDE" is a first name as well.
        return False
    is_cued = is_paired or _RE.sure_before.search(text, begin, start) or _RE.sure_after.match(text, end)
    if is_one and not is_cued and _is_of_a_thing(text, start, end):
        return False
    is_place = any(categories()[label].type == "LOC" or label == "nationality" for label in labels)
    if is_one and not (is_cued or is_place) and _is_an_item(text, start, end):
        return False
    sure = [word for word in words if lists.is_sure_name(word) and _is_written_as_name(word) and not _is_other(word)]
    if sure:
        return (
            bool(labels or is_cued)
            or len(sure) > 1
            or any(map(lists.is_first_name, sure))
            or (not is_one and (lists.is_first_name(first) or len(first) == 1))
            or _first_after(text, end) != end
        )
    if len(words) == 2 and len(first) == 1 and text[start + 1] == "." and not lists.is_plain_word(words[1]):
        return _is_written_as_name(words[1]) and not _is_short(words[1])
    is_given = is_one and _RE.given.search(text, begin, start)
    return (
        is_person
        and not is_given
        and any(len(word) > 2 and not lists.is_plain_word(word) and _is_written_as_name(word) for word in words)
    )


def _is_of_medicine(word: str) -> bool:
    """Whether a word is clinical, a product that nobody is called by, or a manner: "Allevyn", "Fraser-competent"."""
    how = _RE.described_by.search(word)
    if how is not None and lists.is_plain_word(how["how"]) and not lists.is_last_name(how["how"]):
        return True
    return is_clinical(word) or is_product(word)


def _is_of_a_thing(text: str, start: int, end: int) -> bool:
    """Whether a name alone is a thing's ("Dawson fingers", "?Wellens"); somebody does something ("Lund agreed")."""
    if text[start - 1 : start] == "?" or _RE.article.search(text, max(0, start - _CHARS), start):
        return True
    after = _RE.noun_after.match(text, end)
    if after is None or after["short"]:
        return after is not None
    return lists.is_plain_word(after["noun"]) and not _RE.of_somebody.fullmatch(after["noun"])


def _small_name_ends(text: str, end: int) -> int:
    """Return where a name in small letters ends of which the first word ends there: "its keturah vestrow again"."""
    while (after := _RE.small_after.match(text, end)) is not None and _IS_SMALL_LAST(after[1]):
        end = after.end()
    return end


def _is_an_item(text: str, start: int, end: int) -> bool:
    """Whether a word is one of a list, of several alike or of somebody's things, and no first name.

    People go by their first name alone. A last name, or a word of no list, is as often a brand, a sign or a device:
    after a comma, an abbreviation or a product, or as what is the patient's ("his Quexar").
    """
    if lists.is_first_name(text[start:end]) or _first_after(text, end) != end:
        return False
    if _RE.does.match(text, end) or _RE.of_a_road.match(text, end):
        return False
    before = _RE.before_item.search(text, max(0, start - _CHARS), start)
    word = before["word"] if before is not None else None
    return before is not None and (
        word is None or not lists.is_plain_word(word) or is_clinical(word) or _is_short(word)
    )


def _first_after(text: str, end: int) -> int:
    """Return where a last name ends with the first name or the initial after it, if there is one."""
    after = _RE.first_after.match(text, end)
    if after is None:
        return end
    first = after[2]
    is_none = first and ((lists.is_plain_word(first) and not first.isupper()) or not lists.is_first_name(first))
    return end if is_none else after.end()


def _is_of_a_score(text: str, end: int, words: Sequence[str]) -> bool:
    if len(words) == 1 and not lists.is_known_name(words[0]) and _RE.grade.match(text, end):
        return True
    after = _RE.next_word.match(text, end)
    noun = {after[1], after[1].removesuffix("s")} if after else set()
    described = frozenset().union(*map(lists.read_words, ("things_described", "named_after", "described")))
    is_one = _RE.of_a_score.match(text, end) is not None or not noun.isdisjoint(described)
    return is_one or (len(words) > 1 and lists.is_allowed("-".join(words)))


def _is_written_as_name(word: str) -> bool:
    """Whether a name can be written so: "Ada", "McCoy", "O'Hara", "LUND"; "CrAg" and "ABCDE" are none."""
    if word.isupper():
        return len(word) > _LONGEST_ABBREVIATION or lists.is_first_name(word) or lists.is_last_name(word)
    return _RE.written.fullmatch(word) is not None


def _is_other(word: str) -> bool:
    """Whether a word is clinical, who somebody is, a month, a state or a country."""
    small = word.lower()
    return (
        _RE.role.fullmatch(word) is not None
        or is_clinical(word)
        or lists.is_allowed(word)
        or small in _larger()
        or small in lists.read_words("months_short")
        or small in lists.read_words("no_names")
    )


@cache
def _larger() -> frozenset[str]:
    names = (*STATES.values(), *lists.read_words("countries"))
    return frozenset(part for name in names for part in name.lower().split())


def _agreed(text: str, span: EntitySpan) -> str | None:
    """Return what something is that a model names, where the context agrees; else None."""
    found = _RE.token.findall(text, span.start, span.end)
    is_other = any(_is_short(word) or is_clinical(word) or lists.is_allowed(word) for word in found)
    if not text[span.start].isupper() or is_other or not any(map(_may_be_name, found)):
        return None
    begin = max(0, span.start - _CHARS)
    if span.category != "full_name" and len(found) == 2 and found[1].isdigit() and lists.is_first_name(found[0]):
        # A score bears a name as well: "Bristol 6".
        return None
    if categories()[span.category].type == "LOC" and _RE.before_place.search(text, begin, span.start):
        return span.category
    cues = [(_RE.sure_before, _RE.sure_after), (_RE.before, _RE.after)][: len(found)]
    agrees = any(before.search(text, begin, span.start) or after.match(text, span.end) for before, after in cues)
    return "full_name" if agrees else None


def _is_short(word: str) -> bool:
    return word.isupper() and 1 < len(word) <= _LONGEST_ABBREVIATION
