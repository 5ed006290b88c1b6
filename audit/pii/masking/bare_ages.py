"""Ages that nothing calls one: "she is 75", "her son in Boston is 31", "father: 97"; age and sex in a banner.

Owns when a bare number is somebody's age: its sentence is about a person there, and no vital sign, laboratory value,
score or unit stands at it. Above 89 an age is a direct identifier (45 CFR 164.514(b)(2)(i)(C)), so that a person
anywhere before it in the sentence is enough. And which lines are a banner's ("LUND, ADA | F | 58"), so that what is
masked in the story is masked above it too.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from clinaudit.audit.pii.detectors.dates import OLDEST, OLDEST_PLAIN_AGE
from clinaudit.audit.pii.detectors.rule import Source, words
from clinaudit.audit.pii.detectors.word_lists import CLOSE, KIN, is_allowed, read_words
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import SPELLED_NUMBER, read_number

_NUMBER: Final = rf"(?:\d{{1,3}}|{SPELLED_NUMBER})"
_SOMEBODY: Final = (
    rf"(?:{KIN}|{CLOSE}|twin|she|he|they|i|who|patient|pt|client|resident|woman|man|lady|gentleman|girl|boy|baby|child|veteran"
    r"|male|female|nun|widow|widower)"
)
_ABOUT: Final = (
    r"(?:\s(?:now|only|just|almost|nearly|about|around|currently|already|still|over|barely|approximately|roughly|be"
    r"|going on|close to|turning|aged?|all of|well over|past|soon|newly|both|all)){0,2}"
)
#: What may follow an age that stands alone; a unit, a percent sign or a further figure may not.
_AGE_ENDS: Final = (
    r"(?=\+?\s?(?:[,;!?)\n]|\.(?!\d)|$)|\+?\s(?:and|but|now|when|with|who|today|this|at(?!\s(?:rest|room|baseline))|as|so"
    r"|years(?!\s(?:post|s/p|status|out|since|after|into|ago|later|from|in|free|sober|clean)\b)|y/?o|yet|then|because|since|while|last|next|in|is|was|has|had|lives|still|he|she|they)\b(?!\s(?:mg|%|\d)))"
)
_AGE: Final = rf"(?P<value>{_NUMBER}){_AGE_ENDS}"
_OF_A_LIFE: Final = (
    "died|dies|passed|passed away|deceased|expired|dead|alive|living|lives|lived|retired|widowed|diagnosed|menarche"
    "|menopause"
)
#: A number after a verb: whom its sentence is about is looked for before it.
_AFTER_VERB: Final = words(
    rf"(?:\s(?:is|was|are|were|am|turns?|turned|turning|became|becomes|reached|now|be|being|at|pushing|approaching|nearing)"
    rf"|['’](?:s|m|re|ll)){_ABOUT}\s{_AGE}"
)
#: A number beside whoever it is of: "her mother, 93, ", "the patient (93)", "Father: 97", "mother - 97".
_BESIDE: Final = words(rf"(?:,\s|\s?\(|\s?[:–-]\s?)(?:aged?\s|now\s|alive,?\s|living,?\s)?{_AGE}")
#: A pattern, and what a text must hold for it to be tried.
_FORMS: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = (
    (
        words(rf"(?<![\w/])(?:at|now|aged?)\s(?P<value>{_NUMBER}),?(?=\s(?:she|he|they|i|mr|mrs|ms|the|my|his|her)\b)"),
        ("at ", "now ", "age"),
    ),
    (words(r"(?<![\w./])(?:(?P<value>\d{1,3})/[mf]|[mf]/(?P<other>\d{1,3}))(?![\w/])"), ("/",)),
    (words(r"(?<![\w.])(?P<value>\d{1,3})[\s-]?(?:years?|yrs?)[\s-]young\b"), ("young",)),
    # "Died of a stroke at 97", "alive and well at 93".
    (
        words(
            rf"\b(?:{_OF_A_LIFE})\b[^.;\n\d]{{0,40}}?\s(?:at|@|until|to(?:\sbe)?){_ABOUT}\s{_AGE}"
            rf"|\b(?:{_OF_A_LIFE})\s?[,(]?\s?(?P<other>{_NUMBER}){_AGE_ENDS}"
        ),
        (
            *("die", "passed", "deceased", "expired", "dead", "alive", "liv", "retired", "widowed"),
            *("diagnosed", "meno", "mena"),
        ),
    ),
    (words(rf"(?<![\w.])d\.\s?{_AGE}"), ("d.",)),
    # After somebody's tag, in a text that is masked already.
    (
        re.compile(
            rf"<(?:PATIENT|PERSON|RELATIVE|NICKNAME|INITIALS)[A-Z_]*_\d+>(?:,?\s(?:is|was|now)\s|,\s|\s?\()"
            rf"(?P<value>{_NUMBER})(?=\s?(?:[,;)\n]|\.(?!\d)|$)|\s(?:and|but|with|who)\b)"
        ),
        ("_",),
    ),
)
_NAMED_AGE: Final = re.compile(
    rf"(?<![\w-])(?P<who>[A-Z][a-z'’-]{{2,}}[ ][A-Z][a-z'’-]{{2,}})(?:,?[ ](?:is|was|now)[ ]|,[ ]|[ ]?\()"
    rf"(?P<value>{_NUMBER})(?=[,;)]|\.(?!\d)|[ ](?:and|but|with|who)\b|$)"
)
#: "Age 1092 months", "1,092-month-old": the age in years follows.
_IN_OTHER_UNITS: Final = (
    (
        words(
            r"\bage[ds]?(?:\sof|\sis|\swas)?\s?[:=]?\s{0,2}(?P<value>(?P<count>\d{1,3}(?:,\d{3})+|\d{1,5})[\s-]?"
            r"(?P<unit>months?|mos?|weeks?|wks?|days?)\b)"
        ),
        ("age",),
    ),
    (
        words(
            r"(?<![\w.,])(?P<value>(?P<count>\d{1,3}(?:,\d{3})+|\d{1,5})[\s-]?(?P<unit>months?|mos?|weeks?|wks?|days?))"
            r"(?:[\s-]old|\sof\sage)\b"
        ),
        (" old", "-old", "of age"),
    ),
)
_UNITS_A_YEAR: Final = {"m": 12, "w": 52, "d": 365}
_OLD_ORDINAL: Final = (
    r"(?:9\d(?:st|nd|rd|th)|1[0-2]\d(?:st|nd|rd|th)|ninetieth"
    r"|(?:ninety[ -]|(?:one[ -])?hundred[ -](?:and[ -])?)(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)"
    r"|(?:one[ -])?hundredth)"
)
_LATE_DECADE: Final = r"(?:1[0-2]th|tenth|eleventh|twelfth)"
#: "In his 96th year", "the tenth decade of her life", "ninety-first birthday"; years with a fraction, "92.5 years old".
_VERY_OLD: Final = (
    (
        words(
            rf"\b(?:his|her|their|my|your|a)\s(?P<value>{_OLD_ORDINAL})\s(?:year|birthday|bday)\b"
            rf"|(?<!\w)(?P<other>{_OLD_ORDINAL})\s(?:birthday|bday|year\sof\s(?:(?:his|her|their|my)\s)?(?:life|age))\b"
        ),
        (" year", " birthday", " bday"),
    ),
    (
        words(
            rf"\b(?:his|her|their|my)\s(?P<value>{_LATE_DECADE})\sdecade\b"
            rf"|(?<!\w)(?P<other>{_LATE_DECADE})\sdecade\sof\s(?:(?:his|her|their|my)\s)?life\b"
        ),
        (" decade",),
    ),
    (words(r"\bin\s(?:his|her|their|my)\s(?P<value>(?:(?:early|mid|late)[\s-])?nineties)\b"), ("nineties",)),
    (
        words(
            r"(?P<value>(?:9(?<![\w.,].)\d|1(?<![\w.,].)[0-2]\d)(?:[.,]\d{1,2}|½|¼|¾|\s1/2))[\s-]?"
            r"(?:years?|yrs?|y\.?/?o)\b"
        ),
        ("y",),
    ),
)
_OLD: Final = (
    words(rf"(?<![\w.])(?P<value>{_NUMBER})[\s-]{{0,2}}(?:years?|yrs?|y/?o)\b"),
    words(rf"(?<![\w.])(?P<value>{_NUMBER})[\s-](?:year|yr)[\s-]olds?\b"),
)
#: How far before a number its sentence is read, in characters.
_BEFORE_CHARS: Final = 200
_SENTENCE_END: Final = re.compile(r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)[.!?;](?:\s|$)|\n")
_NAME: Final = r"(?:\s(?-i:[A-Z])(?:[\w.-]|['’](?!s\b))*)"
_PERSON: Final = (
    rf"(?:\b{_SOMEBODY}(?!['’-]){_NAME}{{0,3}}|\b(?:mr|mrs|ms|miss|mx|dr|sr)\.?{_NAME}{{1,3}}"
    rf"|<(?:PATIENT|PERSON|RELATIVE|NICKNAME|INITIALS|CLINICIAN)[A-Z_]*_\d+>)"
)
_A_PERSON: Final = words(rf"{_PERSON}(?!\w|['’]s)")
_PREPOSITION: Final = r"(?:in|from|of|with|near|at|on|outside|by|for|to|per|about|after|since|without)"
_ENDS_WITH_PERSON: Final = words(
    rf"(?P<of>\b{_PREPOSITION}\s(?:(?:the|a|her|his|their|my|this|our)\s)?)?(?:\b\w+ly\s)?{_PERSON}$"
)
_ASIDE: Final = words(
    r"(?:,\s[^,]{1,80},|\s?\([^()]{1,80}\)|\s?[–—]\s?[^–—]{1,80}[–—]|\s--?\s[^-]{1,80}\s--?"
    r"|\s(?:himself|herself|also|who|has|had|have|will|would|must|may|just|recently|is|was|already|soon|now|,))$"
)
#: The last thing that is said of somebody before the verb: a phrase after a preposition, a clause after "who".
_PHRASE: Final = words(
    rf"\s{_PREPOSITION}\s(?:(?!\s{_PREPOSITION}\s)[^,]){{1,45}}$|,?\s(?:who|whom|seen|born)\s[^,]{{1,60}},?$"
)
_POSSESSED: Final = words(
    r"(?:\b(?:his|her|their|my|our|your|the|an?|this|that|whose|its)|['’]s)\s(?:[\w'’-]+\s?){1,3}$|\b(?:it|this|that|which|there|these|those)$"
)
_WORDS: Final = re.compile(r"[^\W_][\w'’/-]*")


class BareAges:
    """Finds ages that nothing calls one."""

    name = "bare ages"

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the ages of a text; they may overlap."""
        for regex, triggers in _FORMS:
            for match in source.matches(regex, triggers):
                if not _tells_measure(_sentence(source.text, match.start()) + match[0]):
                    yield from self._age(match, "value" if match["value"] else "other")
        for match in source.matches(_NAMED_AGE):
            if not any(is_allowed(part) or part.lower() in read_words("no_names") for part in match["who"].split()):
                yield from self._age(match, "value")
        for match in source.matches(_AFTER_VERB):
            before = _sentence(source.text, match.start())
            if _is_about_somebody(before) or (_is_old(match) and _may_be_about_somebody(before)):
                yield from self._age(match, "value")
        for match in source.matches(_BESIDE):
            if _is_somebody(_sentence(source.text, match.start())):
                yield from self._age(match, "value")
        for regex in _OLD:
            for match in source.matches(regex, ("y",)):
                if _is_old(match):
                    yield EntitySpan(*match.span("value"), "age_over_89", self.name)
        for regex, triggers in _IN_OTHER_UNITS:
            for match in source.matches(regex, triggers):
                years = int(match["count"].replace(",", "")) // _UNITS_A_YEAR[match["unit"][0].lower()]
                if OLDEST_PLAIN_AGE < years <= OLDEST:
                    yield EntitySpan(*match.span("value"), "age_over_89", self.name)
        for regex, triggers in _VERY_OLD:
            for match in source.matches(regex, triggers):
                group = "value" if match["value"] else "other"
                yield EntitySpan(*match.span(group), "age_over_89", self.name)

    def _age(self, match: "re.Match[str]", group: str) -> Iterator[EntitySpan]:
        age = read_number(match[group])
        if age is not None and age <= OLDEST:
            yield EntitySpan(*match.span(group), "age_over_89" if age > OLDEST_PLAIN_AGE else "age", self.name)


