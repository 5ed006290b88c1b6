"""Addresses beyond those of the audit: what goes on after a street, and postal codes without a state.

An address is masked to its end: the flat, the town, the postal code. Knows nothing of masking.
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.recognizers.addresses import is_beside_state, places
from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, Source, words
from clinaudit.audit.pii.values.usps_abbreviations import STATES
from clinaudit.audit.pii.word_lists.allowed_terms import is_allowed
from clinaudit.audit.pii.word_lists.reading import read_words

_WORD_OF_TOWN: Final = r"(?:(?:St|Ft|Mt)\.|[A-Z][\w'’-]{1,25})"
_STREET: Final = r"(?:Street|Avenue|Road|Lane|Boulevard|Blvd|Terrace|Highway|Parkway)"
_UNIT: Final = (
    r"(?:(?i:apt|apartment|unit|ste|suite|bldg|building|fl|floor|flat|rm|room|lot|trailer|#)"
    r"(?![A-Za-z])\.?[ ]?#?[ ]?[\w-]{1,6}"
    r"|(?:\d{1,2}(?:st|nd|rd|th)|[Gg]round|[Ff]irst|[Ss]econd|[Tt]hird|[Tt]op)[ ][Ff]l(?:oor|r)?\.?)"
)
_ZIP: Final = r"\d{5}(?:-\d{4})?(?![\w-])"
#: Of the United Kingdom (BS 7666: the second half has no C, I, K, M, O or V) and of Canada.
_OTHER_POSTCODE: Final = (
    r"(?:GIR[ ]?0AA|[A-Z]{1,2}\d[A-Z\d]?[ ]\d[ABD-HJLNP-UW-Z]{2}"
    r"|[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z][ ]\d[A-Z]\d)(?![\w-])"
)
_STATE: Final = "|".join((*STATES, *sorted(STATES.values(), key=len, reverse=True)))
#: What goes on after a street, one part after the other.
_PART: Final = re.compile(
    rf"[ ]?[,\n;]?[ ]{{0,2}}(?:(?P<unit>{_UNIT})|(?:{_STATE})(?!\w)|(?P<code>{_ZIP}|{_OTHER_POSTCODE}))"
    rf"|[ ]?,[ ]{{0,2}}(?P<town>{_WORD_OF_TOWN}(?:[ ]{_WORD_OF_TOWN}){{0,2}}?)(?=[ ]?(?:[,.;)\n]|$|\d{{5}}\b)|[ ]"
    rf"(?:{_STATE})\b"
    rf"|[ ]{_OTHER_POSTCODE}|[ ](?:and|with|since|for|but|where|who)\b)"
)


def _is_town(match: "re.Match[str]") -> bool:
    """Whether words before five figures may be a town: no word of notes, no label, no coding system."""
    return not any(
        is_allowed(part)
        or part.lower().strip(".") in read_words("coding_systems")
        or part.lower() in read_words("no_names")
        for part in match["town"].split()
    )


class RestOfAddresses:
    """Finds what goes on after a street: flat, town, state, postal code."""

    name = "rest of addresses"

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield each street of the text up to where its address ends."""
        streets = [
            span for finder in _STREET_FINDERS for span in finder.find(source) if span.category == "street_address"
        ]
        for span in streets:
            place = end = span.end
            parts: list[re.Match[str]] = []
            while (part := _PART.match(source.text, place)) is not None and (part["town"] is None or _is_town(part)):
                place = part.end()
                if part["unit"] is not None and not parts:
                    end = place
                else:
                    parts.append(part)
            yield EntitySpan(span.start, end, span.category, self.name)
            for part in parts:
                for group, category in (("unit", span.category), ("town", "city"), ("code", "zip_code")):
                    if part[group] is not None:
                        yield EntitySpan(*part.span(group), category, self.name)


