"""Banner lines without labels, as regular expressions: "01/03/2023 Dr Smith, The Surgery", "Ada Lund 34F DOB …".

A line is cut into typed pieces; a shape that recurs is a pattern. Words that not most patients have never enter one.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

from clinaudit.templates.learning import MOST, LearningSample
from clinaudit.templates.learning.known_words import fact_of_label
from clinaudit.templates.learning.labels import (
    AGE,
    DATE,
    DATES,
    DEGREE,
    PARTICLES,
    PLACE_WORD,
    SEX,
    SEXES,
    TITLE,
    YEARS,
    LabelledValue,
    any_date,
    fits,
    narrowed,
    same,
    shape_of,
)
from clinaudit.templates.names import LABEL_END, MAX_LENGTH, literal
from clinaudit.templates.spans import Span

_CAPITALIZED = r"[^\W\d_a-zß-öø-ÿ][\w'’.-]*"
#: Kinds of pieces in the order in which they are looked for at a place of a line; `word` and `mark` stand for
#: themselves where most patients have them.
_PIECES = re.compile(
    "|".join(
        (
            rf"(?P<clinician>\b{TITLE}\b\.?[ ]{_CAPITALIZED}(?:[ ]{_CAPITALIZED}){{0,2}}(?:, {DEGREE}\b)?"
            rf"|{_CAPITALIZED}(?:[ ]{_CAPITALIZED}){{1,3}},? {DEGREE}(?!\w))",
            rf"(?P<place>(?:{_CAPITALIZED}[ ])*\b{PLACE_WORD}\b(?:[ ]{_CAPITALIZED})*)",
            rf"(?P<date>\b{DATE}\b)",
            r"(?P<time>\b\d{1,2}:\d{2}(?: ?[AaPp][Mm])?\b)",
            rf"(?P<age_sex>\b{AGE}[ /,]{{0,2}}{SEX}\b)",
            rf"(?P<sex_age>\b{SEX}[ /,]{{0,2}}\d{{1,3}}\b)",
            rf"(?P<age>\b\d{{1,3}}{YEARS})",
            rf"(?P<sex>\b{SEX}\b)",
            r"(?P<number>\b\d[\d -]*\d\b|\d)",
            rf"(?P<name>{PARTICLES}{_CAPITALIZED}(?:,?[ ]{PARTICLES}{_CAPITALIZED})+)",
            r"(?P<word>[^\W_][\w.'’-]*)",
            r"(?P<mark>[^\w\s]+)",
        )
    )
)
_UNIT = r"(?: ?(?:years? old|year-old|yrs?|years?|y\. ?o\.?|y/o|yo|y)|-year-old)?"
#: RE2 for kinds that have one form; `%s` is what names the group, where the piece is a fact.
_WRITTEN = {
    "clinician": rf"(%s(?:{TITLE}\.? )?\p{{Lu}}[^\n,;|()]*?(?:, {DEGREE})?)",
    "place": r"(%s\p{Lu}[^\n,;|()]*?)",
    "time": r"\d{1,2}:\d{2}(?: ?[AaPp][Mm])?",
    "age": rf"(%s{AGE})",
    "number": r"[\d -]*\d",
    "name": rf"(%s{PARTICLES}\p{{Lu}}[\pL'’.-]*(?:,? {PARTICLES}\p{{Lu}}[\pL'’.-]*?)+)",
    "varying": r"(%s[^\n]+?)",
    "cell": r"(%s[^|\n]+?)",
    "word": r"(%s[^\n]+?)",
}
#: A line that holds one of these alone looks like many others: it is told by its place.
_PLAIN = frozenset({"name", "place"})
_WORD = re.compile(r"[^\W_][\w.'’-]*|[^\w\s]+")
#: Words of a banner that stand for themselves; a frequent given name must not be among them.
_COMMON = 0.9
#: What a cell of a table may be: the first kind that all of it is.
_CELL_KINDS = (("date", DATE), ("age_sex", rf"{AGE}[ /,]{{1,2}}{SEX}"), ("age", AGE), ("sex", SEX))
_CELL = re.compile(r"[^|\n]+")
#: Label before, label after, pieces.
_Key = tuple[str, str, tuple[tuple[str, str, bool, str], ...]]
#: A line of fewer of a group's patients is a matter of chance.
_SHARE = 0.2
_BIRTH = frozenset({"dob", "d.o.b", "born", "birth"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A typed part of a line."""

    kind: str
    #: What stands there.
    text: str
    #: Whether a blank stands before it.
    spaced: bool
    #: Of a cell of a table: the words in the cell before it, or at the top of its column.
    label: str = ""

    @property
    def literal(self) -> str:
        """What a line of the same shape has here too; empty where it varies."""
        return self.text if self.kind in ("word", "mark") else ""


