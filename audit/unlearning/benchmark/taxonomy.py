"""The disease categories of the benchmark: names, codes and words, as data (taxonomy.toml).

Owns their order, which breaks ties, and how a code or a text points to one. `other` is no category of the taxonomy: it
is what a patient has whom no category fits (AMNESIA, appendix B.1).
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

OTHER: Final = "other"
OTHER_NAME: Final = "Other"
#: Characters of a code that identify its block.
_BLOCK_CHARS: Final = 3


@dataclass(frozen=True, slots=True)
class Category:
    """One disease category."""

    id: str
    name: str
    #: The CDC's headings below it; guidance for a model, no categories of their own.
    subcategories: tuple[str, ...]
    #: Codes and ranges of blocks: `E78`, `I00-I99`.
    icd10: tuple[str, ...]
    #: Names of such diseases.
    lexicon: tuple[str, ...]


def taxonomy() -> Mapping[str, Category]:
    """Return the categories by id, in the order that breaks ties."""
    return _tables()[0]


@cache
def _tables() -> tuple[Mapping[str, Category], tuple[str, ...]]:
    """Return the categories, and the words of diseases that none of them holds."""
    found = tomllib.loads(files(__package__).joinpath("taxonomy.toml").read_text(encoding="utf-8"))
    elsewhere = tuple(found.pop(OTHER)["lexicon"])
    return {
        key: Category(key, held["name"], tuple(held["subcategories"]), tuple(held["icd10"]), tuple(held["lexicon"]))
        for key, held in found.items()
    }, elsewhere


def name_of(category: str) -> str:
    """Return the name of a category, `other` included."""
    return OTHER_NAME if category == OTHER else taxonomy()[category].name


def category_of_code(code: str) -> str | None:
    """Return the category of an ICD-10 code such as `e11.9`; None where no category holds it."""
    code = code.upper()
    holding = (category.id for category in taxonomy().values() if any(_holds(entry, code) for entry in category.icd10))
    return next(holding, None)


def categories_of_text(text: str) -> dict[str, int]:
    """Return for each category that a text names how many of its words the text holds, in the taxonomy's order.

    `other` comes last: diseases that no category holds.
    """
    lexicons = {category.id: category.lexicon for category in taxonomy().values()} | {OTHER: _tables()[1]}
    found = {
        category: len({match[0].lower() for match in _pattern(lexicon).finditer(text)})
        for category, lexicon in lexicons.items()
    }
    return {category: number for category, number in found.items() if number}


def ranked(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return categories by their counts, the largest first, ties in the taxonomy's order."""
    order = [*taxonomy(), OTHER]
    return tuple(sorted(counts, key=lambda category: (-counts[category], order.index(category))))


def _holds(entry: str, code: str) -> bool:
    first, _, last = entry.partition("-")
    return first <= code[:_BLOCK_CHARS] <= last if last else code.startswith(first)


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    # Longest first, so that a phrase counts as itself and not as one of its words.
    forms = sorted(words, key=len, reverse=True)
    written = "|".join(
        re.escape(form.removesuffix("*")).replace(r"\ ", r"\s+") + (r"\w*" if form.endswith("*") else "")
        for form in forms
    )
    return re.compile(rf"(?<!\w)(?:{written})(?!\w)", re.IGNORECASE)
