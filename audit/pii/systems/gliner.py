"""GLiNER: an entity recognizer that is told in words what to look for (weights from a directory, never from a hub).

Owns the labels it is asked for and how a text is cut to its length. Loads `gliner` and torch: imported lazily.
"""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.errors import BadInputError, UsageError

NAME = "gliner"
#: GLiNER's own default: what it is less sure of is dropped.
THRESHOLD = 0.5
#: It reads 384 words at once; some sentences are longer than others.
_MOST_WORDS = 250
_SENTENCE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s)[^\n.!?]*)*[.!?\n]*\s*")


class GlinerDetector:
    """Finds every category of the taxonomy, by its name."""

    name = NAME

    def __init__(self, model: Any) -> None:
        self._model = model
        self._category_of = {category.name.lower(): category.id for category in categories().values()}

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start."""
        labels = list(self._category_of)
        return sorted(
            EntitySpan(start + found["start"], start + found["end"], self._category_of[found["label"]], NAME)
            for start, part in cut_between_sentences(text)
            for found in self._model.predict_entities(part, labels, threshold=THRESHOLD, flat_ner=True)
        )


def load_gliner(directory: Path) -> GlinerDetector:
    """Load the weights of a directory; raises `UsageError` without the package, `BadInputError` for other files."""
    if not (directory / "gliner_config.json").is_file():
        raise BadInputError(
            f"{directory.name} holds no GLiNER model (no gliner_config.json); name the folder of a downloaded one"
        )
    if find_spec("gliner") is None:
        raise UsageError("--gliner needs the package gliner, which is not installed; install it, or leave --gliner out")
    from gliner import GLiNER  # type: ignore[import-not-found, unused-ignore]

    try:
        return GlinerDetector(GLiNER.from_pretrained(str(directory), local_files_only=True).eval())
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise BadInputError(
            f"the GLiNER model in {directory.name} cannot be loaded ({type(error).__name__}); "
            "its tokenizer and backbone configuration must lie in the same folder"
        ) from None


def cut_between_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield parts of at most some 250 words with where each begins; a longer sentence stands alone."""
    start = end = words = 0
    for match in _SENTENCE.finditer(text):
        more = len(match[0].split())
        if end > start and words + more > _MOST_WORDS:
            yield start, text[start:end]
            start, words = end, 0
        end, words = match.end(), words + more
    if end > start:
        yield start, text[start:end]
