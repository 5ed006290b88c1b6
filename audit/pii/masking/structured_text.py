"""Identifiers that a text names by its structure: keys of JSON and XML, columns of a table, segments of HL7 version 2.

Owns the names that fields go by, and what stands beside a name that says of what it is one. What a field of a person
holds is masked whole, however little it looks like it. Knows nothing of what is done with what it finds.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import groupby, pairwise
from typing import Any, Final, Literal

from clinaudit.audit.pii.detectors.word_lists import read_words
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.plain_text import as_given, normalize_text
from clinaudit.audit.pii.taxonomy import EntitySpan, categories

_RE: Final = Patterns(__name__)

_TABLES: Final[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("fields.toml").read_text("utf-8"))
_OF_FIELD: Final = tuple((category, re.compile("".join(names))) for category, names in _TABLES["fields"].items())
_BESIDE_A_THING, _OF_THINGS = (re.compile("".join(_TABLES["nobody"][name])) for name in ("beside_a_thing", "of_things"))
_SETS: Final = {name: frozenset(held) for name, held in _TABLES["sets"].items()}
#: Values that are never anybody: of FHIR's own vocabulary, and what says that there is none.
_NOBODY: Final = frozenset({"", *read_words("no_values")})
#: What the fields of a segment hold, by number; of a clinician those alone that are written as one.
_OF_SEGMENT: Final = {
    segment: {number: category for category, numbers in held.items() for number in numbers}
    for segment, held in _TABLES["segments"].items()
}
_SOMEBODY_IN: Final = {segment: _SETS[f"somebody_in_{segment.lower()}"] for segment in ("OBR", "OBX")}
_DEEPEST: Final = 40

#: Where something stands in a text, from start to end.
Place = tuple[int, int]
Found = Iterator[tuple[str, Place]]


class StructuredText:
    """Finds what stands in the fields of structured text."""

    name = "structured text"

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text, and of its plain reading line by line, by start; they may overlap."""
        plain = normalize_text(text)
        found = set()
        # Most texts read plainly as they are given.
        for reading in [as_given(text), *([plain] if plain.text != text else [])]:
            for category, place in _all(reading.text):
                value = reading.text[slice(*place)]
                if _may_hold(category, value.strip(" \t.;").lower()):
                    found.add(reading.original_span(EntitySpan(*place, category, self.name)))
        return sorted(found)


def _may_hold(category: str, value: str) -> bool:
    """Whether a value may be what its field is of: "unknown" is nobody, and "Nasal cannula" no number of a device."""
    if value in _NOBODY or not any(map(str.isalnum, value)):
        return False
    if category in _SETS["numbered"]:
        return any(map(str.isdigit, value))
    return categories()[category].type != "PER" or _RE.amount.fullmatch(value) is None


def _all(text: str) -> Found:
    if '"' in text or "'" in text:
        yield from _in_holders(text, _parts_of_json(text))
        yield from _attributes(text)
    if "<" in text:
        yield from _in_holders(text, _parts_of_xml(text))
        begins = [table.start() for table in re.finditer(r"(?i)<table\b", text)]
        for begin, end in pairwise((*begins, len(text))):
            rows: list[list[Place]] = []
            for row in _RE.row.finditer(text, begin, end):
                cells = [_RE.shown.match(text, *cell.span(1)) for cell in _RE.cell.finditer(text, *row.span(1))]
                rows += [[cell.span(1) for cell in cells if cell]] if len(cells) > 1 else []
            yield from _in_table(text, rows, "|", "")
    if "|" in text:
        yield from _segments(text)
    for rows, mark, heading in _tables(text):
        yield from _in_table(text, rows, mark, heading)


def _of_fields(names: Sequence[str], around: Iterable[str] = ()) -> list[str | None]:
    """Return what each of some fields that stand together holds; None for a field of nobody.

    `around`: the names of the fields that hold them, the outermost first. `name` beside `dose` is no person's, nor is
    one in `medications`.
    """
    plain = [_plain(name) for name in names]
    found = [_category(name) for name in plain]
    outer = map(_plain, reversed(list(around)))
    holds = next((name for name in outer if _category(name) or _OF_THINGS.fullmatch(name)), "")
    weak, of_anything = _SETS["weak"], _SETS["of_anything"]
    own = [name for name, kind in zip(plain, found, strict=True) if kind is not None]
    is_sure = bool(_category(holds)) or not set(own) <= weak | of_anything
    of_things = _OF_THINGS.fullmatch(holds) or (not is_sure and any(map(_BESIDE_A_THING.fullmatch, plain)))
    left_out = weak | of_anything if of_things else frozenset[str]() if is_sure or len(own) > 1 else weak
    return [None if name in left_out else kind for name, kind in zip(plain, found, strict=True)]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _category(plain: str) -> str | None:
    return next((category for category, names in _OF_FIELD if names.fullmatch(plain)), None)


