"""Tags as answers write them: `<PATIENT_1>`, `<patient 1>`, `[PATIENT-1]`, `&lt;PATIENT_1&gt;`, or PATIENT_1 alone.

Owns what of a text is read as a tag, and what stands in its place in the end: of `<DATE_1+42d>` the day 42 days later,
within JSON the value as JSON writes it. A text is read plainly (`plain_text`) and parsed once. What a prompt holds of
plain spellings is masked itself; of free ones, such as `[PATIENT]`, the map says that they are the prompt's own. So
nothing is put where nothing was taken out.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import product
from typing import Final, NamedTuple

from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.plain_text import PlainText, normalize_text
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.dates_in_text import read_in_orders

_RE: Final = Patterns(__name__)

_NUMERIC: Final = product(("{0:%m}_{0:%d}", "{0.month}_{0.day}", "{0:%d}_{0:%m}", "{0.day}_{0.month}"), "/-. ")
_FORMS: Final = (
    *(f"{both}{year}".replace("_", mark) for both, mark in _NUMERIC for year in ("_{0:%Y}", "_{0:%y}", "")),
    *(f"{{0:{month}}} {{0.day}}{year}" for month, year in product(("%B", "%b"), (", {0:%Y}", " {0:%Y}", ""))),
    *(f"{{0.day}}{mark}{{0:{month}}}{mark}{{0:%Y}}" for month, mark in product(("%B", "%b"), " -")),
)


@lru_cache(maxsize=1_000)
def write_later(written: str, days: int, *, day_first: bool = False) -> str | None:
    """Return the day `days` after the written one; None where that is none of the calendar, or depends on the year."""
    read = _read_date(normalize_text(written).text, day_first=day_first)
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
    said = f"-{later:-%m-%d}" if read.startswith("--") else f"{later}"
    sure = (one for one in alike if _read_date(one, day_first=day_first) == said)
    return next(sure, None if read.startswith("--") else f"{later}")


def _read_date(text: str, *, day_first: bool) -> str:
    month, day = read_in_orders(text)
    return (day if day_first and day else month or day) or ""


#: What stands for a text that looks like a tag already.
OF_TAGS: Final = "TAG"
#: What a record's tags stand for, occurrence by occurrence, by name; of a dated one with its days: `DATE_2+14d`.
Forms = Mapping[str, tuple[str, ...]]
#: Beside the tags, in the forms: free spellings of them that the prompt holds itself, and values that its JSON holds.
OWN: Final = ""
IN_JSON: Final = "{}"
#: Is there where days stand before months in the record.
DAY_FIRST: Final = "d/m"
#: What stands between the words of a tag, and before its number: escapes of Markdown and of JSON too.
_MARK: Final = r"[\\_ -]{0,4}"
#: Within brackets more may stand before the number: `<PATIENT #1>`, `[PATIENT: 1]`, `<PATIENT No. 1>`, a line break.
_MARK_OF_NUMBER: Final = r"(?:[\\_ \r\n:.#(-]{0,4}|[\\_ ]{0,2}no\.? ?)"
#: How far before a tag its bracket, or the word that it belongs to, is looked for, in characters.
_BEFORE_CHARS: Final = 4
#: A text that begins more often what is no JSON holds none from there on: each of them may be read to its end.
_MOST_FAILED: Final = 1_000


class WrittenTag(NamedTuple):
    """A stretch of a text that is read as a tag."""

    #: In characters of the text, half-open.
    start: int
    end: int
    #: As it reads plainly.
    plain: str
    kind: str
    #: Empty: it has none.
    number: str
    #: The days that it adds.
    days: tuple[int, ...]
    #: Whether it is spelled as tags are, such as `<PATIENT_1>`, `[patient_1]` or PATIENT_1; not freely: `<PATIENT 1>`.
    is_plain: bool
    #: Whether it stands for something as it is: it is no closing tag, and no part of a word or of another offset.
    is_whole: bool


def find_written_tags(text: str) -> Iterator[WrittenTag]:
    """Yield what is read as a tag, by start."""
    plain = _read_plainly(text)
    found = [*filter(None, (_read(plain, match) for match in _pattern().finditer(plain.text)))]
    for match in _RE.unknown.finditer(plain.text):
        if _RE.marks.sub("", match[1]) not in _kinds() and match[0] == match[0].upper():
            found.append(WrittenTag(*_place(plain, *match.span()), match[1], "", (), is_plain=True, is_whole=False))
    yield from sorted(found)


def _read_plainly(text: str) -> PlainText:
    """Return a text as it is read, with what looks like a figure among figures as it stands: "|PATIENT_1|25|"."""
    plain = normalize_text(text)

    def as_given(found: "re.Match[str]") -> str:
        given = text[plain.starts[found.start()]]
        return given if given in "OoQlI|" else found[0]

    return PlainText(_RE.like_letters.sub(as_given, plain.text), plain.starts, plain.ends)


def _read(plain: PlainText, match: "re.Match[str]") -> WrittenTag | None:
    """Return the tag whose kind and number stand somewhere, with or without brackets; None where they are none."""
    text, (start, end) = plain.text, match.span()
    kind, mark, number = match["kind"], match["mark"] or "", match["number"] or ""
    is_plain = mark.strip("\\") == "_" and kind.replace("\\", "").upper() in _kinds().values()
    opening = _RE.opening.search(text, max(0, start - _BEFORE_CHARS), start)
    closing = _RE.closing.match(text, end)
    if opening and closing:
        if not number and not kind.isupper():
            return None  # an element of XML
        start, end, is_whole = opening.start(), closing.end(), not opening[1]
    else:
        in_word = _RE.word_before.search(text, max(0, start - _BEFORE_CHARS), start) or _RE.word_after.match(text, end)
        is_plain = is_plain and kind.isupper()
        if not number or (in_word and not is_plain) or not _RE.mark.fullmatch(mark):
            return None
        # "Patient 1" may be one of a study.
        is_whole = not in_word and not _RE.other_offset.match(text, end) and ("_" in mark or kind.isupper())
    days = tuple(int(one.replace(" ", "")) for one in _RE.days.findall(match["days"]))
    known = _kinds()[_RE.marks.sub("", kind).upper()]
    number = number.lstrip("0") or number[:1]
    return WrittenTag(*_place(plain, start, end), known, number, days, is_plain, is_whole)


def _place(plain: PlainText, start: int, end: int) -> tuple[int, int, str]:
    """Return where a stretch stands in the text, and how it reads."""
    return plain.starts[start], plain.ends[end - 1], plain.text[start:end]


@cache
def _kinds() -> Mapping[str, str]:
    """Return the kinds of tags, by their letters and figures alone."""
    return {kind.replace("_", ""): kind for kind in (OF_TAGS, *(one.tag for one in categories().values()))}


@cache
def _pattern() -> re.Pattern[str]:
    kinds = "|".join(kind.replace("_", _MARK) for kind in sorted(_kinds().values(), key=len, reverse=True))
    days = r"(?P<days>(?: ?[+-] ?\d{1,18} ?d(?:ays?)?(?![^\W_]))*)"
    number = rf"(?P<mark>{_MARK_OF_NUMBER})(?P<number>\d+)(?:(?<=\(\d)\))?"
    return re.compile(rf"(?P<kind>{kinds})(?:{number})?{days}", re.IGNORECASE)


def unmask_text(text: str, forms: Forms) -> tuple[str, int]:
    """Return a text with identifiers in the place of their tags, and how many tags are left since `forms` lacks them.

    The second occurrence of a tag takes the second form in which the record wrote the value; further ones the first.
    A tag without a number is the only one of its kind. `<DATE_1+42d>` is the day 42 days later, written alike. Where a
    tag has days of its own, `<DATE_2+14d>`, others are unknown: they could be counted from either day. So is an offset
    in any other form. Within JSON a value is escaped, so that it stays JSON.
    """
    parts: list[str] = []
    place = unknown = 0
    for tag, value, in_place in _values_in_place(text, forms):
        unknown += value is None
        if value is not None and in_place is not None:
            parts += [text[place : tag.start], value if value in forms.get(IN_JSON, ()) else in_place]
            place = tag.end
    return "".join([*parts, text[place:]]), unknown


def tagged_forms(forms: Forms) -> Forms:
    """Return of the forms those of tags alone."""
    return {key: written for key, written in forms.items() if _RE.key.fullmatch(key)}


def with_own(forms: Forms, masked: Iterable[str]) -> Forms:
    """Return the forms of a record with what its masked texts hold: free spellings of tags, and values in JSON."""
    spellings: set[str] = set()
    in_json: set[str] = set()
    for tag, value, in_place in (one for text in masked for one in _values_in_place(text, forms)):
        spellings |= set() if tag.is_plain else {tag.plain}
        in_json |= {value} if value and value != in_place else set()
    own = {OWN: tuple(sorted(spellings)), IN_JSON: tuple(sorted(in_json))}
    return {**forms, **{key: found for key, found in own.items() if found}}


def _values_in_place(text: str, forms: Forms) -> Iterator[tuple[WrittenTag, str | None, str | None]]:
    """Yield the tags of a text with what stands in their place, and that as it is written there: in JSON, escaped."""
    tags = list(_values(text, forms))
    json_of = _json_places(text, [tag for tag, _ in tags])
    for tag, value in tags:
        yield tag, value, None if value is None else _in_place(value, json_of.get(tag.start))


def _values(text: str, forms: Forms) -> Iterator[tuple[WrittenTag, str | None]]:
    """Yield the tags of a text with what stands in their place; None: the tag stays, and is unknown."""
    keys = [key for key in map(_RE.key.fullmatch, forms) if key is not None]
    known = {key[1]: (int(key[3]) if key[3] else None, forms[key[0]]) for key in keys}
    of_kind: dict[str, list[str]] = {}
    for key in keys:
        of_kind.setdefault(key[2], []).append(key[1])
    tags = list(find_written_tags(text))
    # `<PATIENT>...</PATIENT>`: an element of XML, which the answer made up.
    elements = {tag.kind for tag in tags if not (tag.number or tag.is_whole)}
    seen: Counter[str] = Counter()
    for tag in tags:
        names = [f"{tag.kind}_{tag.number}"] if tag.number else of_kind.get(tag.kind, [])
        has_brackets = not tag.plain[0].isalnum()
        is_likely = (names[:1] and names[0] in known) or (has_brackets and (tag.plain[0] == "<" or tag.kind in of_kind))
        if not tag.is_plain and (tag.plain in forms.get(OWN, ()) or not is_likely):
            continue
        name = names[0] if len(names) == 1 and (tag.number or tag.kind not in elements) else ""
        own, written = known.get(name, (None, ())) if tag.is_whole else (None, ())
        value: str | None = None
        if written and tag.days in ((), (own,)):
            value = written[seen[name] if seen[name] < len(written) else 0]
            seen[name] += 1
        elif written and own is not None and own in (0, tag.days[0]):
            value = write_later(written[0], sum(tag.days) - own, day_first=DAY_FIRST in forms)
        yield tag, value


def _json_places(text: str, tags: Sequence[WrittenTag]) -> dict[int, str]:
    """Return the string around each tag in JSON, by where the tag begins; empty: none. A tag counts as a number."""
    if not ('"' in text and ("{" in text or "[" in text)):
        return {}
    parts: list[str] = []
    place = 0
    for tag in tags:
        parts += [text[place : tag.start], "1" * (tag.end - tag.start)]
        place = tag.end
    blank = "".join([*parts, text[place:]])
    found: dict[int, str] = {}
    starts = [tag.start for tag in tags]
    place = failed = 0
    while failed < _MOST_FAILED and (begins := _RE.json.search(blank, place)):
        try:
            _, place = json.JSONDecoder().raw_decode(blank, begins.start())
        except (ValueError, RecursionError):
            place = begins.end()
            failed += 1
            continue
        strings = list(_RE.string.finditer(blank, begins.start(), place))
        # "[1]" is a reference as well.
        for start in starts[bisect_left(starts, begins.start()) : bisect_left(starts, place)] if strings else ():
            after = bisect_right(strings, start, key=lambda one: one.start())
            is_within = after and start < strings[after - 1].end()
            found[start] = strings[after - 1][0] if is_within else ""
    return found


def _in_place(value: str, within: str | None) -> str:
    """Return a value as a string of JSON writes it, or as a value of JSON by itself; None: it stands in no JSON."""
    if within is None:
        return value
    if within:
        escaped = json.dumps(value, ensure_ascii=False)[1:-1]
        # JSON that is itself written as a string, as for a call of a tool.
        return json.dumps(escaped, ensure_ascii=False)[1:-1] if _is_json(json.loads(within)) else escaped
    return value if _is_json(value, (int, float)) else json.dumps(value, ensure_ascii=False)


def _is_json(text: str, kinds: tuple[type, ...] = (dict, list)) -> bool:
    try:
        return isinstance(json.loads(text), kinds)
    except (ValueError, RecursionError):
        return False
