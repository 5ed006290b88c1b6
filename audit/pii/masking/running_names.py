"""Names in running text: what a language model names, lists of names and words, and what stands beside.

None of the three is enough. The small model was trained on news, and takes headings and findings for people; names of
the lists are those of scores and devices too; and in a terse note nothing stands beside a name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from clinaudit.audit.pii.detectors.word_lists import (
    is_allowed,
    is_dosed_drug,
    is_eponym,
    is_first_name,
    is_known_name,
    is_last_name,
    is_plain_word,
    is_sure_name,
    read_words,
)
from clinaudit.audit.pii.masking.not_masked import is_clinical
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.taxonomy import Detector, EntitySpan, categories
from clinaudit.audit.pii.values.normal_form import STATES

_RE: Final = Patterns(__name__)

_CHARS: Final = 50
#: Written in capitals throughout, so short a word is an abbreviation.
_LONGEST_ABBREVIATION: Final = 5

#: A sentence, or a line of few; the model sees a few words to both sides alone.
_PIECE: Final = re.compile(
    r"[^\n]{1,200}?(?:(?<=[\w)%]{4})[.!?](?=\s)|$)|[^\n]{1,200}(?=\s|$)|[^\n]{1,200}", re.MULTILINE
)
#: How many of them are known again: a masked text is looked over once more.
_PIECES: Final = 50_000
_DESCRIBED: Final = frozenset(
    {"brace", "pattern", "scan", "tear", "variant", "view", "wave", "pulse", "murmur", "chromosome", "protein"}
)


_PART: Final = r"(?:Mc|Mac|De|Di|Da|La|Le|Van)?[^\W\d_][^\W\d_A-Z]*"
_WRITTEN: Final = re.compile(rf"{_PART}(?:[-'’]{_PART})*")


#: Sentences -> what a model names in each.
Names = Callable[[Sequence[str]], Iterable[Sequence[EntitySpan]]]


@dataclass(frozen=True, slots=True)
class _Run:
    """Capitalized words in a row."""

    start: int
    end: int
    words: tuple[str, ...]


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
        found = {
            EntitySpan(span.start, span.end, kind, span.found_by)
            for span in named
            if (kind := _agreed(text, span)) is not None
        }
        labels = {place: span for span in named for place in range(span.start, span.end)}
        taken = bytearray(len(text))
        for span in (span for one in self._known for span in one.detect(text)):
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
        done = 0
        for run in _runs(text, taken):
            if run.start < done:
                continue
            of_run = [labels[place] for place in range(run.start, run.end) if place in labels]
            if _is_name(text, run, of_run):
                done = _first_after(text, run.end)
                found.add(EntitySpan(run.start, done, "full_name", self.name))
        for word in _RE.small.finditer(text):
            if _is_sure_first_name(word[0]) and _RE.sure_before.search(
                text, max(0, word.start() - _CHARS), word.start()
            ):
                found.add(EntitySpan(*word.span(), "full_name", self.name))
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
            for span in self._names_of[piece[0]]:
                start, end = piece.start() + span.start, piece.start() + span.end
                yield EntitySpan(start, end, span.category, span.found_by)


@lru_cache(maxsize=100_000)
def _is_sure_first_name(word: str) -> bool:
    return is_first_name(word) and is_sure_name(word) and not _is_other(word)


@lru_cache(maxsize=100_000)
def _may_be_name(word: str) -> bool:
    """Whether a capitalized word is more than a word of the language or of medicine."""
    return not is_clinical(word) and (not is_plain_word(word) or is_first_name(word) or is_last_name(word))


def _runs(text: str, taken: bytearray) -> Iterator[_Run]:
    """Yield capitalized words in a row, without words at the ends that are no names: "Surgeon Leung" is "Leung"."""
    row: list[re.Match[str]] = []
    for word in _RE.word.finditer(text):
        if taken[word.start()]:
            yield from _cut(row)
            row = []
            continue
        if row and not (word[0][0].isupper() and _RE.between.fullmatch(text, row[-1].end(), word.start())):
            if word[0][0].islower() and _RE.between.fullmatch(text, row[-1].end(), word.end() + 1):
                # "van" of "Anna van Dam".
                continue
            yield from _cut(row)
            row = []
        if word[0][0].isupper():
            row.append(word)
    yield from _cut(row)


def _cut(row: list[re.Match[str]]) -> Iterator[_Run]:
    words = list(row)
    while words and len(words[0][0]) > 1 and is_plain_word(words[0][0]) and not is_first_name(words[0][0]):
        del words[0]
    # In capitals the sentence goes on: "GORDON LARKIN FOUND DOWN".
    last = is_first_name if all(word[0].isupper() for word in words) else is_last_name
    while words and is_plain_word(words[-1][0]) and not last(words[-1][0]) and not _is_after_particle(words):
        del words[-1]
    if words:
        yield _Run(words[0].start(), words[-1].end(), tuple(word[0] for word in words))


def _is_after_particle(row: Sequence["re.Match[str]"]) -> bool:
    """Whether a word in small letters joins the last word of a row to the one before: "Pieter van der Meulen"."""
    return len(row) > 1 and any(map(str.isalpha, row[-1].string[row[-2].end() : row[-1].start()]))


def _is_name(text: str, run: _Run, labels: list[EntitySpan]) -> bool:
    if len(run.words) == 1 and _is_relative(text, run):
        return True
    if any(map(is_clinical, run.words)) or all(map(_is_other, run.words)) or _is_of_a_score(text, run):
        return False
    if is_eponym(text, run.start, run.end) or is_dosed_drug(text, run.start, run.end):
        return False
    is_person = any(span.category == "full_name" for span in labels)
    if not is_person and len(run.words) == 1 and _is_short(run.words[0]):
        # "ABCDE" is a first name as well.
        return False
    begin = max(0, run.start - _CHARS)
    is_cued = _RE.sure_before.search(text, begin, run.start) or _RE.sure_after.match(text, run.end)
    if len(run.words) == 1 and not is_cued and _is_of_a_thing(text, run):
        return False
    sure = [word for word in run.words if is_sure_name(word) and _is_written_as_name(word) and not _is_other(word)]
    if sure:
        return (
            bool(labels)
            or len(sure) > 1
            or any(map(is_first_name, sure))
            or (len(run.words) > 1 and (is_first_name(run.words[0]) or len(run.words[0]) == 1))
            or _first_after(text, run.end) != run.end
            or is_cued is not None
        )
    if (
        len(run.words) == 2
        and len(run.words[0]) == 1
        and text[run.start + 1] == "."
        and not is_plain_word(run.words[1])
    ):
        return _is_written_as_name(run.words[1]) and not _is_short(run.words[1])
    unknown = [word for word in run.words if len(word) > 2 and not is_plain_word(word) and _is_written_as_name(word)]
    is_given = len(run.words) == 1 and _RE.given.search(text, begin, run.start)
    return is_person and bool(unknown) and not is_given


def _is_relative(text: str, run: _Run) -> bool:
    """Whether a relative is called by a common first name, which may be a brand's: "daughter Yasmin"."""
    word = run.words[0]
    before = _RE.relative_before.search(text, max(0, run.start - _CHARS), run.start)
    return (
        before is not None and is_known_name(word) and is_first_name(word) and text[run.end : run.end + 1] not in "'’"
    )


