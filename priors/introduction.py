"""Age and sex as a note introduces its patient: "46F with cough", "a 46-year-old lady" (docs/methods.md, 1).

Owns which words introduce the patient, and not a relative, a temperature, a catheter, or the patient of years ago.
Where two introductions of one note differ, neither counts: nothing is guessed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from clinaudit.priors.corpus.cells import Age, CellError, parse_age, parse_sex
from clinaudit.templates.shown_text import Span

_SEX: Final = r"(?P<sex>(?<!\w)(?i:female|woman|lady|girl|male|man|gentleman|boy)(?![\w'’-])|[FM](?![\w'’°/-]))"
_OLD: Final = r"(?i:[ -]?y\.?[ /]?o\b\.?|[\s-]?(?:years?|yrs?|y|(?P<younger>months?|weeks?|days?))[\s-]+old\b)"
#: Without "old" a number of years is a duration, but where a sex follows it.
_YEARS: Final = r"(?i:[ -]?(?:years?|yrs?|y)\b|y(?=[fm]\b))"
#: What stands before is looked at behind the first digit, which is sought much the faster.
_NUMBER: Final = r"[0-9](?<![\w.,/°-].)[0-9]{0,2}(?:[ -]1/2| ?\+(?![0-9]))?"
#: Before the number: that it bounds the age. It is a part of it ("over 89"), of which only one over 89 is known.
_BOUND: Final = re.compile(
    r"(?:[<>]=?|[≤≥~]|(?:\b(?:over|above|(?:older|more|greater)\sthan|at\sleast)(?:\sage)?\s))\s?$", re.IGNORECASE
)
_PLUS: Final = re.compile(r" ?\+(?![0-9])")
_WHEN_YOUNGER: Final = re.compile(
    r"(?:\b(?:when|since|until)\s(?:he|she|they|the\spatient|pt)\s(?:was|were)|\bage\sof)\s(?:an?\s)?$", re.IGNORECASE
)
#: After the age and the sex: that they are of another time.
_AT_ANOTHER_TIME: Final = re.compile(
    r"\s*,?\s*(?:\(\s*)?(?:when\b|back\sthen\b|then(?=\s*[.,;)])|at\s(?:that\stime|(?:the\s)?(?:diagnosis|onset)|the\stime\sof\s"
    r"(?!(?:this\s|the\s|his\s|her\s)?(?:admission|visit|presentation|exam|evaluation|discharge|encounter|consult|dictation)))"
    r"|at\sthe\stime\b(?!\sof)|in\s(?:19|20)[0-9]{2}\b)",
    re.IGNORECASE,
)
#: A letter may follow what a neurologist or a triage nurse puts before it: "67 y/o RHF", "46yo AAM".
_NO_LINK: Final = (
    r"(?!(?:who|whose|with|and|or|is|was|has|had|of|by|to|in|from|for|presents?|presenting|here|status)\b)"
)
_BETWEEN: Final = rf"[\s,/(-]{{0,2}}(?:{_NO_LINK}[\w,/’'-]+\s){{0,6}}?(?:RH|LH|AA|W)?"
#: "46-year-old, right-handed female", "46 y/o M"; sex may be left out.
_WITH_UNIT: Final = re.compile(rf"(?P<age>{_NUMBER}{_OLD})(?:{_BETWEEN}{_SEX})?")
#: "46F", "46 / M", "46 yrs female".
_BARE: Final = re.compile(rf"(?P<age>{_NUMBER}(?:{_YEARS})?)[ ,/]{{0,3}}{_SEX}")
#: "F/46", "male, 46 y/o".
_SEX_FIRST: Final = re.compile(
    r"(?P<sex>[FMfm](?<![\w/'’.-].)(?:(?i:(?<=f)emale|(?<=m)ale)|(?<=[FM])))(?: ?[,/|-] ?| )"
    rf"(?P<age>[0-9]{{1,3}}(?:{_OLD})?)(?![\w/%]|[.,:-][0-9])"
)
_SOMEBODY_ELSE: Final = (
    r"\b(?:(?:grand|step|great-?|half-?|foster\s)*(?:mother|father|parent|son|daughter|child|brother|sister)s?|mom|mum|dad"
    r"|siblings?|twin|wife|husband|spouse|partner|fianc[eé]e?|(?:boy|girl)?friend|aunt|uncle|cousin|niece|nephew|children"
    r"|relatives?|family(?!\s(?:medicine|practice|practitioner|physician|doctor|health|clinic|care)\b)|colleague|coworker|neighbou?r|roommate|caregiver|donor|driver|passenger|assailant)(?:['’]s)?\b"
)
#: Before an introduction: that it is of the patient, whoever else is named; of somebody else; of another time ("when
#: she was a"), a range, or somebody whom the patient has to do with ("her", "lives with a").
_THIS: Final = re.compile(r"\bthis\s(?:[\w,-]+\s){0,4}$", re.IGNORECASE)
_OF_SOMEBODY_ELSE: Final = re.compile(_SOMEBODY_ELSE, re.IGNORECASE)
_OF_ANOTHER_TIME: Final = re.compile(
    r"(?:\b(?:when|since|until|before|after|than|like|while)(?:\s[\w'’-]+){0,4}\s"
    r"|\b(?:as|at|by|with|to|from|for|per|every|over|under|above|below|about|age|aged|age\sof)\s(?:an?\s)?(?:[\w-]+\s){0,2}"
    r"|(?:\b(?:his|her|their|my|our|your)|\w['’]s)\s(?:[\w-]+\s){0,3}|\d\s?(?:to|or|and|–|x|×)\s?)$",
    re.IGNORECASE,
)
#: After it: "46-year-old male partner".
_NAMES_SOMEBODY_ELSE: Final = re.compile(rf"\s(?:\w+\s)?(?!child\b){_SOMEBODY_ELSE}", re.IGNORECASE)
#: What says little ("46F", "46-year-old") introduces nobody but where a line, a sentence or a field begins, or after
#: "is a", "pt" or a name; and where it ends, or a story begins.
_PATIENT_IS: Final = re.compile(r"\b(?:patient|pt)\.?,?\s(?:is\s)?(?:an?\s)?(?:[\w-]+\s){0,3}$", re.IGNORECASE)
_OPENS: Final = re.compile(
    r"(?:(?:^|[:|(,]|\s{2}|\b(?i:is|was|this|patient|pt\.?),?)\s*(?:(?i:is\s)?(?i:an?)\s)?(?:[a-z-]+\s){0,3}"
    r"|^\s*(?:[^\W\da-z_][\w.'’-]*(?:,\s?|\s)){2,4}[(–-]?\s?(?:(?:is\s)?an?\s(?:[a-z]+\s){0,3})?)$"
)
_IS: Final = re.compile(r"(?:^\s*|\b(?:is|was|this|patient|pt)\.?,?\s)(?:an?\s)?$", re.IGNORECASE)
_IS_PERSON: Final = re.compile(r"\s(?:patient|pt|infant|newborn|neonate|baby|toddler|child|who)\b", re.IGNORECASE)
_TELLS: Final = re.compile(
    r"\s*(?:with\b|w/|present|p/w|[chs]/[op]|hx\b|PMH|here\b|status\b|seen\b|admitted|[Gg]\d|in\b)"
)
_ENDS_FIELD: Final = re.compile(r"\s*(?:[,;|)]|\.(?!\d)|$|DOB)|[ ]?\n")
#: Of a bare number nothing is measured in its sentence, nor is it a body temperature in Fahrenheit.
_MEASURED: Final = re.compile(
    r"\b(?:t|tm|tmax|temp\w*|fever\w*|febrile|degrees?|deg|bp|hr|rr|pulse|sp?o2|sats?|wt|weight|ht|height|bmi|size|fr|french"
    r"|gauge|mg|mcg|ml|units?|dose|room|bed|vitals?|vs|catheter|sheath|foley|tube|drain|stent|introducer|bougie)\b",
    re.IGNORECASE,
)
_INSTRUMENT: Final = re.compile(
    r"\W+(?:\w+\W+){0,2}(?:catheter|sheath|foley|tube|drain|stent|introducer)", re.IGNORECASE
)
_FAHRENHEIT: Final = frozenset(map(str, range(90, 111)))
#: A sex that is neither female nor male, whatever the noun after it.
_OTHER_SEX: Final = re.compile(r"\b(?:trans\w*|non-?binary|intersex)\b", re.IGNORECASE)
#: Characters before an introduction that are read, as far as its sentence; a line this long was wrapped, and goes on.
_BEFORE_CHARS: Final = 160
_LONGEST_BOUND: Final = 18
_WRAPPED_CHARS: Final = 60
_ENDS: Final = re.compile(r"(?<!\b[A-Z])(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\b[Pp]t)[.!?;]\s+|\n")


class Introduction(NamedTuple):
    """Where a note writes its patient's age ("46", "22-month-old") and sex; None where it does not, or two differ."""

    age_chars: Span | None
    sex_chars: Span | None


