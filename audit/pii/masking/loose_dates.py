"""Days in forms that the audit takes for no date: after a word of time, by the day of the week, with blanks.

A filter masks what can be a day. Where a word says that one is a day ("visit 7/11"), so are those written alike in that
text ("rash 6/3"); so is a list with one that is no share of anything ("10/28, 11/05"). Scores and grades look the same
("strength 4/5", "pain 3/10"): beside their own words, out of what these are given in, they are none.
"""

import re
from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from typing import Final

from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, Source, words
from clinaudit.audit.pii.detectors.word_lists import is_allowed
from clinaudit.audit.pii.entity_span import EntitySpan

_MONTH: Final = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul"
    r"|Aug|Sept?|Oct|Nov|Dec)"
)
_MONTH_TRIGGERS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SMALL_MONTH: Final = (
    r"(?:january|february|march|april|june|july|august|september|october|november|december"
    r"|jan|feb|apr|jul|aug|sept|nov)"
)
_DAY_OF_WEEK: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_WEEKDAY: Final = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?|(?:mon|tues?|weds?|thur?s?|fri|sat|sun)[.,]?)"
#: Words after which a number is the day on which something was.
_TIME_WORD: Final = (
    r"(?:seen|visit(?:ed)?|admi(?:t(?:ted)?|ssion)|adm|discharged?|d/c['’]?d?|dc['’]?d?|appointment|appt|scheduled|due|lmp|edd|again"
    r"|last|next|f/u|follow[- ]?up|surgery|operated|here|dates?|dated|dob|d\.o\.b\.?|born|dod|died|dos|on|since"
    r"|until|till|encounter|started|restarted|resumed|began|begun|stopped|quit|onset|(?:last|first|next|final)\sdose|dose|fell"
    r"|injured|injury|diagnosed|dx['’]?d?|placed|removed|drawn|called|rang"
    rf"|presented|transferred|returned|{_WEEKDAY})"
)
_AFTER_WORD: Final = r"(?:\s(?:on|was|is|the|of))?[\s:]{1,2}(?:the\s)?"
#: A test or what it showed, after which a day stands: "HIV neg 10/28", "labs 10/28", "A1c 7.2 (10/28)".
_TESTED: Final = (
    r"(?:neg(?:ative)?|pos(?:itive)?|(?:non-?)?reactive|(?:ab)?normal|unremarkable|wnl|pending|repeat(?:ed)?|labs?|blood\s?work"
    r"|CTA?|MR[IA]|CXR|XR|x-?rays?|KUB|ultrasound|US|echo|TTE|TEE|EKG|ECG|EEG|EMG|PET|DEXA|PFTs?|cath|[BU]?Cx|UA|biopsy|bx"
    r"|path(?:ology)?|colonoscopy|EGD|pap(?:\ssmear)?|mammo(?:gram)?|(?:Hb)?A1c|CBC|BMP|CMP|INR|TSH|HIV|RPR|PPD|COVID(?:-19)?"
    r"|RSV|strep|hCG)"
)
NO_AMOUNT: Final = (
    r"(?![\w/-]|[.,]\d|[\s-]?(?:ago\b|mg|mcg|ml|tab|cap|pill|dose|of\b|strength|%|cup|pack|tsp|grade|murmur|inch"
    r"|vision|scale|ns\b|normal|ppd|mile|glass|bottle|can\b|block|gallon|pint|oz|tbsp|l\b|lit(?:er|re)|(?:minute|hour|day|week|month|year|time|visit|episode|pillow)s?\b))"
)
_ROMAN: Final = r"(?:X(?:I{1,2})?|IX|IV|V(?:I{1,3})?|I{1,3})"
#: Begins with a figure, which is searched for fast.
DAY_FIGURES: Final = r"[0-9](?<![\w./-].)(?:(?<=[0-2])[0-9]|(?<=3)[01])?"
_ORDINAL: Final = rf"{DAY_FIGURES}(?:st|nd|rd|th)"
#: What ends a sentence's day: "on the 14th, she"; "the 4th rib" is none.
_DAY_ENDS: Final = (
    r"(?=\s?(?:[.,;:)\n]|$)|\s(?:and|at|for|to|with|but|when|she|he|they|we|i|in|because|after|before|from|by|without|of\s(?:this"
    r"|last|next|the|that)\smonth|of\s(?:the\s)?month)\b)"
)
_AFTER_TIME: Final = words(rf"(?<![\w/]){_TIME_WORD}{_AFTER_WORD}$")
_AFTER_TEST: Final = words(
    rf"(?<![\w/]){_TESTED}(?:\s(?:on|was|is|of|from|again|read|done|sent|taken|collected|repeated|reviewed|resulted))?"
    r"[\s:,]{0,2}(?:[0-9.]+%?\s)?\(?$"
)
#: What is counted: "nodes positive 3/12", "neg 1/2 swabs".
_COUNTED_BEFORE: Final = words(r"\b(?:nodes?|LNs?|cores?|criteria|quadrants?|margins?|bottles?)\s[^.;\n]{0,20}$")
_COUNTED: Final = words(
    r"[ ](?:swabs?|samples?|specimens?|tests?|sets?|tubes?|nodes?|cores?|margins?|quadrants?|bottles?|cultures?|times"
    r"|positive|negative|pos|neg)\b"
)
_AFTER_WEEKDAY: Final = words(rf"(?<![\w/]){_WEEKDAY}\s(?:the\s)?$")
_BEFORE_CHARS: Final = 30