def _is_old(match: "re.Match[str]") -> bool:
    age = read_number(match["value"])
    return age is not None and OLDEST_PLAIN_AGE < age <= OLDEST


def _sentence(text: str, end: int) -> str:
    """Return what stands in the sentence before a place."""
    before = text[max(0, end - _BEFORE_CHARS) : end]
    ends = list(_SENTENCE_END.finditer(before))
    return before[ends[-1].end() :] if ends else before


def _is_somebody(before: str) -> bool:
    """Whether a text ends with a person: the head of what is said, not the object of a preposition."""
    person = _ENDS_WITH_PERSON.search(before)
    return person is not None and not person["of"]


def _is_about_somebody(before: str) -> bool:
    """Whether the subject of what follows is a person, whatever stands between: a place, a remark, a clause."""
    rest = before
    for _ in range(8):
        if _is_somebody(rest):
            return True
        aside = _ASIDE.search(rest) or _PHRASE.search(rest)
        if aside is None or (_tells_measure(aside[0]) and not aside[0].endswith((",", ")"))):
            return False
        rest = rest[: aside.start()]
    return False


def _may_be_about_somebody(before: str) -> bool:
    """Whether a person stands before, no measure, and no thing as the subject ("his dog is", "it was")."""
    if _tells_measure(before) or not _A_PERSON.search(before):
        return False
    possessed = _POSSESSED.search(before)
    return possessed is None or bool(_A_PERSON.search(possessed[0]))


