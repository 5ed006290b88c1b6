"""The layout of a note (`phrases.toml`): its clauses, the sections that change whom a mention is about, and its rules.

Owns the segmentation of a note into clauses (the scope of a negation ends with its clause), and the named rules, which
decide by a section, a family history, a box, an answer, a test result or a query (paper, Appendix C; docs/methods.md,
section 5). Knows nothing of diagnoses. All offsets are in characters.
"""

import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from clinaudit.audit.measures.judge.verdict import PatientStatus
from clinaudit.priors.diagnoses import TermKind
from clinaudit.templates.spans import Span

#: A line at least this long without closing punctuation was wrapped by the editor, and its clause continues [choice]:
#: text wrapped at the usual 72 to 80 columns seldom breaks earlier, and an item of a list is seldom as long.
WRAPPED_LINE_CHARS = 60
#: Longer clauses are cut at a blank. No real clause is as long, and work stays linear in a text of one endless line.
MAX_CLAUSE_CHARS = 2000
#: Texts whose sections and parts, and parts whose clauses are kept: one is asked about several diagnoses.
_MOST_TEXTS, _MOST_PARTS = 64, 256
#: Name of the rule of a query ("?PTSD").
QUERY_RULE: Final = "query"

PHRASE_TABLES: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8")
)


def _expand(pattern: str | Sequence[str]) -> str:
    """Return a pattern as a regular expression, its parts joined and its fragments filled in."""
    return re.sub(r"@(\w+)@", lambda name: _expand(PHRASE_TABLES["fragments"][name[1]]), "".join(pattern))


_LAYOUT: Final = {name: re.compile(_expand(row), re.IGNORECASE) for name, row in PHRASE_TABLES["layout"].items()}


def _header(*kinds: str) -> re.Pattern[str]:
    """Return what finds the headers of sections of these kinds, from the sign before each on.

    A colon ends a header. At the beginning of a line so does the line's end, before it a dash or a comma or not
    ("FAMILY HISTORY", British "Fhx -"). A dash before text ends another section's header: "Shx - lives alone". It opens
    no family history, since the line after "FHx - nil" may be of anything.
    """
    names = "|".join(f"(?P<{kind}>{'|'.join(map(_expand, PHRASE_TABLES['sections'][kind]))})" for kind in kinds)
    dashed = r"|(?(other)(?:(?<=[ \t])[-–—]|[-–—](?=[ \t]))|(?!))" if "other" in kinds else ""
    return re.compile(
        rf"(?:\n|\r|\.\s|;\s)(?P<line>(?<=[\r\n]))?[ \t]*(?P<name>{names})[ \t]*"
        rf"(?::|(?(line)(?:(?P<bare>(?=[\r\n]|\Z))|(?P<sign>[-–—,])[ \t]*(?=[\r\n]|\Z){dashed})|(?!)))",
        re.IGNORECASE,
    )


_TELLING: Final = _header("family", "allergies", "education")
_ANY_HEADER: Final = _header("family", "allergies", "education", "other")
# Where a clause ends whatever stands before: at a blank line, and at one like a header that is no item of a list.
_PART_END = re.compile(rf"\n(?=[^\S\n]*\n|(?!{_LAYOUT['BULLET'].pattern}){_LAYOUT['HEADER_LIKE'].pattern})")


def section_at(text: str, position: int) -> str:
    """Return the kind of the section around `position`: family, allergies, education, or other."""
    return next((kind for span, kind in _sections(text) if span.start <= position < span.end), "other")


@lru_cache(maxsize=_MOST_TEXTS)
def _sections(text: str) -> list[tuple[Span, str]]:
    """Return the sections of a text whose kind is not other, in order."""
    # So that the text's first line begins as the others do.
    lined = f"\n{text}"
    found = []
    for header in _headers(_TELLING, lined, 0):
        kind = "family" if header["family"] else "allergies" if header["allergies"] else "education"
        start = header.end()
        end = next((following.end() for following in _headers(_ANY_HEADER, lined, start)), len(lined))
        if kind == "family":
            end = _family_end(lined, start, end, is_after_sign=header["sign"] is not None)
        found.append((Span(start - 1, end - 1), kind))
    return found


