"""The table of rules by which identifiers are found: what each looks like, what must stand beside it, how sure it is.

The rows stand in the TOML files beside this module (docs/methods.md, section 11), with the vocabulary
that their patterns share: `${kin}` in a pattern stands for the words of that name. Owns their reading. What a row asks
beyond its pattern is a function of the module of its subject.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from clinaudit.audit.pii.detectors.screen import relaxed
from clinaudit.audit.pii.detectors.word_lists import read_words
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import SPELLED_NUMBER, STATES, STREET_SUFFIXES

#: `certain`: precise enough for what a model emits; `suspected`: rather masked too much, in what is sent out.
Level = Literal["certain", "suspected"]
#: The files of the table. Of two rules of one level that find the same characters, the earlier says what they are.
_FILES: Final = (
    *("numbers", "contacts", "dates", "codes", "ages", "people", "places", "organizations", "traits", "unlabelled"),
)
#: Whether a match counts, and what it is: functions of these modules, by name.
_FUNCTIONS_OF: Final = ("numbers", "dates", "ages", "people", "places")
#: How far before a match its cue words are looked for, in characters.
_CUE_CHARS: Final = 40
#: How far around what a pattern matches its function looks.
_AROUND_CHARS: Final = 40
#: Places that are tried before a stretch is searched through.
_MOST_TRIED: Final = 6
#: A match that ends so near the end of what is searched may be cut off there.
_NEAR_END_CHARS: Final = 40
#: Words that call a street and much else in a note: they count only with a house's unit or a town after them.
_NOT_ALONE: Final = frozenset(
    {
        *("br", "brg", "pt", "fld", "ml", "mt", "prt", "sta", "run", "row", "is", "ext", "cor", "cmn", "est"),
        *("spg", "vw", "lk", "walk", "park", "path", "riv", "smt", "hl", "grn"),
    }
)

#: A match of a rule's pattern, and that rule -> the spans that it is: start, end and category.
Reader = Callable[["re.Match[str]", "Rule"], Iterable[tuple[int, int, str]]]


class RuleRow(BaseModel):
    """One row of rules, as it is written."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    #: A category of the taxonomy.
    kind: str
    #: A regular expression; the identifier is the group `value`, or `other`, where it has one. Long ones are lists.
    pattern: str | list[str]
    #: Whether capital and small letters are the same.
    any_case: bool = False
    #: Words of which one must stand shortly before.
    cues: list[str] = []
    #: A module of python-stdnum whose check digits must be right ("luhn", "us.rtn").
    check_digit: str | None = None

    @field_validator("kind")
    @classmethod
    def _is_known(cls, kind: str) -> str:
        if kind not in categories():
            # Only ids of the taxonomy are repeated: in a broken file anything may stand there.
            near = get_close_matches(kind, categories(), n=3)
            raise ValueError("the taxonomy has no such category" + (f"; it has {', '.join(near)}" if near else ""))
        return kind