def find_introduction(text: str, of_others: Sequence[Span] = ()) -> Introduction:
    """Return age and sex with which a note introduces its patient, in characters of its text as it is shown.

    `of_others` are parts of it that are about relatives.
    """
    ages: dict[Span, Age] = {}
    sexes: dict[Span, str | None] = {}
    for pattern in (_WITH_UNIT, _BARE, _SEX_FIRST):
        for match in pattern.finditer(text):
            if any(start <= match.start() < end for start, end in of_others):
                continue
            start, end = match.span("age")
            bound = _BOUND.search(text, max(0, start - _LONGEST_BOUND), start)
            span = Span(start if bound is None else bound.start(), end)
            age = read_age(text[slice(*span)])
            if age is not None and _introduces_patient(match, span, is_bare=pattern is not _WITH_UNIT):
                ages[span] = age
                if match["sex"] is not None:
                    is_other = _OTHER_SEX.search(match[0]) is not None
                    sexes[Span(*match.span("sex"))] = None if is_other else read_sex(match["sex"])
    return Introduction(_agreed(ages), _agreed(sexes))


def age_in_prose(text: str, number: Span) -> Span | None:
    """Return the age of which a pattern found the number: with the bound on it; None where it is of another time.

    "over 89" is an age of 90 or more, and "46 years old when he fell" nobody's age now.
    """
    bound = _BOUND.search(text, max(0, number.start - _LONGEST_BOUND), number.start)
    start = number.start if bound is None else bound.start()
    for pattern in (_WITH_UNIT, _BARE):
        match = pattern.match(text, number.start)
        if match is not None and _AT_ANOTHER_TIME.match(text, match.end()):
            return None
    if _WHEN_YOUNGER.search(text, max(0, start - _BEFORE_CHARS), start):
        return None
    plus = _PLUS.match(text, number.end)
    return Span(start, number.end if plus is None else plus.end())


