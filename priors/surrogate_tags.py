"""Surrogate tags: what de-identification leaves in the place of a name, a date or a number.

Owns the styles that are known, and when a value is nothing but tags. A fact that is a tag is known to nobody, so that
no prompt may count on it. Surrogates that look like real values ("Ada Lund" for another name) cannot be told from
these, and are read as values. Knows nothing of patients.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: What a tagger of named entities calls them, in capitals; lab flags such as <LOW> are none.
_KINDS: Final = (
    r"(?:(?:LAST|FIRST|FULL|PATIENT|DOCTOR|PROVIDER|HOSPITAL)[_ ]?)*"
    r"(?:NAME|PATIENT|PERSON|PER|DOCTOR|PROVIDER|HOSPITAL|ORGANIZATION|ORG|LOCATION|LOC|ADDRESS|CITY|DATE|DOB|AGE|PHONE"
    r"|EMAIL|MRN|ID|SSN|ZIP|REDACTED|REMOVED|DEIDENTIFIED|PHI)(?:[_: ]{0,2}[0-9]{1,6})?"
)
#: By style, as reports name it: how the tag is written.
STYLES: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        # MIMIC-II and III, and the i2b2 challenges after them: [**Known lastname 123**], [**2118-6-2**].
        "[** **]": re.compile(r"\[\*\*[^\]\n]{0,80}?\*\*\]"),
        # MIMIC-IV-Note.
        "___": re.compile(r"(?<!\w)_{3,}(?!\w)"),
        "<NAME>": re.compile(rf"<{_KINDS}>"),
        "[NAME]": re.compile(rf"\[{_KINDS}\]"),
        # De-ID: **NAME[AAA, BBB], **DATE[Jan 1 2007].
        "**NAME[ ]": re.compile(r"\*\*[A-Z][A-Z-]{1,30}\[[^\]\n]{0,60}\]"),
        "XXXX": re.compile(r"(?<!\w)X{4,}(?!\w)"),
    }
)
_ANY: Final = re.compile("|".join(f"(?:{style.pattern})" for style in STYLES.values()))
_LABEL: Final = re.compile(r"\b[A-Za-z]\w*(?:[ \t]\w+){0,3}:")
#: What may stand beside a tag without telling anything.
_TITLES: Final = frozenset(
    {"mr", "mrs", "ms", "miss", "dr", "md", "do", "np", "pa", "rn", "jr", "sr", "of", "and", "at"}
)


def is_tag(value: str) -> bool:
    """Whether a value holds a tag, and beside tags, titles and labels ("Unit No:") no word and no number."""
    rest, tags = _ANY.subn(" ", value)
    return tags > 0 and all(word in _TITLES for word in re.findall(r"\w+", _LABEL.sub(" ", rest).lower()))


def said_in(text: str) -> str:
    """Return the words and numbers of a text without its tags: two texts that differ in nothing else say the same."""
    return " ".join(re.findall(r"[^\W_]+", _ANY.sub(" ", text).casefold()))


def find_styles(text: str) -> set[str]:
    """Return the styles of which a tag stands in the text."""
    if _ANY.search(text) is None:
        return set()
    return {name for name, style in STYLES.items() if style.search(text) is not None}