class TableRow(RuleRow):
    """One row of the program's own table, which may ask more than a pattern."""

    #: Names of functions that must all accept the match.
    check: str | list[str] = []
    #: The function that says which spans a match is; without it, it is its group.
    read: str | None = None
    #: The function that finds by itself where the pattern says that there may be something.
    find: str | None = None
    #: Of a name: how many words must be left of it, and whether a word that is an eponym may be one.
    fewest_words: int = 1
    is_sure: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One row, ready to be searched for."""

    kind: str
    found_by: str
    regex: re.Pattern[str]
    #: Returns RE2's pattern that matches wherever the regex does; None where the regex is found fast.
    locate: Callable[[], Any]
    checks: tuple[Callable[["re.Match[str]"], bool], ...]
    read: Reader
    finder: Callable[[str, int, int], Iterable[tuple[int, int, str]]] | None
    fewest_words: int
    is_sure: bool

    def find(self, stretch: "Stretch") -> Iterator[EntitySpan]:
        """Yield the spans of the rule in a stretch of a text; raises whatever its functions do."""
        if self.finder is not None:
            for begin, last in self._spots(stretch):
                for first, after, kind in self.finder(stretch.text, begin, last):
                    yield EntitySpan(first, after, kind, self.found_by)
            return
        for match in self._matches(stretch):
            for check in self.checks:
                if not check(match):
                    break
            else:
                for first, last, kind in self.read(match, self):
                    yield EntitySpan(first, last, kind, self.found_by)

    def _spots(self, stretch: "Stretch") -> Iterator[tuple[int, int]]:
        """Yield where around its pattern a function is to look, by start and apart."""
        start, end = stretch.start, stretch.end
        begin = last = start
        located = self.locate() if stretch.data is not None else None
        before = 0 if located is None else start
        matches = self.regex.finditer(stretch.text, start, end) if located is None else located.finditer(stretch.data)
        for found in matches:
            first, after = found.span()
            first, after = first + before, after + before
            if first - _AROUND_CHARS > last:
                if last > begin:
                    yield begin, last
                begin = first - _AROUND_CHARS
            last = min(after + _AROUND_CHARS, end)
        if last > begin:
            yield begin, last

    def _matches(self, stretch: "Stretch") -> "Iterator[re.Match[str]]":
        """Yield the matches that begin in a stretch; what goes on behind it decides about those near its end."""
        text, sure = stretch.text, stretch.sure
        for match in self._matches_within(stretch):
            if match.end() <= sure:
                yield match
            elif (whole := self.regex.match(text, match.start())) is not None:
                yield whole

    def _matches_within(self, stretch: "Stretch") -> "Iterator[re.Match[str]]":
        """Yield the matches within a stretch: what RE2 says where to try is faster than trying at each place."""
        text, start, end = stretch.text, stretch.start, stretch.end
        place = 0
        if stretch.data is not None and (located := self.locate()) is not None:
            least = start
            for _ in range(_MOST_TRIED):
                found = located.search(stretch.data, place)
                if found is None:
                    return
                # What stands before the match may belong to what is located.
                first, _ = found.span()
                at = max(start + first, least)
                match = self.regex.match(text, at, end) or self.regex.match(text, at + 1, end)
                place = first + 1
                if match is not None and match.end() > match.start():
                    yield match
                    least = match.end()
                    place = max(place, least - start - 1)
        yield from self.regex.finditer(text, start + place, end)


class Stretch:
    """A stretch of a text that some rules are searched for in, with what they share."""

    __slots__ = ("data", "end", "start", "sure", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end
        written = text[start:end]
        #: For RE2, whose places are bytes; None where these are not characters.
        self.data = written.encode() if written.isascii() else None
        #: A match that ends up to here is not cut off by the stretch's end.
        self.sure = end if end == len(text) else end - _NEAR_END_CHARS


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules that are one matter: what one of them finds may say more of what another does."""

    name: str
    level: Level
    rules: tuple[Rule, ...]
    #: (text, what the rules found, by rule and place) -> what the group finds.
    then: Callable[[str, list[EntitySpan]], Iterable[EntitySpan]] | None

    @property
    def categories(self) -> frozenset[str]:
        """Every category that a row of it is of."""
        return frozenset(rule.kind for rule in self.rules)


@cache
def rule_groups() -> tuple[RuleGroup, ...]:
    """Return the table, in the order of trust."""
    return tuple(_read_group(row) for name in _FILES for row in _document(name)["group"])


def expand(pattern: str) -> str:
    """Return a pattern with the words that it names; raises KeyError for a name that the vocabulary does not have."""
    return _named(pattern, _vocabulary())


def regex(pattern: str) -> re.Pattern[str]:
    """Return a pattern with the words that it names, compiled."""
    return re.compile(expand(pattern))


def words(pattern: str) -> re.Pattern[str]:
    """Return the same, searched without regard to case."""
    return re.compile(expand(pattern), re.IGNORECASE)


_NAME: Final = re.compile(r"\$\{(\w+)\}")


def _named(pattern: str, vocabulary: Mapping[str, str]) -> str:
    return _NAME.sub(lambda match: vocabulary[match[1]], pattern)


