"""A tagger trained from scratch on labelled texts: spaCy's transition-based entity recognizer, on the CPU.

Owns its training and its files. Knows nothing of where the texts come from. Loads spaCy, and spaCy torch: imported
lazily.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clinaudit.audit.model.english_pipeline import blank_english
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.systems.labelled_text import LabelledText, split_tokens

NAME = "tagger"
#: As spaCy's own quickstart has it; small batches, since a few passes must do.
_DROPOUT = 0.1
_BATCH = 8


class SpacyTagger:
    """Finds the categories that it was trained on."""

    name = NAME

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start."""
        document = self._pipeline.get_pipe(NAME)(_document(self._pipeline, text))
        return [EntitySpan(found.start_char, found.end_char, found.label_, NAME) for found in document.ents]


def train_tagger(
    texts: Sequence[LabelledText], *, epochs: int, seed: int, advance: Callable[[int], None] = lambda _texts: None
) -> Any:
    """Return a trained pipeline; `advance` is told of each text learned from. Equal texts and seed, equal weights."""
    from spacy.training import Example
    from spacy.util import filter_spans, fix_random_seed  # type: ignore[attr-defined]

    fix_random_seed(seed)
    pipeline = blank_english()
    recognizer: Any = pipeline.add_pipe("ner", name=NAME)
    examples = []
    for labelled in texts:
        document = _document(pipeline, labelled.text)
        found = [
            document.char_span(span.start, span.end, span.category, alignment_mode="expand") for span in labelled.spans
        ]
        gold = document.copy()
        # Two that share a token would overlap: the longer one stands.
        gold.set_ents(filter_spans([span for span in found if span is not None]))
        examples.append(Example(document, gold))
    for category in sorted({span.category for labelled in texts for span in labelled.spans}):
        recognizer.add_label(category)
    optimizer = pipeline.initialize(lambda: examples)
    order = random.Random(seed)
    for _ in range(epochs):
        order.shuffle(examples)
        for start in range(0, len(examples), _BATCH):
            batch = examples[start : start + _BATCH]
            pipeline.update(batch, sgd=optimizer, drop=_DROPOUT)
            advance(len(batch))
    return pipeline


def load_tagger(directory: Path) -> SpacyTagger:
    """Return the tagger that was saved in a directory."""
    import spacy

    return SpacyTagger(spacy.load(directory))


def _document(pipeline: Any, text: str) -> Any:
    """Return a text as a document whose tokens end where entities do: spaCy's own keep `$5,200` and `x@y.z` whole."""
    from spacy.tokens import Doc

    words: list[str] = []
    spaces: list[bool] = []
    position = 0
    for token in split_tokens(text):
        if token.start > position:
            # White space beyond the one blank that a document holds implicitly is a token of its own.
            words.append(text[position : token.start])
            spaces.append(False)
        is_followed = text[token.end : token.end + 1] == " "
        words.append(token.text)
        spaces.append(is_followed)
        position = token.end + is_followed
    if position < len(text):
        words.append(text[position:])
        spaces.append(False)
    return Doc(pipeline.vocab, words=words, spaces=spaces)
