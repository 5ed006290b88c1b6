"""What is wrong with a note-template profile before any note is read: each wrong entry with its place.

Owns the rules that a profile keeps. Knows nothing of lines, nor of notes: what only a corpus can show (a label that
never occurs) is found there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clinaudit.templates.dates import NAMED_FORMATS, format_problem, other_order
from clinaudit.templates.header_styles import STYLES
from clinaudit.templates.names import FACTS, NO_LAYOUT, PREAMBLE, UNASSIGNED, bare
from clinaudit.templates.patterns import Pattern
from clinaudit.templates.text_file import EntryPath

#: Entries that a layout may give for itself; the profile's own stand for all layouts that do not.
_SHARED = {"date_formats", "header_styles", "fields", "patterns", "other_labels", "not_in_notes", "delimiter", "blanks"}
_TOP_LEVEL = _SHARED | {"name", "sections", "ambiguous", "templated", "layouts"}
_LAYOUT = _SHARED | {"name", "signature", "required"}
_SECTION = {"name", "headers", "aliases", "leaves"}
_FIELD = {"headers", "labels", "line", "position", "label"}
_PLACES = ("headers", "labels", "line", "position")
_POSITION = {"line", "part", "delimiter"}
_PATTERN = {"regex", "where"}


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong entry."""

    path: EntryPath
    #: What is wrong, and what to write.
    text: str

    def __str__(self) -> str:
        return f"{_dotted(self.path)}: {self.text}" if self.path else self.text


def profile_problems(document: Mapping[str, Any]) -> list[Problem]:
    """Return all that is wrong with a profile's table; none means that it can be used."""
    found = [*_unknown((), document, _TOP_LEVEL)]
    if not _is_text(document.get("name")):
        found.append(Problem(("name",), "a text is needed"))
    owners = _Sections(document)
    found += owners.problems
    found += _shared_problems((), document, owners.headers)
    layouts = document.get("layouts")
    if layouts is None:
        if "date_formats" not in document:
            found.append(Problem(("date_formats",), "missing; a list of strptime formats, or day_first or month_first"))
        return [*found, *_place_problems((), document, {})]
    if not isinstance(layouts, list) or not layouts or not all(isinstance(layout, dict) for layout in layouts):
        return [*found, Problem(("layouts",), "write each layout as a table under [[layouts]]")]
    found += _layout_problems(document, layouts, owners.headers)
    for index, layout in enumerate(layouts):
        found += _place_problems(("layouts", index), document, layout)
    return found