def is_after_time(match: "re.Match[str]") -> bool:
    """Whether a word of time stands before a number."""
    return _AFTER_TIME.search(match.string, max(0, match.start() - _BEFORE_CHARS), match.start()) is not None


def is_after_test(match: "re.Match[str]") -> bool:
    """Whether a test or its result stands before a number that counts nothing: "2/2" is all of them."""
    text, begin = match.string, max(0, match.start() - _BEFORE_CHARS)
    return (
        _AFTER_TEST.search(text, begin, match.start()) is not None
        and int(match["first"]) != int(match["second"])
        and _COUNTED.match(text, match.end()) is None
        and _COUNTED_BEFORE.search(text, begin, match.start()) is None
    )


def _is_after_weekday(match: "re.Match[str]") -> bool:
    return _AFTER_WEEKDAY.search(match.string, max(0, match.start() - _BEFORE_CHARS), match.start()) is not None


def is_day_and_month(match: "re.Match[str]") -> bool:
    """Whether two numbers are a day and a month, in either order; round the clock ("24/7") is none."""
    first, second = int(match["first"]), int(match["second"])
    if (first, second) == (24, 7):
        return False
    return _is_day(2000, first, second) or _is_day(2000, second, first)


def _is_whole_day(match: "re.Match[str]") -> bool:
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


