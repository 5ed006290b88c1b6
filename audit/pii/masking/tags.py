"""Tags: what stands in a masked text in the place of an identifier, such as `<PATIENT_1>` or `<DATE_2+14d>`.

Owns how a tag is written, which occurrences share one, which names are one person's, and the intervals of dates. "Lund"
is Ada Lund where she is the only one; John Smith Jr. is not John Smith, nor Mrs. Lee Mr. Lee or Dr. Lee. A text that
holds something like a tag itself is no special case: that is masked too, as `<TAG_1>`.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

from clinaudit.audit.pii.masking.written_tags import DAY_FIRST, OF_TAGS, Forms, find_written_tags
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.plain_text import normalize_text
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.dates_in_text import read_in_orders
from clinaudit.audit.pii.values.normal_form import kind_of, normalize

_RE: Final = Patterns(__name__)

_CHARS: Final = 12
#: They are no doctors.
_NO_DOCTORS: Final = frozenset({"patient_name", "relative_name"})


class Mention(NamedTuple):
    """A name as it is mentioned: its folded words, and what distinguishes its bearer from others of that name."""

    words: str
    #: `he`, `she` or `doctor`; empty without a title.
    title: str
    generation: str


def join_mentions(category_of: Mapping[Mention, str | None]) -> dict[Mention, Mention]:
    """Return by mention another one of the same person: the first of the same words, or a whole name that it is of."""
    alike: defaultdict[tuple[str, str], list[Mention]] = defaultdict(list)
    for one in category_of:
        alike[one.words, one.generation].append(one)
    first: dict[Mention, Mention] = {}
    titles: dict[Mention, str] = {}
    for group in alike.values():
        known = {one.title for one in group} - {""}
        # Without a title it is whoever of that name has one; of several, it can be anybody.
        first |= {one: group[0] if len(known) < 2 else one for one in group}
        titles |= {first[one]: next(iter(known), "") if len(known) < 2 else one.title for one in group}
    words = {one: frozenset(one.words.split()) for one in titles}
    longest = [one for one in words if not any(words[one] < other for other in words.values())]
    for one in words.keys() - set(longest):
        group = alike[one.words, one.generation]
        wholes = [
            other
            for other in longest
            if words[one] < words[other]
            and one.generation in ("", other.generation)
            and _may_be(titles[one], titles[other], category_of[other], group)
        ]
        if len(wholes) == 1:
            first |= {each: wholes[0] for each in group if first[each] == one}
    return {one: other for one, other in first.items() if one != other}


def _may_be(title: str, of_whole: str, category: str | None, alike: Sequence[Mention]) -> bool:
    """Whether a part of a name with a title can be of somebody whose whole name has another, or none."""
    if title and of_whole:
        return title == of_whole
    # A doctor of a patient's last name is somebody else; of others any one title is that of the whole name.
    known = {one.title for one in alike} - {"", "doctor" if category in _NO_DOCTORS else ""}
    return not title or known == {title}


#: They say less than any other category of the same value: where both were found, the other names the tag.
_GENERIC: Final = frozenset({"full_name", "nickname", "date", "admission_date", "other_code", "age"})
#: Ten years: a longer interval may be from a date of birth.
_LONGEST_INTERVAL_DAYS: Final = 3652
#: What is equal for two ways of writing one value: its kind and its normal form, or of a person's name the mention.
_Value = tuple[str, str] | Mention


@dataclass(frozen=True, slots=True, order=True)
class Hidden:
    """Characters `start` to `end` (half-open) of a text that are masked, and the category that they go by."""

    start: int
    end: int
    #: An id of the taxonomy; None of a text that looks like a tag.
    category: str | None
    #: Which rules, lists or models found it as that, by name.
    found_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A stretch of a masked text that stands there as it stood in the text: where in both."""

    start: int
    end: int
    source_start: int


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text with tags in it."""

    text: str
    #: What stands between the tags, in order.
    kept: tuple[Kept, ...]


class TagBook:
    """The tags of one record: one a value, however it is written, and the same in each of the record's texts."""

    def __init__(self, texts: Sequence[tuple[str, Sequence[Hidden]]]) -> None:
        """Number the values of (text, what is masked in it, by start and apart) by where they first stand."""
        self._day_first = _is_day_first(texts)
        #: Text by text, what is masked in it, with its value.
        values = [
            (text, [(one, _value_of(text, one, day_first=self._day_first)) for one in hidden]) for text, hidden in texts
        ]
        categories_of: dict[_Value, str | None] = {}
        for one, value in (pair for _, pairs in values for pair in pairs):
            if value not in categories_of or (categories_of[value] in _GENERIC and one.category not in _GENERIC):
                categories_of[value] = one.category
        names = _names(categories_of)
        intervals = _intervals(categories_of)
        #: Of each text what is masked in it, the name of its tag, and the days after the record's first date.
        self._texts = [
            (text, [(one, names[value], intervals.get(value)) for one, value in pairs]) for text, pairs in values
        ]

    def write(self) -> list[TaggedText]:
        """Return the texts with tags in the place of what is masked."""
        written = []
        for text, tags in self._texts:
            parts: list[str] = []
            kept: list[Kept] = []
            place = length = 0
            for one, name, days in [*tags, (Hidden(len(text), len(text), None), "", None)]:
                if one.start > place:
                    kept.append(Kept(length, length + one.start - place, place))
                parts += [text[place : one.start], f"<{name}{f'{days:+d}d' if days else ''}>" if name else ""]
                length += len(parts[-2]) + len(parts[-1])
                place = one.end
            written.append(TaggedText("".join(parts), tuple(kept)))
        return written

    def forms(self) -> Forms:
        """Return by name what stood in the place of each tag, occurrence by occurrence; one where all are equal.

        The name of a date has its days after the first, `DATE_1+0d`. What stands in the first text alone counts, and
        what stands in a later one where the first lacks the value.
        """
        forms: dict[str, list[str]] = {}
        for text, tags in self._texts:
            found: dict[str, list[str]] = {}
            for one, name, days in tags:
                found.setdefault(name if days is None else f"{name}{days:+d}d", []).append(text[one.start : one.end])
            forms = {**found, **forms}
        told = {DAY_FIRST: ()} if self._day_first else {}
        return told | {name: (found[0],) if len(set(found)) == 1 else tuple(found) for name, found in forms.items()}

    def kinds(self) -> Counter[str]:
        """Return how many tags of each kind stand in the first text, by their names without a number: `DATE`."""
        return Counter(name.rpartition("_")[0] for _, name, _ in self._texts[0][1])

    def found_by(self) -> dict[str, dict[str, int]]:
        """Return by the name of a tag, without days, how often each rule or model found what it stands for."""
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for one, name, _ in (tag for _, tags in self._texts for tag in tags):
            found[name].update(one.found_by)
        return {name: dict(sorted(counts.items())) for name, counts in found.items()}


