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
from typing import Any, Final

from clinaudit.audit.measures.judge.verdict import PatientStatus
from clinaudit.priors.diagnoses import TermKind
from clinaudit.templates.shown_text import Span

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


_KINDS: Final = {
    kind: f"(?P<{kind}>{'|'.join(map(_expand, names))})" for kind, names in PHRASE_TABLES["sections"].items()
}
#: From the sign before a header on. A colon ends it. At the beginning of a line so does the line's end, before it a
#: dash or a comma or not ("FAMILY HISTORY", British "Fhx -"). A dash before text ends another section's header: "Shx -
#: lives alone". It opens no family history, since the line after "FHx - nil" may be of anything.
_HEADER: Final = re.compile(
    rf"(?:\n|\r|\.\s|;\s)(?P<line>(?<=[\r\n]))?[ \t]*(?P<name>{'|'.join(_KINDS.values())})[ \t]*"
    r"(?::|(?(line)(?:(?P<bare>(?=[\r\n]|\Z))|(?P<sign>[-–—,])[ \t]*(?=[\r\n]|\Z)"
    r"|(?(other)(?:(?<=[ \t])[-–—]|[-–—](?=[ \t]))|(?!)))|(?!)))",
    re.IGNORECASE,
)
#: Few texts hold a header that changes whom a mention is about.
_TELLING: Final = re.compile(
    rf"(?:[\n\r]|[.;]\s)[ \t]*(?:{'|'.join(_KINDS[kind] for kind in _KINDS if kind != 'other')})", re.IGNORECASE
)
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
    found, headers = [], [*_headers(lined)] if _TELLING.search(lined) else []
    ends = [*(header.end() for header in headers[1:]), len(lined)]
    for header, end in zip(headers, ends, strict=False):
        start = header.end()
        if header["family"]:
            end = _family_end(lined, start, end, is_after_sign=header["sign"] is not None)
        if not header["other"]:
            kind = "family" if header["family"] else "allergies" if header["allergies"] else "education"
            found.append((Span(start - 1, end - 1), kind))
    return found


def _headers(text: str) -> Iterator[re.Match[str]]:
    """Yield the headers; one alone on its line in capitals, or of a capital and several words.

    So "Drug History" is one, but not one such word ("Alcohol"), which may be an item of a list.
    """
    for header in _HEADER.finditer(text):
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
    """Yield the ends of the lines that end a clause: not those of a list that is denied, nor those merely wrapped."""
    is_bullet, is_header = _LAYOUT["BULLET"].match, _LAYOUT["HEADER_LIKE"].match
    end, in_negated_list = part.start, False
    for line, following in pairwise([*text[slice(*part)].splitlines(keepends=True), ""]):
        end, bare = end + len(line), line.rstrip()
        if bare.endswith(":") and _LAYOUT["NEGATED_LIST"].search(line):
            in_negated_list = True
        elif in_negated_list:
            in_negated_list = is_bullet(line) is not None
        if is_bullet(following):
            goes_on = in_negated_list
        else:
            is_wrapped = len(bare) >= WRAPPED_LINE_CHARS and bare[-1] not in ".;:!?"
            goes_on = bool(bare and following.strip()) and not is_header(following)
            goes_on = goes_on and (is_wrapped or _LAYOUT["GOES_ON"].search(bare[-40:]) is not None)
        if not goes_on:
            yield end


#: Parts of a rule, each with what stands for one that is not given. Exceptions are never met then.
_PARTS: Final = {"before": "", "after": "", "unless_before": "(?!)", "unless_mention": "(?!)"}
_RULES: Final = [
    (
        row["status"],
        row["name"],
        row.get("section"),
        frozenset(row.get("kinds", TermKind)),
        *(re.compile(_expand(row.get(part, default)), re.IGNORECASE) for part, default in _PARTS.items()),
    )
    for row in PHRASE_TABLES["rules"]
]


def first_rule(
    before: str, mention: str, after: str, *, kind: TermKind, section: str
) -> tuple[PatientStatus, str] | None:
    """Return status and name of the first rule that applies to a mention, with its clause around it; None: none."""
    for status, name, within, kinds, leads, follows, unless, is_exception in _RULES:
        if (
            kind in kinds
            and within in (None, section)
            and leads.search(before)
            and follows.match(after)
            and not unless.search(before)
            and not is_exception.search(mention)
        ):
            return status, name
    return None