@dataclass(frozen=True, slots=True)
class LinePattern:
    """A banner line that holds facts."""

    #: None where the line is told by its place.
    regex: str | None
    #: Non-blank line of the banner, from 1, or from the end where negative; None where a regular expression tells it.
    position: int | None
    facts: tuple[str, ...]
    #: Patients with a line of this shape.
    patients: int


@dataclass(frozen=True, slots=True)
class _Segment:
    """A part of a banner line: behind a label, or before the first one of its line."""

    #: None where no label stands before it.
    label: str | None
    text: str
    #: The label after it; None at the end of its line.
    following: str | None
    #: The row of a table above this one; empty at its first row, None outside a table.
    above: str | None = None


def learn_line_patterns(
    notes: Sequence[LearningSample],
    banners: Sequence[str],
    labels: Sequence[Sequence[LabelledValue]],
    *,
    placed: Mapping[str, str],
    least: int,
) -> list[LinePattern]:
    """Return patterns for the parts of banner lines that hold facts that nothing places yet.

    `placed` are the facts that labels place, by label: what stands behind these is not looked at.
    """
    words = _common_words(banners, notes)
    shapes: dict[_Key, list[tuple[int, list[Piece]]]] = {}
    for index, banner in enumerate(banners):
        seen = set()
        for segment in _segments(banner, labels[index]):
            if segment.label in placed:
                continue
            # A row whose columns have names is told by the row of these: any row has cells.
            top = segment.above if segment.above and words.issuperset(_WORD.findall(segment.above)) else ""
            if segment.above is None:
                pieces = list(_pieces(segment.text, notes[index], words))
            else:
                pieces = list(_cells(segment.text, top, notes[index], words))
            shape = tuple((item.kind, item.literal, item.spaced, item.label) for item in pieces)
            key = (segment.label or top, segment.following or "", shape)
            if pieces and key not in seen:
                seen.add(key)
                shapes.setdefault(key, []).append((index, pieces))
    found: list[LinePattern] = []
    known = set(placed.values())
    for key, lines in sorted(shapes.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(lines) < max(least, _SHARE * len(banners)):
            break
        label, following, shape = key
        facts = _facts(label, lines, notes, known)
        named = tuple(name for fact in facts if fact for name in fact.split(" "))
        if not named:
            continue
        if len(shape) == 1 and shape[0][0] in _PLAIN and not label:
            position = None if following else _position(lines, banners)
            if position is not None:
                found.append(LinePattern(None, position, named, len(lines)))
                known |= set(named)
        else:
            # Another spelling of the same line may find the same facts for other patients: they stay open.
            regex = _write([pieces for _, pieces in lines], facts, label=label, following=following)
            if len(regex) <= MAX_LENGTH and regex not in {line.regex for line in found}:
                found.append(LinePattern(regex, None, named, len(lines)))
    return found


def first_kinds(banner: str) -> frozenset[str]:
    """Return by which kinds of pieces a banner without labels begins."""
    return frozenset(str(match.lastgroup) for match in islice(_PIECES.finditer(banner), 2))


def _position(lines: Sequence[tuple[int, Sequence[Piece]]], banners: Sequence[str]) -> int | None:
    """Return the place at which most of these lines stand, counted from the start or from the end."""
    places: Counter[int] = Counter()
    for index, pieces in lines:
        filled = [line.strip() for line in banners[index].split("\n") if line.strip()]
        at = filled.index(pieces[0].text) if pieces[0].text in filled else None
        if at is not None:
            places.update((at + 1, at - len(filled)))
    # From the start where both are as good.
    best = max(places, key=lambda place: (places[place], place), default=None)
    return best if best is not None and places[best] > MOST * len(lines) else None


def _segments(banner: str, labels: Sequence[LabelledValue]) -> Iterator[_Segment]:
    above = ""
    for number, line in enumerate(banner.split("\n")):
        own = [item for item in labels if item.line == number]
        if line.lstrip().startswith("|") and not own:
            if any(char.isalnum() for char in line):
                yield _Segment(None, line, None, above)
                above = line.strip()
            continue
        yield _Segment(None, line[: own[0].start] if own else line, own[0].label if own else None)
        for item, following in zip_longest(own, own[1:]):
            yield _Segment(item.label, item.value, following.label if following else None)


def _common_words(banners: Sequence[str], notes: Sequence[LearningSample]) -> frozenset[str]:
    """Return the words and marks that nearly all banners have, but for those of names in a table."""
    counts = Counter(word for banner in banners for word in set(_WORD.findall(banner)))
    names = {
        word for note in notes for said in note.known.values() if isinstance(said, str) for word in _WORD.findall(said)
    }
    return frozenset(word for word, found in counts.items() if found > _COMMON * len(banners) and word not in names)


def _pieces(line: str, note: LearningSample, common: frozenset[str]) -> Iterator[Piece]:
    known = list(_known_spans(line, note))
    at = 0
    end = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        spaced = at > end
        held = next(((kind, span) for kind, span in known if span.start == at), None)
        if held is not None:
            kind, span = held
            at = end = span.end
            yield Piece(kind, line[slice(*span)], spaced)
            continue
        match = _PIECES.match(line, at)
        if match is None:
            return
        kind, stop = str(match.lastgroup), match.end()
        if kind == "name":
            kind, stop = _until_common(match, common)
        if kind == "word" and match[0] not in common:
            kind = "varying"
        at = end = stop
        yield Piece(kind, line[match.start() : stop], spaced)


def _cells(row: str, top: str, note: LearningSample, common: frozenset[str]) -> Iterator[Piece]:
    """Yield the cells of a row, each whole, and the bars between them; a cell of common words is a label.

    `top` names the columns, where the row above does.
    """
    names = [cell[0].strip().lower() for cell in _CELL.finditer(top)]
    label = ""
    for number, match in enumerate(_CELL.finditer(row.strip())):
        cell = match[0].strip()
        yield Piece("mark", "|", spaced=False)
        if common.issuperset(_WORD.findall(cell)):
            label = cell.lower()
            yield from (Piece("word", word[0], word.start() > 0) for word in re.finditer(r"\S+", cell))
            continue
        told = next((kind for kind, span in _known_spans(cell, note) if span == (0, len(cell))), None)
        kind = told or next((kind for kind, shape in _CELL_KINDS if re.fullmatch(shape, cell)), "cell")
        yield Piece(kind, cell, spaced=False, label=label or (names[number] if number < len(names) else ""))
        label = ""
    yield Piece("mark", "|", spaced=False)


def _until_common(match: re.Match[str], common: frozenset[str]) -> tuple[str, int]:
    """Return the kind and end of a run of capitalized words; it ends before one that most banners have ("DOB")."""
    parts = list(re.finditer(r"[^\s,]+", match[0]))
    own = next(
        (number for number, part in enumerate(parts) if part[0].rstrip(".") in common or part[0] in common), None
    )
    if own is None:
        return "name", match.end()
    if own == 0:
        return "word", match.start() + parts[0].end()
    kind = "name" if own > 1 else "varying"
    return kind, match.start() + parts[own - 1].end()


def _known_spans(line: str, note: LearningSample) -> Iterator[tuple[str, Span]]:
    """Yield where a table's name, clinician or place stands in a line as the table writes it."""
    for fact, kind in (("name", "name"), ("provider", "clinician"), ("practice", "place")):
        said = note.known.get(fact)
        at = line.find(said) if isinstance(said, str) and said else -1
        if at >= 0 and isinstance(said, str):
            yield kind, Span(at, at + len(said))


def _facts(
    label: str, lines: Sequence[tuple[int, list[Piece]]], notes: Sequence[LearningSample], known: set[str]
) -> list[str | None]:
    """Return for each piece of a shape the fact that it holds (`age sex` are two), or None; a fact is taken once."""
    taken: set[str] = set()
    facts: list[str | None] = []
    for place, piece in enumerate(lines[0][1]):
        held = [(index, pieces[place].text) for index, pieces in lines]
        values = [value for _, value in held]
        fact = fact_of_label(piece.label) if piece.label else None
        if fact is not None and fits(fact, values):
            pass
        elif piece.kind == "date":
            before = lines[0][1][place - 1].text.lower().rstrip(".:") if place else ""
            named = (
                fact_of_label(label) if label[:1] != "|" and "dob" not in taken and "visit_date" not in taken else None
            )
            fact = "dob" if before in _BIRTH or named == "dob" else _date_fact(held, notes)
        elif piece.kind in ("age_sex", "sex_age"):
            fact = "age sex"
        elif piece.kind in ("age", "sex"):
            fact = piece.kind
        elif piece.kind == "clinician":
            # "Mr" and "Mrs" are titles of patients, too.
            fact = shape_of(values) or "provider"
        elif piece.kind == "place":
            fact = "practice"
        elif piece.kind == "name" and shape_of(values) == "name":
            fact = "name"
        elif "provider" in taken and place == len(lines[0][1]) - 1 and piece.kind in ("name", "varying", "word"):
            # What ends the line of date and clinician is where the patient was seen.
            fact = "practice"
        new = [part for part in (fact or "").split() if part not in taken | known]
        taken.update(new)
        facts.append(" ".join(new) or None)
    return facts


def _date_fact(held: Sequence[tuple[int, str]], notes: Sequence[LearningSample]) -> str | None:
    for fact in ("dob", "visit_date"):
        said = [(value, notes[index].known[fact]) for index, value in held if fact in notes[index].known]
        if said and sum(same(fact, value, known) for value, known in said) > MOST * len(said):
            return fact
    values = [value for _, value in held if any_date(value) is not None]
    return shape_of(values)


def _write(lines: Sequence[Sequence[Piece]], facts: Sequence[str | None], *, label: str, following: str) -> str:
    last = max(number for number, fact in enumerate(facts) if fact is not None)
    # A lazy group needs what follows it: the next piece, or the end of the line.
    ends_line = last == len(facts) - 1
    parts: list[str] = []
    for place, fact in enumerate(facts[: last + 1 if ends_line else last + 2]):
        piece = lines[0][place]
        gap = r"[ \t]+" if piece.spaced and parts else r"[ \t]*" if parts else ""
        if piece.kind == "mark" or (piece.kind == "word" and fact is None):
            parts.append(gap + literal(piece.text))
        else:
            parts.append(gap + _written(piece.kind, fact, {line[place].text for line in lines}))
    start = rf"(?:^|[ \t|;,(])(?i:{literal(label)}){LABEL_END}[ \t]*" if label else r"^[ \t]*"
    if label.startswith("|"):
        names = r"[ \t]*\|[ \t]*".join(literal(cell[0].strip()) for cell in _CELL.finditer(label))
        start = rf"^[ \t]*\|[ \t]*{names}[ \t|]*\n(?:[ \t|:+-]*\n)?[ \t]*"
    end = rf"[ \t|;,(]+(?i:{literal(following)}){LABEL_END}" if following else r"[ \t]*$"
    return start + "".join(parts) + (end if ends_line else "")


def _written(kind: str, fact: str | None, values: set[str]) -> str:
    """Return a piece as RE2 reads it, in the forms that its values have; what is no fact has no name."""
    group = _group(fact, fact)
    if kind == "date":
        return f"{group}{narrowed(DATES, values)})"
    if kind == "sex":
        return f"{group}{narrowed(SEXES, values)})\\b"
    if kind in ("age_sex", "sex_age"):
        sexes = [value.rsplit(maxsplit=1)[-1] if kind == "age_sex" else value for value in values]
        sex = narrowed(SEXES, [re.sub(r"[^A-Za-z]|^.*\d", "", value) for value in sexes])
        unit = "" if all(re.fullmatch(rf"\d+[ /,]*{SEX}", value) for value in values) else _UNIT
        age_group, sex_group = _group("age", fact), _group("sex", fact)
        if kind == "age_sex":
            return rf"{age_group}\d{{1,3}}){unit}[ /,]{{0,2}}{sex_group}{sex})\b"
        return rf"{sex_group}{sex})[ /,]{{0,2}}{age_group}\d{{1,3}})\b"
    return _WRITTEN[kind].replace("(%s", group)


def _group(name: str | None, fact: str | None) -> str:
    """Return the beginning of a group: with the name where the piece holds that fact."""
    return f"(?P<{name}>" if name in (fact or "").split() else "(?:"
