"""The detector by spaCy's small English model: names, places, organizations and dates beside those of the rules.

The model was trained on news. What it calls a person and the list of allowed terms does not is a name here.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.detectors.word_lists import (
    is_allowed,
    is_dosed_drug,
    is_eponym,
    read_labels,
    says,
    without_labels,
)
from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.runtime.language.english_pipeline import ENGLISH, load_english, pieces_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Span

#: "Additional Testing: Repeat": what stands before the colon is the note's.
_HEADING: Final = re.compile(r"[^\n]*[:][ \t]")
#: "dL" is no name.
_LONGEST_UNIT: Final = 3
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_IS_OF_NOTES: Final = says("term|no_names")
#: How many short texts it reads at once.
_TOGETHER: Final = 64
#: What the model needs for entities; the other components cost time.
_NOT_NEEDED: Final = ("parser", "lemmatizer", "attribute_ruler", "tagger")


class SpacyDetector:
    """Finds what the rules find and what the model names; raises BadInputError where the model is not installed."""

    name = "rules + spaCy"

    def __init__(self, *, otherwise: str = "choose another system") -> None:
        """`otherwise` says what else can be done where the model is not installed."""
        self._rules = RuleDetector()
        self._model = _load_model(otherwise)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands."""
        by_rule = self._rules.detect(text)
        taken = {(span.start, span.end) for span in by_rule}
        by_model = [span for span in self.entities(text) if (span.start, span.end) not in taken]
        return resolve_overlaps([*by_rule, *by_model])

    def entities(self, text: str) -> list[EntitySpan]:
        """Return what the model names and no list knows better, in the order of the text."""
        named = ((begin, entity) for begin, piece in pieces_of(text) for entity in self._model(piece).ents)
        return _named_in(text, named)

    def entities_of(self, sentences: Sequence[str]) -> list[list[EntitySpan]]:
        """Return the same of each of many short texts, which takes less time than one by one."""
        documents = self._model.pipe(sentences, batch_size=_TOGETHER)
        return [
            _named_in(sentence, ((0, entity) for entity in document.ents))
            for sentence, document in zip(sentences, documents, strict=True)
        ]


def _named_in(text: str, named: Iterable[tuple[int, "Span"]]) -> list[EntitySpan]:
    """Return those entities, each with the start of what it was found in, that no list knows better."""
    found = []
    for begin, entity in named:
        category = read_labels("spacy").get(entity.label_)
        start, end = _without_edges(text, begin + entity.start_char, begin + entity.end_char)
        end = without_labels(text, start, end)
        written = text[start:end]
        if category is None or not written or is_allowed(written):
            continue
        if is_eponym(text, start, end) or is_dosed_drug(text, start, end):
            continue
        if _is_name(written) if category == "full_name" else _is_proper(written):
            found.append(EntitySpan(start, end, category, ENGLISH))
    return found


def _without_edges(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a stretch up to its first line break, without a heading before it, marks at its ends and `'s`."""
    heading = _HEADING.match(text, start, end)
    start = heading.end() if heading else start
    written = text[start:end]
    start += len(written) - len(written.lstrip(" \t\n\r-•*.,:;("))
    written = text[start:end].partition("\n")[0].rstrip(" \t-•*,:;)(")
    for ending in ("'s", "’s"):
        written = written.removesuffix(ending)
    return start, start + len(written)


def _is_name(text: str) -> bool:
    """Whether a name can be written so: without figures, and not of eponyms and words of notes alone."""
    words = [word.strip(".,") for word in text.split()]
    may_be = text[0].isupper() or len(text) > _LONGEST_UNIT
    return (
        may_be and not any(map(str.isdigit, text)) and not all(len(word) == 1 or _IS_OF_NOTES(word) for word in words)
    )


def _is_proper(text: str) -> bool:
    """Whether a place, a firm or a nation can be written so: with a capital, and more than labels and words of notes.

    The model takes "MRN" for a firm.
    """
    if not any(map(str.isupper, text)):
        return False
    parts = [[token] if is_allowed(token) else _LETTERS.findall(token) for token in text.split()]
    return not all(len(word) == 1 or _IS_OF_NOTES(word) for part in parts for word in part)


@cache
def _load_model(otherwise: str) -> "Language":
    return load_english(exclude=_NOT_NEEDED, otherwise=otherwise)