def _is_of_a_thing(text: str, run: _Run) -> bool:
    """Whether a name alone is that of a thing: a noun follows it ("Dawson fingers", "Katz ADL"), or it is asked for.

    Somebody does something, or has it: "Lund agreed", "Lund's chart". Example: "?Wellens" is a thing.
    """
    if text[run.start - 1 : run.start] == "?":
        return True
    after = _RE.noun_after.match(text, run.end)
    if after is None:
        return False
    if after["short"]:
        return True
    noun = after["noun"]
    return is_plain_word(noun) and not _RE.of_somebody.fullmatch(noun)


def _first_after(text: str, end: int) -> int:
    """Return where a last name ends with the first name or the initial after it, if there is one."""
    after = _RE.first_after.match(text, end)
    if after is None or (
        after[2] and ((is_plain_word(after[2]) and not after[2].isupper()) or not is_first_name(after[2]))
    ):
        return end
    return after.end()


def _is_of_a_score(text: str, run: _Run) -> bool:
    if _RE.of_a_score.match(text, run.end):
        return True
    after = _RE.next_word.match(text, run.end)
    described = _DESCRIBED | read_words("named_after") | read_words("described")
    if after is not None and {after[1], after[1].removesuffix("s")} & described:
        return True
    return len(run.words) > 1 and is_allowed("-".join(run.words))


def _is_written_as_name(word: str) -> bool:
    """Whether a name can be written so: "Ada", "McCoy", "O'Hara", "LUND"; "CrAg" and "ABCDE" are none."""
    if word.isupper():
        return len(word) > _LONGEST_ABBREVIATION or is_first_name(word) or is_last_name(word)
    return _WRITTEN.fullmatch(word) is not None


def _is_other(word: str) -> bool:
    """Whether a word is clinical, who somebody is, a month, a state or a country."""
    is_role = _RE.role.fullmatch(word) is not None
    small = word.lower()
    return (
        is_role
        or is_clinical(word)
        or is_allowed(word)
        or small in _larger_and_months()
        or small in read_words("no_names")
    )


@cache
def _larger_and_months() -> frozenset[str]:
    larger = {part for name in (*STATES.values(), *read_words("countries")) for part in name.lower().split()}
    return frozenset(
        larger | {"jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "april"}
    )


def _agreed(text: str, span: EntitySpan) -> str | None:
    """Return what something is that a model names, where the context agrees; else None."""
    found = _RE.token.findall(text, span.start, span.end)
    if not text[span.start].isupper() or any(map(_is_clinical_or_short, found)) or not any(map(_may_be_name, found)):
        return None
    begin = max(0, span.start - _CHARS)
    if categories()[span.category].type == "LOC" and _RE.before_place.search(text, begin, span.start):
        return span.category
    cues = [(_RE.sure_before, _RE.sure_after), (_RE.before, _RE.after)][: len(found)]
    agrees = any(before.search(text, begin, span.start) or after.match(text, span.end) for before, after in cues)
    return "full_name" if agrees else None


def _is_clinical_or_short(word: str) -> bool:
    """Whether a word is clinical or an abbreviation."""
    return _is_short(word) or is_clinical(word) or is_allowed(word)


def _is_short(word: str) -> bool:
    return word.isupper() and 1 < len(word) <= _LONGEST_ABBREVIATION
