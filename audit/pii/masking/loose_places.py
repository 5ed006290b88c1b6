"""Addresses, towns and occupations beyond those of the audit.

An address is masked to its end: the flat, the town, the postal code. A town in small letters counts after words that
call for one, an occupation beside a label, an age or a word of work.
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.detectors.places import PLACES, is_beside_state
from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, Source, words
from clinaudit.audit.pii.detectors.word_lists import is_allowed, is_word, read_lines, read_words
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.values.normal_form import STATES

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
    rf"(?:{_STATE})\b|[ ]{_OTHER_POSTCODE}|[ ](?:and|with|since|for|but|where|who)\b)"
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
            rf"(?:[ ]{_WORD_OF_TOWN}){{0,3}}[ ]?,?[ ]{_UNIT})(?!\w)"
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
)
_STREET_FINDERS: Final = (PLACES, _STREETS)
_POSTCODES: Final = RuleTable(
    "postal codes",
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
)


class LooseAddresses:
    """Finds addresses to their end, and postal codes."""

    name = "loose addresses"

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the addresses; they may overlap."""
        yield from RestOfAddresses().find(source)
        yield from _POSTCODES.find(source)


_CODE: Final = "|".join(STATES)
#: Last words of occupations that no entry of the list names.
_HEADS: Final = (
    "operator|painter|surveyor|clerk|setter|driver|teacher|reporter|glazier|maker|builder|fitter|layer|keeper|cutter"
    "|dealer|repairer|installer|inspector|foreman|contractor|mason|logger|miner|rancher|weaver|tailor|seamstress|musician"
    "|officer|instructor|trainer|cleaner|cook|broker|seller|salesm[ae]n|saleswoman|craftsman|handyman|fisherman|fireman"
    "|policeman|mailm[ae]n|superintendent|supervisor|dispatcher|machinist|roofer|plasterer|stonecutter"
)
_LISTED: Final = "|".join(sorted(read_lines("occupations"), key=lambda entry: (-len(entry), entry))).replace(" ", r"\s")
_JOB: Final = rf"(?P<value>(?:{_LISTED}|(?:(?!retired|former|an?\s)[a-z-]{{2,20}}\s){{0,2}}?(?:{_HEADS})))"
#: A number alone is an age after "is" and at the beginning alone.
_AGE: Final = (
    r"(?:(?<![\w./])\d{1,3}\s?(?:y\.?/?o\.?\s?[mf]?|yrs?(?:[ -]old)?|years?[ -]old|[mf])"
    r"|\b(?:is|aged?)\s\d{1,3}|(?:^|\n)\d{2})"
)
_AGE_AFTER: Final = r"(?=,\s(?:aged?\s)?\d{2}(?:[ ]?[mfy][\w/.]*)?(?:[,;)\n]|\.(?!\d)|$))"


def _is_small_town(match: "re.Match[str]") -> bool:
    first = match["value"].lower().split()[0]
    return first not in read_words("no_towns") and (not is_word(first) or " " in match["value"])


_WORDS: Final = r"(?P<value>[a-z][a-z'/-]+(?:[ ][a-z'/-]+){0,2}?)"
_ENDS: Final = r"(?=[ \t]?(?:[.,;:\n()]|$|\b(?:at|for|in|with|and|who|from|since|on|of|pays)\b))"
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


_RULES: Final = (
    rf"\b(?:job|trade|line\sof\swork|position\sheld)[ ]?(?:[:=][ \t]{{0,3}}|is[ ](?:an?[ ])?){_WORDS}{_ENDS}",
    # "Works in landscaping"; "in the yard" is no trade.
    rf"\b(?:works|worked|employed|job|career)\sin\s(?:an?\s)?(?!the\b|his\b|her\b|their\b|my\b){_WORDS}{_ENDS}",
    rf"\bby\strade\s(?:\w+\s){{1,2}}an?\s(?:qualified\s|trained\s)?{_WORDS}{_ENDS}",
    rf"\ban?\s(?:full-time|part-time|qualified|self-employed)\s{_WORDS}{_ENDS}",
    r"(?:\b(?:wom[ae]n|m[ae]n|(?:fe)?male|lady|gentleman)|[\s\d][mf]),\s(?:an?\s)?(?:retired\s)?"
    rf"(?P<value>{_LISTED}|nurse)\b",
    r"\b(?:retired|former|ex-?)\s?(?P<value>nurse|doctor|GP|physician|surgeon|soldier)\b",
)


def is_of_a_carer(text: str, start: int) -> bool:
    """Whether an occupation is that of whoever treats the patient: "sees a counselor", "her trainer wrapped it"."""
    begin = max(0, start - _BEFORE_CHARS)
    if _TREATED_BY.search(text, begin, start):
        return True
    return _CARER.match(text, start) is not None and _SOMEBODYS.search(text, begin, start) is not None


SMALL_TOWNS: Final = RuleTable(
    "small towns",
    Rule(
        "city",
        re.compile(
            r"(?i:\b(?:liv(?:es?|ed|ing)|resid(?:es?|ed|ing)|grew\sup|raised|born)\s(?:in|near|outside(?:\sof)?)"
            r"|\b(?:moved|relocated|commutes?)\s(?:here\s|back\s)?(?:to|from))\s"
            r"(?P<value>[a-z]{3,20}(?:\s[a-z]{3,20})?)"
            rf"(?=[.,;)\n]|$|\s(?:and|with|where|since|for|who|last|but|as|when|after|alone)\b|\s(?i:{_CODE})\b)"
        ),
        ("liv", "resid", "grew", "raised", "born", "moved", "relocated", "commut"),
        _is_small_town,
    ),
    Rule(
        "city",
        re.compile(rf"\bfrom\s(?P<value>[a-z]{{3,20}}(?:\s[a-z]{{3,20}})?)(?=,\s?(?i:{_CODE})(?!\w))"),
        ("from",),
        _is_small_town,
    ),
    Rule("occupation", words(rf"{_AGE},\s(?:an?\s)?(?:retired\s|former\s)?{_JOB}\b")),
    Rule("occupation", words(rf"\b(?:retired|former)\s{_JOB}\b"), ("retired", "former")),
    Rule("occupation", words(rf"(?:^|(?<=[\n.:;]\s)|(?<=\n))(?:an?\s)?{_JOB}{_AGE_AFTER}")),
    # Of two words that are nobody's who works in a clinic.
    Rule(
        "occupation",
        words(
            r"\b(?P<value>(?:real\sestate|insurance|travel)\sagent|sign\spainter|court\sreporter|land\ssurveyor|tile\ssetter"
            r"|(?:crane|forklift|machine)\soperator|(?:bus|truck|taxi)\sdriver|bank\steller)s?\b"
        ),
        ("agent", "painter", "reporter", "surveyor", "setter", "operator", "driver", "teller"),
    ),
)
OCCUPATIONS: Final = RuleTable("occupations", *(Rule("occupation", words(pattern)) for pattern in _RULES))
