"""People who are named where nothing but a name can stand: after a title, a label for names or a relative.

It stands beside the rules, which ask whether a word can be a name. Here every capitalized word can ("April", "Will",
"Good"): a filter rather masks a word too much. People and places that a language model names count where what stands
beside them agrees: trained on news, it takes a heading, a finding or an abbreviation for somebody.
"""

import re
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Final

from clinaudit.audit.pii.detectors.rule import words
from clinaudit.audit.pii.detectors.word_lists import (
    CLOSE,
    FURTHER_KIN,
    KIN,
    is_abstract,
    is_allowed,
    is_known_name,
    read_words,
    without_labels,
)
from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.masking.not_masked import is_clinical
from clinaudit.audit.pii.taxonomy import categories

_WORD: Final = r"[A-ZÀ-ÖØ-Þ][\w'’-]*"
_INITIAL: Final = r"(?:[ ][A-Z]\.?(?=[ ]))?"
_ONE_OR_MORE: Final = rf"(?P<name>{_WORD}(?:{_INITIAL}[ ]{_WORD}){{0,2}})"
_TWO_OR_MORE: Final = rf"(?P<name>{_WORD}(?:{_INITIAL}[ ]{_WORD}){{1,2}})"
#: What somebody has is none of their name ("Lund's LDL").
_GENITIVE: Final = re.compile(r"(?<=\w)['’]s(?!\w)")
#: What somebody is, in any case: one word with a capital after it is their name, unless it is one of a note.
ROLE: Final = (
    rf"{FURTHER_KIN}|neighbou?r|roommate|landlord"
    "|landlady|coworker|co-worker|colleague|supervisor|boss|employer|teacher|coach|counsell?or|aide|caregiver"
    "|carer|sitter|nanny|nurse|therapist|interpreter|driver|officer|sergeant|sgt|captain|capt|lieutenant|detective|deputy|judge"
    "|attorney|lawyer|senator|pastor|reverend|rev|rabbi|imam|chaplain|deacon|lady|gentleman|baby (?:boy|girl)|twin"
    "|infant|attn|attention"
)
#: Who works in a clinic.
STAFF: Final = (
    "social worker|case (?:manager|worker)|phlebotomist|technician|tech|scribe|paramedic|medic|pharmacist|dieti[ct]ian"
    "|midwife|doula|hospitalist|intensivist|audiologist|optometrist|dentist|hygienist|RN|LPN|LVN|CNA|EMT|LCSW"
)
#: What a patient has, in a note.
_CLINICAL: Final = (
    "labs?|results?|chart|CTs?|MRI|x-rays?|EKG|ECG|echo|biopsy|imaging|ultrasound|films?|scans?|wounds?|incision|vitals|meds?"
    "|medications?|prescriptions?|blood|pain|cough|surgery|appointment|visit|case|care|pathology|A1c|BP|LDL|INR|potassium|glucose"
    "|wife|husband|mother|father|daughter|son|sister|brother|family"
)
_PATTERNS: Final = (
    ("clinician_name", re.compile(rf"(?<!\w)(?:Dr|Doctor|Prof|Professor)\.?[ ]{_ONE_OR_MORE}")),
    ("full_name", re.compile(rf"(?<!\w)(?:Mr|Mrs|Ms|Mx|Miss|Sir|Madam)\.?[ ]{_ONE_OR_MORE}")),
    (
        "patient_name",
        re.compile(rf"(?<!\w)(?i:patient|pt|client)(?i:'s name| name)?(?:[ ]?[:#]|,)[ ]{{0,4}}{_TWO_OR_MORE}"),
    ),
    (
        "full_name",
        re.compile(
            rf"(?<!\w)(?i:name)(?:[ ]?[/,&][ ]?(?i:dob|mrn|age|sex|id))*[ ]?:[ \t]{{0,4}}"
            rf"(?P<name>{_WORD},?{_INITIAL}[ ](?:{_WORD}|[A-Z])(?:[ ]{_WORD})?)"
        ),
    ),
    (
        "full_name",
        re.compile(
            r"(?<!\w)(?i:(?:sur|last|first|family|given|maiden|middle|legal|preferred|full|birth)[ -]?name)(?:['’]s)?"
            rf"(?:[ ](?:is|was|of))?[ :]{{1,3}}{_ONE_OR_MORE}"
        ),
    ),
    ("relative_name", re.compile(rf"(?<!\w)(?i:{KIN}|friend|guardian),?[ ]{_TWO_OR_MORE}")),
    ("full_name", re.compile(rf"(?<!\w)Dear[ ]{_TWO_OR_MORE}")),
    ("full_name", re.compile(rf"(?<!\w){_TWO_OR_MORE}(?=,?[ ](?:is[ ])?an?[ ][0-9]{{1,3}}[ -])")),
    ("full_name", re.compile(rf"(?<!\w){_TWO_OR_MORE}(?=,?[ ]\(?(?:DOB|D\.O\.B\.|MRN|SSN)\b)")),
)

