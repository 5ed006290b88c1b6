"""States and countries, which stay: a place as large as a state tells nobody's address (45 CFR 164.514(b)(2)(i)(B)).

Owns what stays of a span that was found as a town: of "Gary, IN" the state. Names that are a town's or a person's as
well ("New York", "Virginia") stay beside a town alone. Knows nothing of how places are found.
"""

import re
from functools import cache
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.recognizers.addresses import SAFE_STATE_CODE
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.usps_abbreviations import STATES
from clinaudit.audit.pii.word_lists.reading import read_lines

#: Names of a town, or of a person, as well.
_OTHERS_TOO: Final = frozenset(
    {"new york", "washington", "virginia", "georgia", "chad", "jordan", "israel", "kenya", "asia"}
)
_STATE: Final = "|".join((*STATES, *sorted(STATES.values(), key=len, reverse=True)))
#: Without a comma by its letters alone: "Port Washington" and "West New York" are towns.
_AFTER_TOWN: Final = re.compile(rf"(?:,[ ]?(?:{_STATE})|[ ](?:{'|'.join(STATES)}))$")

_SAFE_CODE: Final = re.compile(rf"(?<=[a-z])[ ]{SAFE_STATE_CODE}$")
_IN: Final = re.compile(r"\b(?:in|near|from|to|outside|around) $")
_A_STATE: Final = re.compile(_STATE)
#: A town, or its tag, and a comma.
_BESIDE_TOWN: Final = re.compile(r"(?:\b[A-Z][\w'’-]*|<[A-Z_]+_\d+>),[ ]$")
_BEFORE_CHARS: Final = 40


def without_larger_places(text: str, span: EntitySpan) -> EntitySpan | None:
    """Return a span of a town without the state after it; None for a state or a country alone."""
    written = text[span.start : span.end]
    if categories()[span.category].type == "PER":
        # "In Gilbert AZ": a town, whatever its detector called it.
        code = _SAFE_CODE.search(written)
        if code is None or not _IN.search(text, max(0, span.start - _BEFORE_CHARS), span.start):
            return span
        return EntitySpan(span.start, span.start + code.start(), "city", span.found_by)
    if span.category != "city":
        return span
    if _plain(written) in _larger() or (
        _A_STATE.fullmatch(written) and _BESIDE_TOWN.search(text, max(0, span.start - _BEFORE_CHARS), span.start)
    ):
        return None
    state = _AFTER_TOWN.search(written)
    if state is None or not state.start():
        return span
    return EntitySpan(span.start, span.start + state.start(), span.category, span.found_by)


def _plain(name: str) -> str:
    return " ".join(name.lower().removeprefix("the ").replace(".", "").split())


@cache
def _larger() -> frozenset[str]:
    states = {name.lower() for name in STATES.values()} | {"england", "scotland", "wales"}
    return frozenset(states | {name.lower() for name in read_lines("countries")}) - _OTHERS_TOO
