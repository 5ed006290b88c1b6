"""Names that the audit takes for none: given names alone, the last name first, initials, letters spelled out.

Names in small letters count where words call for one ("pt john smith", "daughter maria called") and a common given name
stands there, which a last name may follow: without such words many names are words as well.
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.detectors.places import is_beside_state
from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, Source
from clinaudit.audit.pii.detectors.word_lists import (
    CLOSE,
    KIN,
    is_abstract,
    is_allowed,
    is_known_name,
    is_word,
    read_lines,
    read_words,
)
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking.named_people import ROLE, STAFF

_DOTTED: Final = r"(?:[A-Z]\.[ ]?){2,4}(?<=\.)"
#: What somebody is, after "is a": "AK is a 45-year-old", "A.K. is a pleasant woman".
_SOMEBODY: Final = (
    r"(?i:\d{1,3}[ -]?(?:y|m\b|f\b)|(?:year|month)[ -]old|wom[ae]n|m[ae]n\b|lad(?:y|ies)|gentleman|(?:fe)?male|boy|girl"
    r"|infant|baby|child|toddler|teenager|adolescent|patient|student|veteran|nurse|widow(?:er)?|teacher|farmer|resident"
    r"|person)"
)
#: What somebody does; an abbreviation of a disease does little of it.
_DOES: Final = (
    r"(?:is|was|has|had|presents|presented|reports|reported|denies|denied|states|stated|came|comes|returns|returned|lives"
    r"|works|says|said|called|takes|feels|complains|will|does|did)\b"
)

#: What only somebody does, at the beginning of a text or of a line: "Zuri came in today".
_ALONE_DOES: Final = (
    r"(?:(?:came|comes|is)[ ]in[ ](?:today|with|for|to|complaining)|(?:is[ ])?here[ ](?:for|to|with|today)|reports"
    r"|denies|says|states|complains[ ]of|tells|told)\b"
)
#: Who opens a line without a name.
_NAMELESS: Final = re.compile(
    rf"(?:{KIN}|{CLOSE}|{ROLE}|{STAFF}|(?:no|any|some|every)(?:body|one|thing)|parent|surgeon|physician|toddler|infant|child|kid|dog|lab)s?",
    re.IGNORECASE,
)


def _is_given_name(match: "re.Match[str]") -> bool:
    """Whether a word is a given name: the list of them holds no words of the language, places or eponyms."""
    return match[0] in read_words("given_names") and not is_allowed(match[0]) and not is_beside_state(match)


def _opens_a_line(match: "re.Match[str]") -> bool:
    """Whether the first word of a line is a name: one of a given name, or no word of the language or of notes."""
    word = match["value"]
    is_somebody = word.lower() in read_lines("occupations") or _NAMELESS.fullmatch(word) is not None
    return is_known_name(word) or not (is_somebody or is_word(word) or is_abstract(word))


def _is_loud_name(match: "re.Match[str]") -> bool:
    first, *others = match["value"].split()
    return first.title() in read_words("given_names") and not any(
        word.lower() in read_words("no_names") or is_allowed(word) for word in (first, *others)
    )


def _is_turned_name(match: "re.Match[str]") -> bool:
    """Whether a last name stands before a given one: no word of the language or of notes, and no time."""
    return match["given"] in read_words("given_names") and not any(
        part.lower() in read_words("months_and_days") or is_word(part) for part in match["last"].split()
    )


def _are_initials(match: "re.Match[str]") -> bool:
    letters = re.sub(r"[^A-Z]", "", match["value"])
    return letters not in read_words("no_initials") and ("." in match["value"] or not is_allowed(letters))


_WORD: Final = r"[a-z][a-z'’-]{1,20}"
#: Looked for from each word on: in "with nurse kelly" two words call for a name.
_NAMES: Final = rf"(?=(?P<value>{_WORD}(?:[ ][a-z]\.?(?=[ ]))?(?:[ ]{_WORD}){{0,2}})(?![\w-]))"
_RELATIVE: Final = rf"(?:{KIN}s?|{CLOSE}|twins?|baby)"
_SPOKEN_TO: Final = (
    r"(?:(?:spoke|spoken|talked|speaking|talking|met|meet|discussed|reviewed|d/w|lives|living|came|here)\s(?:with|to)"
    r"|called|saw|told|asked|attn|cc|seen\sby|signed|sincerely|regards|from|per|nurse|rn|np|with)"
)
_PATTERNS: Final = (
    (
        "patient_name",
        re.compile(
            rf"(?i:\b(?:patient|pt\.?|client|name(?:\sis)?|named|this\sis|i\sam|i'm|mr\.?|mrs\.?|ms\.?|dear|hi|hello)(?!\w),?:?)"
            rf"[ ]{_NAMES}"
        ),
    ),
    ("relative_name", re.compile(rf"(?i:\b{_RELATIVE}\b,?:?(?:\s(?:is\s)?(?:named|called))?)[ ](?:\()?{_NAMES}")),
    ("full_name", re.compile(rf"(?i:\b{_SPOKEN_TO})[ :,]{{1,2}}{_NAMES}")),
    (
        "patient_name",
        re.compile(
            rf"(?<![\w-])(?P<value>{_WORD}[ ]{_WORD})"
            r"(?=,?[ ]\(?(?i:dob|d\.o\.b|mrn|ssn|born|aged?[ ]\d|\d{1,3}[ ]?y))"
        ),
    ),
)
#: A patient's whole name before an age or a date of birth; here no word must be a common given name.
_PATIENT: Final = re.compile(
    rf"(?i:\b(?:patient|pt\.?|client|name)(?!\w),?:?)[ ](?P<value>{_WORD}[ ]{_WORD})"
    r"(?=,[ ](?i:dob|mrn|aged?[ ]|\d{1,3}[ ]?(?:y|m|f)))"
)
_NAMED: Final = re.compile(rf"(?i:\b(?:named|nicknamed|name\sis))[ ](?P<value>{_WORD})(?![\w-])")
#: What somebody did, after their first and last name.
_VERB: Final = re.compile(r"[a-z]{3,}ed|rang|wrote|sat|stood|weighs")
_TOKEN: Final = re.compile(r"\S+")


class SmallNames:
    """Finds names in small letters."""

    name = "small names"

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the names, up to the first word that is one of the language."""
        for category, regex in _PATTERNS:
            for match in source.matches(regex):
                first, *others = _TOKEN.finditer(source.text, *match.span("value"))
                if first[0].title() not in read_words("given_names"):
                    continue
                end = first.end()
                for word in others:
                    if is_word(word[0]) or (word is others[-1] and len(others) > 1 and _VERB.fullmatch(word[0])):
                        break
                    end = word.end()
                yield EntitySpan(first.start(), end, category, self.name)
        for match in source.matches(_NAMED, ("name",)):
            if not is_word(match["value"]):
                yield EntitySpan(*match.span("value"), "full_name", self.name)
        for match in source.matches(_PATIENT):
            if not any(map(is_word, match["value"].split())):
                yield EntitySpan(*match.span("value"), "patient_name", self.name)


