"""The context of a mention: its clause and its kind of section (docs/methods.md, section 5, "Verdict").

Owns the segmentation of a note into clauses (the scope of a negation ends with its clause), and the few section kinds
that change whom a mention is about. Knows nothing of diagnoses, negation or verdicts. All offsets are in characters.
"""

import bisect
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from clinaudit.audit.measures.judge.lexicon.phrases import LAYOUT, SECTION_NAMES
from clinaudit.templates.spans import Span

#: A line at least this long without closing punctuation was wrapped by the editor, and its clause continues [choice]:
#: text wrapped at the usual 72 to 80 columns seldom breaks earlier, and an item of a list is seldom as long.
WRAPPED_LINE_CHARS = 60
#: Longer clauses are cut at a blank. No real clause is as long, and work stays linear in a text of one endless line.
MAX_CLAUSE_CHARS = 2000
#: Texts whose clauses and sections are kept: one is asked about several diagnoses, twice.
_MOST_TEXTS = 64


class SectionKind(StrEnum):
    """The kinds of section that decide whom or what a mention is about."""

    FAMILY = "family"
    ALLERGIES = "allergies"
    EDUCATION = "education"
    OTHER = "other"


_SECTION_NAMES_OF_OTHER = "|".join(
    f"(?P<OTHER_{index}>{names})" for index, (kind, names) in enumerate(SECTION_NAMES) if kind == SectionKind.OTHER
)
_ANY_NAME = "|".join(f"(?P<{kind.upper()}_{index}>{names})" for index, (kind, names) in enumerate(SECTION_NAMES))
_SECTION = re.compile(rf"(?:^|[\r\n]|[.;]\s)[ \t]*(?:{_ANY_NAME})[ \t]*:", re.IGNORECASE)
# A header alone on its line, with no mark after it (ACI-Bench, British notes): "FAMILY HISTORY".
_HEADER_WITHOUT_MARK = re.compile(rf"(?:^|[\r\n])[ \t]*(?=[A-Z])(?:{_ANY_NAME})[ \t]*(?=$|[\r\n])", re.IGNORECASE)
# A header and a dash or a comma, with nothing after that on the line (British notes): "Fhx -".
_HEADER_BEFORE_DASH_OR_COMMA = re.compile(
    rf"(?:^|[\r\n])[ \t]*(?:{_ANY_NAME})[ \t]*[-–—,][ \t]*(?=$|[\r\n])", re.IGNORECASE
)
# A dash with text after it ends the section before it: "Shx - lives alone". It never opens a family-history section,
# since the line after "FHx - nil" may be of anything.
_DASHED_SECTION = re.compile(
    rf"(?:^|[\r\n])[ \t]*(?:{_SECTION_NAMES_OF_OTHER})(?:[ \t]+[-–—]|[-–—](?=[ \t]))", re.IGNORECASE
)


# Where some of these patterns may begin: they are tried there alone, which is much the faster.
def _opening(*kinds: str) -> re.Pattern[str]:
    """Return what finds where a section of these kinds may open, but for the text's beginning."""
    names = "|".join(names for kind, names in SECTION_NAMES if kind in kinds)
    return re.compile(rf"[\r\n.;](?=\s?[ \t]*(?:{names})[ \t]*(?:[:,–—-]|$|[\r\n]))", re.IGNORECASE)


_MAY_OPEN_SECTION, _MAY_TELL = _opening(*SectionKind), _opening(*set(SectionKind) - {SectionKind.OTHER})
_MAY_END_CLAUSE = re.compile(r"[.!?;]")
# Where a clause ends whatever stands before: at a blank line, and at one like a header that is no item of a list.
_PART_END = re.compile(rf"\n(?=[^\S\n]*\n|(?!{LAYOUT['BULLET'].pattern}){LAYOUT['HEADER_LIKE'].pattern})")


def _find_all(pattern: re.Pattern[str], text: str, starts: Iterable[int]) -> Iterator[re.Match[str]]:
    """Yield what `pattern.finditer` does, of a pattern that matches nowhere but at some places."""
    end = 0
    for start in starts:
        if start >= end and (found := pattern.match(text, start)) is not None:
            end = found.end()
            yield found


