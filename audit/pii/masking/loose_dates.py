"""Days in forms that the audit takes for no date: after a word of time, by the day of the week, with blanks.

A filter masks what can be a day. Knows nothing of masking, nor of what a date is of.
"""

import re
from datetime import date
from typing import Final

from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, words

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


def loose_dates() -> RuleTable:
    """Return the rules for days, months and holidays that a filter masks."""
    return RuleTable(
        "loose dates",
        (
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
                    rf"|from|through|of|around|before|after))[ -]"
                    rf"(?P<value>{_MONTH})\b(?![-'’]|\.?[ ]?\d)"
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
                "date",
                words(rf"\b(?:last|next|this(?:\s(?:past|coming))?|past|since)\s(?P<value>{_DAY_OF_WEEK})\b"),
                ("day",),
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
                    r"(?P<second>\d{1,2})(?P=mark)"
                    r"(?P<year>(?:18|19|20)\d{2})(?![\w/-]|[.,]\d|[ ]?(?:mg|mcg|ml|units?|mL|IU)\b)"
                ),
                (),
                _is_whole_day,
            ),
            Rule(
                "date",
                re.compile(
                    r"(?<![\w./-])(?P<year>(?:18|19|20)\d{2})(?P<mark>[ ]{1,2}|[ ]?[·_|:;\\*~][ ]?)"
                    r"(?P<first>\d{1,2})(?P=mark)"
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
            Rule(
                "date",
                re.compile(rf"{DAY_FIGURES}[./-]{_ROMAN}(?![\w/-]|\.\d)"),
                (),
                is_after_time,
            ),
            Rule(
                "date",
                re.compile(r"(?<![\w./-])(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:19|20)?\d{2}(?![\w/-]|\.\d)"),
                (".",),
            ),
        ),
    )