_STREETS: Final = RuleTable(
    "streets",
    (
        Rule(
            "street_address",
            re.compile(rf"(?<!\w)(?P<value>(?:[A-Z][a-z'’]{{1,20}}[ ]){{1,3}}{_STREET})(?!\w)"),
            ("street", "avenue", "road", "lane", "boulevard", "blvd", "terrace", "highway", "parkway"),
        ),
        Rule(
            "street_address",
            words(
                r"(?<![\w.,/-])\d{1,5}\s(?:[a-z]{2,20}\s){1,3}(?:street|avenue|road|lane|boulevard|terrace|highway)\b"
                r"|\baddr[ :]{1,3}\d{1,5}\s[^\n,;:|]{3,40}?(?=\s{0,2}(?:[\n,;|]|\.\s|\.?$))"
            ),
            ("street", "avenue", "road", "lane", "boulevard", "terrace", "highway", "addr"),
        ),
        # "14 Elm, Apt 3B": a number, a name and a flat.
        Rule(
            "street_address",
            re.compile(
                rf"(?<![\w.,/-])(?P<value>\d{{1,5}}[A-Za-z]?[ ](?:[NSEW]\.?[ ])?{_WORD_OF_TOWN}"
                rf"(?:[ ]{_WORD_OF_TOWN}){{0,3}}"
                rf"[ ]?,?[ ]{_UNIT})(?!\w)"
            ),
        ),
        # "Home: 8 Birch", "Rural Route 2 Box 118".
        Rule(
            "street_address",
            re.compile(
                r"(?i:\b(?:home|house|lives?|living|resid(?:es?|ing)|stay(?:s|ing)|address|addr))(?i:[ ](?:at|on"
                r"|is))?[: ]{1,2}"
                rf"(?P<value>\d{{1,5}}[A-Za-z]?[ ]{_WORD_OF_TOWN}(?:[ ]{_WORD_OF_TOWN}){{0,2}})(?![\w])"
            ),
            ("home", "house", "live", "living", "resid", "stay", "addr"),
        ),
        Rule(
            "street_address",
            words(r"(?<!\w)(?:rural\sroute|r\.?r\.?|h\.?c\.?|star\sroute)\s?#?\d{1,4},?\sbox\s?#?\d{1,6}(?!\w)"),
            ("box",),
        ),
        # "14 Elm, Dedham 02026": a number, a name, a town and its postal code.
        Rule(
            "street_address",
            re.compile(
                rf"(?<![\w.,/-])(?P<value>\d{{1,5}}[A-Za-z]?[ ](?:{_WORD_OF_TOWN}[ ]?){{1,4}})"
                rf"(?=,[ ]?(?:{_WORD_OF_TOWN}[ ]){{1,3}}(?:{_ZIP}|{_OTHER_POSTCODE}))"
            ),
        ),
        Rule(
            "street_address",
            re.compile(r"(?<!\w)(?i:apt|apartment)\b\.?[ ]?#?[ ]?(?:[A-Z]?-?\d{1,4}[A-Z]?)(?!\w)"),
            ("apt", "apart"),
        ),
    ),
)
_STREET_FINDERS: Final = (places(), _STREETS)
_POSTCODES: Final = RuleTable(
    "postal codes",
    (
        Rule(
            "zip_code",
            words(
                r"(?<!\w)(?:zip|post(?:al)?[\s-]?code|pincode|plz|eircode)(?:\s?code)?(?:\s(?:is|was|no|number))?[\s:=#]{1,3}"
                r"(?P<value>(?=[a-z -]{0,5}\d)[0-9a-z]{2,6}(?:[ -](?=[a-z]{0,3}\d)[0-9a-z]{2,5}|[ ]"
                r"(?-i:[A-Z]{2}))?)(?![\w])"
            ),
            ("zip", "code", "plz"),
        ),
        Rule("zip_code", re.compile(rf"(?<![\w-])(?P<value>{_OTHER_POSTCODE})")),
        Rule(
            "zip_code",
            re.compile(
                rf"(?<![\w.-])(?P<town>{_WORD_OF_TOWN}(?:[ ]{_WORD_OF_TOWN}){{0,2}}),?[ ](?P<value>{_ZIP})(?!\s?"
                rf"(?:mg|ml|units?|%|/))"
            ),
            (),
            _is_town,
        ),
        Rule(
            "city",
            re.compile(
                rf"(?<![\w.-])(?P<value>(?P<town>[A-Z][a-z'’-]{{2,25}}(?:[ ][A-Z][a-z'’-]{{2,25}}){{0,2}})),?[ ]"
                rf"(?:{_ZIP}|{_OTHER_POSTCODE})(?!\s?(?:mg|ml|units?|%|/))"
            ),
            (),
            lambda match: _is_town(match) and not is_beside_state(match),
        ),
    ),
)


class LooseAddresses:
    """Finds addresses to their end, and postal codes."""

    name = "loose addresses"

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the addresses; they may overlap."""
        yield from RestOfAddresses().find(source)
        yield from _POSTCODES.find(source)
