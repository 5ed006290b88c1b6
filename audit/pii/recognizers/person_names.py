"""Names of people, by what stands beside them: a label, a title, a degree, a relative, a way of speaking.

A name that was found so is then found at its other places in the same text, whole and by its last name. A name with
nothing beside it is left to the site's own list of names, and to models.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.recognizers.name_patterns import (
    CAPITAL_WORD,
    DEGREE,
    NAME_PATTERNS,
    NAME_WORD,
    PARTICLE,
    NamePattern,
)
from clinaudit.audit.pii.recognizers.rule import Source
from clinaudit.audit.pii.values.normal_form import name_parts
from clinaudit.audit.pii.word_lists.allowed_terms import is_allowed
from clinaudit.audit.pii.word_lists.reading import read_words

#: Words at which a name ends or that are none: of notes' labels, of forms and of the language.
_NO_NAME: Final = read_words("no_names")
#: Those of them that are first or last names as well.
_NAMES_TOO: Final = frozenset(
    {"per", "may", "will", "april", "june", "august", "an", "long", "rice", "colon", "ward", "gerd", "man", "english"}
)
#: Words that are first or last names and words of the language: no name by themselves in a text in lower case.
_FEWEST_LETTERS_ALONE: Final = 4
#: A word written as a name, and perhaps an initial, before a last name; not the first word of a sentence.
_FIRST_NAME = re.compile(rf"(?<=[^\s.!?:\n])[ ](?P<first>{CAPITAL_WORD})(?:[ ]{CAPITAL_WORD})?[ ]$")
_FIRST_NAME_CHARS: Final = 40
_GENITIVE = re.compile(r"(?<=\w\w)['’]s$")
_TOKEN = re.compile(NAME_WORD)
#: Letters that are words as well: "A. Lund" and "Ada A. Lund" are names, "A holter" is none.
_INITIAL = re.compile(r"[AaIi]\.|[AI]")
#: What a name does not end with: a particle, or a letter that goes on as a word ("Ada Lund I saw").
_NO_END = re.compile(rf"(?i:{PARTICLE})|[AI]")


class NameRecognizer:
    """Finds names of patients, relatives, clinicians and others."""

    name = "names"
    categories = frozenset({"full_name", "patient_name", "clinician_name", "relative_name", "nickname"})

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the names that stand beside something, then their other places."""
        known: dict[str, str] = {}
        found: list[EntitySpan] = []
        for pattern in NAME_PATTERNS:
            for match in source.matches(pattern.regex, pattern.triggers):
                place = _cut(source.text, match, pattern)
                if place is not None:
                    known.setdefault(source.text[slice(*place)], pattern.category)
                    found.append(EntitySpan(*place, pattern.category, self.name))
        # "Ms. Lund" is the patient where "Ada Lund" is: the first longer name that ends so.
        of_last: dict[str, str] = {}
        for written, category in known.items():
            if " " in written:
                of_last.setdefault(written.rpartition(" ")[2], category)
        for span in found:
            written = source.text[span.start : span.end]
            yield EntitySpan(span.start, span.end, of_last.get(written, known[written]), self.name)
        yield from self._elsewhere(source.text, known)

    def _elsewhere(self, text: str, known: dict[str, str]) -> Iterator[EntitySpan]:
        """Yield the other places of names that were found, whole and by their longer parts."""
        wanted: dict[str, str] = {}
        for written, category in known.items():
            if not is_allowed(written):
                wanted.setdefault(written, category)
            words = _TOKEN.findall(written)
            if len(name_parts(written)) < 2:
                continue
            for word in words:
                alone = len(word) >= _FEWEST_LETTERS_ALONE and not is_allowed(word) and word.lower() not in _NO_NAME
                if alone and word[0].isupper():
                    wanted.setdefault(word, category)
        for written, start in _places_of(wanted, text):
            if _is_whole(text, start, start + len(written)):
                yield EntitySpan(_with_first_name(text, start), start + len(written), wanted[written], self.name)


def _places_of(wanted: Collection[str], text: str) -> Iterator[tuple[str, int]]:
    """Yield where each of some texts stands in another, in one pass for all of them."""
    if not wanted:
        return
    import ahocorasick

    automaton = ahocorasick.Automaton(ahocorasick.STORE_LENGTH)
    for written in wanted:
        automaton.add_word(written)
    automaton.make_automaton()
    for last, length in automaton.iter(text):
        start = last - length + 1
        yield text[start : last + 1], start


def _is_no_name(word: str, *, is_first: bool, may_be_small: bool = False) -> bool:
    """Whether a word ends a name; "May" and "Per" are names where they are written as one, or stand after a label."""
    if _INITIAL.fullmatch(word) and (word.endswith(".") or not is_first):
        return False
    plain = word.lower().rstrip(".")
    if plain in _NAMES_TOO and (may_be_small or word.istitle()):
        return False
    return plain in _NO_NAME


def _is_degree(text: str, kept: list[re.Match[str]]) -> bool:
    """Whether the last of some words is a clinician's degree: "Ross, PA-C" is no last name with a first."""
    last = kept[-1]
    return len(kept) > 2 and text[: last.start()].rstrip().endswith(",") and bool(re.fullmatch(DEGREE, last[0]))


def _with_first_name(text: str, start: int) -> int:
    """Return where a last name begins with the first name or initials before it, if such stand there."""
    before = _FIRST_NAME.search(text, max(0, start - _FIRST_NAME_CHARS), start)
    if before is None or _is_no_name(before["first"], is_first=True) or is_allowed(before["first"]):
        return start
    return before.start("first")


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word goes on before or after a stretch; a genitive does not count."""
    before, after = text[start - 1 : start], text[end : end + 3]
    if before.isalnum() or before in tuple("_-'’") or after[:1].isalnum() or after[:1] in tuple("_-"):
        return False
    return after[:1] not in tuple("'’") or not after[1:2].isalpha() or (after[1:2] == "s" and not after[2:].isalpha())


def _cut(text: str, match: re.Match[str], pattern: NamePattern) -> tuple[int, int] | None:
    """Return the part of a stretch that is a name: up to the first word that is none; None where nothing is left."""
    kept: list[re.Match[str]] = []
    for word in _TOKEN.finditer(text, *match.span("value")):
        is_no_name = _is_no_name(word[0], is_first=not kept, may_be_small=pattern.is_sure and not kept)
        if is_no_name or text[word.end() : word.end() + 1] == ":":
            break
        kept.append(word)
        if _GENITIVE.search(word[0]):
            # "Lund's LDL": what somebody has is none of their name.
            break
    while kept and (_NO_END.fullmatch(kept[-1][0]) or _is_degree(text, kept)):
        kept.pop()
    if len(kept) < pattern.fewest_words or sum(len(word[0].strip(".")) for word in kept) < 2:
        return None
    if not pattern.is_sure and all(is_allowed(word[0]) for word in kept):
        return None
    last = kept[-1]
    # A full stop after an initial belongs to it; the last one may end the sentence.
    genitive = _GENITIVE.search(last[0])
    if genitive is not None:
        return kept[0].start(), last.start() + genitive.start()
    finish = last.end() - (1 if last[0].endswith(".") and len(last[0]) > 2 and last[0].count(".") == 1 else 0)
    return kept[0].start(), finish
