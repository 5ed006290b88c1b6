"""The detector by rules, and the table of its rows, in the order of trust (docs/methods.md, section 11).

A row says what an identifier looks like, what must stand beside it and how sure it is. Rows stand in the TOML files
beside this module, with the vocabulary that their patterns share: `${kin}` in a pattern stands for the words of that
name. Owns their reading and the search for them, which needs no model and no corpus. What a row asks beyond patterns
and words is a function of the module of its subject.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from clinaudit.audit.pii.detectors.screen import Screen
from clinaudit.audit.pii.detectors.word_lists import read_words, says
from clinaudit.audit.pii.plain_text import as_given, leaders
from clinaudit.audit.pii.taxonomy import EntitySpan, categories, resolve_overlaps
from clinaudit.audit.pii.values.normal_form import SPELLED_NUMBER, STATES, STREET_SUFFIXES
from clinaudit.templates.text_file import SAID, Listed, TomlTable, Word

#: `certain`: precise enough for what a model emits; `suspected`: rather masked too much, in what is sent out.
Level = Literal["certain", "suspected"]
#: The files of the table. Of two rules of one level that find the same characters, the earlier says what they are.
_FILES: Final = (
    *("numbers", "contacts", "dates", "codes", "ages", "people", "places", "organizations", "traits", "unlabelled"),
)
#: What a row asks beyond patterns and words: functions of these modules, by name.
_FUNCTIONS_OF: Final = ("numbers_and_dates", "people_and_places")
#: How far before a match its cue words are looked for, and what must stand before it, in characters.
_CUE_CHARS: Final = 40
_BEFORE_CHARS: Final = 120
#: A match that ends so near the end of what is searched may be cut off there.
_NEAR_END_CHARS: Final = 40
_BETWEEN_DIGITS: Final = re.compile(r"[\s.-]")
_WORD: Final = re.compile(r"[^\s,^]+")

_Match = re.Match[str]
#: A regular expression; a long one is a list of its parts.
_Pattern = Annotated[str, BeforeValidator(lambda given: _joined(given))]
#: A match of a rule's pattern, and that rule -> the spans that it is: start, end and category.
Places = Iterable[tuple[int, int, str]]


def _joined(given: object) -> object:
    """Return the parts of a pattern as one text; anything but texts as it is, which is refused."""
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        return "".join(given)
    return given


def _known(kind: str) -> str:
    if kind not in categories():
        # Only ids of the taxonomy are repeated: in a broken file anything may stand there.
        near = get_close_matches(kind, categories(), n=3)
        said = "the taxonomy has no such category" + (f"; it has {', '.join(near)}" if near else "")
        raise PydanticCustomError(SAID, "{said}", {"said": said})
    return kind


class RuleRow(TomlTable):
    """One row of rules, as it is written."""

    #: A category of the taxonomy.
    kind: Annotated[str, AfterValidator(_known)]
    #: The identifier is its group `value`, where it has one.
    pattern: _Pattern
    #: Whether capital and small letters are the same.
    any_case: bool = False
    #: Words of which one must stand shortly before.
    cues: Listed[Word] = ()
    #: A module of python-stdnum whose check digits must be right ("luhn", "us.rtn").
    check_digit: str | None = None

    @property
    def checks(self) -> Iterator[Callable[[_Match], bool]]:
        """What its cues and its check digits ask of a match."""
        if self.cues:
            # An underscore parts words: "passport_no._".
            cue = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, self.cues))})(?![^\W_])", re.IGNORECASE)
            yield lambda match: bool(cue.search(match.string, max(0, match.start() - _CUE_CHARS), match.start()))
        if self.check_digit is not None:
            is_valid: Callable[[str], bool] = import_module(f"stdnum.{self.check_digit}").is_valid
            yield lambda match: is_valid(_BETWEEN_DIGITS.sub("", match[0]))


class TableRow(RuleRow):
    """One row of the program's own table, which may ask more than a pattern."""

    #: What must and what must not stand right before what is found, and what not right after it, in any case.
    before: _Pattern = ""
    not_before: _Pattern = ""
    not_after: _Pattern = ""
    #: How many figures it has, at least and at most.
    digits: Listed[int] = ()
    #: What words must be (`word_lists.says`), by a group of the pattern: each of its words. `all` and `first`: of what
    #: is found. `rest`: a name ends before the first further word that is none.
    words: dict[str, str] = Field(default_factory=dict)
    #: Of a name: how many words must be left of it, and whether a word that is an eponym may be one.
    fewest_words: int = 1
    is_sure: bool = False
    #: A function that must accept the match.
    check: str | None = None
    #: The function that says which spans a match is; without it, it is its group.
    read: str | None = None

    @property
    def checks(self) -> Iterator[Callable[[_Match], bool]]:
        """What the row asks of a match, the cheapest first."""
        yield from super().checks
        if self.digits:
            least, *most = self.digits
            yield lambda match: least <= digits_of(found_in(match)) <= (most[0] if most else len(match[0]))
        if self.not_after:
            behind = words(self.not_after)
            yield lambda match: behind.match(match.string, span_in(match)[1]) is None
        for pattern, must in ((self.before, True), (self.not_before, False)):
            if pattern:
                yield _is_after(pattern, must=must)
        for group, asked in self.words.items():
            if group != "rest":
                yield _has_words(group, says(expand(asked)))
        if self.check is not None:
            yield _function(self.check)


