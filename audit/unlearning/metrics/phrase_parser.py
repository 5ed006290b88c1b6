"""Candidate phrases of a text: entities and noun chunks (AMNESIA, appendix E.1).

AMNESIA parses with scispaCy's en_core_sci_lg, which no package index holds. Owns the two parsers: spaCy's small English
model, which knows no medicine, with seed terms as entities; and a spaCy model in a directory of the user's, with the
entities that it finds itself.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from clinaudit.audit.model.english_pipeline import ENGLISH, load_english, load_pipeline, pieces_of
from clinaudit.audit.unlearning.metrics.words import Words, words_of
from clinaudit.errors import BadInputError, UnsafeError

if TYPE_CHECKING:
    from spacy.language import Language

#: All that entities and noun chunks need; whatever else a pipeline has is not loaded.
_NEEDED: Final = ("tok2vec", "tagger", "attribute_ruler", "parser", "ner")
#: Words that open a noun chunk and are no part of the term [choice]: "the tumor" in a note is "a tumor" in an answer.
_OPENINGS: Final = frozenset(
    "a an the this that these those his her hers its their our your my any some no each all".split()  # noqa: SIM905
)
#: Files of a model's directory that could run code when they are read.
_UNSAFE_SUFFIXES: Final = frozenset({".py", ".pyc", ".pkl", ".pickle", ".pt", ".pth", ".bin"})
#: Tables of words, as msgpack: every pipeline of spaCy has them.
_LOOKUPS: Final = "lookups.bin"
#: Texts parsed at once.
_BATCH: Final = 32


class PhraseParser(Protocol):
    """Finds phrases that may be terms."""

    #: Which parser, for the record of a benchmark.
    name: str

    def phrases(self, texts: Iterable[str]) -> Iterator[list[Words]]:
        """Yield the phrases of each text, each as its words, in order; one that stands twice is given twice."""
        ...


class SpacyParser:
    """Entities and noun chunks by a spaCy pipeline; with a lexicon, its terms are the entities."""

    def __init__(self, pipeline: "Language", *, name: str, lexicon: frozenset[Words] | None = None) -> None:
        self.name = name
        self._pipeline = pipeline
        self._lexicon = None if lexicon is None else _by_first_word(lexicon)

    def phrases(self, texts: Iterable[str]) -> Iterator[list[Words]]:
        """Yield the phrases of each text: entities, then noun chunks."""
        pieces = [[piece for _, piece in pieces_of(text)] for text in texts]
        documents = self._pipeline.pipe((piece for own in pieces for piece in own), batch_size=_BATCH)
        for own in pieces:
            yield [phrase for document in islice(documents, len(own)) for phrase in self._phrases_of(document)]

    def _phrases_of(self, document: Any) -> Iterator[Words]:
        if self._lexicon is None:
            yield from (_without_opening(words_of(entity.text)) for entity in document.ents)
        else:
            yield from _known_terms(words_of(document.text), self._lexicon)
        yield from (_without_opening(words_of(chunk.text)) for chunk in document.noun_chunks)


def packaged_parser(lexicon: frozenset[Words]) -> SpacyParser:
    """Return the parser by spaCy's small English model; raises `BadInputError` where it is not installed."""
    pipeline = load_english(exclude=("ner", "lemmatizer", "senter"), otherwise="give a directory (--parser)")
    return SpacyParser(pipeline, name=f"{ENGLISH} {pipeline.meta['version']}, seed terms", lexicon=lexicon)


def parser_of_directory(directory: Path) -> SpacyParser:
    """Return the parser by a spaCy model in a directory, such as scispaCy's.

    Raises `BadInputError` where it is none or finds no noun chunks, `UnsafeError` where reading it could run code.
    """
    import spacy.util

    what = f"the parser in {directory.name}"
    if not (directory / "config.cfg").is_file():
        raise BadInputError(f"{what} is no spaCy model (config.cfg is missing); give the directory that holds it")
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    unsafe = [path.name for path in files if path.suffix in _UNSAFE_SUFFIXES and path.name != _LOOKUPS]
    if unsafe:
        raise UnsafeError(f"{what} holds a file that could run code ({unsafe[0]}); give a model without such files")
    try:
        components = list(spacy.util.load_config(directory / "config.cfg")["nlp"]["pipeline"])
        pipeline = load_pipeline(directory, exclude=[name for name in components if name not in _NEEDED])
    except (OSError, ValueError, LookupError, TypeError, ImportError):
        raise BadInputError(
            f"{what} cannot be loaded; give a model of this release of spaCy whose pipeline is of {', '.join(_NEEDED)}"
        ) from None
    lacking = sorted({"parser", "ner"} - set(pipeline.pipe_names))
    if lacking:
        raise BadInputError(f"{what} lacks the component {lacking[0]}; without it there are no phrases")
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(directory)}\0".encode() + path.read_bytes())
    name = f"{pipeline.meta['name']} {pipeline.meta['version']}, SHA-256 {digest.hexdigest()[:12]}"
    return SpacyParser(pipeline, name=name)


def _without_opening(words: Words) -> Words:
    skipped = 0
    while skipped < len(words) and words[skipped] in _OPENINGS:
        skipped += 1
    return words[skipped:]


def _by_first_word(lexicon: Iterable[Words]) -> dict[str, list[Words]]:
    """Return the terms by their first words, the longest first."""
    by_first: dict[str, list[Words]] = {}
    for term in sorted(lexicon, key=lambda term: (-len(term), term)):
        by_first.setdefault(term[0], []).append(term)
    return by_first


def _known_terms(words: Words, by_first: Mapping[str, list[Words]]) -> Iterator[Words]:
    """Yield the terms from left to right, the longest at each place; none overlaps another, as entities do not."""
    start = 0
    while start < len(words):
        terms = by_first.get(words[start], ())
        found = next((term for term in terms if words[start : start + len(term)] == term), None)
        if found is not None:
            yield found
        start += 1 if found is None else len(found)
