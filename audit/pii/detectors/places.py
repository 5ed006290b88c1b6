"""What is asked of a place beyond its pattern: an address to its end, a given name that is a town before a state."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from clinaudit.audit.pii.detectors.rule_table import regex, words
from clinaudit.audit.pii.detectors.word_lists import says
from clinaudit.audit.pii.entity_span import EntitySpan

_BEFORE_STATE: Final = regex(r"(?:[ ][A-Z][a-z]{2,20})?,[ ]?(?:(?P<safe>${safe_state})|${state})(?!\w|-\d)")
_IN: Final = re.compile(r"\b(?:in|near|outside(?: of)?|[Ll]ives in) (?:(?:[A-Z][a-z]{1,15}|St\.|Ft\.|Mt\.) )?$")
_CHARS: Final = 40
#: What goes on after a street, one part after the other.
_PART: Final = regex(
    r"[ ]?[,\n;]?[ ]{0,2}(?:(?P<street_address>${flat})|(?:${state}|${region}|WA|SA|NT)(?!\w)|(?P<zip_code>${zip}"
    r"|${other_postcode}|(?<=(?:VIC|NSW|QLD|TAS|ACT)[ ])\d{4}(?!\w)|(?:[A-Z]{1,2}-)?\d{4,5}(?=[ ]${capital})))"
    r"|[ ]?[, ][ ]{0,2}(?P<city>${word_of_town}(?:[ ]${word_of_town}){0,2}?)(?=[ ]?(?:[,.;)\n]|$|\d{5}\b)|[ ]"
    r"(?:${state}|${region})\b|[ ]${other_postcode}|[ ](?:and|with|since|for|but|where|who)\b)"
)
_IS_OF_A_TOWN: Final = says("-term -coding_systems -no_names")


def is_in_no_state(match: "re.Match[str]") -> bool:
    """Whether a word is no town before a state: "Charlotte, NC", "in Gary, IN"; "by Gary, MD" is a clinician."""
    state = _BEFORE_STATE.match(match.string, match.end())
    begin = max(0, match.start() - _CHARS)
    return state is None or (state["safe"] is None and not _IN.search(match.string, begin, match.start()))


def find_rest_of_addresses(text: str, streets: Iterable[EntitySpan]) -> Iterator[EntitySpan]:
    """Yield each street up to where its address ends: flat, town, state, postal code."""
    for span in streets:
        place = end = span.end
        parts: list[EntitySpan] = []
        while (part := _PART.match(text, place)) is not None and all(map(_IS_OF_A_TOWN, (part["city"] or "").split())):
            if part["street_address"] is not None and place == end:
                end = part.end()
            elif part.lastgroup is not None:
                parts.append(EntitySpan(*part.span(part.lastgroup), part.lastgroup, span.found_by))
            place = part.end()
        yield EntitySpan(span.start, end, span.category, span.found_by)
        yield from parts


_TREATED_BY: Final = words("${treated_by}$")
_CARER: Final = words("${of_a_carer}")
_SOMEBODYS: Final = words(r"\b(?:his|her|their|my|the|our)\s$")


def is_of_a_carer(text: str, start: int) -> bool:
    """Whether an occupation is that of whoever treats the patient: "sees a counselor", "her trainer wrapped it"."""
    begin = max(0, start - _CHARS)
    if _TREATED_BY.search(text, begin, start):
        return True
    return _CARER.match(text, start) is not None and _SOMEBODYS.search(text, begin, start) is not None
