"""The detectors by language models: one by spaCy's small English model, one by a site's model.

Owns how far each model's word counts, what its labels mean, and how labelled tokens join. Nothing is fetched.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clinaudit.audit.pii.detectors import word_lists as lists
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.taxonomy import EntitySpan
from clinaudit.audit.runtime.language import ENGLISH, TokenLabels, load_english, pieces_of
from clinaudit.errors import BadInputError

_RE: Final = Patterns(__name__)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Span


_IS_OF_NOTES: Final = lists.says("term|no_names")


class SpacyDetector:
    """Finds names, places, organizations and dates by spaCy's model; raises `BadInputError` where it is not installed.

    It was trained on news: what it calls a person and the list of allowed terms does not is a name here.
    """

    def __init__(self, *, otherwise: str = "choose another system") -> None:
        """`otherwise` says what else can be done where the model is not installed."""
        self._model = _load_model(otherwise)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return what the model names and no list knows better, in the order of the text."""
        named = ((begin, entity) for begin, piece in pieces_of(text) for entity in self._model(piece).ents)
        return _named_in(text, named)

    def detect_each(self, sentences: Sequence[str]) -> list[list[EntitySpan]]:
        """Return the same of each of many short texts, which takes less time than one by one."""
        documents = self._model.pipe(sentences, batch_size=64)
        return [
            _named_in(sentence, ((0, entity) for entity in document.ents))
            for sentence, document in zip(sentences, documents, strict=True)
        ]


def _named_in(text: str, named: Iterable[tuple[int, "Span"]]) -> list[EntitySpan]:
    """Return those entities, each with the start of what it was found in, that no list knows better."""
    found = []
    for begin, entity in named:
        category = lists.read_labels("spacy").get(entity.label_)
        start, end = _without_edges(text, begin + entity.start_char, begin + entity.end_char)
        end = lists.without_labels(text, start, end)
        written = text[start:end]
        if (
            category is not None
            and written
            and not _RE.sign.search(written)
            and not lists.is_allowed(written)
            and not lists.is_eponym(text, start, end)
            and not lists.is_dosed_drug(text, start, end)
            and (_is_name(written) if category == "full_name" else _is_proper(written))
        ):
            found.append(EntitySpan(start, end, category, ENGLISH))
    return found


def _without_edges(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a stretch up to its first line break, without a heading before it, marks at its ends and `'s`."""
    heading = _RE.heading.match(text, start, end)
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
    # "dL" is no name.
    may_be = (text[0].isupper() or len(text) > 3) and not any(map(str.isdigit, text))
    return may_be and not all(len(word) == 1 or _IS_OF_NOTES(word) for word in words)


def _is_proper(text: str) -> bool:
    """Whether a place, a firm or a nation can be written so: with a capital, and not of labels alone, such as MRN."""
    if not any(map(str.isupper, text)):
        return False
    parts = [[token] if lists.is_allowed(token) else _RE.letters.findall(token) for token in text.split()]
    return not all(len(word) == 1 or _IS_OF_NOTES(word) for part in parts for word in part)


@cache
def _load_model(otherwise: str) -> "Language":
    # What entities need none of costs time.
    return load_english(exclude=("parser", "lemmatizer", "attribute_ruler", "tagger"), otherwise=otherwise)


class NameModel:
    """Finds what the token classifier in a directory labels; raises `BadInputError` for one that cannot be used."""

    def __init__(self, directory: Path) -> None:
        self._model = TokenLabels(directory)
        self.name = f"the model in {self._model.directory}"
        self._plain = {label: _plain(label) for label in self._model.labels}
        unknown = sorted(label for label, plain in self._plain.items() if plain not in lists.read_labels("name_model"))
        if unknown:
            raise BadInputError(
                f"the model in {self._model.directory} has labels that clinaudit does not know: {', '.join(unknown)}; "
                "rename them in id2label of its config.json: to PATIENT, DOCTOR, HOSPITAL, CITY, DATE, PHONE or ID"
            )

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start."""
        found = ((start, end, lists.read_labels("name_model")[label]) for start, end, label in self._joined(text))
        return [EntitySpan(*span, self.name) for span in found if span[2] != "none"]

    def _joined(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield stretches of one label: tokens of a word, which has the first one's, and of words beside each other."""
        start, end, label, word = 0, 0, "O", 0
        for begin, stop, written in self._model.label(text):
            prefix = _RE.prefix.match(written)
            plain = self._plain[written]
            is_same_word = 0 < begin == end and text[begin - 1 : begin + 1].isalnum()
            word = word if is_same_word else begin
            goes_on = plain == label and not (prefix and prefix[1] in "BSU") and not text[end:begin].strip(" \t")
            if label != "O" and (is_same_word or goes_on):
                end = stop
                continue
            if label != "O":
                yield start, end, label
            start, end, label = word, stop, plain
        if label != "O":
            yield start, end, label


def _plain(label: str) -> str:
    """Return a label without its prefix, in capitals, without marks: "B-LOCATION_OTHER" as "LOCATIONOTHER"."""
    return re.sub(r"[^A-Z]", "", _RE.prefix.sub("", label, count=1).upper())
