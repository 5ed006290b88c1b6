"""Rules that a filter of prompts adds to those of the audit: wider, since what cannot be decided is masked.

Towns after a preposition, e-mail addresses that are spoken, handles; and the rules of `bare_ages` and of the modules
beside it that begin with `loose`. Knows nothing of masking.
"""

import re
from typing import Final

from clinaudit.audit.pii.detectors.places import SAFE_STATE_CODE
from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, Source, words
from clinaudit.audit.pii.detectors.word_lists import is_allowed, read_words
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking.bare_ages import BareAges
from clinaudit.audit.pii.masking.loose_codes import LOOSE_CODES, LabelledNumbers
from clinaudit.audit.pii.masking.loose_dates import LOOSE_DATES, DaysAlike
from clinaudit.audit.pii.masking.loose_names import LOOSE_NAMES, SmallNames
from clinaudit.audit.pii.masking.loose_numbers import LOOSE_PHONES, LastDigits
from clinaudit.audit.pii.masking.loose_places import OCCUPATIONS, SMALL_TOWNS, LooseAddresses

_TOWN: Final = r"[A-Z][a-z][\w'’-]{1,25}(?:[ ][A-Z][a-z][\w'’-]{1,25}){0,2}"
_DOMAIN: Final = r"(?:com|org|net|edu|gov|health|uk|ca|de|fr|us|eu|io|co)"
_PROVIDER: Final = r"(?:gmail|googlemail|yahoo|hotmail|outlook|icloud|aol|protonmail|proton|comcast|msn|live|gmx)"


_IN_STATE: Final = re.compile(rf"[ ](?!SC|NC){SAFE_STATE_CODE}\b")


def _is_place(match: "re.Match[str]") -> bool:
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


#: Of the ten digits of a phone number, those that text recognition must have read as digits.
_DIGITS_READ: Final = 7


def _bracketed(word: str) -> str:
    """Return the pattern of a word in brackets, which stands for a sign."""
    return rf"\s?[\[({{<]\s?(?:{word})\s?[\])}}>]\s?"


_RULES: Final = RuleTable(
    "strict rules",
    Rule(
        "city",
        re.compile(
            rf"(?<=\w)[ ,][ ]?(?:in|near|from|outside(?:[ ]of)?|around|(?:trip|moved"
            rf"|flew|drove|went|going|travels?|flight)[ ]to)[ ](?P<value>{_TOWN})"
            r"(?=[.,;)]|[ ](?:and|with|where|when|for|since|who|last|this|at|is|was|has|had|will|lives|called|came"
            r"|on|as|by|because|after|before|to|but|until|during|while|today|yesterday|where"
            rf"|{SAFE_STATE_CODE})\b|\n|$)"
        ),
        (" in ", " near ", " from ", " outside ", " around ", " to "),
        _is_place,
    ),
    Rule(
        "email",
        words(
            rf"(?:[\w+-]+\s){{0,2}}[\w.+-]+(?:\s(?:dot|underscore|dash|hyphen"
            rf"|period)\s[\w+-]+)*\s(?:at|\(at\))\s(?:{_PROVIDER}\b"
            rf"(?:(?:\sdot\s|\.){_DOMAIN}\b)?|[\w-]+(?:\sdot\s[\w-]+)*(?:\sdot\s|\.){_DOMAIN}\b)"
        ),
        (" at ", "(at)"),
    ),
    Rule(
        "email", re.compile(r"(?<![\w@])[\w.+-]*[A-Za-z][\w.+-]*[ ]?@[ ]?[A-Za-z][\w-]*[.,][ ]?[A-Za-z]{2,6}\b"), ("@",)
    ),
    # As text recognition reads a scan: "617-555-O199".
    Rule(
        "phone",
        re.compile(r"(?<![\w-])[\dOIl]{3}-[\dOIl]{3}-[\dOIl]{4}(?![\w-])"),
        ("-",),
        lambda match: sum(map(str.isdigit, match[0])) >= _DIGITS_READ,
    ),
    # "ada[dot]lund[at]example[dot]org", which a reader of mail that hides from robots puts together again.
    Rule(
        "email",
        re.compile(
            rf"(?<![\w.+-])[\w.+-]+(?:{_bracketed('dot|period|underscore|dash|hyphen')}[\w+-]+)*{_bracketed('at')}"
            rf"[\w-]+(?:(?:{_bracketed('dot|period')}|\.)[\w-]+)+",
            re.IGNORECASE,
        ),
        ("at]", "at)", "at}", "at>", "at ]", "at )", "at }", "at >"),
    ),
    Rule(
        "social_handle",
        words(
            r"\b(?:user\s?name|login|screen\s?name|handle|user|insta(?:gram)?|facebook|fb|twitter|tiktok|snapchat|telegram"
            r"|discord|skype|venmo)(?:\s(?:is|as))?[\s:=]{1,3}(?P<value>[a-z][\w.-]{0,30}[\d_][\w.-]{0,20})(?!\w)"
        ),
        (
            *("user", "login", "screen", "handle", "insta", "facebook", "fb", "twitter", "tiktok", "snapchat"),
            *("telegram", "discord", "skype", "venmo"),
        ),
    ),
    # "MS" is a disease as well; "MS in nursing" is a degree.
    Rule(
        "degree",
        re.compile(r"(?<!\w)(?:[BM]\.?[AS]\.?|MSN|BSN|MPH|M\.?Ed|DNP|JD|MSW|AAS?)(?=[ ](?:in[ ]|from[ ]|degree\b))"),
    ),
    Rule("social_handle", words(r"(?<![\w/])(?<!\d )u/(?=\w*[_\d]|\w{7})[\w-]{3,20}"), ("u/",)),
)

_FINDERS: Final = (
    LabelledNumbers(),
    _RULES,
    LOOSE_NAMES,
    LOOSE_PHONES,
    LOOSE_CODES,
    LooseAddresses(),
    LOOSE_DATES,
    DaysAlike(),
    BareAges(),
    LastDigits(),
    SmallNames(),
    SMALL_TOWNS,
    OCCUPATIONS,
)


class StrictRules:
    """Finds what the wider rules of a filter do."""

    name = "strict rules"

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; they may overlap."""
        source = Source.of(text)
        # Of two that find the same characters the first says what they are.
        found: dict[tuple[int, int], EntitySpan] = {}
        for finder in _FINDERS:
            for span in finder.find(source):
                found.setdefault((span.start, span.end), span)
        return sorted(found.values())