@lru_cache(maxsize=_MOST_TEXTS)
def sections_of(text: str) -> list[tuple[Span, SectionKind]]:
    """Return the sections of a text whose kind is not OTHER, in order."""
    sections: list[tuple[Span, SectionKind]] = []
    for start, kind, is_before_dash_or_comma in _headers(text, [0, *_starts(_MAY_TELL, text)]):
        if kind is not SectionKind.OTHER:
            following = (_headers(text, [at]) for at in _starts(_MAY_OPEN_SECTION, text, start))
            end = next((headers[0][0] for headers in following if headers), len(text))
            if kind is SectionKind.FAMILY:
                end = _family_end(text, start, end, is_before_dash_or_comma=is_before_dash_or_comma)
            sections.append((Span(start, end), kind))
    return sections


def kind_at(text: str, position: int) -> SectionKind:
    """Return the kind of the section around `position`; before any header it is OTHER."""
    return next((kind for span, kind in sections_of(text) if span.start <= position < span.end), SectionKind.OTHER)


def _starts(pattern: re.Pattern[str], text: str, *part: int) -> Iterator[int]:
    return (match.start() for match in pattern.finditer(text, *part))


def _headers(text: str, starts: Sequence[int]) -> list[tuple[int, SectionKind, bool]]:
    """Return where headers end that may stand at `starts`, their kinds, and whether a dash or comma ends the line."""
    found = []
    for pattern in (_SECTION, _HEADER_WITHOUT_MARK, _HEADER_BEFORE_DASH_OR_COMMA, _DASHED_SECTION):
        for match in _find_all(pattern, text, starts):
            kind = SectionKind[(match.lastgroup or "OTHER_").rsplit("_", 1)[0]]
            if pattern is not _HEADER_WITHOUT_MARK or _is_bare_header(match.group().strip(), kind):
                found.append((match.end(), kind, pattern is _HEADER_BEFORE_DASH_OR_COMMA))
    return sorted(found)


def _family_end(text: str, start: int, end: int, *, is_before_dash_or_comma: bool) -> int:
    """Return where a family section that begins at `start` ends, at `end` at the latest.

    It ends after a statement that there is no family history. Notes with "Fhx -" alone on its line name few other
    sections. So after such a header (`is_before_dash_or_comma`) it also ends at a blank line, at another header, at a
    line that begins as an assessment does, or at a list item that follows a line that is not one.
    """
    said_none = LAYOUT["NO_FAMILY"].match(text, start, end)
    if said_none:
        return said_none.end()
    if not is_before_dash_or_comma:
        return end
    position = _line_end(text, start, end)
    was_item = True
    while position < end:
        following = _line_end(text, position, end)
        line = text[position:following]
        is_item = LAYOUT["BULLET"].match(line) is not None
        if not line.strip() or LAYOUT["ENDS_FAMILY"].match(line) or (is_item and not was_item):
            return position
        was_item = is_item
        position = following
    return end


def _line_end(text: str, start: int, end: int) -> int:
    """Return the end of the line at `start`, its sign included, or `end` if that comes first."""
    found = LAYOUT["LINE_END"].search(text, start, end)
    return found.end() if found else end


def _is_bare_header(name: str, kind: SectionKind) -> bool:
    """Whether a section's name alone on its line, without a colon, opens that section.

    In capitals it does. So does "Drug History", but not one such word ("Alcohol"), which may be an item of a list.
    """
    return name.isupper() or (name[0].isupper() and (" " in name or kind is SectionKind.FAMILY))


