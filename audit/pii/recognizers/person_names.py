"""Names of people, by what stands beside them: a label, a title, a degree, a relative, a way of speaking.

A name that was found so is then found at its other places in the same text, whole and by its last name. A name with
nothing beside it is left to the site's own list of names, and to models.
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.allowed_terms import is_allowed
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.recognizers.name_patterns import NAME_PATTERNS, NAME_WORD, PARTICLE
from clinaudit.audit.pii.recognizers.rule import Source
from clinaudit.audit.pii.values import name_parts
from clinaudit.audit.pii.word_lists import read_words

#: Words at which a name ends or that are none: of notes' labels, of forms and of the language.
_NO_NAME: Final = read_words("no_names")
#: Words that are first or last names and words of the language: no name by themselves in a text in lower case.
_FEWEST_LETTERS_ALONE: Final = 4
_TOKEN = re.compile(NAME_WORD)


class NameRecognizer:
    """Finds names of patients, relatives, clinicians and others."""

    name = "names"
    categories = frozenset({"full_name", "patient_name", "clinician_name", "relative_name", "nickname"})

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the names that stand beside something, then their other places."""
        known: dict[str, str] = {}
        for category, regex, triggers in NAME_PATTERNS:
            for match in source.matches(regex, triggers):
                span = _cut(source.text, *match.span("value"))
                if span is None:
                    continue
                yield EntitySpan(*span, category, self.name)
                known.setdefault(source.text[slice(*span)], category)
        yield from self._elsewhere(source.text, known)

    def _elsewhere(self, text: str, known: dict[str, str]) -> Iterator[EntitySpan]:
        """Yield the other places of names that were found, whole and by their longer parts."""
        wanted: dict[str, str] = {}
        for written, category in known.items():
            wanted.setdefault(written, category)
            words = _TOKEN.findall(written)
            if len(name_parts(written)) < 2:
                continue
            for word in words:
                alone = len(word) >= _FEWEST_LETTERS_ALONE and not is_allowed(word) and word.lower() not in _NO_NAME
                if alone and word[0].isupper():
                    wanted.setdefault(word, category)
        if not wanted:
            return
        longest = sorted(wanted, key=lambda written: (-len(written), written))
        regex = re.compile(rf"(?<![\w'’-])(?:{'|'.join(map(re.escape, longest))})(?![\w-]|['’](?!s\b)\w)")
        for match in regex.finditer(text):
            yield EntitySpan(*match.span(), wanted[match[0]], self.name)


def _cut(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the part of a stretch that is a name: up to the first word that is none; None where nothing is left."""
    kept: list[re.Match[str]] = []
    for word in _TOKEN.finditer(text, start, end):
        if word[0].lower().rstrip(".") in _NO_NAME or text[word.end() : word.end() + 1] == ":":
            break
        kept.append(word)
    while kept and re.fullmatch(PARTICLE, kept[-1][0], re.IGNORECASE):
        kept.pop()
    if not kept or sum(len(word[0].strip(".")) for word in kept) < 2:
        return None
    if any(is_allowed(text[kept[0].start() : word.end()]) for word in kept) or is_allowed(kept[-1][0]):
        return None
    last = kept[-1]
    # A full stop after an initial belongs to it; the last one may end the sentence.
    finish = last.end() - (1 if last[0].endswith(".") and len(last[0]) > 2 and last[0].count(".") == 1 else 0)
    return kept[0].start(), finish