@dataclass(frozen=True, slots=True)
class Rule:
    """One row, ready to be searched for."""

    kind: str
    found_by: str
    #: Of `re`; of a site's rule, of RE2, which no text makes slow.
    regex: Any
    checks: tuple[Callable[[_Match], bool], ...]
    read: Callable[[_Match, "Rule"], Places]
    #: Whether a further word may belong to the name; None: every one.
    goes_on: Callable[[str], bool] | None = None
    fewest_words: int = 1
    is_sure: bool = False

    def spans_of(self, match: _Match) -> Iterator[EntitySpan]:
        """Yield what a match of the regex is, if all checks accept it; raises whatever they do."""
        if all(check(match) for check in self.checks):
            yield from (EntitySpan(*span, self.found_by) for span in self.read(match, self))

    def find(self, text: str, start: int, end: int) -> Iterator[EntitySpan]:
        """Yield the spans of the rule that begin in a stretch of a text."""
        for match in self.regex.finditer(text, start, end):
            if match.end() <= end - _NEAR_END_CHARS or end == len(text):
                yield from self.spans_of(match)
            elif (whole := self.regex.match(text, match.start())) is not None:
                # What goes on behind the stretch decides.
                yield from self.spans_of(whole)


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules that are one matter: what one of them finds may say more of what another does."""

    name: str
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


@cache
def _groups(pattern: Any, prefix: str) -> tuple[tuple[str, int], ...]:
    """Return the named groups of a pattern that begin so, with their numbers: RE2's matches know no names."""
    return tuple((name, number) for name, number in pattern.groupindex.items() if name.startswith(prefix))


def span_in(match: _Match) -> tuple[int, int]:
    """Return where a match's identifier stands: its first group `value`, `value_2`, ... that holds one, or all."""
    for _, number in _groups(match.re, "value"):
        if match[number]:
            return match.span(number)
    return match.span()


def found_in(match: _Match) -> str:
    """Return the text of a match's identifier."""
    return match.string[slice(*span_in(match))]


def digits_of(written: str) -> int:
    """Return how many figures a text holds."""
    return sum(map(str.isdigit, written))


def kind_of(match: _Match, rule: Rule) -> str:
    """Return what a match's label says that it is: `mrn` of a group `of_mrn`; a rule's own kind stands for no label."""
    return next((name[3:] for name, number in _groups(match.re, "of_") if match[number]), rule.kind)


def read_group(match: _Match, rule: Rule) -> Places:
    """Yield a match's identifier; or each group that has the name of a category, as that."""
    named = _of_categories(match.re)
    if not named:
        yield *span_in(match), kind_of(match, rule)
    for name, number in named:
        if match[number]:
            yield *match.span(number), name


@cache
def _of_categories(pattern: Any) -> tuple[tuple[str, int], ...]:
    return tuple(one for one in _groups(pattern, "") if one[0] in categories())


def _is_after(pattern: str, *, must: bool) -> Callable[[_Match], bool]:
    """Return what says whether a pattern stands right before what is found, as it must or must not."""
    compiled = words(f"(?:{pattern})$")

    def is_so(match: _Match) -> bool:
        start, _ = span_in(match)
        return (compiled.search(match.string, max(0, start - _BEFORE_CHARS), start) is not None) == must

    return is_so


def _has_words(group: str, is_so: Callable[[str], bool]) -> Callable[[_Match], bool]:
    """Return what says whether the words of a group of the pattern, or of what is found, are as they must be."""

    def has(match: _Match) -> bool:
        written = found_in(match) if group in ("all", "any", "first") else match[group] or ""
        found = _WORD.findall(written)
        # What is written short says nothing beside whole words: "E. coli".
        found = [word for word in found if not word.endswith(".")] or found
        return (any if group == "any" else all)(map(is_so, found[:1] if group == "first" else found))

    return has


_NAME: Final = re.compile(r"\$\{(\w+)\}")


def _named(pattern: str, vocabulary: Mapping[str, str]) -> str:
    return _NAME.sub(lambda match: vocabulary[match[1]], pattern)


