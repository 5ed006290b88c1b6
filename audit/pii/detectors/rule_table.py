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

from clinaudit.audit.pii.detectors.screen import located
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
#: Places that are tried before a stretch is searched through.
_MOST_TRIED: Final = 6
#: How far around what a pattern matches its function looks.
_AROUND_CHARS: Final = 40
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

    @property
    def checks(self) -> "Iterator[Callable[[re.Match[str]], bool]]":
        """What its cues and its check digits ask of a match."""
        if self.cues:
            yield _cued(self.cues)
        if self.check_digit is not None:
            yield _has_check_digit(self.check_digit)


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
    #: Of `re`; of a site's rule, of RE2, which no text makes slow.
    regex: Any
    checks: tuple[Callable[["re.Match[str]"], bool], ...]
    read: Reader
    #: Returns RE2's pattern that matches wherever the regex does.
    locate: Callable[[], Any] = lambda: None
    finder: Callable[[str, int, int], Iterable[tuple[int, int, str]]] | None = None
    fewest_words: int = 1
    is_sure: bool = False

    def spans_of(self, match: "re.Match[str]") -> Iterator[EntitySpan]:
        """Yield what a match of the regex is, if all checks accept it; raises whatever they do."""
        if all(check(match) for check in self.checks):
            yield from (EntitySpan(*span, self.found_by) for span in self.read(match, self))

    def find(self, text: str, data: bytes, start: int, end: int) -> Iterator[EntitySpan]:
        """Yield the spans of the rule that begin in a stretch of a text, which is `data` as RE2 is shown it."""
        if self.finder is not None:
            for first, last in self._windows(data, start, end):
                yield from (EntitySpan(*span, self.found_by) for span in self.finder(text, first, last))
            return
        for match in self._matches(text, data, start, end):
            if match.end() <= end - _NEAR_END_CHARS or end == len(text):
                yield from self.spans_of(match)
            elif (whole := self.regex.match(text, match.start())) is not None:
                # What goes on behind the stretch decides.
                yield from self.spans_of(whole)

    def _windows(self, data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield where around its pattern a function is to look, by start and apart."""
        first = last = start
        for found in self.locate().finditer(data, start, end):
            if found.start() - _AROUND_CHARS > last:
                if last > first:
                    yield first, last
                first = found.start() - _AROUND_CHARS
            last = min(end, found.end() + _AROUND_CHARS)
        if last > first:
            yield first, last

    def _matches(self, text: str, data: bytes, start: int, end: int) -> "Iterator[re.Match[str]]":
        """Yield the matches within a stretch: to try where RE2 says is faster than to try at each place."""
        at = start
        # The character before a match may be part of what RE2 finds.
        place = max(0, start - 1)
        for _ in range(_MOST_TRIED):
            found = self.locate().search(data, place, end)
            if found is None:
                return
            place = found.start() + 1
            match = self.regex.match(text, max(at, place - 1), end) or self.regex.match(text, max(at, place), end)
            if match is not None:
                yield match
                at = match.end()
                place = max(place, at - 1)
        yield from self.regex.finditer(text, max(at, place), end)


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
def rule_groups(level: Level | None = None) -> tuple[RuleGroup, ...]:
    """Return the groups of a level, or of both, in the order of trust; no other group's patterns are compiled."""
    return tuple(
        _read_group(row) for name in _FILES for row in _document(name)["group"] if level in (None, row["level"])
    )


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
    compiled = words(pattern) if row.any_case else regex(pattern)
    checks = [row.check] if isinstance(row.check, str) else row.check
    return Rule(
        row.kind,
        found_by,
        compiled,
        (*map(_function, checks), *row.checks),
        read_group(compiled) if row.read is None else _function(row.read),
        cache(partial(located, compiled)),
        None if row.find is None else _function(row.find),
        row.fewest_words,
        row.is_sure,
    )


def _function(name: str) -> Any:
    for module in _FUNCTIONS_OF:
        found = getattr(import_module(f"{__package__}.{module}"), name, None)
        if found is not None:
            return found
    raise KeyError(f"no function {name!r} for the table of rules")


def read_group(pattern: Any) -> Reader:
    """Return what reads a match's group `value`, or else `other`, that holds characters, or the match without one."""
    groups = [pattern.groupindex[name] for name in ("value", "other", "short") if name in pattern.groupindex]

    def read(match: "re.Match[str]", rule: Rule) -> Iterator[tuple[int, int, str]]:
        yield *next((match.span(group) for group in groups if match[group]), match.span()), rule.kind

    return read


def _cued(cues: Collection[str]) -> Callable[["re.Match[str]"], bool]:
    """Return what says whether one of some words stands shortly before a match."""
    # An underscore parts words: "passport_no._".
    cue = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, cues))})(?![^\W_])", re.IGNORECASE)
    return lambda match: cue.search(match.string, max(0, match.start() - _CUE_CHARS), match.start()) is not None


def _has_check_digit(module: str) -> Callable[["re.Match[str]"], bool]:
    """Return what says whether a match has the check digits of a number of python-stdnum."""
    is_valid: Callable[[str], bool] = import_module(f"stdnum.{module}").is_valid
    return lambda match: is_valid(_BETWEEN_DIGITS.sub("", match[0]))


_BETWEEN_DIGITS: Final = re.compile(r"[\s.-]")
