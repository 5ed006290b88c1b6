"""The headers that stand in a note, and where the facts of a prior stand in it, under one layout.

Facts are found by pattern, by label, by position in the banner, and under a header (paper 3.2.1, Appendix B, Table 2).
Texts are as a reader sees them (`shown_text.show`); offsets are characters of that text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from clinaudit.templates import header_styles
from clinaudit.templates.dates import without_birth, without_time
from clinaudit.templates.header_styles import BANNER_FACTS, LABEL_END, UNASSIGNED, HeaderFinder
from clinaudit.templates.profile import Layout, NoteProfile
from clinaudit.templates.shown_text import Span


class Heading(NamedTuple):
    """One header in a note."""

    #: The header as the profile spells it, lower-case.
    header: str
    #: Characters from the header's first letter or mark through its last: its colon, where it has one.
    span_chars: Span
    #: Section name of the profile, or `unassigned`.
    section: str

    def at(self, offsets: Sequence[int]) -> "Heading":
        """Return the same in another text, which has each character of the one read at one of `offsets`."""
        return self._replace(span_chars=self.span_chars.at(offsets))


class HeadingReader:
    """Finds a profile's headers where they are set off in some of the header styles."""

    def __init__(self, profile: NoteProfile, styles: Sequence[str]) -> None:
        self._profile = profile
        self._finder = HeaderFinder(profile.headers, styles)

    def read(self, text: str) -> list[Heading]:
        """Return the headers of `text` in order, body-system headers resolved to their parent."""
        found: list[Heading] = []
        parent = UNASSIGNED
        for header, span in self._finder.find(text):
            parent = self._profile.parent_of.get(header, parent)
            section = parent if header in self._profile.ambiguous else self._profile.section_of[header]
            found.append(Heading(header, span, section))
        return found


#: Facts that may fill several lines; of any other, only its header's first line with text counts.
_MANY_LINES = frozenset({"chief_complaint", "hpi", "medications"})
_FIRST_LINE = re.compile(r"\s*\S[^\n]*\n?")
_LINE = re.compile(r"[^\n]*\n?")
#: What people write after a value is no part of it: after a date a time and an age, after a name the birth.
_FOLLOWED = {"dob": without_time, "visit_date": without_time, "name": without_birth}
#: What may part the facts of a line, and what may stand between a value and the label after it.
_DELIMITERS = "|;,(\t"
_GAP = " \t|;,/"
#: What may lead a line before its label, by header style.
_LEADS = {"bulleted": "-*•·▪◦", "markdown": "*_"}


class FoundField(NamedTuple):
    """A fact in a note; spans are characters of the text that was read."""

    #: What is seen of it: without characters that show nothing, its blanks plain.
    value: str
    #: Label and value, line break included; up to the next known label where several share a line.
    span_chars: Span
    #: The value alone, stripped.
    value_chars: Span
    #: The profile's entry that found it: "label dob", "header provider", "pattern 2", "position".
    source: str

    def at(self, offsets: Sequence[int]) -> "FoundField":
        """Return the same in another text, which has each character of the one read at one of `offsets`."""
        return self._replace(span_chars=self.span_chars.at(offsets), value_chars=self.value_chars.at(offsets))


@dataclass(frozen=True, slots=True)
class FoundFields:
    """The facts found in a note, by id."""

    #: Facts in the note's structure: in its banner, or under their headers.
    placed: Mapping[str, FoundField]
    #: Facts that only a pattern found, below the banner: known, but of no use in telling where an opening ends.
    in_prose: Mapping[str, FoundField]
    #: Where the banner ends: at the first header that holds none of who, when and where.
    banner_end: int

    def at(self, offsets: Sequence[int]) -> "FoundFields":
        """Return the same in another text, as `FoundField.at` does."""
        placed, in_prose = (
            {fact: field.at(offsets) for fact, field in part.items()} for part in (self.placed, self.in_prose)
        )
        return FoundFields(placed, in_prose, offsets[self.banner_end])


@dataclass(frozen=True, slots=True)
class _Label:
    """A known label in a line of the banner."""

    name: str
    #: Start of the label (of its line, where it leads one) and of what follows it.
    start: int
    body: int
    leads_line: bool


