"""Places: addresses, ZIP codes, cities with their state, counties, wards and rooms, and places on a map.

Coordinates are geographic subdivisions smaller than a state (45 CFR 164.514(b)(2)(i)(B)), as exact as a house number.
"""

import re
from typing import Final

from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, words
from clinaudit.audit.pii.values.normal_form import STATES, STREET_SUFFIXES

_CAPITAL = r"(?:[A-Z][\w'’.-]{0,30}|\d{1,3}(?:st|nd|rd|th|ST|ND|RD|TH))"
#: Words that call a street and much else in a note: they count only with a house's unit or a town after them.
_NOT_ALONE: Final = frozenset(
    {
        *("br", "brg", "pt", "fld", "ml", "mt", "prt", "sta", "run", "row", "is", "ext", "cor", "cmn", "est"),
        *("spg", "vw", "lk", "walk", "park", "path", "riv", "smt", "hl", "grn"),
    }
)
_DIRECTION = r"(?:[NSEW]\.?|NE|NW|SE|SW|North|South|East|West)"
_UNIT = (
    r"(?:[ ,]{1,3}(?i:apt|apartment|unit|ste|suite|bldg|building|flat|fl|floor|rm|room|lot|#)(?![A-Za-z])\.?[ ]?#?[ ]?"
    r"[\w-]{1,6})"
)


def _suffixes(*, alone: bool) -> str:
    found = {word for row in STREET_SUFFIXES if alone == (row[0] not in _NOT_ALONE) for word in row}
    return "|".join(sorted(found, key=lambda word: (-len(word), word)))


_STATE = "|".join((*STATES, *sorted(STATES.values(), key=len, reverse=True)))
#: Abbreviations of a state that stand after a clinician's name or begin a sentence: they need a ZIP code.
_WORDS_TOO: Final = (
    *("MD", "PA", "MA", "OR", "IN", "ME", "HI", "OK", "DO", "CT", "AL", "ID", "PT", "MS", "MI", "PR", "LA", "CO"),
)
#: Letters of a state that are no word of notes.
SAFE_STATE_CODE: Final = f"(?:{'|'.join(code for code in STATES if code not in _WORDS_TOO)})"
_SAFE_STATE = f"{SAFE_STATE_CODE}|{'|'.join(sorted(STATES.values(), key=len, reverse=True))}"
_AFTER_STATE = re.compile(rf"(?<!\w)(?:{_STATE}),?[ ]{{1,2}}$")
_TOWN = r"[A-Z][\w'’-]{0,30}(?:[ ][A-Z][\w'’-]{0,30}){0,2}"
#: The same at the start of a pattern, which a set of characters makes fast.
_FIRST_OF_TOWN = r"[A-Z](?<!\w.)[\w'’-]{0,30}(?:[ ][A-Z][\w'’-]{0,30}){0,2}"
_ZIP = r"\d{5}(?:-\d{4})?(?![\w-])"


_BEFORE_STATE: Final = re.compile(rf"(?:[ ][A-Z][a-z]{{2,20}})?,[ ]?(?:{_STATE})(?!\w|-\d)")
_BEFORE_SAFE_STATE: Final = re.compile(rf"(?:[ ][A-Z][a-z]{{2,20}})?,[ ]?(?:{_SAFE_STATE})(?!\w|-\d)")
_IN: Final = re.compile(r"\b(?:in|near|outside(?: of)?|[Ll]ives in) (?:(?:[A-Z][a-z]{1,15}|St\.|Ft\.|Mt\.) )?$")
_IN_CHARS: Final = 40
#: The longest name of a state, and what stands around it.
_STATE_CHARS: Final = 26


def _is_after_state(match: re.Match[str]) -> bool:
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


_DEGREES: Final = r"[°º˚]"
_MINUTES: Final = r"['’′´]"
_SECONDS: Final = r"(?:\"|”|″|''|’’|′′)"
_SIDE: Final = r"[NSEW](?![\w])"
#: Degrees and minutes, perhaps seconds, and the side of the globe: "42°21'36.5\"N", "42° 21.6' N", "N 42° 21.6'".
_OF_ARC: Final = (
    rf"\d{{1,3}}\s?{_DEGREES}\s?\d{{1,2}}(?:\.\d+)?\s?{_MINUTES}\s?(?:\d{{1,2}}(?:\.\d+)?\s?{_SECONDS}\s?)?"
)
_ONE: Final = (
    rf"(?:{_OF_ARC}{_SIDE}|[NSEW]\s?{_OF_ARC}|[NSEW]\s?\d{{1,3}}\.\d{{2,}}\s?{_DEGREES}"
    rf"|\d{{1,3}}\.\d{{2,}}\s?{_DEGREES}\s?{_SIDE})"
)
_DECIMAL: Final = r"[+\-−]?\d{1,3}\.\d{4,}"
_GIVEN: Final = r"[+\-−]?\d{1,3}(?:\.\d+)?\s?(?:°\s?)?(?:[NSEW]\b)?"


