"""What a question asks for: typed intents, and the categories that each of them needs (PII-Bench, 3.2).

Owns the reading of the table of intents. A question that shows no intent needs nothing. Knows nothing of descriptions.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from clinaudit.audit.pii.taxonomy import categories


@dataclass(frozen=True, slots=True)
class Intent:
    """Something that questions ask for."""

    name: str
    #: None: no word of this kind is needed.
    verbs: re.Pattern[str] | None
    nouns: re.Pattern[str] | None
    #: Ids of the taxonomy.
    needs: frozenset[str]

    def is_shown_by(self, query: str) -> bool:
        """Whether a question shows this intent."""
        return all(words is None or words.search(query) is not None for words in (self.verbs, self.nouns))


@cache
def intents() -> tuple[Intent, ...]:
    """Return the intents of the table; raises `ValueError` where a row needs nothing, a name, or no known category."""
    rows: list[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("intents.toml").read_text("utf-8"))["intent"]
    return tuple(map(_intent, rows))


def needed_categories(query: str | None) -> frozenset[str]:
    """Return the categories that a question needs; none where there is no question, or none of the intents is shown."""
    if query is None:
        return frozenset()
    return frozenset().union(*(intent.needs for intent in intents() if intent.is_shown_by(query)))


def _intent(row: dict[str, Any]) -> Intent:
    known = categories()
    needs = frozenset(row["needs"])
    if not needs or not needs <= known.keys() or any(known[category].type == "PER" for category in needs):
        raise ValueError(f"the intent {row['name']} needs nothing, somebody's name, or what the taxonomy does not hold")
    verbs, nouns = _pattern(row.get("verbs", [])), _pattern(row.get("nouns", []))
    if verbs is None and nouns is None:
        raise ValueError(f"the intent {row['name']} has neither verbs nor nouns: every question would show it")
    return Intent(row["name"], verbs, nouns, needs)


def _pattern(words: list[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_word, words))})(?!\w)", re.IGNORECASE)


def _word(written: str) -> str:
    return re.escape(written).replace(r"\ ", r"\s+").replace(r"\*", r"\w*")