def _tells_measure(text: str) -> bool:
    return any(word.lower().rstrip("'’") in read_words("measures") for word in _WORDS.findall(text))


_FIGURES: Final = re.compile(r"\d+")
_YEARS: Final = r"(?:\s?(?:y(?:rs?|ears?)?|y\.?/?o\.?)(?:\sold)?)"
_AGE_GROUP: Final = r"(?P<age>\d{1,3})"
_SEX: Final = r"(?P<sex>[MF]|(?i:male|female))"
_BEGIN: Final = r"(?:^|(?<=[|,;/(:\t])|(?<=\s\s))\s?"
_END: Final = r"(?=\s?(?:$|[|,;/)\t]|\s\s))"
_PAIR: Final = (
    rf"(?:{_AGE_GROUP}{_YEARS}?[ ]?[/,|-]?\s{{0,12}}{_SEX}"
    rf"|(?P<sex_first>[MF])[ ]?[/,|-]?\s{{0,12}}(?P<age_after>\d{{1,3}}){_YEARS}?)"
)
#: "Age/Sex: 58/M", "Sex / age F, 58", wherever it stands.
_LABELLED: Final = re.compile(
    rf"(?<!\w)(?i:age\s?[/&]\s?(?:sex|gender)|(?:sex|gender)\s?[/&]\s?age|a/s)\s?[:=]?\s{{0,3}}{_PAIR}(?!\w)"
)
_PAIR_ALONE: Final = re.compile(rf"{_BEGIN}{_PAIR}{_END}")
#: A field with nothing else in it: "F/U" and "M/W/F" are none, nor is the number of "HR: 58" or "BP 120/58".
_FIELD_BEGIN: Final = r"(?:^|(?<=[|,;(\t])|(?<=\s\s))\s?"
_FIELD_END: Final = r"(?=\s?(?:$|[|,;)\t]|\s\s))"
_SEX_ALONE: Final = re.compile(rf"{_FIELD_BEGIN}{_SEX}{_FIELD_END}")
_AGE_ALONE: Final = re.compile(rf"{_FIELD_BEGIN}{_AGE_GROUP}(?P<years>{_YEARS}?){_FIELD_END}")
#: Of a line; a text without line ends is a banner as far as this.
_MOST_CHARS: Final = 300
#: Lines of a form at the head of a text, one field a line.
_MOST_LINES: Final = 15
_LONGEST_FIELD_CHARS: Final = 60