#: Places where a word of a note may stand as well as a name.
_LESS_SURE: Final = (
    re.compile(rf"(?<![\w-])(?i:{ROLE}|{STAFF})(?:\.|:|,)?[ ](?P<name>{_WORD}(?:{_INITIAL}[ ]{_WORD}){{0,2}})"),
    # "The note of Ada Lund", "widow of Per Lund"; "a history of" nobody.
    re.compile(
        rf"(?<!\w)(?i:note|record|records|chart|letter|behalf|daughter|son|wife|husband|widow|widower|parent|mother|father"
        rf"|sister|brother|guardian|care|name)[ ](?i:of|for)[ ]{_TWO_OR_MORE}"
    ),
    re.compile(
        rf"(?<!\w)(?:for|by|with|from|per|of|to|saw|told|asked|and|but)[ ](?P<name>[A-Z]\.[ ]?(?:[A-Z]\.[ ]?)?{_WORD})"
    ),
    re.compile(rf"[\"“]{_WORD}[\"”][ ](?P<name>{_WORD}(?:[ ]{_WORD})?)"),
    re.compile(
        rf"(?<!\w){_TWO_OR_MORE}(?=,?[ ]\(?(?:Phone|Tel|Cell|Mobile|Fax|E-?mail|Address|Medicaid|Medicare|Policy"
        rf"|Acct|Account|ID)"
        r"\b[ :#.]{0,3}[\d(])"
    ),
    # "Lund A, 03/14/50".
    re.compile(rf"(?<![\w-])(?P<name>{_WORD},?[ ][A-Z])(?=,?[ ]\(?[0-9]{{1,2}}[/-][0-9]{{1,2}}[/-][0-9]{{2}})"),
)

#: Names of any words but those of notes: after who somebody is or a heading, and before what they have.
_WORDY: Final = (
    re.compile(
        rf"(?<!\w)(?i:(?:patient|pt|client|{KIN}|{CLOSE}|{ROLE}|{STAFF})(?:['’]s)?(?:[ ](?:name|today|here|now))?"
        rf"(?:[ ]?[:#(–—-]|,|[ ](?:is|was))|(?:re|cc|attn|fao|subject|regarding|contact(?: person)?|caller|informant"
        rf"|historian|witness|nok|poa)[ ]?[:#–—-])[ ]{{0,4}}{_TWO_OR_MORE}"
    ),
    re.compile(rf"(?<![\w'’.-])(?P<name>{_WORD})(?=['’]s[ ](?:[a-z]+[ ])?(?:{_CLINICAL})\b)"),
)
#: Where less calls for a name, its first or last word must be known as one.
_KNOWN: Final = (
    re.compile(rf"(?<![\w'’.-])(?=(?:{'|'.join(sorted(map(str.title, read_words('given_words'))))})[ ]){_TWO_OR_MORE}"),
    re.compile(
        r"(?<!\w)(?i:saw|seen?|seeing|met|call(?:ed)?|told|asked|thank|refer(?:ring)?|regarding|about|for|of|with|by|name)"
        rf"[ ]{_TWO_OR_MORE}"
    ),
    re.compile(rf"(?<![\w'’.-]){_TWO_OR_MORE}(?=['’]s[ ])"),
    re.compile(rf"(?m:^){_TWO_OR_MORE}(?=:)"),
)