@cache
def _document(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


@cache
def _vocabulary() -> Mapping[str, str]:
    names = sorted(STATES.values(), key=len, reverse=True)
    words_too = read_words("streets_and_words")
    suffixes = {word for row in STREET_SUFFIXES if row[0] not in words_too for word in row}
    found: dict[str, str] = {
        "spelled_number": SPELLED_NUMBER,
        "state_code": "|".join(STATES),
        "state_name": "|".join(names),
        "state": "|".join((*STATES, *names)),
        "street_suffix": "|".join(sorted(suffixes, key=lambda word: (-len(word), word))),
    }
    for file in _FILES:
        for name, value in _document(file).get("words", {}).items():
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


def _read_group(row: Mapping[str, Any]) -> RuleGroup:
    rules = [_read_rule(row.get("each", {}) | one, found_by=row["name"]) for one in row["rule"]]
    if "also" in row:
        kinds = {rule.kind for rule in rules}
        other = next(other for file in _FILES for other in _document(file)["group"] if other["name"] == row["also"])
        rules += [rule for rule in _read_group(other).rules if rule.kind in kinds]
    return RuleGroup(row["name"], tuple(rules), _function(row["then"]) if "then" in row else None)


def _read_rule(written: Mapping[str, Any], *, found_by: str) -> Rule:
    """Return a row of the table, ready to be searched for; raises `re.error` and KeyError for what is none."""
    row = TableRow.model_validate(written)
    compiled = (words if row.any_case else regex)(row.pattern)
    read = read_group if row.read is None else _function(row.read)
    goes_on = says(expand(row.words["rest"])) if "rest" in row.words else None
    return Rule(row.kind, found_by, compiled, tuple(row.checks), read, goes_on, row.fewest_words, row.is_sure)


def _function(name: str) -> Any:
    for module in _FUNCTIONS_OF:
        found = getattr(import_module(f"{__package__}.{module}"), name, None)
        if found is not None:
            return found
    raise KeyError(f"no function {name!r} for the table of rules")


class RuleDetector:
    """Finds identifying text by the rows of level `certain` alone."""

    name = "rules"

    def __init__(self, kinds: Iterable[str] | None = None) -> None:
        """Look for some categories of the taxonomy alone, or for all."""
        self.kinds = frozenset(categories() if kinds is None else kinds)
        groups = rule_groups("certain")
        self._rows = _rows_of(tuple(group for group in groups if not group.categories.isdisjoint(self.kinds)))

    def __reduce__(self) -> tuple[type["RuleDetector"], tuple[frozenset[str]]]:
        return RuleDetector, (self.kinds,)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start, none of them overlapping another; the longer one stands."""
        plain = as_given(text).replaced(leaders(text))
        # A span of a category that is not asked for still stands before the shorter ones that it holds.
        spans = resolve_overlaps(map(plain.original_span, self._rows.find(plain.text)))
        return [span for span in spans if span.category in self.kinds]


#: Names by where they stand alone are no part of what else is found there: the longer of two does not hide the other.
_NAMES_ALONE: Final = "places of names"


class SuspectedDetector:
    """Finds what the rows of level `suspected` do, rather too much: of names by where they stand, or all the others."""

    def __init__(self, *, of_names: bool = False) -> None:
        self.name = _NAMES_ALONE if of_names else "strict rules"
        groups = rule_groups("suspected")
        self._rows = _rows_of(tuple(group for group in groups if (group.name == _NAMES_ALONE) is of_names))

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; they may overlap."""
        return sorted(self._rows.find(text))


class RuleRows:
    """Groups of rules that are searched for together: one pass says where each can match, each then looks there."""

    def __init__(self, groups: Collection[RuleGroup]) -> None:
        self._rules = [(place, rule) for place, group in enumerate(groups) for rule in group.rules]
        self._then = [group.then for group in groups]
        self._screen = Screen([rule.regex for _, rule in self._rules])

    def find(self, text: str) -> Iterator[EntitySpan]:
        """Yield what the groups find; of the same characters the first says what they are."""
        found: dict[int, list[EntitySpan]] = {}
        # By the order of the table: of rules that find the same characters, the first says what they are.
        for number, places in sorted(self._screen.stretches(text).items()):
            group, rule = self._rules[number]
            for place in places:
                found.setdefault(group, []).extend(rule.find(text, *place))
        taken: set[tuple[int, int]] = set()
        for group, spans in found.items():
            then = self._then[group]
            for span in spans if then is None else then(text, spans):
                if (span.start, span.end) not in taken:
                    taken.add((span.start, span.end))
                    yield span


@cache
def _rows_of(groups: tuple[RuleGroup, ...]) -> RuleRows:
    return RuleRows(groups)
