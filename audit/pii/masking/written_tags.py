"""Tags as answers write them: `<PATIENT_1>`, `<patient_1 >`, `[PATIENT_1]`, `&lt;PATIENT_1&gt;`, or PATIENT_1 alone.

Owns what of a text is read as a tag, and what stands in its place in the end: of `<DATE_1+42d>` the day 42 days later.
What a prompt holds of these is masked itself, so that nothing is put there which was not taken out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import product
from typing import Final

from clinaudit.audit.pii.plain_text import normalize_text
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.dates_in_text import read_written_date

_NUMERIC: Final = product(("{0:%m}_{0:%d}", "{0.month}_{0.day}", "{0:%d}_{0:%m}", "{0.day}_{0.month}"), "/-. ")
_FORMS: Final = (
    *(f"{both}{year}".replace("_", mark) for both, mark in _NUMERIC for year in ("_{0:%Y}", "_{0:%y}", "")),
    *(f"{{0:{month}}} {{0.day}}{year}" for month, year in product(("%B", "%b"), (", {0:%Y}", " {0:%Y}", ""))),
    *(f"{{0.day}}{mark}{{0:{month}}}{mark}{{0:%Y}}" for month, mark in product(("%B", "%b"), " -")),
)


@lru_cache(maxsize=1_000)
def write_later(written: str, days: int) -> str | None:
    """Return the day `days` after the written one; None where that is none of the calendar, or depends on the year."""
    read = next(iter(read_written_date(normalize_text(written).text)), "")
    try:
        # A day without a year is of one that is a leap year, or of one that is none.
        firsts = [
            date.fromisoformat(read.replace("-", year, 1) if read.startswith("--") else read)
            for year in ("2023", "2024")
        ]
        later, other = (day + timedelta(days) for day in firsts)
    except (ValueError, OverflowError):
        return None
    if read.startswith("--") and (f"{later:%m%d}" != f"{other:%m%d}" or later.year != firsts[0].year):
        return None
    alike = (form.format(later) for form in _FORMS if form.format(firsts[0]) == written)
    # Read again: "3/4/2024" is no way to write the third of April, though "14/3/2024" is that of a day in March.
    sure = (
        one
        for one in alike
        if read_written_date(one)[:1] == (f"-{later:-%m-%d}" if read.startswith("--") else f"{later}",)
    )
    return next(sure, None if read.startswith("--") else f"{later}")


#: What stands for a text that looks like a tag already.
OF_TAGS: Final = "TAG"
#: What a record's tags stand for, occurrence by occurrence, by name; of a dated one with its days: `DATE_2+14d`.
Forms = Mapping[str, tuple[str, ...]]
#: Of any script, with the escapes of Markdown and marks that show nothing.
_INNER: Final = r"[\w＿\\ +\u00ad\u200b-\u200f\u2060\ufeff-]{3,60}?"
_NAME: Final = re.compile(r"([^\W\d_]\w*?_)0*([1-9]\d*)((?: ?[+-] ?[0-9]+D)*)")
#: An offset in any other form than `+42d`, after a tag without brackets: `+6w`, `−42d` with a true minus, `plus 42d`.
_OTHER_OFFSET: Final = re.compile(r"\\?[ \u00a0]?(?:[+\-−–—‐‑]|plus\b|minus\b)[ \u00a0]?\d", re.IGNORECASE)
_KEY: Final = re.compile(r"(\w+_\d+)(?:([+-]\d+)d)?")


#: Start and end (half-open, in characters) of a tag in a text, its name, and the days that it adds.
WrittenTag = tuple[int, int, str, tuple[int, ...]]


def find_written_tags(text: str, *, in_words: bool = False) -> Iterator[WrittenTag]:
    """Yield what is read as a tag, by start; with `in_words` also what would be one if its neighbours were masked."""
    bare, either = _patterns(in_words)
    for found in either.finditer(text):
        inner = found["inner"]
        if inner and (tag := _read(inner, is_angle=found["angle"] is not None)):
            yield (*found.span(), *tag)
        else:
            for alone in bare.finditer(text, *found.span("inner")) if inner else (found,):
                if tag := _read(alone["bare"], is_angle=False):
                    yield (*alone.span(), *tag)


def unmask_text(text: str, forms: Forms) -> tuple[str, int]:
    """Return a text with identifiers in the place of their tags, and how many tags `forms` does not know.

    The second occurrence of a tag takes the second form in which the record wrote the value; further ones the first.
    `<DATE_1+42d>` is the day 42 days later, written alike. Where a tag has days of its own, `<DATE_2+14d>`, others are
    unknown: they could be counted from either day. So is an offset in any other form. An unknown tag stays: whoever
    answered made it up.
    """
    keys = [key for key in map(_KEY.fullmatch, forms) if key is not None]
    known = {key[1]: (int(key[2]) if key[2] else None, forms[key[0]]) for key in keys}
    seen: Counter[str] = Counter()
    parts: list[str] = []
    unknown = place = 0
    for start, end, name, days in find_written_tags(text):
        own, written = known.get(name, (None, ()))
        value: str | None = None
        if written and days in ((), (own,)):
            value = written[seen[name] if seen[name] < len(written) else 0]
            seen[name] += 1
        elif written and own is not None and own in (0, days[0]):
            value = write_later(written[0], sum(days) - own)
        if value is None or (text[end - 1].isdecimal() and _OTHER_OFFSET.match(text, end)):
            unknown += 1
        else:
            parts += [text[place:start], value]
            place = end
    return "".join([*parts, text[place:]]), unknown


@cache
def _patterns(in_words: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds a tag without brackets, and what finds one with or without."""
    before, after = ("", "") if in_words else (r"(?<!\w)", r"(?!\w)")
    bare = rf"{before}(?P<bare>(?:{'|'.join(sorted(_kinds()))})\\?_[0-9]+(?:[+-][0-9]{{1,18}}d)*){after}"
    angle = r"(?P<angle>[<＜]|&lt;|&#60;|&#[xX]3[cC];|\\u003[cC])"
    close = r"(?:[>＞\]}]|&gt;|&#62;|&#[xX]3[eE];|\\u003[eE])"
    return re.compile(bare), re.compile(rf"(?:{angle}|[\[{{])(?P<inner>{_INNER}){close}|{bare}")


@cache
def _kinds() -> frozenset[str]:
    return frozenset({OF_TAGS, *(one.tag for one in categories().values())})


@lru_cache(maxsize=10_000)
def _read(written: str, *, is_angle: bool) -> tuple[str, tuple[int, ...]] | None:
    """Return the name of a tag, and its days; None where it is none.

    In angle brackets alone a tag of no known kind is one, if no small letters stand in it.
    """
    name = _NAME.fullmatch(normalize_text(written).text.replace("\\", "").strip().upper())
    if name is None or (name[1][:-1] not in _kinds() and not (is_angle and written == written.upper())):
        return None
    return name[1] + name[2], tuple(map(int, re.findall(r"[+-]\d+", name[3].replace(" ", ""))))