class NamedPeople:
    """Finds names by where they stand alone."""

    name = "places of names"

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another."""
        sure = [(category, match) for category, pattern in _PATTERNS for match in pattern.finditer(text)]
        others = [("full_name", match) for pattern in _LESS_SURE for match in pattern.finditer(text)]
        found = []
        for category, match in [*sure, *(one for one in others if not _is_of_a_note(one[1]["name"]))]:
            start = match.start("name")
            end = without_labels(text, start, start + len(_GENITIVE.split(match["name"])[0]))
            found.append(EntitySpan(start, end, category, self.name))
        for pattern in (*_WORDY, *_KNOWN):
            for match in pattern.finditer(text):
                words = list(takewhile(_may_name, _GENITIVE.split(match["name"])[0].split()))
                is_whole = len(words) >= min(2, len(match["name"].split())) and min(len(words[0]), len(words[-1])) > 1
                # In capitals any two words look like a name.
                is_sure = pattern in _WORDY and not match[0].isupper()
                if is_whole and (is_sure or is_known_name(words[0]) or is_known_name(words[-1])):
                    start = match.start("name")
                    found.append(EntitySpan(start, start + len(" ".join(words)), "full_name", self.name))
        return resolve_overlaps(found)


def _is_of_a_note(name: str) -> bool:
    """Whether what stands where a name may stand begins with a word of notes or of medicine."""
    first = next((word for word in name.split() if not word.endswith(".")), name).strip(".,")
    return first.lower() in read_words("no_names") or is_allowed(first)


def _may_name(word: str) -> bool:
    """Whether a word may be one of a name: known as one, and none of notes or of medicine."""
    small = word.lower()
    return is_known_name(word) or not (small in read_words("no_names") or is_allowed(word) or is_abstract(word))


_CHARS: Final = 50
#: Written in capitals throughout, so short a word is an abbreviation.
_LONGEST_ABBREVIATION: Final = 5
#: Before any name, of one word or more.
_SURE_BEFORE: Final = words(
    rf"\b(?:mr|mrs|ms|miss|dr|prof|sir|madam|{KIN}|{CLOSE}|(?:let|told|tell|asked|saw|met|meet|named|called|thank|dear|hi|hello"
    r"|hey|cc|nurse|known\sas|me\sdown\sas|call\sme|it['’]s|i\sam|i['’]m|this\sis|name\sis|write|by|spoke\s(?:to|with)"
    r"|discussed\s(?:this\s)?with|(?:me|him|her)\sas))\.?,?[ ]$"
)
_SURE_AFTER: Final = words(
    r"(?:,?[ ](?:who|whom|whose)\b|[ ](?:said|says|reports?|reported|states|stated|denies|denied|lives|lived|works"
    r"|worked|wants|likes|calls|asks|asked|told|tells|agreed|agrees|came|comes|writes?|wrote|writing|speaking|here)\b"
    r"|[ ]and[ ](?:his|her)[ ]|[ ]is[ ](?:an?|my|his|her|our|\d+)\b"
    r"|['’]s[ ](?:wife|husband|mother|father|son|daughter|care|case)\b)"
)
#: Before or after two words or more.
_BEFORE: Final = words(
    r"(?:[:(>\[\"“]\s?|\]\s|\b(?:as|of|with|for|to|from|about|and|or|that|concerning|regarding|re|is|was|see|seeing|seen|refer"
    r"|than|because|but|if|while|after|before|since|when)[ ])$"
)
_AFTER: Final = words(
    r"(?:['’]s\b|:|,?[ ](?:is|was|has|had|will|would|and|also|presents?|presented|attended|remains)\b"
    r"|,[ ](?:an?|the|my|his|her|\d|born|dob|aged?)|[ ]\((?:\d|dob|mrn|he|she|they))"
)
_BEFORE_PLACE: Final = words(r"\b(?:in|near|from|at|to|outside|around|visit(?:s|ed|ing)?|via|through|of)[ ]$")
_TOKEN: Final = re.compile(r"[^\s,.;:()]+")


class AgreedNames:
    """Finds the people and places of a language model with which a rule of context agrees."""

    name = "a language model, where the context agrees"

    def __init__(self, named: Callable[[str], Iterable[EntitySpan]]) -> None:
        """`named` returns what the model names in a text, in any order."""
        self._named = named

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; who is spoken of as a person is one, whatever the model calls them."""
        named = ((span, _agreed(text, span)) for span in self._named(text))
        return sorted(EntitySpan(span.start, span.end, kind, span.found_by) for span, kind in named if kind is not None)


def _agreed(text: str, span: EntitySpan) -> str | None:
    found = _TOKEN.findall(text, span.start, span.end)
    if not text[span.start].isupper() or any(map(_is_clinical_or_short, found)):
        return None
    begin = max(0, span.start - _CHARS)
    if categories()[span.category].type == "LOC" and _BEFORE_PLACE.search(text, begin, span.start):
        return span.category
    cues = [(_SURE_BEFORE, _SURE_AFTER), (_BEFORE, _AFTER)][: len(found)]
    agrees = any(before.search(text, begin, span.start) or after.match(text, span.end) for before, after in cues)
    return "full_name" if agrees else None


def _is_clinical_or_short(word: str) -> bool:
    """Whether a word is clinical or an abbreviation."""
    is_short = word.isupper() and 1 < len(word) <= _LONGEST_ABBREVIATION
    return is_short or is_clinical(word) or is_allowed(word)
