"""What is asked of a place beyond its pattern: a town, a point on the globe, an address to its end.

Coordinates are geographic subdivisions smaller than a state (45 CFR 164.514(b)(2)(i)(B)), as exact as a house number.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from clinaudit.audit.pii.detectors.name_lists import is_plain_word
from clinaudit.audit.pii.detectors.rule_table import Rule, regex, words
from clinaudit.audit.pii.detectors.word_lists import is_allowed, is_word, read_words
from clinaudit.audit.pii.entity_span import EntitySpan

_AFTER_STATE: Final = regex(r"(?<!\w)(?:${state}),?[ ]{1,2}$")
_BEFORE_STATE: Final = regex(r"(?:[ ][A-Z][a-z]{2,20})?,[ ]?(?:${state})(?!\w|-\d)")
_BEFORE_SAFE_STATE: Final = regex(r"(?:[ ][A-Z][a-z]{2,20})?,[ ]?(?:${safe_state})(?!\w|-\d)")
_IN: Final = re.compile(r"\b(?:in|near|outside(?: of)?|[Ll]ives in) (?:(?:[A-Z][a-z]{1,15}|St\.|Ft\.|Mt\.) )?$")
_IN_CHARS: Final = 40
#: The longest name of a state, and what stands around it.
_STATE_CHARS: Final = 26


def is_after_state(match: re.Match[str]) -> bool:
    """Whether the name or the letters of a state stand before it."""
    return bool(_AFTER_STATE.search(match.string[max(0, match.start() - _STATE_CHARS) : match.start()]))


def is_beside_state(match: re.Match[str]) -> bool:
    """Whether a word is the town before a state: "Charlotte, NC", "in Gary, IN"; "by Gary, MD" is a clinician."""
    return bool(
        _BEFORE_SAFE_STATE.match(match.string, match.end())
        or (
            _BEFORE_STATE.match(match.string, match.end())
            and _IN.search(match.string, max(0, match.start() - _IN_CHARS), match.start())
        )
    )


def is_on_the_globe(match: re.Match[str]) -> bool:
    """Whether two numbers are a latitude and a longitude."""
    latitude, longitude = (abs(float(re.sub(r"[^\d.]", "", match[name]))) for name in ("first", "second"))
    return latitude <= 90 and longitude <= 180 and max(latitude, longitude) >= 1


#: What goes on after a street, one part after the other.
_PART: Final = regex(
    r"[ ]?[,\n;]?[ ]{0,2}(?:(?P<unit>${flat})|(?:${state}|${region}|WA|SA|NT)(?!\w)|(?P<code>${zip}|${other_postcode}"
    r"|(?<=(?:VIC|NSW|QLD|TAS|ACT)[ ])\d{4}(?!\w)|(?:[A-Z]{1,2}-)?\d{4,5}(?=[ ]${capital})))"
    r"|[ ]?[, ][ ]{0,2}(?P<town>${word_of_town}(?:[ ]${word_of_town}){0,2}?)(?=[ ]?(?:[,.;)\n]|$|\d{5}\b)|[ ]"
    r"(?:${state}|${region})\b|[ ]${other_postcode}|[ ](?:and|with|since|for|but|where|who)\b)"
)


def is_town(match: "re.Match[str]") -> bool:
    """Whether words before five figures may be a town: no word of notes, no label, no coding system."""
    return not any(
        is_allowed(part)
        or part.lower().strip(".") in read_words("coding_systems")
        or part.lower() in read_words("no_names")
        for part in match["town"].split()
    )


def find_rest_of_addresses(text: str, streets: Iterable[EntitySpan]) -> Iterator[EntitySpan]:
    """Yield each street up to where its address ends: flat, town, state, postal code."""
    for span in streets:
        place = end = span.end
        parts: list[re.Match[str]] = []
        while (part := _PART.match(text, place)) is not None and (part["town"] is None or is_town(part)):
            place = part.end()
            if part["unit"] is not None and not parts:
                end = place
            else:
                parts.append(part)
        yield EntitySpan(span.start, end, span.category, span.found_by)
        for part in parts:
            for group, category in (("unit", span.category), ("town", "city"), ("code", "zip_code")):
                if part[group] is not None:
                    yield EntitySpan(*part.span(group), category, span.found_by)


def read_town_and_code(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
    """Yield a town and the postal code after it; where a state stands between, the town is found with it."""
    yield *match.span("code"), rule.kind
    # "ZIP 02139" is no town.
    if not match["town"].isupper() and not _BEFORE_STATE.match(match.string, match.end("town")):
        yield *match.span("town"), "city"


def is_small_town(match: "re.Match[str]") -> bool:
    """Whether a word in small letters may be a town: none of the language alone."""
    first = match["value"].lower().split()[0]
    return first not in read_words("no_towns") and (not is_word(first) or " " in match["value"])


_IN_STATE: Final = regex(r"[ ](?!SC|NC)${safe_state_code}\b")


def is_place(match: "re.Match[str]") -> bool:
    """Whether a capitalized word after a preposition may be a town: no word of notes, eponym, drug or month."""
    parts = match["value"].split()
    # "Gilbert AZ" bears no doctor's name; "Heparin SC" is given under the skin.
    is_in_state = _IN_STATE.match(match.string, match.end("value")) is not None
    return not any(
        (is_allowed(part) and not is_in_state)
        or part.lower() in read_words("months_and_days")
        or part.lower() in read_words("no_names")
        for part in parts
    )


def is_other_town(match: "re.Match[str]") -> bool:
    """Whether none of the words that may be a town is one of the language, of notes or of medicine: "Knysna"."""
    town = match.groupdict().get("town") or match["value"]
    none = read_words("no_names") | read_words("months_and_days")
    return not any(is_plain_word(part) or is_allowed(part) or part.lower() in none for part in re.split("[ -]", town))


def begins_with_no_given_name(match: "re.Match[str]") -> bool:
    """Whether what stands before "Ward" is no first name: "Mallard Ward" is a place, "Bruce Ward" somebody."""
    return match["value"].split()[0] not in read_words("given_names")


_TREATED_BY: Final = words(
    r"\b(?:sees?|seeing|seen\sby|saw|consult\w*(?:\swith)?|refer\w*(?:\s(?:him|her|them))?\sto|visit\w*|spoke\s(?:to|with)"
    r"|work(?:s|ed|ing)?\swith|appointment\swith|follow\w*(?:\sup)?\swith)\s(?:an?|the|his|her|their)\s$"
)
_CARER: Final = words(
    r"(?:\w+\s)?(?:\w*therapist|trainer|counsell?or|dentist|psychologist|psychiatrist|optometrist|optician|hygienist|pharmacist"
    r"|dieti[ct]ian|podiatrist|chiropractor|nurse|midwife)\b"
)
_SOMEBODYS: Final = words(r"\b(?:his|her|their|my|the|our)\s$")
_BEFORE_CHARS: Final = 40


def is_of_a_carer(text: str, start: int) -> bool:
    """Whether an occupation is that of whoever treats the patient: "sees a counselor", "her trainer wrapped it"."""
    begin = max(0, start - _BEFORE_CHARS)
    if _TREATED_BY.search(text, begin, start):
        return True
    return _CARER.match(text, start) is not None and _SOMEBODYS.search(text, begin, start) is not None


#: What is lost, gained or lifted, before how much of it, and after.
_CHANGE_BEFORE: Final = words(
    r"\b(?:los(?:e|es|ing|t)|gain(?:s|ed|ing)?|lift(?:s|ed|ing)?|carry(?:ing)?|carries|carried|push(?:ing)?|pull(?:ing)?"
    r"|shed|dropped)\s(?:(?:about|approximately|around|roughly|nearly|almost|over|under|up\sto|(?:more|less|greater|heavier)"
    r"\sthan|at\sleast|at\smost|another|an?|additional|extra|some|only|any(?:thing)?|objects?|items?|weights?|of|\d+|to|-|–)"
    r"\s?){0,5}$"
)
_CHANGE_AFTER: Final = words(
    r"[ ](?:(?:of[ ])?weight[ ](?:loss|gain)|overweight|lighter|heavier|lifting|lift[ ]|weight[ ]limit)"
)
_CHANGE_CHARS: Final = 60


def is_what_somebody_weighs(match: re.Match[str]) -> bool:
    """Whether a weight is somebody's: none that was lost, gained or lifted ("wants to lose 25 pounds")."""
    return (
        _CHANGE_BEFORE.search(match.string, max(0, match.start() - _CHANGE_CHARS), match.start()) is None
        and _CHANGE_AFTER.match(match.string, match.end()) is None
    )


def is_tall(match: re.Match[str]) -> bool:
    """Whether a length in centimetres is a person's: from 140 on, or named as one; wounds and tumours are shorter."""
    return float(re.split(r"\s?cm", match[0], flags=re.IGNORECASE)[0]) >= 140 or match.string[match.end() :].startswith(
        " tall"
    )
