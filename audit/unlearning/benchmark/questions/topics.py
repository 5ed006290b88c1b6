"""What a sentence of prose is about: the diseases and drugs that it names.

Owns the terms: those of the categories' lexicon, and drugs with a known indication. Knows nothing of questions.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from clinaudit.audit.unlearning.benchmark.categories.taxonomy import taxonomy


def topics_of(sentence: str) -> tuple[str, ...]:
    """Return the diseases and drugs that a sentence names, in lower case, each once, in order."""
    return tuple(dict.fromkeys(match[0].lower() for match in _pattern().finditer(sentence)))


@cache
def indications() -> Mapping[str, list[str]]:
    """Return the drugs by the condition that they are for."""
    return tomllib.loads(files(__package__).joinpath("indications.toml").read_text(encoding="utf-8"))


@cache
def _pattern() -> re.Pattern[str]:
    # Terms with an open end stand for parts of words, which are no topic.
    words = [word for category in taxonomy().values() for word in category.lexicon if not word.endswith("*")]
    drugs = [drug for held in indications().values() for drug in held]
    terms = sorted({*words, *indications(), *drugs}, key=lambda term: (-len(term), term))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, terms))})(?!\w)", re.IGNORECASE)
