"""People who are named where nothing but a name can stand: after a title, a label for names or a relative.

It stands beside the rules, which ask whether a word can be a name. Here every capitalized word can ("April", "Will",
"Good"): a filter rather masks a word too much. Knows nothing of what is done with what it finds.
"""

import re
from itertools import takewhile
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps
from clinaudit.audit.pii.word_lists.allowed_terms import is_allowed
from clinaudit.audit.pii.word_lists.name_words import is_abstract, is_known_name, without_labels
from clinaudit.audit.pii.word_lists.reading import read_words
from clinaudit.audit.pii.word_lists.relatives import CLOSE, FURTHER_KIN, KIN

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