#: A field that holds others: its name, and the names and places of those whose values stand in it.
Holder = tuple[str, list[tuple[str, Place]]]


def _in_holder(text: str, holders: Sequence[Holder]) -> Found:
    """Yield what the fields of the innermost of some holders are."""
    fields = holders[-1][1]
    kinds = _of_fields([name for name, _ in fields], [name for name, _ in holders])
    for (name, place), kind in zip(fields, kinds, strict=True):
        if kind is None and name == "value" and _RE.number_of_somebody.fullmatch(text, *place):
            # Of an identifier, or a way to reach somebody (FHIR); the value of a measure has a unit beside it.
            kind = "other_code"
        if kind is None:
            continue
        # Of a list each value is one; a string stands within its quotes.
        values = [one.span() for one in _RE.in_string.finditer(text, *place)] if text[place[0]] in "\"'[" else [place]
        for start, end in values:
            is_quoted = text[start] in "\"'" and end - start > 1
            yield kind, (start + 1, end - 1) if is_quoted else (start, end)


#: A part of nested text: what it does, its name ("" closes the innermost holder), and the place of a field.
Part = tuple[Literal["open", "close", "field"], str, Place]
_NOWHERE: Final = (0, 0)


def _in_holders(text: str, parts: Iterable[Part]) -> Found:
    """Yield what the fields of nested text are, by the object or element that each stands in."""
    holders: list[Holder] = [("", [])]
    for kind, name, place in parts:
        if kind == "field":
            holders[-1][1].append((name, place))
        elif kind == "open":
            holders.append((name, []))
            if len(holders) > _DEEPEST:
                # So deep the outermost one, which may never end, ends.
                yield from _in_holder(text, holders[:2])
                del holders[1]
        else:
            # What was left open within it ends with it.
            while any(name in ("", each) for each, _ in holders[1:]):
                yield from _in_holder(text, holders)
                if holders.pop()[0] == name or not name:
                    break
    while holders:
        yield from _in_holder(text, holders)
        holders.pop()


def _parts_of_json(text: str) -> Iterator[Part]:
    """Yield the parts of JSON, whole or in part."""
    last = ""
    for part in _RE.json.finditer(text):
        if part["open"]:
            yield "open", last, _NOWHERE
        elif part["close"]:
            yield "close", "", _NOWHERE
        elif part["value"]:
            yield "field", part["key"], part.span("value")
        last = part["key"] if part["key"] and not part["value"] else ""


def _parts_of_xml(text: str) -> Iterator[Part]:
    """Yield the parts of XML; the value of an element is its text, or its attribute `value`."""
    for part in _RE.element.finditer(text):
        if part["end"]:
            yield "close", part["key"], _NOWHERE
            continue
        held = part if part["value"] else _RE.value_attribute.search(text, *part.span("attributes"))
        if held is not None:
            yield "field", part["key"], held.span("value")
        if not part["attributes"].endswith("/"):
            yield "open", part["key"], _NOWHERE


def _attributes(text: str) -> Found:
    """Yield the values of `name="value"`, by the element, the call or the line that each stands in."""

    def begin(match: "re.Match[str]") -> int:
        return max(text.rfind(mark, max(0, match.start() - 1_000), match.start()) for mark in "<(\n")

    for place, some in groupby(_RE.attribute.finditer(text), key=begin):
        around = re.match(r"\w*", text[place + 1 : place + 40])
        element = around[0] if around is not None and text[place : place + 1] == "<" else ""
        if element.lower() not in _SETS["of_a_page"]:
            yield from _in_holder(
                text, [(element, [(one["key"], one.span("value")) for one in some if one["key"] != "value"])]
            )


