"""Places on a map: latitude and longitude in degrees, Plus Codes, addresses of three words, and `geo:` addresses.

They are geographic subdivisions smaller than a state (45 CFR 164.514(b)(2)(i)(B)), as exact as a house number.
"""

import re
from typing import Final

from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, words

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


def coordinates() -> RuleTable:
    """Return the recognizer of places on a map."""
    return RuleTable(
        "coordinates",
        (
            Rule("street_address", words(r"(?<!\w)geo:[+-]?\d[\d.,;=a-z+-]*\d"), ("geo:",)),
            Rule(
                "street_address",
                re.compile(rf"(?<![\w.]){_ONE}(?:[\s,;/]{{1,3}}{_ONE})?"),
                ("°", "º", "˚"),
            ),
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
        ),
    )
