"""What is asked of a date or a time beyond its pattern: its label, a word of time before it, no score and no dose.

A filter masks what can be a day. Where a word says that one is a day ("visit 7/11"), so are those written alike in that
text ("rash 6/3"); so is a list with one that is no share of anything ("10/28, 11/05"). Scores and grades look the same
("strength 4/5", "pain 3/10"): beside their own words, out of what these are given in, they are none.
"""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import pairwise
from typing import Final

from clinaudit.audit.pii.detectors.rule_table import Rule, words
from clinaudit.audit.pii.detectors.word_lists import is_allowed, is_drug, read_words
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.values.dates_in_text import find_dates

#: How far before a date its label is looked for, in characters.
_LABEL_CHARS: Final = 48
_OF_BIRTH: Final = words(
    r"\b(?:d\.?\s?o\.?\s?b\.?|dates? of birth|birth\s?-?dates?|birthdays?|born(?:\sin\s[\w.'’-]+(?:[ ,]{1,2}[\w.'’-]+)"
    r"{0,2})?|geb(?:\.|oren)?|geburtsdatum)(?:/\w{1,6})?\)?${between}"
)
_OF_VISIT: Final = words(
    r"\b(?:admi(?:t(?:ted)?|ssion)|discharged?|visit(?:ed)?|encounter|service|d\.?o\.?s\.?|seen"
    r"|presented|appointment|appt"
    r"|surgery|procedure|operation|consult(?:ation)?|transferred|evaluated|hospitali[sz]ed|follow"
    r"(?:ed)?[- ]?up|reviewed"
    r"|expired|died|deceased|death)(?:\s(?:dates?|time|day|again|back|here|today))?(?:\s/\s?time)?${between}"
)
#: What is written as "1:10" and is no time.
_RATIO = words(
    r"\b(?:ratio|dilut(?:ed|ion)|titer|titre|i:e|epinephrine|lidocaine|bupivacaine|ana)\b(?:\s(?:of|is|was|at|to|with|titer|positive))*[\s:]{0,2}$"
)
#: Words before a day by which the audit recognizes one, too (`values.dates_in_text`).
_AFTER_CUE: Final = words(r"(?<![\w/])(?:from|through|thru|by|as of|before|after|between|around)[:\s]{1,2}$")
_CUE_CHARS: Final = 12
#: Between two days of a list.
_LISTED: Final = re.compile(r"[ ]?(?:,|;|&|\+|,?[ ](?:and|or))[ ]?")
#: Words of scores, and what these are given out of; None: any number.
_SCORES: Final = (
    (
        r"strength|motor|power|weakness|muscles?|grip|quad\w*|hamstrings?|iliopsoas|biceps|triceps|deltoids?|flex(?:ion|ors?)"
        r"|exten(?:sion|sors?)|(?:dorsi|plantar)\s?flexion|abduct\w+|adduct\w+|EHL|[RLB]?[UL]E",
        frozenset({5}),
    ),
    (r"murmurs?|systolic|diastolic|SEM|holosystolic|bruits?", frozenset({6})),
    (r"pain(?:ful)?|aches?|headaches?|discomfort|severity|intensity|VAS|NRS", frozenset({10})),
    (r"puls(?:es?|ed)|pedal|radial|DP|PT|femoral|popliteal", frozenset({2, 3, 4})),
    (r"reflex(?:es)?|DTRs?|patellar|achilles|edema|pitting|clonus", frozenset({2, 3, 4, 5})),
    (
        r"grade|graded|stage|cycles?|course|pages?|part|cultures?|bottles?|cores?|nodes?|criteria|vision|acuity|visual|scores?"
        r"|scored|scale|index|PHQ(?:-?[29])?|GAD(?:-?[27])?|I?ADLs?|Katz|Barthel|Lawton|MoCA|MMSE|GCS|NIHSS|Mallampati|recall|ratio|BP|siblings|copies"
        r"|palpable|engaged|wk|weeks?|sessions?"
        r"|trials|quadrants?|subjects|dilut\w+|out|apgars?|[CB]i?PAP|IPAP|PEEP|settings|A{1,2}&?O[ ]?x"
        r"|insulin|SIRS|qSOFA|bands?|obs|abx|bristol|rockall|wells|CURB(?:-65)?|ASA|TIMI|ECOG|centor|alvarado|ranson|TTO",
        None,
    ),
)
#: What may stand between the word of a score and the number: no other sentence; after a comma a side or a limb alone.
_SIDE: Final = (
    r"(?:(?:and|but|is|was|now|then|about|the|on|in|at|to|left|right|upper|lower|proximal|distal|bilateral(?:ly)?|arms?|legs?"
    r"|hands?|feet|foot|hips?|knees?|ankles?|elbows?|wrists?|shoulders?|worst|best|rest|[LRB]|[RLB]?[UL]E)\b:?\s*){0,4}"
)
_BETWEEN: Final = rf"[^.;,\n]{{0,40}}?(?:,\s*{_SIDE}|[^.;,\n]{{0,20}})"
_BEFORE: Final = tuple(
    (words(rf"(?<![\w-])(?:{word})\b(?:{_BETWEEN}[0-9]+/[0-9]+){{0,3}}{_BETWEEN}$"), outs) for word, outs in _SCORES
)
_AFTER: Final = tuple((words(rf"[ -](?:[a-z-]+[ ]){{0,2}}?(?:{word})\b"), outs) for word, outs in _SCORES)
_BEFORE_SCORE_CHARS: Final = 120
#: "AKI 2/2 dehydration": secondary to.
_SECONDARY_TO: Final = words(
    r"[ ](?!(?:and|at|for|to|with|but|when|she|he|they|we|i|in|because|after|before|from|by)\b)[a-z]"
)
#: "Lotrel 5/10 daily": a drug before, and how often after.
_HOW_OFTEN: Final = words(
    r"[ ](?:(?:once|twice|1x|2x)[ ]|po[ ])?(?:daily|a day|[bt]id|qid|qd|qhs|q\d|nightly|at bedtime|every|po)\b"
)
_WORD_BEFORE: Final = re.compile(r"([A-Za-z-]+)[ ]$")
#: Before a drug and the day of that: "started Keppra 8/2".
_GIVEN_ON: Final = words(
    r"\b(?:start\w*|stop\w*|h[eo]ld|resum\w*|began|begun|restart\w*|chang\w*|last|dose|given|took|got|received|dc['’]?d?|d/c)\b[^.;\n]*$"
)
#: A number before a date is none: "session 6/8 18 Jul".
_A_DATE_AFTER: Final = words(r"[ ](?:${whole_day}|\d{1,2}[ ]${month}\b)")
_DAY: Final = re.compile(r"(?P<first>\d+)/(?P<second>\d+)")
_AFTER_TIME: Final = words(r"(?<![\w/])${time_word}${after_word}$")
_AFTER_TEST: Final = words(
    r"(?<![\w/])${tested}(?:\s(?:on|was|is|of|from|again|read|done|sent|taken|collected|repeated|reviewed|resulted))?"
    r"[\s:,]{0,2}(?:[0-9.]+%?\s)?\(?$"
)
#: What is counted: "nodes positive 3/12", "neg 1/2 swabs".
_COUNTED_BEFORE: Final = words(r"\b(?:nodes?|LNs?|cores?|criteria|quadrants?|margins?|bottles?)\s[^.;\n]{0,20}$")
_COUNTED: Final = words(
    r"[ ](?:swabs?|samples?|specimens?|tests?|sets?|tubes?|nodes?|cores?|margins?|quadrants?|bottles?|cultures?|times"
    r"|positive|negative|pos|neg|patent|occluded|stenosed|vessels?|grafts?)\b"
)
_BEFORE_CHARS: Final = 30