def _headers(pattern: re.Pattern[str], text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield the headers from a place on; one alone on its line in capitals, or of a capital and several words.

    So "Drug History" is one, but not one such word ("Alcohol"), which may be an item of a list.
    """
    for header in pattern.finditer(text, start):
        name = header["name"]
        if header["bare"] is None or name.isupper() or (name[0].isupper() and (" " in name or header["family"])):
            yield header


def _family_end(text: str, start: int, end: int, *, is_after_sign: bool) -> int:
    """Return where a family section that begins at `start` ends, at `end` at the latest.

    It ends after a statement that there is no family history. Notes with "Fhx -" alone on its line name few other
    sections. So after such a header (`is_after_sign`) it also ends at a blank line, at another header, at a line that
    begins as an assessment does, or at a list item that follows a line that is not one.
    """
    if said_none := _LAYOUT["NO_FAMILY"].match(text, start, end):
        return said_none.end()
    first, *lines = text[start:end].splitlines(keepends=True) if is_after_sign else [text[start:end]]
    position, was_item = start + len(first), True
    for line in lines:
        is_item = _LAYOUT["BULLET"].match(line) is not None
        if not line.strip() or _LAYOUT["ENDS_FAMILY"].match(line) or (is_item and not was_item):
            break
        position, was_item = position + len(line), is_item
    return position


def clause_around(text: str, span: Span) -> Span:
    """Return the clause that holds a span; several, where it goes from one into the next.

    A clause ends at a full stop, a semicolon, or the end of a line that is not merely wrapped.
    """
    part = _around(span, _part_ends(text))
    return _around(span, _clause_ends(text, part))


def _around(span: Span, bounds: Sequence[int]) -> Span:
    return Span(bounds[bisect_right(bounds, span.start) - 1], bounds[bisect_left(bounds, span.end)])


@lru_cache(maxsize=_MOST_TEXTS)
def _part_ends(text: str) -> list[int]:
    return [0, *(match.end() for match in _PART_END.finditer(text)), len(text)]


@lru_cache(maxsize=_MOST_PARTS)
def _clause_ends(text: str, part: Span) -> list[int]:
    """Return the bounds of the clauses of a part, its own among them."""
    signs = (match for match in _LAYOUT["CLAUSE_END"].finditer(text, *part) if not _asks(text, match))
    bounds = sorted({*part, *(match.end() for match in signs), *_line_cuts(text, part)})
    for start, end in pairwise(tuple(bounds)):
        while end - start > MAX_CLAUSE_CHARS:
            start = text.rfind(" ", start + 1, start + MAX_CLAUSE_CHARS) + 1 or start + MAX_CLAUSE_CHARS
            bounds.append(start)
    return sorted(bounds)


def _asks(text: str, sign: re.Match[str]) -> bool:
    """Whether a sign is the question mark of a query, which asks for what follows it."""
    start = sign.start()
    return text[start] == "?" and (
        _LAYOUT["ASKS"].search(text, max(0, start - 30), start) is not None
        or (text[start - 1].isspace() and _LAYOUT["ASKS_FOR_A_CAUSE"].match(text, start) is not None)
    )


def _line_cuts(text: str, part: Span) -> Iterator[int]:
    """Yield the ends of the lines that end a clause."""
    is_bullet = _LAYOUT["BULLET"].match
    end, in_negated_list = part.start, False
    for line, following in pairwise([*text[slice(*part)].splitlines(keepends=True), ""]):
        end += len(line)
        if line.rstrip().endswith(":") and _LAYOUT["NEGATED_LIST"].search(line):
            in_negated_list = True
        elif in_negated_list:
            in_negated_list = is_bullet(line) is not None
        if not (in_negated_list and is_bullet(following)) and not _is_wrapped(line.rstrip(), following):
            yield end


def _is_wrapped(line: str, following: str) -> bool:
    """Whether the clause of `line` continues in the line after it."""
    if not line or not following.strip() or _LAYOUT["BULLET"].match(following):
        return False
    return _LAYOUT["HEADER_LIKE"].match(following) is None and (
        _LAYOUT["GOES_ON"].search(line[-40:]) is not None
        or (len(line) >= WRAPPED_LINE_CHARS and line[-1] not in ".;:!?")
    )


class _Rule(NamedTuple):
    """One rule; it applies where every given part matches, and neither exception does."""

    name: str
    status: PatientStatus
    section: str | None
    kinds: tuple[TermKind, ...]
    #: Searched in the clause before the mention.
    before: re.Pattern[str] | None
    #: Matched from the end of the mention on.
    after: re.Pattern[str] | None
    #: Exceptions: found in the clause before the mention, or in the mention itself ("HIV+").
    unless_before: re.Pattern[str] | None
    unless_mention: re.Pattern[str] | None


def _read_rule(row: dict[str, Any]) -> _Rule:
    patterns = (row.get(part) for part in _Rule._fields[4:])
    compiled = (None if pattern is None else re.compile(_expand(pattern), re.IGNORECASE) for pattern in patterns)
    return _Rule(row["name"], row["status"], row.get("section"), tuple(row.get("kinds", TermKind)), *compiled)


_RULES: Final = tuple(map(_read_rule, PHRASE_TABLES["rules"]))


def first_rule(before: str, mention: str, after: str, *, kind: TermKind, section: str) -> _Rule | None:
    """Return the first rule that applies to a mention, with its clause before and after it; None where none does."""
    for rule in _RULES:
        if (
            kind in rule.kinds
            and rule.section in (None, section)
            and (rule.before is None or rule.before.search(before))
            and (rule.after is None or rule.after.match(after))
            and not (rule.unless_before is not None and rule.unless_before.search(before))
            and not (rule.unless_mention is not None and rule.unless_mention.search(mention))
        ):
            return rule
    return None