def clauses_around(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the clauses of those parts of `text` that hold some of the spans, which are sorted."""
    bounds = [0, *(match.end() for match in _PART_END.finditer(text)), len(text)]
    parts: list[tuple[Span, list[Span]]] = []
    for span in spans:
        start, end = bounds[bisect.bisect_right(bounds, span.start) - 1], bounds[bisect.bisect_left(bounds, span.end)]
        before, own = parts.pop() if parts and start < parts[-1][0].end else (Span(start, end), [])
        parts.append((Span(before.start, max(before.end, end)), [*own, span]))
    return [clause for part, own in parts for clause in cut_clauses(text, part, keep=own)]


def cut_clauses(text: str, part: Span | None = None, *, keep: Iterable[Span] = ()) -> list[Span]:
    """Segment a part of `text` (None: all) into clauses that cover it; no cut falls strictly inside a span of `keep`.

    A clause ends at a full stop, a semicolon, or the end of a line that is not merely wrapped.
    """
    part = part or Span(0, len(text))
    kept = sorted(keep)
    bounds = [part.start]
    index = 0
    for cut in _cuts(text, part):
        while index < len(kept) and kept[index].end <= cut:
            index += 1
        inside = index < len(kept) and kept[index].start < cut
        if not inside and bounds[-1] < cut < part.end:
            bounds.append(cut)
    bounds.append(part.end)
    clauses = [Span(start, end) for start, end in itertools.pairwise(bounds) if start < end]
    return [piece for clause in clauses for piece in _cut_overlong(text, clause, kept)]


def _cuts(text: str, part: Span) -> list[int]:
    """Return where the clauses of a part end, in order, whatever stands there."""
    found = _find_all(LAYOUT["CLAUSE_END"], text, _starts(_MAY_END_CLAUSE, text, *part))
    return sorted({match.end() for match in found if not _asks(text, match)} | set(_line_cuts(text, part)))


def _asks(text: str, sign: re.Match[str]) -> bool:
    """Whether a sign is the question mark of a query, which asks for what follows it."""
    if not sign.group().startswith("?"):
        return False
    start = sign.start()
    if LAYOUT["ASKS"].search(text, max(0, start - 30), start):
        return True
    return text[start - 1].isspace() and LAYOUT["ASKS_FOR_A_CAUSE"].match(text, start) is not None


def _line_cuts(text: str, part: Span) -> list[int]:
    """Return the ends of the lines that end a clause."""
    cuts: list[int] = []
    start = part.start
    in_negated_list = False
    ends = [*LAYOUT["LINE_END"].finditer(text, *part)]
    for number, end in enumerate(ends):
        line = text[start : end.start()]
        start = end.end()
        following = text[start : ends[number + 1].start() if number + 1 < len(ends) else part.end]
        if line.rstrip().endswith(":") and LAYOUT["NEGATED_LIST"].search(line):
            in_negated_list = True
        elif in_negated_list:
            in_negated_list = LAYOUT["BULLET"].match(line) is not None
        if in_negated_list and LAYOUT["BULLET"].match(following):
            continue
        if not _is_wrapped(line, following):
            cuts.append(start)
    return cuts


def _is_wrapped(line: str, following: str) -> bool:
    """Whether the clause of `line` continues in the line after it."""
    line = line.rstrip()
    if not line or not following.strip() or LAYOUT["BULLET"].match(following) or LAYOUT["HEADER_LIKE"].match(following):
        return False
    if LAYOUT["GOES_ON"].search(line[-40:]):
        return True
    return len(line) >= WRAPPED_LINE_CHARS and line[-1] not in ".;:!?"


def _cut_overlong(text: str, clause: Span, kept: Sequence[Span]) -> list[Span]:
    """Cut a clause over `MAX_CLAUSE_CHARS` into parts of about that length, never inside a kept span."""
    parts: list[Span] = []
    start = clause.start
    while clause.end - start > MAX_CLAUSE_CHARS:
        limit = start + MAX_CLAUSE_CHARS
        cut = text.rfind(" ", start + 1, limit) + 1 or limit
        index = bisect.bisect_left(kept, (cut, cut))
        if index and kept[index - 1].end > cut:
            cut = kept[index - 1].end
        if cut >= clause.end:
            break
        parts.append(Span(start, cut))
        start = cut
    return [*parts, Span(start, clause.end)]