def is_after_time(match: "re.Match[str]") -> bool:
    """Whether a word of time stands before a number."""
    return _AFTER_TIME.search(match.string, max(0, match.start() - _BEFORE_CHARS), match.start()) is not None


def _is_after_test(match: "re.Match[str]") -> bool:
    """Whether a test or its result stands before a number that counts nothing: "2/2" is all of them."""
    text, begin = match.string, max(0, match.start() - _BEFORE_CHARS)
    return (
        _AFTER_TEST.search(text, begin, match.start()) is not None
        and int(match["first"]) != int(match["second"])
        and _COUNTED.match(text, match.end()) is None
        and _COUNTED_BEFORE.search(text, begin, match.start()) is None
    )


_WEEKDAY: Final = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?"
#: Of a schedule: another day of the week beside it, or what says that it comes again.
_SCHEDULE_BEFORE: Final = words(
    rf"(?:\b{_WEEKDAY}(?:[ ]?[,/&-][ ]?|[ ])(?:(?:and|or|to|through|thru)[ ])?|\b(?:every|each|alternate|weekly|once|q)"
    rf"(?:[ ](?:other|second|week|on|a))*[ ,]{{1,2}})$"
)
_SCHEDULE_AFTER: Final = words(
    rf"(?:[ ]?[,/&-][ ]?|[ ])(?:(?:and|or|to|through|thru)[ ])?{_WEEKDAY}(?!\w)|s\b"
    r"|[ ](?:clinics?|dialysis|HD|\d+[ ]times|sessions?|groups?|class(?:es)?|lists?|rounds?|schedule)\b"
)