_DAY: Final = words(rf"(?<!\d )(?P<first>{DAY_FIGURES})/(?P<second>\d{{1,2}}){NO_AMOUNT}")
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
    (r"pain(?:ful)?|aches?|headaches?|discomfort|severity|intensity|apgars?|VAS|NRS", frozenset({10})),
    (r"puls(?:es?|ed)|pedal|radial|DP|PT|femoral|popliteal", frozenset({2, 3, 4})),
    (r"reflex(?:es)?|DTRs?|patellar|achilles|edema|pitting|clonus", frozenset({2, 3, 4, 5})),
    (
        r"grade|graded|stage|cycles?|course|pages?|part|cultures?|bottles?|cores?|nodes?|criteria|vision|acuity|visual|scores?"
        r"|scored|scale|index|PHQ(?:-?[29])?|GAD(?:-?[27])?|MoCA|MMSE|GCS|NIHSS|Mallampati|recall|ratio|BP|siblings|copies"
        r"|trials|quadrants?|subjects|dilut\w+|out",
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


class DaysAlike:
    """Finds the days of a text that are written as month and day, where a word marks one of them as a day."""

    name = "days alike"

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the days; nothing where no word marks one."""
        days = [match for match in source.matches(_DAY, ("/",)) if is_day_and_month(match) and not _is_no_day(match)]
        if any(is_after_time(one) or is_after_test(one) or _is_after_word(one) for one in days) or _are_listed(days):
            for match in days:
                yield EntitySpan(*match.span(), "date", self.name)


def _are_listed(days: "list[re.Match[str]]") -> bool:
    """Whether two of some days stand side by side, of which one is no share of anything: "10/28, 11/05"."""
    return any(
        _LISTED.fullmatch(former.string, former.end(), latter.start()) is not None
        and any(int(one["first"]) > int(one["second"]) for one in (former, latter))
        for former, latter in pairwise(days)
    )


def _is_after_word(match: "re.Match[str]") -> bool:
    return _AFTER_CUE.search(match.string, max(0, match.start() - _CUE_CHARS), match.start()) is not None


def _is_no_day(match: "re.Match[str]") -> bool:
    """Whether a day is a score by the words beside it, a dose, or "secondary to"."""
    text, start, end = match.string, match.start(), match.end()
    if match[0] == "2/2" and _SECONDARY_TO.match(text, end):
        return True
    drug = _WORD_BEFORE.search(text, max(0, start - _BEFORE_SCORE_CHARS), start)
    if drug is not None and is_allowed(drug[1]) and _HOW_OFTEN.match(text, end):
        return True
    if is_after_time(match):
        return False
    out_of, begin = int(match["second"]), max(0, start - _BEFORE_SCORE_CHARS)
    return any(
        (outs is None or out_of in outs) and pattern.search(text, begin, start) is not None for pattern, outs in _BEFORE
    ) or any((outs is None or out_of in outs) and pattern.match(text, end) is not None for pattern, outs in _AFTER)


LOOSE_DATES: Final = RuleTable(
    "loose dates",
    Rule(
        "birth_date",
        words(
            r"(?:\bborn(?:\s(?:in|on|around|about))?(?:\sthe\syear)?|\b(?:dob"
            r"|d\.o\.b\.?|yob|birth\s?(?:year|date)|year of birth"
            r"|date of birth)(?:\s(?:is|was))?\s?[:=]?|\bb\.)\s{1,3}(?P<value>(?:18|19|20)\d{2})(?![\w/-])"
        ),
        ("born", "dob", "d.o.b", "yob", "birth", "b."),
    ),
    Rule(
        "birth_date",
        words(r"\b(?:dob|yob|born)[:=]\s{0,2}(?P<value>(?:18|19|20)\d{2})(?![\w/-])"),
        ("dob", "yob", "born"),
    ),
    # A month is an element of a date.
    Rule(
        "date",
        re.compile(
            rf"(?i:\b(?:in|since|last|this|next|until|by|early|late|mid|during"
            rf"|from|through|of|around|before|after))[ -](?P<value>{_MONTH})\b(?![-'’]|\.?[ ]?\d)"
        ),
        _MONTH_TRIGGERS,
    ),
    # In small letters "may" and "oct" are words of notes as well.
    Rule(
        "date",
        re.compile(
            rf"(?i:\b(?:in|since|last|this|next|until|by|early|late|mid|during))[ -](?P<value>{_SMALL_MONTH})\b"
            r"(?![-'’]|\.?[ ]?\d)"
        ),
        _MONTH_TRIGGERS,
    ),
    # "Last Tuesday"; "on Mondays" is when something is taken.
    Rule(
        "date", words(rf"\b(?:last|next|this(?:\s(?:past|coming))?|past|since)\s(?P<value>{_DAY_OF_WEEK})\b"), ("day",)
    ),
    # "Born in the fall of '46", "born '46".
    Rule(
        "birth_date",
        words(
            r"\b(?:born|birth|dob)(?:\s(?:in|on|around|about|the|early|late))*[\s:]{1,2}"
            r"(?P<value>(?:(?:spring|summer|fall|autumn|winter)(?:\sof)?,?\s)?(?:['’]\d{2}|(?:18|19|20)\d{2})"
            r"|spring|summer|fall|autumn|winter)(?![\w/-])"
        ),
        ("born", "birth", "dob"),
    ),
    Rule("date", re.compile(r"(?<![\w./-])(?:19|20)\d{2}-(?:0[1-9]|1[0-2])(?![\w/-]|\.\d)"), ("-",)),
    Rule(
        "date",
        words(
            r"\b(?:christmas(?:\s(?:eve|day))?|new\syear['’]?s(?:\s(?:eve|day))?|thanksgiving(?:\sday)?|halloween"
            r"|valentine['’]?s\sday|independence\sday|easter(?:\s(?:sunday|monday))?|memorial\sday|labor\sday"
            r"|veterans['’]?\sday|good\sfriday|boxing\sday|mother['’]?s\sday|father['’]?s\sday)\b"
        ),
        ("christmas", "new year", "thanksg", "hallow", " day", "easter", "good fri"),
    ),
    # "Visit 14/3", "seen 3/14", "neg 10/28".
    Rule(
        "date",
        words(rf"(?P<first>{DAY_FIGURES})/(?P<second>\d{{1,2}}){NO_AMOUNT}"),
        ("/",),
        lambda match: (is_after_time(match) or is_after_test(match)) and is_day_and_month(match),
    ),
    Rule(
        "date",
        words(rf"(?P<first>{DAY_FIGURES})-(?P<second>\d{{1,2}}){NO_AMOUNT}{_DAY_ENDS}"),
        ("-",),
        lambda match: is_after_time(match) and is_day_and_month(match),
    ),
    # "Admitted Tues 14th", "on the 14th".
    Rule("date", words(rf"{_ORDINAL}{_DAY_ENDS}"), (), is_after_time),
    Rule(
        "date",
        words(rf"(?:{_ORDINAL}|{DAY_FIGURES}(?=[.,;)\n]|$))(?!\w)"),
        ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
        _is_after_weekday,
    ),
    Rule("date", words(rf"\b(?P<value>{_ORDINAL})\sof\s(?:this|last|next|the|that)\smonth\b"), (" month",)),
    # "14 3 2023", "14·3·2023", "14, 3, 2023".
    Rule(
        "date",
        re.compile(
            r"(?<![\w./-])(?<!\d[ ,])(?P<first>\d{1,2})(?P<mark>[ ]{1,2}|[ ]?[·_,|:;\\*~][ ]?)"
            r"(?P<second>\d{1,2})(?P=mark)(?P<year>(?:18|19|20)\d{2})(?![\w/-]|[.,]\d|[ ]?(?:mg|mcg|ml|units?|mL|IU)\b)"
        ),
        (),
        _is_whole_day,
    ),
    Rule(
        "date",
        re.compile(
            r"(?<![\w./-])(?P<year>(?:18|19|20)\d{2})(?P<mark>[ ]{1,2}|[ ]?[·_|:;\\*~][ ]?)(?P<first>\d{1,2})(?P=mark)"
            r"(?P<second>\d{1,2})(?![\w/-]|[.,]\d|[ ]?(?:mg|mcg|ml|units?|mL|IU)\b)"
        ),
        (),
        lambda match: _is_day(int(match["year"]), int(match["first"]), int(match["second"])),
    ),
    Rule(
        "date",
        words(
            rf"(?P<first>{DAY_FIGURES})[ ](?P<second>\d{{1,2}})[ ](?P<year>\d{{2}})"
            r"(?![\w/-]|[.,]\d|[ ]?(?:mg|mcg|ml|%))"
        ),
        (),
        lambda match: is_after_time(match) and _is_whole_day(match),
    ),
    # "14.III.2023", "14 III 2023"; "12 IV" is a way to give something.
    Rule(
        "date",
        re.compile(
            rf"(?<![\w/-])(?:3[01]|[12]\d|0?[1-9])(?:\.?[ ]?[./-][ ]?{_ROMAN}[ ]?[./-][ ]?(?:(?:18|19"
            rf"|20)\d{{2}}|\d{{2}})"
            rf"|\.?[ ]{_ROMAN}\.?[ ](?:18|19|20)\d{{2}})(?![\w/-]|[.,]\d|[ ]?(?:mg|mcg|ml|mL|units?))"
        ),
        (),
    ),
    Rule("date", re.compile(rf"{DAY_FIGURES}[./-]{_ROMAN}(?![\w/-]|\.\d)"), (), is_after_time),
    Rule(
        "date",
        re.compile(r"(?<![\w./-])(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:19|20)?\d{2}(?![\w/-]|\.\d)"),
        (".",),
    ),
)