class _Sections:
    """The headers of a profile's sections, and what is wrong with them."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        #: Header -> name of its section.
        self.headers: dict[str, str] = {}
        self._names: set[str] = set()
        self.problems = [*self._sections(document.get("sections")), *self._ambiguous(document.get("ambiguous", {}))]
        self.problems += self._templated(document.get("templated", {}))

    def _sections(self, sections: object) -> Iterator[Problem]:
        if not isinstance(sections, list) or not sections:
            yield Problem(("sections",), "at least one section is needed")
            return
        for index, section in enumerate(sections):
            at = ("sections", index)
            if not isinstance(section, dict) or not _is_text(section.get("name")):
                yield Problem((*at, "name"), "a text is needed")
                continue
            yield from _unknown(at, section, _SECTION)
            if section["name"] in self._names or section["name"] in (PREAMBLE, UNASSIGNED):
                yield Problem((*at, "name"), "used twice or reserved")
            self._names.add(section["name"])
            if not section.get("headers"):
                yield Problem(at, "headers: at least one header is needed")
            for key in ("headers", "aliases", "leaves"):
                problems = [*_text_list_problems((*at, key), section.get(key, []))]
                yield from problems
                if not problems:
                    yield from self._own((*at, key), section.get(key, []), section["name"])

    def _own(self, at: EntryPath, headers: list[str], section: str) -> Iterator[Problem]:
        for index, header in enumerate(headers):
            if bare(header) in self.headers:
                yield Problem((*at, index), f"a header stands in two places: {bare(header)}")
            self.headers[bare(header)] = section

    def _ambiguous(self, ambiguous: object) -> Iterator[Problem]:
        at = ("ambiguous",)
        if not isinstance(ambiguous, dict):
            yield Problem(at, "a table is needed")
            return
        yield from _unknown(at, ambiguous, {"parents", "leaves"})
        wrong = [
            *_text_list_problems((*at, "leaves"), ambiguous.get("leaves", [])),
            *_text_list_problems((*at, "parents"), ambiguous.get("parents", [])),
        ]
        yield from wrong
        if wrong:
            return
        for index, parent in enumerate(ambiguous.get("parents", [])):
            if parent not in self._names:
                yield Problem((*at, "parents", index), "names a section that is not there")
        for index, leaf in enumerate(ambiguous.get("leaves", [])):
            if bare(leaf) in self.headers:
                yield Problem((*at, "leaves", index), f"stands in a section too: {bare(leaf)}")
            self.headers.setdefault(bare(leaf), UNASSIGNED)

    def _templated(self, templated: object) -> Iterator[Problem]:
        if not isinstance(templated, dict) or not isinstance(templated.get("header", ""), str):
            yield Problem(("templated", "header"), "a text is needed")
            return
        yield from _unknown(("templated",), templated, {"header"})
        if templated.get("header") and bare(templated["header"]) not in self.headers:
            yield Problem(("templated", "header"), "is no header of a section")


def _layout_problems(
    document: Mapping[str, Any], layouts: list[dict[str, Any]], headers: Mapping[str, str]
) -> Iterator[Problem]:
    names: set[str] = set()
    for index, layout in enumerate(layouts):
        at = ("layouts", index)
        yield from _unknown(at, layout, _LAYOUT)
        if not _is_text(layout.get("name")) or layout["name"] in names or layout["name"] == NO_LAYOUT:
            yield Problem((*at, "name"), "a text is needed that no other layout has; 'no layout' is reserved")
        else:
            names.add(layout["name"])
        if "date_formats" not in document and "date_formats" not in layout:
            yield Problem((*at, "date_formats"), "missing, here and for the whole profile")
        yield from _shared_problems(at, layout, headers)
        if "signature" in layout:
            yield from _regex_problems((*at, "signature"), layout["signature"])
        yield from _known_facts((*at, "required"), layout.get("required", []))
        unconditional = not layout.get("signature") and not layout.get("required")
        if unconditional and index + 1 < len(layouts):
            yield Problem(
                at, "fits every note, so that no layout after it is ever used; give it a signature or required facts"
            )


def _shared_problems(at: EntryPath, scope: Mapping[str, Any], headers: Mapping[str, str]) -> Iterator[Problem]:
    """Yield what is wrong with the entries that both a profile and a layout may give."""
    yield from _date_problems((*at, "date_formats"), scope.get("date_formats", "day_first"))
    styles = scope.get("header_styles", ["colon"])
    if not isinstance(styles, list) or not styles:
        yield Problem((*at, "header_styles"), f"a list of styles is needed: {', '.join(STYLES)}")
    else:
        for index, style in enumerate(styles):
            if style not in STYLES:
                yield Problem((*at, "header_styles", index), f"unknown style; known are {', '.join(STYLES)}")
    for key in ("other_labels", "blanks"):
        yield from _text_list_problems((*at, key), scope.get(key, []))
    yield from _delimiter_problems((*at, "delimiter"), scope)
    yield from _known_facts((*at, "not_in_notes"), scope.get("not_in_notes", []))
    patterns = scope.get("patterns", [])
    if not isinstance(patterns, list):
        yield Problem((*at, "patterns"), "write each pattern as a table with a regex")
    else:
        for index, pattern in enumerate(patterns):
            yield from _pattern_problems((*at, "patterns", index), pattern)
    fields = scope.get("fields", {})
    if not isinstance(fields, dict):
        yield Problem((*at, "fields"), "a table is needed")
        return
    for fact, field in fields.items():
        if fact not in FACTS:
            yield Problem((*at, "fields", fact), f"unknown fact; known are {', '.join(sorted(FACTS))}")
        elif not isinstance(field, dict):
            yield Problem((*at, "fields", fact), "a table is needed")
        else:
            yield from _field_problems((*at, "fields", fact), field, headers)
    yield from _shared_label_problems(at, fields)


def _date_problems(at: EntryPath, formats: object) -> Iterator[Problem]:
    if isinstance(formats, str):
        if formats not in NAMED_FORMATS:
            yield Problem(at, "a list of strptime formats is needed, or one of the names day_first and month_first")
        return
    wrong = [*_text_list_problems(at, formats)]
    if wrong or not isinstance(formats, list) or not formats:
        yield from wrong or [Problem(at, "at least one format is needed")]
        return
    for index, form in enumerate(formats):
        problem = format_problem(form)
        if problem is not None:
            yield Problem((*at, index), problem)
        elif (other := other_order(form)) in formats[:index]:
            yield Problem(
                (*at, index),
                f"with {other} before it, 03/04/2024 has two readings; keep one order, or make a layout for each",
            )


def _pattern_problems(at: EntryPath, pattern: object) -> Iterator[Problem]:
    if not isinstance(pattern, dict):
        yield Problem(at, "write each pattern as a table with a regex")
        return
    yield from _unknown(at, pattern, _PATTERN)
    if pattern.get("where", "banner") not in ("banner", "note"):
        yield Problem((*at, "where"), "is banner (the default) or note")
    wrong = [*_regex_problems((*at, "regex"), pattern.get("regex"))]
    yield from wrong
    if wrong:
        return
    groups = Pattern(pattern["regex"]).groups
    if not groups:
        yield Problem((*at, "regex"), "has no named group; write what a fact is as (?P<name>...)")
    for group in groups:
        if group not in FACTS:
            yield Problem((*at, "regex"), f"group {group} is no fact; known are {', '.join(sorted(FACTS))}")


def _regex_problems(at: EntryPath, source: object) -> Iterator[Problem]:
    if not isinstance(source, str) or not source.strip():
        yield Problem(at, "a regular expression is needed")
        return
    try:
        Pattern(source)
    except ValueError as error:
        yield Problem(at, str(error))


def _field_problems(at: EntryPath, field: Mapping[str, Any], headers: Mapping[str, str]) -> Iterator[Problem]:
    yield from _unknown(at, field, _FIELD)
    if "label" in field and not _is_text(field["label"]):
        yield Problem((*at, "label"), "a text is needed")
    for key in ("headers", "labels", "line"):
        wrong = [*_text_list_problems((*at, key), field.get(key, []))]
        yield from wrong
        for index, name in enumerate([] if wrong else field.get(key, [])):
            if key == "headers" and bare(name) not in headers:
                yield Problem((*at, key, index), "is no header of a section; add it to one, or write it under labels")
            if key != "headers" and bare(name) in headers:
                yield Problem((*at, key, index), "is a header of a section too; write it under headers")
    if "position" in field:
        yield from _position_problems((*at, "position"), field["position"])


def _position_problems(at: EntryPath, position: object) -> Iterator[Problem]:
    if not isinstance(position, dict):
        yield Problem(at, "write { line = 1 }, or { line = 1, part = 2, delimiter = ',' }")
        return
    yield from _unknown(at, position, _POSITION)
    line, part = position.get("line"), position.get("part", 1)
    if not isinstance(line, int) or isinstance(line, bool) or line == 0:
        yield Problem(at, "line is the number of a non-blank line of the banner, from 1 (or -1 for the last)")
    if not isinstance(part, int) or isinstance(part, bool) or part < 1:
        yield Problem(at, "part is a number from 1")
    yield from _delimiter_problems((*at, "delimiter"), position)


def _delimiter_problems(at: EntryPath, scope: Mapping[str, Any]) -> Iterator[Problem]:
    delimiter = scope.get("delimiter", "|")
    if not isinstance(delimiter, str) or not delimiter or "\n" in delimiter:
        yield Problem(at, "a text is needed, for example '|' or two blanks")


def _shared_label_problems(at: EntryPath, fields: Mapping[str, Any]) -> Iterator[Problem]:
    owner: dict[tuple[str, str], str] = {}
    for fact, field in fields.items():
        if not isinstance(field, dict):
            continue
        for key in ("headers", "labels", "line"):
            entries = field.get(key, [])
            for index, name in enumerate(entries if isinstance(entries, list) else []):
                if not _is_text(name):
                    continue
                kind = ("headers" if key == "headers" else "labels", bare(name))
                if owner.setdefault(kind, fact) != fact:
                    yield Problem(
                        (*at, "fields", fact, key, index), f"is that of fields.{owner[kind]} too: {bare(name)}"
                    )


def _place_problems(at: EntryPath, document: Mapping[str, Any], layout: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the facts of one layout that are neither placed nor absent, or both; wrong entries count as missing."""
    own, shared = _tables(layout, "fields"), _tables(document, "fields")
    fields = {**shared, **own}
    grouped = _groups(layout) | _groups(document)
    placed = {fact for fact, field in fields.items() if any(field.get(key) for key in _PLACES)} | grouped
    scope, scope_fields = (layout, own) if at else (document, shared)
    absent = {*_texts(document, "not_in_notes"), *_texts(layout, "not_in_notes")}
    for index, fact in enumerate(_texts(scope, "not_in_notes")):
        if any(scope_fields.get(fact, {}).get(key) for key in _PLACES) or fact in _groups(scope):
            yield Problem((*at, "not_in_notes", index), f"fields or patterns say where {fact} stands")
    for fact in sorted(FACTS - placed - absent):
        yield Problem(
            (*at, "fields", fact),
            f"missing; say where {fact} stands (headers, labels, position or a pattern), or name it in not_in_notes",
        )
    for index, fact in enumerate(_texts(layout, "required")):
        if fact in FACTS and (fact not in placed or (fact in absent and fact not in own)):
            yield Problem((*at, "required", index), f"nothing says where {fact} stands")
    for fact, field in fields.items():
        position = field.get("position", {})
        delimiters = [table.get("delimiter") for table in (position, layout, document) if isinstance(table, dict)]
        if isinstance(position, dict) and position.get("part") and not any(delimiters):
            yield Problem((*at, "fields", fact, "position"), "part needs a delimiter, here or for the whole profile")