def is_one_day_of_week(match: "re.Match[str]") -> bool:
    """Whether a day of the week is one of some week: no schedule ("Mon, Wed and Fri", "every other Tuesday")."""
    text = match.string
    assert match.lastgroup is not None
    start, end = match.span(match.lastgroup)
    return (
        _SCHEDULE_BEFORE.search(text, max(0, start - _BEFORE_CHARS), start) is None
        and _SCHEDULE_AFTER.match(text, end) is None
    )


def is_day_and_month(match: "re.Match[str]") -> bool:
    """Whether two numbers are a day and a month, in either order; round the clock ("24/7") is none."""
    first, second = int(match["first"]), int(match["second"])
    if (first, second) == (24, 7):
        return False
    return _is_day(2000, first, second) or _is_day(2000, second, first)


def is_whole_day(match: "re.Match[str]") -> bool:
    """Whether three numbers are a day of the calendar."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    # Of two figures alone the century is not known: in 2000 every day of a calendar is there.
    full_year = 2000 if year < 100 else year
    return _is_day(full_year, first, second) or _is_day(full_year, second, first)


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


#: A date with its year, which says that those in its line are days, too; and how long one is at most.
_WHOLE_DATE: Final = words(r"(?<![\d/.-])${whole_day}(?![\d/-])|${month}[ ]\d{1,2},?[ ]${year}")
_DATE_CHARS: Final = 32
#: What goes on after a day at the head of a line: "3/14 intubated", "4/12 - CT head".
_AFTER_HEAD: Final = words(r"[ ]?[:–-](?!\d)|[ ](?:(?-i:[A-Z][A-Za-z])|[a-z]+ed\b)")
_HEAD: Final = re.compile(r"(?:\A|\n)[ \t*•-]{0,4}\Z")
#: The day after a day of the week, alone or before the month: "the 14th", "3/4".
_DAY_OF_MONTH: Final = words(
    r"${ordinal}(?![\w-])(?:[ ]of[ ]${month}\b)?|${day_figures}/\d{1,2}(?![\w/-]|[.,]\d)|${day_figures}(?=[.,;)\n]|$)"
)
#: No share is written so: "02/05".
_HAS_NOUGHT: Final = re.compile(r"\b0[1-9]")
#: Of what shares are given: "1/2", "1/3".
_PARTS: Final = frozenset({2, 3})
_OF_A_PART: Final = re.compile(r"[ ](?!(?:and|at|for|to|with|but|when|in|from|by|on)\b)[a-z]")
#: "After 2-3 hours" holds no day.
_OF_A_SPAN: Final = words(r"[\s-]?${unit}\b")
#: Two numbers of one scale, from one to the other: "from 8/10 to 3/10"; and the first of such two.
_TO_ON_SCALE: Final = re.compile(r"\d+/(?P<out_of>\d+)\s(?:to|down\sto|up\sto|through|-)\s\d+/(?P=out_of)(?![\d/])")
_FROM_ON_SCALE: Final = re.compile(r"\d+/(?P<out_of>\d+)\s(?:to|down\sto|up\sto|through|-)\s$")
_SCALES: Final = frozenset({5, 10})
_ON_SCALE_CHARS: Final = 20


def find_labelled_dates(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield the dates of a stretch; the label before each says what it is of."""
    for found in find_dates(text, start, end):
        has_no_year = found.readings[0].startswith("-")
        if has_no_year and (_is_on_scale(text, found.start, found.end) or _OF_A_SPAN.match(text, found.end)):
            continue
        before = text[max(0, found.start - _LABEL_CHARS) : found.start]
        kind = "birth_date" if _OF_BIRTH.search(before) else "admission_date" if _OF_VISIT.search(before) else "date"
        yield found.start, found.end, kind