def _is_on_the_globe(match: re.Match[str]) -> bool:
    latitude, longitude = (abs(float(re.sub(r"[^\d.]", "", match[name]))) for name in ("first", "second"))
    return latitude <= 90 and longitude <= 180 and max(latitude, longitude) >= 1


PLACES: Final = RuleTable(
    "places",
    Rule(
        "street_address",
        re.compile(
            rf"(?P<value>[0-9](?<![\w.,/-].)\d{{0,5}}[A-Za-z]?(?:-\d{{1,4}})?[ ]{{1,2}}"
            rf"(?:{_DIRECTION}[ ])?(?:{_CAPITAL}[ ]){{1,4}}"
            rf"(?i:{_suffixes(alone=True)})\b(?:\.?[ ]{_DIRECTION}(?![\w]))?(?:\.?{_UNIT})?)"
        ),
    ),
    Rule(
        "street_address",
        re.compile(
            rf"(?P<value>[0-9](?<![\w.,/-].)\d{{0,5}}[A-Za-z]?[ ]{{1,2}}(?:{_CAPITAL}[ ]){{1,3}}?"
            rf"(?i:{_suffixes(alone=False)})\b\.?{_UNIT})"
        ),
    ),
    Rule(
        "street_address",
        re.compile(
            rf"(?P<value>[0-9](?<![\w.,/-].)\d{{0,5}}[A-Za-z]?[ ]{{1,2}}(?:{_CAPITAL}[ ]?){{1,5}})"
            rf"(?=[,\n][ ]?{_TOWN},?[ ](?:{_STATE})\b)"
        ),
    ),
    Rule(
        "street_address",
        words(r"\bP\.?\s?O\.?\s?Box\s?#?\s?\d{1,7}\b|\b(?:PSC|Unit|APO|FPO|DPO)\s?\d{3,5},?\s(?:Box\s\d+)"),
        ("box",),
    ),
    Rule(
        "street_address",
        words(
            r"\b(?:(?:home |mailing |street |billing )?address|residence|lives at|resides at"
            r"|living at|residing at)(?:\sis)?[ :]{1,3}"
            r"(?P<value>\d{1,6}[ ][^\n,;:|]{3,60}?)(?=\s{0,2}(?:[\n,;|]|\.\s|\.?$|\b(?:phone|tel"
            r"|city|zip|dob|and|with|since)\b))"
        ),
        ("address", "residence", "lives at", "resides at", "living at", "residing at"),
    ),
    Rule("zip_code", words(rf"\b(?:zip|postal)(?:\s?code)?[^\n\d]{{1,25}}(?P<value>{_ZIP})"), ("zip", "postal")),
    Rule("zip_code", re.compile(r"[0-9](?<![\w.-].)\d{4}(?:-\d{4})?(?![\w-])"), (), _is_after_state),
    Rule("zip_code", re.compile(r"(?<![\w.-])(?P<value>\d{5}-\d{4})(?![\w-])"), ("-",)),
    Rule("city", re.compile(rf"(?P<value>{_FIRST_OF_TOWN},?[ ](?:{_STATE}))(?=,?[ ]{{1,2}}{_ZIP})")),
    Rule("city", re.compile(rf"(?P<value>{_FIRST_OF_TOWN},[ ]?(?:{_SAFE_STATE}))(?!\w|-\d)"), (",",)),
    # After these what would be a degree elsewhere is a state ("in Gary, IN", "from Salem, OR").
    Rule(
        "city",
        re.compile(
            rf"(?i:\b(?:in|near|outside(?:[ ]of)?|from|to))[ ]"
            rf"(?P<value>(?:(?:St|Ft|Mt)\.[ ])?{_TOWN},[ ]?(?:{_STATE}))(?!\w|-\d)"
        ),
        (",",),
    ),
    Rule(
        "city",
        re.compile(
            r"(?i:\b(?:lives? in|living in|resid(?:es?|ing) in|resident of|moved (?:to|from)|born"
            r" in|native of|grew up in|city(?: of)?:?"
            rf"|travell?ed (?:to|from)|hometown(?: is|:)?))[ ]{{1,2}}(?P<value>{_TOWN}(?:,[ ](?:{_STATE})\b)?)"
        ),
        ("live", "living", "resid", "moved", "born in", "native", "grew up", "city", "travel", "hometown"),
    ),
    Rule(
        "county",
        re.compile(
            r"(?<!\w)(?P<value>[A-Z][a-z'’-]{1,30}(?:[ ][A-Z][a-z'’-]{1,30})?[ ](?:County|Parish|Borough))(?!\w)"
        ),
        ("county", "parish", "borough"),
    ),
    Rule("county", re.compile(r"(?<!\w)(?P<value>County[ ]of[ ][A-Z][a-z'’-]{1,30})"), ("county of",)),
    Rule(
        "ward",
        re.compile(
            r"(?:(?:[A-Z][a-z]+[ ]){0,2}(?:Wing|Floor|Tower|Pavilion),?[ ])?"
            r"\b(?:[Ww]ard|[Rr]oom|[Rr]m|[Bb]ed|[Bb]ay|Unit)\b\.?[ ]?(?:[Nn]o\.?|[Nn]umber|#)?[ ]?:?[ ]?"
            r"[A-Z]?-?\d{1,4}-?[A-Z]?\b(?![./]\d)"
        ),
        ("ward", "room", "rm", "bed", "bay", "unit"),
    ),
    Rule(
        "landmark",
        re.compile(
            rf"(?i:\b(?:near|next to|across from|behind|opposite)) (?:the )?(?P<value>{_TOWN}[ ]"
            rf"(?:Park|Bridge|Tower|Mall|Stadium|Museum|Cathedral|Monument|Station|Square|Library))\b"
        ),
        ("near", "next to", "across", "behind", "opposite"),
    ),
)
COORDINATES: Final = RuleTable(
    "coordinates",
    Rule("street_address", words(r"(?<!\w)geo:[+-]?\d[\d.,;=a-z+-]*\d"), ("geo:",)),
    Rule("street_address", re.compile(rf"(?<![\w.]){_ONE}(?:[\s,;/]{{1,3}}{_ONE})?"), ("°", "º", "˚")),
    # No value of a laboratory has four decimals twice in a row.
    Rule(
        "street_address",
        re.compile(
            rf"(?<![\w.+-])(?P<first>{_DECIMAL})\s?°?\s?[NS]?\s?[,;/ ]\s?"
            rf"(?P<second>{_DECIMAL})\s?°?(?:\s?[EW]\b)?(?![\w.])"
        ),
        (".",),
        _is_on_the_globe,
    ),
    Rule(
        "street_address",
        words(
            rf"\b(?:latitude|gps|coord(?:inate)?s?)\b(?:\s(?:is|are|at|of|was|were))?[\s:=(]{{1,4}}"
            rf"(?P<value>{_GIVEN}(?:[\s,;/&]{{1,3}}(?:and\s)?(?:(?:long?|lng|longitude)\b[\s:=]{{1,3}})?{_GIVEN})?)"
            rf"|\blat\b[\s:=.]{{1,3}}{_GIVEN}[\s,;/&]{{1,3}}(?:long?|lng)\b[\s:=.]{{1,3}}{_GIVEN}"
        ),
        ("lat", "gps", "coord"),
        lambda match: "." in match[0],
    ),
    Rule(
        "street_address",
        words(rf"\b(?:lng|longitude)\b(?:\s(?:is|of|was))?[\s:=]{{1,3}}(?P<value>{_GIVEN})"),
        ("lng", "longitude"),
        lambda match: "." in match["value"],
    ),
    Rule(
        "street_address",
        words(
            r"(?<!\w)\d{1,3}\s?deg(?:rees)?\s\d{1,2}\s?min(?:utes)?\s(?:\d{1,2}(?:\.\d+)?\s?sec(?:onds)?\s)?"
            r"(?:north|south|east|west|[nsew])\b"
        ),
        ("deg",),
    ),
    Rule(
        "street_address",
        re.compile(r"(?<![\w+])[23456789CFGHJMPQRVWX]{4,8}\+[23456789CFGHJMPQRVWX]{2,3}(?![\w+])"),
        ("+",),
    ),
    Rule("street_address", re.compile(r"///[a-z]{3,}\.[a-z]{3,}\.[a-z]{3,}"), ("///",)),
)
