"""People who are named where nothing but a name can stand: after a title, a label for names or a relative.

It stands beside the rules, which ask whether a word can be a name. Here every capitalized word can ("April", "Will",
"Good"): a filter rather masks a word too much. Knows nothing of what is done with what it finds.
"""

import re
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan, resolve_overlaps

_WORD: Final = r"[A-ZÀ-ÖØ-Þ][\w'’-]*"
_INITIAL: Final = r"(?:[ ][A-Z]\.?(?=[ ]))?"
_ONE_OR_MORE: Final = rf"(?P<name>{_WORD}(?:{_INITIAL}[ ]{_WORD}){{0,2}})"
_TWO_OR_MORE: Final = rf"(?P<name>{_WORD}(?:{_INITIAL}[ ]{_WORD}){{1,2}})"
#: What somebody has is none of their name ("Lund's LDL").
_GENITIVE: Final = re.compile(r"(?<=\w)['’]s(?!\w)")
_RELATIVE: Final = (
    "mother|father|mom|mum|dad|wife|husband|spouse|partner|son|daughter|sister|brother|grandmother|grandfather|aunt"
    "|uncle|niece|nephew|cousin|friend|guardian"
)
_PATTERNS: Final = (
    ("clinician_name", re.compile(rf"(?<!\w)(?:Dr|Doctor|Prof|Professor)\.?[ ]{_ONE_OR_MORE}")),
    ("full_name", re.compile(rf"(?<!\w)(?:Mr|Mrs|Ms|Mx|Miss|Sir|Madam)\.?[ ]{_ONE_OR_MORE}")),
    (
        "patient_name",
        re.compile(rf"(?<!\w)(?i:patient|pt|client)(?i:'s name| name)?(?:[ ]?[:#]|,)[ ]{{0,4}}{_TWO_OR_MORE}"),
    ),
    ("full_name", re.compile(rf"(?<!\w)(?i:name)[ ]?:[ \t]{{0,4}}{_TWO_OR_MORE}")),
    ("relative_name", re.compile(rf"(?<!\w)(?i:{_RELATIVE}),?[ ]{_TWO_OR_MORE}")),
    ("full_name", re.compile(rf"(?<!\w)Dear[ ]{_TWO_OR_MORE}")),
    ("full_name", re.compile(rf"(?<!\w){_TWO_OR_MORE}(?=,?[ ](?:is[ ])?an?[ ][0-9]{{1,3}}[ -])")),
    ("full_name", re.compile(rf"(?<!\w){_TWO_OR_MORE}(?=,?[ ]\(?(?:DOB|D\.O\.B\.|MRN|SSN)\b)")),
)


class NamedPeople:
    """Finds names by where they stand alone."""

    name = "places of names"

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another."""
        return resolve_overlaps(
            EntitySpan(found.start("name"), found.start("name") + len(_GENITIVE.split(found["name"])[0]), category, self.name)
            for category, pattern in _PATTERNS
            for found in pattern.finditer(text)
        )
