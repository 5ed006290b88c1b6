"""The detector by a Hugging Face model that labels tokens, from a directory: such as de-identifiers made by i2b2 sets.

Owns what its labels mean and how labelled tokens join. The model was made to find identifiers, so its word counts.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.detectors.word_lists import read_labels
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.runtime.language.encoders import TokenLabels
from clinaudit.errors import BadInputError

#: Whether a token begins (B, and S and U alone), goes on in (I) or ends (E, L) what is labelled.
_PREFIX: Final = re.compile(r"([BIESLU])[-_](?=.)")
_BEGINS: Final = "BSU"


class NameModel:
    """Finds what the model in a directory labels; raises `BadInputError` for one that cannot be used."""

    def __init__(self, directory: Path) -> None:
        self._model = TokenLabels(directory)
        self.name = f"the model in {self._model.directory}"
        self._plain = {label: _plain(label) for label in self._model.labels}
        unknown = sorted(label for label, plain in self._plain.items() if plain not in read_labels("name_model"))
        if unknown:
            raise BadInputError(
                f"the model in {self._model.directory} has labels that clinaudit does not know: {', '.join(unknown)}; "
                "rename them in id2label of its config.json: to PATIENT, DOCTOR, HOSPITAL, CITY, DATE, PHONE or ID"
            )

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start."""
        found = ((start, end, read_labels("name_model")[label]) for start, end, label in self._joined(text))
        return [EntitySpan(*span, self.name) for span in found if span[2] != "none"]

    def _joined(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield stretches of one label: tokens of one word, and of words with blanks at most between them.

        A word has the label of its first token that has one. Of heads without prefixes neighbours are one.
        """
        start, end, label, word = 0, 0, "O", 0
        for begin, stop, written in self._model.label(text):
            prefix = _PREFIX.match(written)
            plain = self._plain[written]
            is_same_word = 0 < begin == end and text[begin - 1 : begin + 1].isalnum()
            word = word if is_same_word else begin
            goes_on = plain == label and not (prefix and prefix[1] in _BEGINS) and not text[end:begin].strip(" \t")
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
    return re.sub(r"[^A-Z]", "", _PREFIX.sub("", label, count=1).upper())
