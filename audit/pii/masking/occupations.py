"""Occupations that the audit's rules leave: beside a label or a word of work, and after who somebody is.

Owns as well whose occupation is nobody's here: that of whoever treats the patient. Knows nothing of masking.
"""

from typing import Final

from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, words
from clinaudit.audit.pii.word_lists.reading import read_lines

_LISTED: Final = "|".join(sorted(read_lines("occupations"), key=lambda entry: (-len(entry), entry))).replace(" ", r"\s")
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


def occupations() -> RuleTable:
    """Return the rules for occupations that a filter masks."""
    return RuleTable("occupations", (Rule("occupation", words(pattern)) for pattern in _RULES))


def is_of_a_carer(text: str, start: int) -> bool:
    """Whether an occupation is told of whoever treats the patient: "sees a counselor", "her trainer wrapped it"."""
    begin = max(0, start - _BEFORE_CHARS)
    if _TREATED_BY.search(text, begin, start):
        return True
    return _CARER.match(text, start) is not None and _SOMEBODYS.search(text, begin, start) is not None