def find_days_alike(text: str, spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Return days that are written as month and day.

    All where a word or a list marks one of a text's as a day; else those in one line with a whole date, and those at
    the head of a line or with a nought before ("02/05"), unless they are shares.
    """
    found = list(spans)
    days = [day for span in found if (day := _DAY.match(text, span.start)) is not None]
    if any(is_after_time(day) or _is_after_test(day) or _is_after_word(day) for day in days) or _are_listed(days):
        return [span for span, day in zip(found, days, strict=True) if not _is_half(day) or is_after_time(day)]
    ends = [end.start() for end in re.finditer("\n", text)] if days else []
    lines = {bisect(ends, one.start()) for one in _WHOLE_DATE.finditer(text)} if days else ()
    return [
        span
        for span, day in zip(found, days, strict=True)
        if _is_no_share(day) and (_begins_line(day) or _HAS_NOUGHT.search(day[0]) or bisect(ends, day.start()) in lines)
    ]


def _is_no_share(match: "re.Match[str]") -> bool:
    """Whether two numbers are not all of something ("5/5"), and no half or third."""
    first, second = int(match["first"]), int(match["second"])
    return first != second and not (first == 1 and second in _PARTS)


def _is_half(match: "re.Match[str]") -> bool:
    """Whether two numbers are a half or a third of what follows: "1/2 squats"."""
    return (
        match["first"] == "1"
        and int(match["second"]) in _PARTS
        and _OF_A_PART.match(match.string, match.end()) is not None
    )


def _begins_line(match: "re.Match[str]") -> bool:
    text, start = match.string, match.start()
    return _HEAD.search(text, max(0, start - 5), start) is not None and _AFTER_HEAD.match(text, match.end()) is not None


def read_days_between(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
    """Yield the two days of "3/2-3/9", of which no two are shares of one thing: "4/5-5/5"."""
    one, two = (int(match["first"]), int(match["second"])), (int(match["third"]), int(match["fourth"]))
    if one[1] != two[1] and all(_is_day(2000, *days) or _is_day(2000, *days[::-1]) for days in (one, two)):
        yield match.start("first"), match.end("second"), rule.kind
        yield match.start("third"), match.end("fourth"), rule.kind


def read_day_of_week(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
    """Yield a date with the day of the week that stands beside it, as of what its label says."""
    text = match.string
    if match["before"]:
        for start, end, kind in find_labelled_dates(text, max(0, match.start() - _DATE_CHARS), match.start("before")):
            if end == match.start("before"):
                yield start, match.end(), kind
        return
    for start, end, kind in find_labelled_dates(text, match.end(), match.end() + _DATE_CHARS):
        if start == match.end():
            yield match.start(), end, kind
    day = _DAY_OF_MONTH.match(text, match.end())
    if day is not None:
        yield match.start(), day.end(), rule.kind


def read_birth(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
    """Yield the date beside a name, unless one of the words is none of a name: "Last Visit (3/9/2024)"."""
    group = match.lastgroup or ""
    name = re.findall(r"[^\W\d_][\w'’-]*", match.string[match.start() : match.start(group)])
    if not any(is_allowed(word) or word.lower() in read_words("no_names") for word in name):
        yield *match.span(group), rule.kind


def is_no_ratio(match: "re.Match[str]") -> bool:
    """Whether "1:10" is no ratio by the word before it."""
    return _RATIO.search(match.string, max(0, match.start() - _LABEL_CHARS), match.start()) is None


#: Where on a breast, a joint or a ring something is.
_LESION: Final = words(
    r"\b(?:lesions?|mass(?:es)?|nodules?|cysts?|calcifications?|tears?|abscess|h(?:a)?emorrhoids?|fissures?|density|densities"
    r"|asymmetry|breast|labr\w+|lumps?|biops\w+|clips?)\b[^.;\n]{0,40}$"
)
#: "100 mg bd 14/7", "3/7 hx": so many days, as British notes count them.
_TAKEN_FOR: Final = words(r"\b(?:od|bd|bid|tds|tid|qds|qid|om|nocte|daily|stat)[ ](?:for[ ]|x[ ]?)?$")
_LASTED: Final = words(r"[ ](?:hx|history|ago)\b")
_POSITION: Final = words(r"[ ](?:positions?|axis|radian|region|\d)")


def is_no_position(match: "re.Match[str]") -> bool:
    """Whether "2 o'clock" is no place on a body by the words beside it."""
    before = match.string[max(0, match.start() - _BEFORE_SCORE_CHARS) : match.start()]
    is_clock = match[0].endswith("clock")
    return not is_clock or not (_LESION.search(before) or _POSITION.match(match.string, match.end()))


def is_no_score(match: "re.Match[str]") -> bool:
    """Whether a day is no score by the words beside it, no dose, and not "secondary to"."""
    text, start, end = match.string, match.start(), match.end()
    if (match[0] == "2/2" and _SECONDARY_TO.match(text, end)) or _is_on_scale(text, start, end):
        return False
    if _A_DATE_AFTER.match(text, end):
        return False
    is_taken = _TAKEN_FOR.search(text, max(0, start - _CUE_CHARS), start) is not None
    if match["second"] == "7" and (is_taken or _LASTED.match(text, end)):
        return False
    if is_after_time(match):
        return True
    before = _WORD_BEFORE.search(text, max(0, start - _BEFORE_SCORE_CHARS), start)
    if before is not None and is_allowed(before[1]) and not _is_after_test(match):
        is_dose = is_drug(before[1]) and not _GIVEN_ON.search(
            text, max(0, before.start() - _BEFORE_CHARS), before.start()
        )
        # "HA 5/7": so many days of a week.
        if is_dose or _HOW_OFTEN.match(text, end) or match["second"] == "7":
            return False
    out_of, begin = int(match["second"]), max(0, start - _BEFORE_SCORE_CHARS)
    return not any(
        (outs is None or out_of in outs) and pattern.search(text, begin, start) is not None for pattern, outs in _BEFORE
    ) and not any((outs is None or out_of in outs) and pattern.match(text, end) is not None for pattern, outs in _AFTER)


def _is_on_scale(text: str, start: int, end: int) -> bool:
    """Whether a number is one of two on a scale: "from 8/10 to 3/10" are no days."""
    former = _FROM_ON_SCALE.search(text, max(0, start - _ON_SCALE_CHARS), start)
    both = _TO_ON_SCALE.match(text, start) or (former and _TO_ON_SCALE.match(text, former.start()))
    return both is not None and both.end() >= end and int(both["out_of"]) in _SCALES


def _are_listed(days: "list[re.Match[str]]") -> bool:
    """Whether two of some days stand side by side, of which one is no share of anything: "10/28, 11/05"."""
    return any(
        _LISTED.fullmatch(former.string, former.end(), latter.start()) is not None
        and any(int(one["first"]) > int(one["second"]) for one in (former, latter))
        for former, latter in pairwise(days)
    )


def _is_after_word(match: "re.Match[str]") -> bool:
    return _AFTER_CUE.search(match.string, max(0, match.start() - _CUE_CHARS), match.start()) is not None