@cache
def _document(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


@cache
def _vocabulary() -> Mapping[str, str]:
    names = sorted(STATES.values(), key=len, reverse=True)
    found: dict[str, str] = {
        "spelled_number": SPELLED_NUMBER,
        "state_code": "|".join(STATES),
        "state_name": "|".join(names),
        "state": "|".join((*STATES, *names)),
        "street_suffix": _suffixes(alone=True),
        "street_suffix_or_word": _suffixes(alone=False),
    }
    written: dict[str, str | list[str] | dict[str, Any]] = {}
    for name in _FILES:
        written |= _document(name).get("words", {})
    for name, value in written.items():
        found[name] = _alternatives(value) if isinstance(value, dict) else "".join(value)
    while any(_NAME.search(value) for value in found.values()):
        found = {name: _named(value, found) for name, value in found.items()}
    return found


def _alternatives(listed: Mapping[str, Any]) -> str:
    """Return the entries of a list as a pattern, the longer ones first: it takes the first that fits."""
    entries = list(read_words(listed["list"]))
    if listed.get("title"):
        entries = list(map(str.title, entries))
    return "|".join(sorted(entries, key=lambda entry: (-len(entry), entry))).replace(" ", r"\s")


def _suffixes(*, alone: bool) -> str:
    found = {word for row in STREET_SUFFIXES if alone == (row[0] not in _NOT_ALONE) for word in row}
    return "|".join(sorted(found, key=lambda word: (-len(word), word)))


def _read_group(row: Mapping[str, Any]) -> RuleGroup:
    rules = [_read_rule(TableRow.model_validate(one), found_by=row["name"]) for one in row["rule"]]
    if "also" in row:
        kinds = {rule.kind for rule in rules}
        rules += [rule for rule in _read_group(_named_group(row["also"])).rules if rule.kind in kinds]
    return RuleGroup(row["name"], row["level"], tuple(rules), _function(row["then"]) if "then" in row else None)


def _named_group(name: str) -> Mapping[str, Any]:
    return next(row for file in _FILES for row in _document(file)["group"] if row["name"] == name)


def _read_rule(row: TableRow, *, found_by: str) -> Rule:
    """Return a row of the table, ready to be searched for; raises `re.error` and KeyError for what is none."""
    pattern = "".join(row.pattern)
    checks = [_function(name) for name in ([row.check] if isinstance(row.check, str) else row.check)]
    if row.cues:
        checks.append(cued(row.cues))
    if row.check_digit is not None:
        checks.append(has_check_digit(row.check_digit))
    compiled = words(pattern) if row.any_case else regex(pattern)
    return Rule(
        kind=row.kind,
        found_by=found_by,
        regex=compiled,
        locate=cache(partial(_located, compiled)),
        checks=tuple(checks),
        read=_read_group_of_match(compiled) if row.read is None else _function(row.read),
        finder=None if row.find is None else _function(row.find),
        fewest_words=row.fewest_words,
        is_sure=row.is_sure,
    )


def _function(name: str) -> Any:
    for module in _FUNCTIONS_OF:
        found = getattr(import_module(f"{__package__}.{module}"), name, None)
        if found is not None:
            return found
    raise KeyError(f"no function {name!r} for the table of rules")


def _located(pattern: re.Pattern[str]) -> Any:
    """Return RE2's pattern where that of `re` is tried at each place: it begins with no character of its own."""
    import re2

    if pattern.pattern[:1] in "[0123456789(" and not pattern.pattern.startswith(("(?i:", "(?<", "(?:")):
        return None
    options = re2.Options()
    options.never_capture = options.dot_nl = True
    return re2.compile(relaxed(pattern, ascii_alone=True).encode(), options)


def _read_group_of_match(pattern: re.Pattern[str]) -> Reader:
    groups = [pattern.groupindex[name] for name in ("value", "other") if name in pattern.groupindex] or [0]

    def read(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
        for group in groups:
            start, end = match.span(group)
            if start >= 0:
                yield start, end, rule.kind
                return

    return read


def cued(cues: Collection[str]) -> Callable[["re.Match[str]"], bool]:
    """Return what says whether one of some words stands shortly before a match."""
    # An underscore parts words: "passport_no._".
    cue = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, cues))})(?![^\W_])", re.IGNORECASE)
    return lambda match: cue.search(match.string, max(0, match.start() - _CUE_CHARS), match.start()) is not None


def has_check_digit(module: str) -> Callable[["re.Match[str]"], bool]:
    """Return what says whether a match has the check digits of a number of python-stdnum."""
    is_valid: Callable[[str], bool] = import_module(f"stdnum.{module}").is_valid
    return lambda match: is_valid(_BETWEEN_DIGITS.sub("", match[0]))


_BETWEEN_DIGITS: Final = re.compile(r"[\s.-]")