def _agreed(found: Mapping[Span, object]) -> Span | None:
    values = set(found.values())
    return min(found) if len(values) == 1 and None not in values else None


def _introduces_patient(match: re.Match[str], age: Span, *, is_bare: bool) -> bool:
    """Whether an age is the patient's; a bare one has no "old", so that more is asked of what stands around it."""
    text, end = match.string, min(age.start, match.start())
    # What stands in its sentence before; a sentence ends with a line that was not wrapped.
    begin = max(0, end - _BEFORE_CHARS)
    for ending in _ENDS.finditer(text, begin, end):
        line_begin = max(0, ending.start() - _WRAPPED_CHARS)
        if ending[0] != "\n" or not line_begin or "\n" in text[line_begin : ending.start()]:
            begin = ending.end()
    before = text[begin:end]
    if _AT_ANOTHER_TIME.match(text, match.end()):
        return False
    if text[age.start].isalpha() and not _IS.search(before):
        # "recommended for patients over 89 years old"
        return False
    if _NAMES_SOMEBODY_ELSE.match(text, match.end()) or _OF_SOMEBODY_ELSE.search(match[0]):
        return False
    if _THIS.search(before) is None and (_OF_SOMEBODY_ELSE.search(before) or _OF_ANOTHER_TIME.search(before)):
        return False
    if not is_bare and match["sex"] is not None:
        return True
    opens = _OPENS.search(before) is not None

    def follows(*patterns: re.Pattern[str]) -> bool:
        return any(pattern.match(text, match.end()) for pattern in patterns)

    if is_bare:
        measures = (
            (match["sex"] == "F" and match["age"] in _FAHRENHEIT) or _MEASURED.search(before) or follows(_INSTRUMENT)
        )
        return opens and not measures and follows(_IS_PERSON, _TELLS, _ENDS_FIELD)
    return _PATIENT_IS.search(before) is not None or (
        opens and (follows(_IS_PERSON) or (match["younger"] is None and follows(_TELLS)))
    )


_YEARS_OLD: Final = re.compile(r"y\. ?o\b", re.IGNORECASE)
_HALF: Final = re.compile(r"[ -]1/2\b")
_GREATER: Final = re.compile(r"^(?:greater than|(?:over|above|older than) age) ?", re.IGNORECASE)
_AGE: Final = (
    r"(?:[<>]=?|[≤≥])? ?\d{1,3} ?\+?(?:[ -]?(?:y\.?[ /]?o\.?|years?|yrs?|y|months?|weeks?|days?)(?:[ -]old)?\.?)?"
)
_FEMALE_OR_MALE: Final = "female|woman|lady|girl|male|man|gentleman|boy|[fm]"
#: A field of a banner that holds both: "46F", "46 y.o. / female", "F, 46".
_BOTH: Final = (
    re.compile(rf"(?P<age>{_AGE})[ ,/(|-]{{0,3}}(?P<sex>{_FEMALE_OR_MALE})\)?", re.IGNORECASE),
    re.compile(rf"(?P<sex>{_FEMALE_OR_MALE})[ ,/|-]{{0,3}}(?P<age>{_AGE})", re.IGNORECASE),
)


def read_age(text: str) -> Age | None:
    """Return the age that a note states, in the words of a table or with a sex ("46 y.o.", "46F", "22-month-old")."""
    age = _GREATER.sub(">", _HALF.sub("", _part(text, "age")).removesuffix("."))
    try:
        return parse_age(_YEARS_OLD.sub("yo", age))
    except CellError:
        return None


def read_sex(text: str | None) -> str | None:
    """Return `female` or `male` as a note states it, in a table's words or with an age; None where it is neither."""
    try:
        sex = parse_sex(_part(text or "", "sex"))
    except CellError:
        return None
    return sex if sex in ("female", "male") else None


def _part(text: str, name: str) -> str:
    """Return the age or the sex of a field that holds both; else the field."""
    text = text.strip()
    return next((both[name] for form in _BOTH if (both := form.fullmatch(text))), text)
