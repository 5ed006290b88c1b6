"""Durations that tell of somebody's life: years in a job, a marriage, a house; not the course of a finding or a drug.

"Capillary refill below 3 seconds", "cough for 2 weeks", "amoxicillin for 10 days" and "twice a day" are what a question
is about, and say of nobody who it is. Knows nothing of masking.
"""

import re
from typing import Final

from clinaudit.audit.pii.recognizers.rule import words

_OF_A_LIFE: Final = words(
    r"\b(?:works|worked|jobs?|careers?|employ\w*|experience|profession(?:al)?|business|tenure|retired|married|marriage|divorced"
    r"|widow\w*|separated|relationship|engaged|liv(?:es?|ed|ing)\s(?:in|at|with|here|there|alone)|resid(?:es?|ed|ing|ent)"
    r"|moved\s(?:to|from|here|back)|neighbou?rhood|homeless|school|college|university|taught|teach\w*|stud(?:y|ied|ies|ying)"
    r"|degree|served|army|navy|veteran|military|stationed|deployed|prison|jail|incarcerated|abroad|immigrated|emigrated|leave"
    r"|notice|contract|trip|travel\w*|vacation|holiday|waiting|stay(?:s|ed)?|sober|wife|husband|spouse)\b"
)
_RATE: Final = words(r"(?:a|an|per|each|every)\s")
_LONG: Final = (" for", " in", " after", " about", " of", " within")
_RATE_CHARS: Final = 40
#: How far around a duration its sentence is read, in characters.
_SENTENCE_CHARS: Final = 160
_SENTENCE_END: Final = re.compile(r"[.!?;](?=\s)|\n")


def tells_of_a_life(text: str, start: int, end: int) -> bool:
    """Whether the sentence around a duration is about a life rather than an illness, and the duration is no rate."""
    before = text[max(0, start - _RATE_CHARS) : start].rstrip().lower()
    if _RATE.match(text, start, end) and not before.endswith(_LONG):
        return False
    sentence_before = _SENTENCE_END.split(text[max(0, start - _SENTENCE_CHARS) : start])[-1]
    sentence_after = _SENTENCE_END.split(text[end : end + _SENTENCE_CHARS])[0]
    return _OF_A_LIFE.search(f"{sentence_before} {sentence_after}") is not None
