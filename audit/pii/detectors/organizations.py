"""Organizations by the word that says what they are: hospitals and clinics, schools, companies, agencies, charities."""

import re
from typing import Final

from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, words
from clinaudit.audit.pii.detectors.word_lists import is_allowed

_WORD: Final = r"(?:St\.|[A-Z][\w'’&-]{0,30})"
#: The words of a name before the one that says what it is.
_NAME: Final = rf"[A-Z](?<![\w.].)(?:(?<=S)t\.|[\w'’&-]{{0,30}})(?:[ ](?:(?:of|the|and|for|&)[ ])?{_WORD}){{0,4}}?"
_OF: Final = rf"(?:[ ]of[ ](?:the[ ])?{_WORD}(?:[ ]{_WORD}){{0,2}})?"
_NOT_A_NAME: Final = frozenset(
    {"the", "a", "an", "our", "this", "that", "her", "his", "at", "in", "to", "from", "she", "he", "they"}
)

#: What a hospital calls its departments by.
_NO_PRACTICE: Final = frozenset(
    {"general", "department", "dept", "division", "section", "academic", "outpatient", "inpatient", "chief", "family"}
)


def _has_own_name(match: re.Match[str]) -> bool:
    """Whether more than an article or a pronoun stands before the word that says what it is."""
    return match["value"].split()[0].lower() not in _NOT_A_NAME


def _of_kind(category: str, kinds: str, triggers: tuple[str, ...]) -> Rule:
    return Rule(category, re.compile(rf"(?P<value>{_NAME}[ ](?:{kinds}){_OF})(?!\w)"), triggers, _has_own_name)


def _is_practice(match: re.Match[str]) -> bool:
    """Whether a name stands before a specialty; "General Internal Medicine" is one of a hospital's departments."""
    first = match["value"].split()[0]
    return first.lower() not in _NO_PRACTICE and not is_allowed(first) and _has_own_name(match)


def _is_public(match: re.Match[str]) -> bool:
    """Whether a department is the state's: a hospital's bears the name of its specialty."""
    return not re.search(
        r"Medicine|Surgery|Radiology|Pathology|Neurology|Cardiology|Oncology|Psychiatry|Pediatrics", match[0]
    )


ORGANIZATIONS: Final = RuleTable(
    "organizations",
    _of_kind(
        "healthcare_facility",
        r"Hospital|Medical Center|Medical Centre|Health Center|Health Centre|Infirmary|Hospice"
        r"|Nursing Home|Health System|Healthcare"
        r"|Rehabilitation Center|Surgery Center|Cancer Center|Pharmacy|Urgent Care|Sanatorium",
        (
            *("hospital", "center", "centre", "infirmary", "hospice", "nursing home", "health", "pharmacy"),
            *("urgent care", "sanatorium"),
        ),
    ),
    _of_kind(
        "clinic",
        r"Clinic|Family Practice|Medical Group|Medical Associates|Family Medicine|Pediatrics|Dental|Physicians",
        ("clinic", "practice", "medical", "family", "pediatrics", "dental", "physicians"),
    ),
    # A specialty names a practice where it fills a line or a column of a banner.
    Rule(
        "clinic",
        re.compile(
            rf"(?:^|(?<=\n)|(?<=[ \t]{{2}}))(?P<value>{_WORD}(?:[ ]{_WORD}){{0,2}}?[ ]"
            r"(?:Internal Medicine|Primary Care|Specialty Care|Family Health|Women['’]s Health))"
            r"(?=[ \t]*(?:[\n|]|$)|[ \t]{2})"
        ),
        ("medicine", "care", "health"),
        _is_practice,
    ),
    Rule(
        "clinic",
        words(
            r"(?:^|\n)[ \t]*(?:location|practice|clinic|facility|site)(?:"
            r" name)?[ \t]{0,2}[:=][ \t]{0,4}(?P<value>[^\n,;|]{3,60}?)(?=[ \t]*(?:[\n,;|]|$|\s{2}))"
        ),
        ("location", "practice", "clinic", "facility", "site"),
    ),
    _of_kind(
        "school",
        r"University|College|High School|Elementary School|Middle School|School|Academy"
        r"|Institute of Technology|Polytechnic",
        ("university", "college", "school", "academy", "institute", "polytechnic"),
    ),
    Rule(
        "school", re.compile(rf"(?<![\w.])(?P<value>University[ ]of[ ]{_WORD}(?:[ ]{_WORD}){{0,2}})"), ("university",)
    ),
    _of_kind(
        "company",
        r"Inc\.?|LLC|Ltd\.?|Corp\.?|Corporation|Co\.|Company|Group|Holdings|Industries"
        r"|Enterprises|Technologies|Solutions|Partners|Bank|PLC|GmbH",
        (
            *("inc", "llc", "ltd", "corp", "co.", "company", "group", "holdings", "industries"),
            *("enterprises", "technologies", "solutions", "partners", "bank", "plc", "gmbh"),
        ),
    ),
    Rule(
        "company",
        re.compile(
            rf"(?i:\b(?:works? (?:at|for)|employed (?:at|by)|employer(?: is|:)?))[ ]"
            rf"(?P<value>{_WORD}(?:[ ](?:and|&|[-])?[ ]?{_WORD}){{0,3}})"
        ),
        ("work", "employ"),
        _has_own_name,
    ),
    Rule(
        "company",
        re.compile(
            r"(?<![\w.])(?P<value>[A-Z][a-z]+(?:-[A-Z][a-z]+|, [A-Z][a-z]+ and [A-Z][a-z]+)(?= "
            r"(?:Inc|LLC|Ltd|Group|PLC)))"
        ),
        ("inc", "llc", "ltd", "group", "plc"),
    ),
    Rule(
        "government_agency",
        re.compile(
            rf"(?<![\w.])(?P<value>(?:(?:U\.?S\.?|[A-Z][a-z]+)[ ])?(?:Department|Ministry|Bureau"
            rf"|Office|Division)[ ]of[ ](?:the[ ])?{_WORD}(?:[ ](?:and[ ])?{_WORD}){{0,3}})"
        ),
        ("department", "ministry", "bureau", "office", "division"),
        _is_public,
    ),
    _of_kind(
        "government_agency",
        r"Administration|Agency|Commission|Police Department|Fire Department|Public Health|City Council",
        ("administration", "agency", "commission", "department", "public health", "council"),
    ),
    _of_kind(
        "ngo",
        r"Foundation|Charity|Charities|Society|Trust|Red Cross|Relief|Alliance|Without Borders|Volunteers|Fund",
        (
            *("foundation", "charit", "society", "trust", "red cross", "relief", "alliance", "without"),
            *("volunteers", "fund"),
        ),
    ),
)