def _names(categories_of: dict[_Value, str | None]) -> dict[_Value, str]:
    """Return the name of the tag of each value: its kind, and a number."""
    same = join_mentions({one: category for one, category in categories_of.items() if isinstance(one, Mention)})
    for mention, first in same.items():
        if mention.words == first.words and categories_of[first] in _GENERIC:
            categories_of[first] = categories_of[mention]
    names: dict[_Value, str] = {}
    used: Counter[str] = Counter()
    for value, category in categories_of.items():
        if value not in same:
            kind = OF_TAGS if category is None else categories()[category].tag
            used[kind] += 1
            names[value] = f"{kind}_{used[kind]}"
    return names | {mention: names[first] for mention, first in same.items()}


def find_tags(text: str) -> list[Hidden]:
    """Return the stretches of a text that look like tags: left alone, they would be read as tags."""
    found = (one for one in find_written_tags(text) if one.is_plain)
    return [Hidden(one.start, one.end, None, ("looks like a tag",)) for one in found]


def _value_of(text: str, hidden: Hidden, *, day_first: bool | None) -> _Value:
    """Return what is equal for two ways of writing one value; `day_first`: the order of its dates, if known."""
    written = text[hidden.start : hidden.end]
    if hidden.category is None:
        return OF_TAGS, written
    plain = normalize_text(written).text
    value = normalize(hidden.category, plain)
    if value is None:
        return "as written", written
    if value.kind == "name":
        title = _RE.before.search(text[max(0, hidden.start - _CHARS) : hidden.start]) or _RE.within.match(
            text, hidden.start, hidden.end
        )
        which = _RE.generation.search(written) or _RE.generation.match(text[hidden.end - 1 : hidden.end + _CHARS], 1)
        generation = which[1].lower().replace("junior", "jr").replace("senior", "sr") if which else ""
        return Mention(value.text, (title and title.lastgroup) or "", generation)
    if value.kind == "date":
        month, day = read_in_orders(plain)
        if month and day and month != day:
            return "date", f"{month} or {day}" if day_first is None else day if day_first else month
    return value.kind, value.text