def find_in_banners(text: str, spans: Sequence[EntitySpan]) -> Iterator[EntitySpan]:
    """Yield ages and sexes of a text's banners; `spans` are what else was found, by start, and may overlap."""
    for match in _LABELLED.finditer(text):
        yield from _spans(match, 0)
    ages = {int(found[0]) for one in spans if one.category == "age" and (found := _FIGURES.match(text, one.start))}
    known = sorted(one.start for one in spans if one.category == "age" or categories()[one.category].direct)
    place = at = 0
    head: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n")):
        begin, at = at, at + len(line) + 1
        while place < len(known) and known[place] < begin:
            place += 1
        is_about_somebody = place < len(known) and known[place] < at
        if number < _MOST_LINES and len(line) <= _LONGEST_FIELD_CHARS and len(head) == number:
            head.append((begin, line))
        if is_about_somebody:
            yield from _in_line(line[:_MOST_CHARS], begin, ages, is_form=False)
    if head and known and known[0] < head[-1][0] + len(head[-1][1]):
        for begin, line in head:
            yield from _in_line(line, begin, ages, is_form=True)


def _in_line(line: str, begin: int, ages: set[int], *, is_form: bool) -> Iterator[EntitySpan]:
    for pattern in (_PAIR_ALONE, _SEX_ALONE):
        for match in pattern.finditer(line):
            yield from _spans(match, begin)
    for match in _AGE_ALONE.finditer(line):
        if int(match["age"]) in ages or (is_form and match["years"]):
            yield from _spans(match, begin)


def _spans(match: "re.Match[str]", begin: int) -> Iterator[EntitySpan]:
    for group, written in match.groupdict().items():
        start, end = begin + match.start(group), begin + match.end(group)
        if written and group.startswith("sex"):
            yield EntitySpan(start, end, "gender", "banners")
        elif written and group.startswith("age") and int(written) <= OLDEST:
            yield EntitySpan(start, end, "age_over_89" if int(written) > OLDEST_PLAIN_AGE else "age", "banners")