class FieldFinder:
    """Finds facts in the notes of one layout."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._banner_headers = {header for fact in BANNER_FACTS for header in layout.fields[fact].headers}
        self._fact_of = {label: fact for fact, field in layout.fields.items() for label in field.labels}
        headers = {header: fact for fact in BANNER_FACTS for header in layout.fields[fact].headers}
        #: Labels that end the value before them on their line.
        self._known = {**dict.fromkeys(layout.other_labels), **headers, **self._fact_of}
        self._label = _label_regex(self._known, layout.header_styles)
        self._lead = " \t" + "".join(_LEADS.get(style, "") for style in layout.header_styles)

    def find(self, text: str, headings: Sequence[Heading]) -> FoundFields:
        """Return the facts that stand in `text`; the first place that holds a value counts."""
        # Labels are searched in the note's opening only: further down they may be about others.
        banner = next(
            (item.span_chars.start for item in headings if item.header not in self._banner_headers), len(text)
        )
        found: dict[str, FoundField] = {}
        in_prose: dict[str, FoundField] = {}
        for fact, field in self._by_pattern(text, banner):
            (found if field.span_chars.start < banner else in_prose).setdefault(fact, field)
        by_label: dict[str, FoundField] = {}
        for fact, field in self._by_label(text, banner):
            by_label.setdefault(fact, field)
        labelled = {fact: field for fact, field in by_label.items() if fact not in found}
        # A header leading its line is found as a heading; here it counts only where it stands within one.
        found |= {fact: field for fact, field in labelled.items() if field.source.startswith("label")}
        for fact, field in self._by_position(text, banner):
            found.setdefault(fact, field)
        # A value ends at any header, also at one that the profile does not list.
        starts = sorted(
            {item.span_chars.start for item in headings}
            | {field.span_chars.start for field in by_label.values()}
            | set(header_styles.find_unlisted(text, self._layout.header_styles))
        )
        by_header: dict[str, list[Heading]] = {}
        for item in headings:
            by_header.setdefault(item.header, []).append(item)
        for fact, source in self._layout.fields.items():
            for wanted in source.headers:
                own = by_header.get(wanted, ())
                under = self._under_header(text, own, starts, banner=banner, many_lines=fact in _MANY_LINES)
                if under is not None:
                    found.setdefault(fact, under)
                    break
        for fact, field in labelled.items():
            found.setdefault(fact, field)
        for fact, without in _FOLLOWED.items():
            if fact in found:
                # "(44 y.o. F)" alone is left as it is.
                value, start = without(found[fact].value) or found[fact].value, found[fact].value_chars.start
                found[fact] = found[fact]._replace(value=value, value_chars=Span(start, start + len(value)))
        return FoundFields(found, {fact: in_prose[fact] for fact in in_prose.keys() - found.keys()}, banner)

    def _by_pattern(self, text: str, banner: int) -> Iterator[tuple[str, FoundField]]:
        for number, item in enumerate(self._layout.patterns, start=1):
            for fact, span in item.pattern.spans(text if item.in_whole_note else text[:banner]).items():
                value = self._value(text, Span(*span))
                if value is not None:
                    yield fact, FoundField(text[slice(*value)], value, value, f"pattern {number}")

    def _by_label(self, text: str, banner: int) -> Iterator[tuple[str, FoundField]]:
        for line in _lines(text, banner):
            labels = list(self._labels(text, line))
            for label, following in zip_longest(labels, labels[1:]):
                fact = self._known[label.name]
                is_header = label.name in self._banner_headers
                if fact is None or (is_header and label.leads_line):
                    continue
                stop = following.start if following else line.end
                value = self._value(text, Span(label.body, stop), cut=following is not None)
                if value is not None and text[value.end - 1] == ")" and "(" not in text[slice(*value)]:
                    # "Ada Lund (DOB: 1/2/1980)": the bracket was opened before the label.
                    value = self._value(text, Span(value.start, value.end - 1))
                if value is not None:
                    source = f"{'header' if is_header else 'label'} {label.name}"
                    yield fact, FoundField(text[slice(*value)], Span(label.start, stop), value, source)

    def _labels(self, text: str, line: Span) -> Iterator[_Label]:
        """Yield the known labels of a line; one after a single blank counts only within the value of another.

        "Clinic name: …" holds no label "name"; "Name: Ada Lund DOB: …" holds both.
        """
        any_before = False
        for match in self._label.finditer(text, line.start, line.end):
            before = text[line.start : match.start()]
            leads = not before.strip(self._lead)
            is_apart = before[-2:].isspace() or before.rstrip(" ")[-1:] in tuple(_DELIMITERS)
            if not (any_before or leads or is_apart):
                continue
            any_before = True
            name = header_styles.known_as(match["name"], self._known)
            yield _Label(name, line.start if leads else match.start(), match.end(), leads)

    def _by_position(self, text: str, banner: int) -> Iterator[tuple[str, FoundField]]:
        lines = [line for line in _lines(text, banner) if text[slice(*line)].strip()]
        for fact, field in self._layout.fields.items():
            at = field.position
            index = None if at is None else at.line - 1 if at.line > 0 else len(lines) + at.line
            if at is None or index is None or not 0 <= index < len(lines):
                continue
            span, delimiter = lines[index], at.delimiter or self._layout.delimiter
            if at.part is not None and delimiter is not None:
                parts = text[slice(*span)].split(delimiter)
                if at.part > len(parts):
                    continue
                start = span.start + sum(len(part) + len(delimiter) for part in parts[: at.part - 1])
                span = Span(start, start + len(parts[at.part - 1]))
            value = self._value(text, span)
            if value is not None:
                yield fact, FoundField(text[slice(*value)], value, value, "position")

    def _under_header(
        self, text: str, headings: Sequence[Heading], starts: Sequence[int], *, banner: int, many_lines: bool
    ) -> FoundField | None:
        """Return what stands under the first of some headings that anything stands under."""
        for heading in headings:
            begin, body = heading.span_chars
            after = bisect_right(starts, begin)
            end = starts[after] if after < len(starts) else len(text)
            cut = False
            if not many_lines and (line := _FIRST_LINE.match(text, body, end)) is not None:
                end = line.end()
            if begin < banner:
                following = self._label.search(text, body, end)
                if following is not None and "\n" not in text[body : following.start()].strip():
                    end, cut = following.start(), True
            value = self._value(text, Span(body, end), cut=cut)
            if value is not None:
                return FoundField(text[slice(*value)], Span(begin, end), value, f"header {heading.header}")
        return None

    def _value(self, text: str, span: Span, *, cut: bool = False) -> Span | None:
        """Return the value within `span`, or None where there is none.

        It ends at the layout's delimiter, and before what stands between it and a label after it (`cut`).
        """
        raw = text[slice(*span)]
        if self._layout.delimiter is not None:
            lead = len(raw) - len(raw.lstrip())
            at = raw.find(self._layout.delimiter, lead)
            raw = raw[:at] if at > lead else raw
        if cut:
            raw = raw.rstrip(_GAP + "\n")
            raw = raw[:-1].rstrip(_GAP) if raw.endswith("(") else raw
        value = raw.strip()
        if not value or value.lower().rstrip(".,;") in self._layout.blanks or value.lower() in self._layout.blanks:
            return None
        start = span.start + len(raw) - len(raw.lstrip())
        return Span(start, start + len(value))


def _label_regex(known: Iterable[str], styles: Sequence[str]) -> re.Pattern[str]:
    names, marks = header_styles.alternatives(known), r"[*_]{0,2}" if "markdown" in styles else ""
    ending = rf"(?:{LABEL_END}|[ \t]*[ \t][-–—](?=[ \t]))" if "dash" in styles else LABEL_END
    # What stands before is looked at, not matched: long runs of blanks would take time in their square.
    return re.compile(
        rf"(?<![^\s{re.escape(_DELIMITERS)}]){marks}(?P<name>{names})(?:[ \t]*{marks})?{ending}{marks}[ \t]*",
        re.IGNORECASE,
    )


def _lines(text: str, end: int) -> Iterator[Span]:
    """Yield the lines of `text[:end]`, line breaks included."""
    position = 0
    while position < end and (match := _LINE.match(text, position, end)) is not None:
        yield Span(*match.span())
        position = match.end()


def placed_sources(layout: Layout) -> Mapping[str, tuple[str, ...]]:
    """Return for each fact that a layout places the sources that may find it, as `FoundField.source` names them."""
    sources: dict[str, tuple[str, ...]] = {}
    for fact, field in layout.fields.items():
        by_pattern = (f"pattern {n}" for n, item in enumerate(layout.patterns, 1) if fact in item.pattern.groups)
        by_position = ("position",) if field.position else ()
        labels = (f"label {label}" for label in field.labels)
        headers = (f"header {header}" for header in field.headers)
        if found := (*by_pattern, *labels, *by_position, *headers):
            sources[fact] = found
    return sources