def _is_day_first(texts: Iterable[tuple[str, Sequence[Hidden]]]) -> bool | None:
    """Return whether days stand before months, by dates that read one way only; None: unknown, or both."""
    told = set()
    for text, hidden in texts:
        for one in hidden:
            if one.category is not None and kind_of(one.category) == "date":
                month, day = read_in_orders(normalize_text(text[one.start : one.end]).text)
                if (month is None) != (day is None):
                    told.add(month is None)
    return next(iter(told)) if len(told) == 1 else None


def _intervals(categories_of: Mapping[_Value, str | None]) -> dict[_Value, int]:
    """Return how many days after the record's first date each date is, as its tag says it.

    Dates of birth have none: from a visit it would tell the age to the day, which is a quasi-identifier. Not each is
    known as one, so that only dates within ten years have intervals: those ten years in which most of them are.
    """
    dates = [value for value, category in categories_of.items() if value[0] == "date" and category != "birth_date"]
    dated = [(value, day) for value in dates if (day := _day(value)) is not None] or _days_of_one_year(dates)
    days = sorted(day.toordinal() for _, day in dated)
    begin = max(
        (day.toordinal() for _, day in dated),
        key=lambda first: bisect_right(days, first + _LONGEST_INTERVAL_DAYS) - bisect_left(days, first),
        default=0,
    )
    together = [one for one in dated if 0 <= one[1].toordinal() - begin <= _LONGEST_INTERVAL_DAYS]
    return {value: (day - together[0][1]).days for value, day in together}


def _day(value: _Value) -> date | None:
    try:
        return date.fromisoformat(value[1])
    except ValueError:
        return None  # a month, a year or a day of some year


def _days_of_one_year(dates: Sequence[_Value]) -> list[tuple[_Value, date]]:
    """Return days that are all written without a year as days of one year; none where their order goes back."""
    days = [(value, day) for value in dates if (day := _day((value[0], value[1].replace("-", "2000", 1)))) is not None]
    written = [day for _, day in days]
    if len(days) < len(dates) or written != sorted(written) or not days:
        return []
    return days if (written[0].month <= 2) == (written[-1].month <= 2) else []


def merge_hidden(hidden: Iterable[Hidden]) -> list[Hidden]:
    """Return disjoint stretches that cover all; where some overlap, the most direct kind, then the longest, decides."""
    merged: list[Hidden] = []
    cluster: list[Hidden] = []
    end = 0
    for one in sorted(set(hidden), key=lambda each: (each.start, each.end, each.category or "")):
        if cluster and one.start >= end:
            merged.append(_one_of(cluster))
            cluster = []
        cluster.append(one)
        end = max(end, one.end) if len(cluster) > 1 else one.end
    return [*merged, _one_of(cluster)] if cluster else merged


def _one_of(cluster: Sequence[Hidden]) -> Hidden:
    table = categories()

    def rank(one: Hidden) -> tuple[bool, int, bool]:
        is_direct = one.category is not None and table[one.category].direct
        return is_direct, one.end - one.start, one.category not in _GENERIC

    category = max(cluster, key=rank).category
    found_by = {name for one in cluster if one.category == category for name in one.found_by}
    start, end = min(one.start for one in cluster), max(one.end for one in cluster)
    return Hidden(start, end, category, tuple(sorted(found_by)))