def _tables(scope: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
    tables = scope.get(key, {})
    return {name: item for name, item in tables.items() if isinstance(item, dict)} if isinstance(tables, dict) else {}


def _texts(scope: Mapping[str, Any], key: str) -> list[str]:
    texts = scope.get(key, [])
    return [item for item in texts if isinstance(item, str)] if isinstance(texts, list) else []


def _groups(scope: Mapping[str, Any]) -> set[str]:
    """Return the named groups of the scope's patterns; one that is wrong is not said to place nothing too."""
    patterns = scope.get("patterns", [])
    tables = [item for item in patterns if isinstance(item, dict)] if isinstance(patterns, list) else []
    return {group for item in tables for group in re.findall(r"\(\?P?<(\w+)>", str(item.get("regex")))}


def _known_facts(at: EntryPath, facts: object) -> Iterator[Problem]:
    wrong = [*_text_list_problems(at, facts)]
    yield from wrong
    for index, fact in enumerate(facts if isinstance(facts, list) and not wrong else []):
        if fact not in FACTS:
            yield Problem((*at, index), f"unknown fact; known are {', '.join(sorted(FACTS))}")


def _unknown(at: EntryPath, table: Mapping[str, Any], known: Iterable[str]) -> Iterator[Problem]:
    for key in table.keys() - known:
        yield Problem((*at, key), f"unknown entry; known are {', '.join(sorted(known))}")


def _text_list_problems(at: EntryPath, value: object) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield Problem(at, "a list of texts is needed")
        return
    for index, item in enumerate(value):
        if not _is_text(item) or not bare(item):
            yield Problem((*at, index), "is empty, or no text")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _dotted(path: EntryPath) -> str:
    """Return a path as a reader writes it: `sections[2].headers`."""
    return "".join(f"[{key + 1}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")