LOOSE_NAMES: Final = RuleTable(
    "loose names",
    # "Camila" is a pill, too.
    Rule(
        "full_name",
        re.compile(r"(?<![\w-])[A-Z][a-z]{2,}(?!\w|[ ](?:birth control|tablet|pill|\d))"),
        (),
        _is_given_name,
    ),
    # "Bartolone, Maria".
    Rule(
        "full_name",
        re.compile(
            r"(?<![\w'’-])(?P<value>(?P<last>[A-Z][A-Za-z'’-]{1,24}(?:[ ][A-Z][A-Za-z'’-]{1,24})?),[ ]"
            r"(?P<given>[A-Z][a-z]+(?:-[A-Z]?[a-z]+)?)(?:[ ][A-Z]\.?(?!\w))?)(?![\w'’-])"
        ),
        (),
        _is_turned_name,
    ),
    Rule(
        "full_name",
        re.compile(r"(?<![\w-])(?P<value>[A-Z]{3,20}(?:[ ][A-Z]\.?)?[ ][A-Z][A-Z'’-]{2,20})(?![\w-])"),
        (),
        _is_loud_name,
    ),
    Rule(
        "patient_name",
        re.compile(
            rf"(?<![\w.])(?P<value>{_DOTTED}|[A-Z]{{2,3}}),?[ ](?:is|was)[ ](?:an?|the)[ ]"
            rf"(?:[\w-]+,?[ ]){{0,4}}?{_SOMEBODY}"
        ),
    ),
    Rule(
        "patient_name",
        re.compile(rf"(?:(?<=[^\w.]\s)|^|(?<=[.!?:\n]\s)|(?<=\n))(?P<value>{_DOTTED})[ ]?(?:,[ ])?{_DOES}"),
        (),
        _are_initials,
    ),
    Rule(
        "patient_name",
        re.compile(
            r"(?<![\w.])(?i:patient|pt|client|mr|mrs|ms|dr)\.?,?[ ]"
            rf"(?P<value>{_DOTTED}|[A-Z]{{2,3}}(?=[ ]{_DOES}))"
        ),
        (),
        _are_initials,
    ),
    Rule("full_name", re.compile(rf"(?:^|(?<=\n))(?P<value>[A-Z][a-z]{{2,20}})[ ]{_ALONE_DOES}"), (), _opens_a_line),
    Rule("full_name", re.compile(r"(?<![\w.-])[A-Za-z](?:[-.·*_~/|+][A-Za-z]){4,}(?![\w-])")),
    Rule("full_name", re.compile(r"(?<![\w.-])[A-Z](?:,?[ ][A-Z]){4,}(?![\w-])")),
)