def _segments(text: str) -> Found:
    for segment in _RE.segment.finditer(text):
        name, place = segment["name"], segment.start()
        for number, field in enumerate(segment[0].split("|")):
            start, end = place, place + len(field)
            place = end + 1
            if not number or not field.strip():
                continue
            is_of_people = number in _SOMEBODY_IN.get(name, ())
            may_be_somebody = is_of_people or name not in _SOMEBODY_IN
            is_whole = number not in _SETS["coded_in_pid"] if name == "PID" else len(field) > 2
            if (kind := _OF_SEGMENT.get(name, {}).get(number)) is not None:
                yield kind, (start, end)
            elif (may_be_somebody and _RE.somebody.fullmatch(field)) or (
                is_of_people and _RE.last_and_first.fullmatch(field)
            ):
                yield "clinician_name", (start, end)
            elif is_whole and name in _SETS["whole_segments"]:
                yield "other_code", (start, end)


def _in_table(text: str, rows: Sequence[Sequence[Place]], mark: str, heading: str) -> Found:
    """Yield the cells of a table whose heading says what they are, above them or in the first of two columns."""
    written = [[text[begin:end] for begin, end in row] for row in rows]
    if all(len(row) == 2 for row in rows):
        kinds = _of_fields([first for first, _ in written], [heading])
        if sum(kind is not None for kind in kinds) > 1:
            yield from ((kind, row[1]) for kind, row in zip(kinds, rows, strict=True) if kind is not None)
            return
    columns: list[tuple[str | None, int]] = []
    for row, cells in zip(rows, written, strict=True):
        if not columns or (mark in ",;" and len(row) != len(columns)):
            kinds = _of_fields(cells, [heading])
            known = [kind for kind in kinds if kind is not None]
            by_one = not set(known).isdisjoint(_SETS["headings"]) and (
                mark in "|\t" or (len(row) > 2 if mark == "  " else not any(cell.startswith(" ") for cell in cells))
            )
            is_heading = all(map(_RE.heading.fullmatch, cells)) and (len(known) > 1 or by_one)
            starts = (begin - text.rfind("\n", 0, begin) for begin, _ in row)
            columns = list(zip(kinds, starts, strict=True)) if is_heading else []
            continue
        for number, place in enumerate(row):
            if mark == "  " and len(row) != len(columns):
                # A cell is left out: the others stand below their headings.
                at = place[0] - text.rfind("\n", 0, place[0])
                number = min(range(len(columns)), key=lambda one: abs(columns[one][1] - at))
            if number < len(columns) and (kind := columns[number][0]) is not None and place[0] < place[1]:
                yield kind, place


def _tables(text: str) -> Iterator[tuple[list[list[Place]], str, str]]:
    """Yield lines that follow one another and are parted into cells alike: their cells, the mark, the line above."""
    rows: list[list[Place]] = []
    mark = above = heading = ""
    place = 0
    for line in (*text.splitlines(keepends=True), "\n"):
        start, place = place, place + len(line)
        bare = line.rstrip("\r\n")
        if bare.strip() and _RE.ruler.fullmatch(bare):
            continue
        own = mark if mark and mark in bare.strip() else _mark_of(bare)
        if own != mark and rows:
            yield rows, mark, heading
            rows = []
        mark = own
        if mark:
            heading = heading if rows else above
            rows.append([(start + begin, start + end) for begin, end in _cells(bare, mark)])
        above = bare if bare.strip() else above if not rows else ""


def _mark_of(line: str) -> str:
    bare = line.strip()
    return next(
        (mark for mark in ("|", "\t", ";", ",", "  ") if mark in bare and len(list(_cells(line, mark))) > 1), ""
    )


def _cells(line: str, mark: str) -> Iterator[tuple[int, int]]:
    """Yield where each cell of a line stands, without the blanks and quotes around it."""
    parts = re.finditer(r"(?:\"[^\"]*\"|\S(?: ?\S)*)", line) if mark == "  " else None
    if parts is not None:
        yield from (part.span() for part in parts)
        return
    if mark == "|":
        begin = len(line) - len(line.lstrip())
        if line[begin : begin + 1] == "|":
            line = line[:begin] + " " + line[begin + 1 :]
        line = line.rstrip().removesuffix("|")
    place = 0
    # A mark within quotes parts no cells.
    marked = line if mark == "|" else _RE.quoted.sub(lambda quoted: "\0" * len(quoted[0]), line)
    for part in marked.split(mark):
        stripped = line[place : place + len(part)].strip(' "*_`')
        begin = line.find(stripped, place) if stripped else place
        yield begin, begin + len(stripped)
        place += len(part) + len(mark)
