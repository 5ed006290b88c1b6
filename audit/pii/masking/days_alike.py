"""Days that are written as one that a word tells: where "visit 7/11" is a day, so is "rash 6/3" in that text.

A list of days is known by one that is no share of anything ("10/28, 11/05").

Scores and grades look the same ("strength 4/5", "murmur 2/6", "pain 3/10"): beside their own words, and out of what
they are told of, they are none. Whatever else can be a day is taken for one. Knows nothing of masking.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking.loose_dates import (
    DAY_FIGURES,
    NO_AMOUNT,
    is_after_test,
    is_after_time,
    is_day_and_month,
)
from clinaudit.audit.pii.recognizers.rule import Source, words
from clinaudit.audit.pii.word_lists.allowed_terms import is_allowed

_DAY: Final = words(rf"(?<!\d )(?P<first>{DAY_FIGURES})/(?P<second>\d{{1,2}}){NO_AMOUNT}")
#: Words before a day by which the audit tells one, too (`values.dates_in_text`).
_AFTER_WORD: Final = words(r"(?<![\w/])(?:from|through|thru|by|as of|before|after|between|around)[:\s]{1,2}$")
_CUE_CHARS: Final = 12
#: Between two days of a list.
_LISTED: Final = re.compile(r"[ ]?(?:,|;|&|\+|,?[ ](?:and|or))[ ]?")
#: Words of scores, and what these are told out of; None: of any number.
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
_BEFORE_CHARS: Final = 120
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
    """Finds the days of a text that are written as month and day, where one of them is told by a word."""

    name = "days alike"

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the days; nothing where no word tells one."""
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
    return _AFTER_WORD.search(match.string, max(0, match.start() - _CUE_CHARS), match.start()) is not None


def _is_no_day(match: "re.Match[str]") -> bool:
    """Whether a day is a score by the words beside it, a dose, or "secondary to"."""
    text, start, end = match.string, match.start(), match.end()
    if match[0] == "2/2" and _SECONDARY_TO.match(text, end):
        return True
    drug = _WORD_BEFORE.search(text, max(0, start - _BEFORE_CHARS), start)
    if drug is not None and is_allowed(drug[1]) and _HOW_OFTEN.match(text, end):
        return True
    if is_after_time(match):
        return False
    out_of, begin = int(match["second"]), max(0, start - _BEFORE_CHARS)
    return any(
        (outs is None or out_of in outs) and pattern.search(text, begin, start) is not None for pattern, outs in _BEFORE
    ) or any((outs is None or out_of in outs) and pattern.match(text, end) is not None for pattern, outs in _AFTER)
