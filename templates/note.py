"""A note as its template lays it out: headers, facts, the section of each character, what is templated and boilerplate.

A note *fits* a layout where its signature, if it has one, matches anywhere in the note, and each of its required facts
is found (paper 3.2.1). Templated is what the six rules of Table 3 and the combined-history rule match (paper, Appendix
B), with high precision at the cost of recall: text that no rule matches counts as clinically revealing, which is the
conservative side. Boilerplate is templated text that tells nothing of its patient (docs/methods.md, section 2,
"Boilerplate"). The paper's rules describe notes and take whole lines, histories included; to call a leak none, less
must do.
"""

import bisect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from clinaudit.templates.header_styles import NO_LAYOUT, PREAMBLE, alternatives
from clinaudit.templates.note_fields import FieldFinder, FoundField, FoundFields, Heading, HeadingReader
from clinaudit.templates.profile import Layout, NoteProfile
from clinaudit.templates.shown_text import ShownText, Span, plain_blanks, show


class Section(NamedTuple):
    """The part of a note from one header (or the start) to the next header (or the end)."""

    name: str
    span_chars: Span


def normalize_newlines(text: str) -> str:
    r"""Read `\r\n` and `\r` as `\n` (docs/methods.md, section 2)."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def original_offsets(text: str) -> Sequence[int]:
    """Return for each character of `normalize_newlines(text)`, and for its end, where it starts in `text`."""
    if "\r\n" not in text:
        return range(len(text) + 1)
    offsets = [index for index, char in enumerate(text) if not (char == "\n" and index and text[index - 1] == "\r")]
    return [*offsets, len(text)]


class Rule(StrEnum):
    """The rules of Table 3, and the literal combined header of Appendix B."""

    HEADER_PREFIX = "header_prefix"
    NEGATIVE_ROS = "negative_ros"
    LAST_REVIEWED = "last_reviewed"
    DATE_TIME_LINE = "date_time_line"
    BY_NAME_LINE = "by_name_line"
    SEE_REFERENCE = "see_reference"
    COMBINED_HISTORY = "combined_history"


# A label of a review-of-systems line: words, slashes and brackets before a colon. "musculoskeletal:neurological:
# negative for …" carries two (paper, Appendix I), so up to two are taken.
_LABEL = r"[a-z][a-z/&(), \t-]{0,60}:[ \t]*"
_NEGATIVE_ROS = re.compile(rf"\n[ \t]*(?:{_LABEL}){{0,2}}negative[ \t]+for\b[^.;\n]*[.;]?", re.IGNORECASE)
_LAST_REVIEWED = re.compile(r"\n[ \t]*last[ \t]+reviewed\b[^\n]*", re.IGNORECASE)
_DATE_TIME_LINE = re.compile(r"\n[ \t]*\d{1,2}([/-])\d{1,2}\1\d{2,4}(?!\d)[^\n]*")
# Letters of any alphabet, apostrophes, hyphens, and the initials' dots.
_NAME = r"[^\W\d_][^\W\d_'’.-]*(?:['’-][^\W\d_]+)*\.?"
_CAPITAL_NAME = rf"(?-i:(?=[^\W\d_a-zß-öø-ÿ])){_NAME}"
_VERB = r"(?:reviewed|signed|entered|recorded|documented|dictated|updated|performed|verified|transcribed|completed)"
# Both rules of attributions need it; it is found before a line is tried.
_BY = re.compile(r"[bB](?<=\b.)[yY][ \t]")
# "surname, given" in lower case differs from prose ("relieved by rest, ice") by the verb of documentation before it,
# optionally with a time between: "reviewed on 1/02/2003 10:23 am by doe, jane".
_BY_NAME_LINE = re.compile(
    r"\bby[ \t]+(?:"
    # One surname; further words only as names are written, or "by dr. roe for depression" would be boilerplate.
    rf"(?:dr|mr|mrs|ms|miss|prof)\b\.?[ \t]+(?:[^\W\d_]\.[ \t]*){{0,2}}{_NAME}(?:[ \t]+{_CAPITAL_NAME}){{0,2}}"
    rf"|{_CAPITAL_NAME}(?:[ \t]+{_CAPITAL_NAME})?,[ \t]*{_CAPITAL_NAME}(?:[ \t]+{_NAME})?"
    rf"|{_NAME}(?:[ \t]+{_NAME}){{0,3}}(?:,[ \t]*(?:md|do|np|pa|rn)|[ \t]+(?-i:MD|DO|NP|PA|RN))\b\.?"
    r")[ \t]*[.;]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_BY_NAME_AFTER_VERB = re.compile(
    rf"\b{_VERB}(?:[ \t]+on)?(?:[ \t]+[\d/:.-]+)*(?:[ \t]*[ap]\.?m\.?)?[ \t]+"
    rf"(?P<attribution>by[ \t]+{_NAME}(?:[ \t]+{_NAME})?,[ \t]*{_NAME}(?:[ \t]+{_NAME})?[ \t]*[.;]?)[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_SEE_REFERENCE = re.compile(
    r"(?-i:[sS\u017f])(?<=\b.)ee[ \t]+"
    r"(?:hpi|history|ros|pe|exam|note|chart|assessment|plan|above|below|prior|previous|attached)\b",
    re.IGNORECASE,
)


def mask_spans(length: int, groups: Iterable[Iterable[Span]]) -> bytearray:
    """Return one byte for each character of a note of that length: 1 in some span, else 0."""
    mask = bytearray(length)
    for spans in groups:
        for start, end in spans:
            mask[start:end] = b"\x01" * (end - start)
    return mask


def _spans_in_lines(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Span]]:
    """Find what starts a line; `pattern` begins with the line feed before, which is sought much the faster."""
    return lambda note: (Span(match.start(), match.end() - 1) for match in pattern.finditer("\n" + note))


def _by_name_spans(note: str) -> Iterator[Span]:
    found: set[Span] = set()
    for by in _BY.finditer(note):
        end = note.find("\n", by.end())
        line = (note.rfind("\n", 0, by.start()) + 1, len(note) if end < 0 else end)
        found |= {Span(*match.span()) for match in _BY_NAME_LINE.finditer(note, *line)}
        found |= {Span(*match.span("attribution")) for match in _BY_NAME_AFTER_VERB.finditer(note, *line)}
    yield from sorted(found)


#: Rules that are the same under every profile, in their order.
_RULES: Mapping[Rule, Callable[[str], Iterator[Span]]] = {
    Rule.NEGATIVE_ROS: _spans_in_lines(_NEGATIVE_ROS),
    Rule.LAST_REVIEWED: _spans_in_lines(_LAST_REVIEWED),
    Rule.DATE_TIME_LINE: _spans_in_lines(_DATE_TIME_LINE),
    Rule.BY_NAME_LINE: _by_name_spans,
    Rule.SEE_REFERENCE: lambda note: (Span(*match.span()) for match in _SEE_REFERENCE.finditer(note)),
}


#: Finds the clinical terms of a text.
TermFinder = Callable[[str], Iterable[Span]]

#: A clause ends as the rules' do, at `.`, `;` and a line break; no point within a number, after a title or after a
#: single letter ("37.5", "dr. roe", "10 a.m.") ends one: the longer clause tells more.
_CLAUSE_END = re.compile(
    # What stands before the point is looked at behind it: so only points are asked.
    r"[;\n.](?:(?<!\.)|(?!\d)(?<!\b[a-z]\.)(?<!\bdr\.)(?<!\bmr\.)(?<!\bmrs\.)(?<!\bms\.)(?<!\bmiss\.)(?<!\bprof\.))",
    re.IGNORECASE,
)
#: What ends the list of a "negative for": it denies no more after it.
_CONTRAST = re.compile(
    r"\b(?:but|except|positive|whereas|although|though|however|yet|while|because|since|until|after|when)\b",
    re.IGNORECASE,
)
#: A subject or verb of its own: an item of the list that holds one tells something.
_TELLS = re.compile(
    r"\b(?:i|he|she|they|it|we|you|his|hers?|theirs?|him|them|my|our|who|whose|which|that|is|are|was|were|be|been|has|had"
    r"|have|does|did|do|will|would|can|could|may|might|says?|said|told|tells|reports?|reported|admits?|admitted|states?"
    r"|stated|endorse[sd]?|confide[sd]?|disclose[sd]?|diagnosed|confirmed|came)\b",
    re.IGNORECASE,
)
_LIST = re.compile(r"[^\n]*?\bnegative[ \t]+for\b", re.IGNORECASE)
_ITEM = re.compile(r"(?:[^,]|,(?=\d))+?(?:,(?!\d)|\b(?:and|or|nor)\b|\Z)", re.IGNORECASE)
#: Words of one item at most: what is longer tells something.
_LONGEST_ITEM = 6
_CUE = re.compile(r"(?-i:[pPdDhH])(?<=\b.)(?:(?<=p)ositive|(?<=d)iagnosed|(?<=h)istory\s{1,9}of)\b", re.IGNORECASE)
#: Characters from the first of a cue to behind its last: "history of", blanks and line ends between.
_LONGEST_CUE = 20
#: Of the preceding negations of NegEx (Chapman et al. 2001) those of one word, which the longer ones hold.
_NEGATION = re.compile(
    r"(?:\b(?:no|not|never|neither|nor|none|non|denie[sd]|denying|negative|without|absent)|n['’]t)\b", re.IGNORECASE
)
_TIME = r"(?:,?[ \t]{1,9}(?:at[ \t]{1,9})?\d{1,2}:\d{2}(?::\d{2})?(?:[ \t]?[ap]\.?m\b\.?)?)?"
#: The stamp at the head of what these rules take. A name after it is boilerplate by the rule of its own.
_STAMPS: Mapping[Rule, re.Pattern[str]] = {
    Rule.LAST_REVIEWED: re.compile(
        r"[ \t]*last[ \t]+reviewed\b(?:[ \t]{1,9}on\b)?(?:[ \t]{1,9}\d{1,4}[/.-]\d{1,2}(?:[/.-]\d{2,4})?)?" + _TIME,
        re.IGNORECASE,
    ),
    Rule.DATE_TIME_LINE: re.compile(rf"[ \t]*\d{{1,2}}([/-])\d{{1,2}}\1\d{{2,4}}{_TIME}", re.IGNORECASE),
}
#: Rules that take no more than their words.
_AS_THEY_ARE = (Rule.HEADER_PREFIX, Rule.BY_NAME_LINE, Rule.SEE_REFERENCE)


def _mask_boilerplate(note: str, by_rule: Mapping[Rule, Iterable[Span]], terms: Iterable[Span]) -> bytes:
    """Return one byte a character of whole lines of a note: 1 where boilerplate.

    `by_rule` are the rules' spans in them, and `terms` those of clinical terms.
    """
    negatives = [_before_contrast(note, span) for span in by_rule[Rule.NEGATIVE_ROS]]
    ends = sorted(
        {match.end() for match in _CLAUSE_END.finditer(note)} | {span.end for span in negatives} | {len(note)}
    )
    # "History of present illness:" is a header, and tells of none.
    headers = mask_spans(len(note), [by_rule[Rule.HEADER_PREFIX]])
    cues = (match.start() for match in _CUE.finditer(note) if not headers[match.start()])
    stamps = (
        Span(*found.span())
        for rule, stamp in _STAMPS.items()
        for span in by_rule[rule]
        if (found := stamp.match(note, *span))
    )
    # Of the combined history its header alone is boilerplate: histories stand under it.
    mask = mask_spans(len(note), [negatives, stamps, *(by_rule[rule] for rule in _AS_THEY_ARE)])
    # A clause tells that holds a term, or a cue without a negation before it.
    begins, telling = [0, *ends], set[int]()
    for start, end in terms:
        telling.update(range(bisect.bisect_right(ends, start), bisect.bisect_left(ends, end) + 1))
    for cue in cues:
        clause = bisect.bisect_right(ends, cue)
        if clause not in telling and _NEGATION.search(note, begins[clause], cue) is None:
            telling.add(clause)
    for clause in telling:
        mask[begins[clause] : ends[clause]] = bytes(ends[clause] - begins[clause])
    return bytes(mask)


def _before_contrast(note: str, span: Span) -> Span:
    """Return the span as far as it lists what is denied, item by item, each a few words without a subject or verb."""
    begins = _LIST.match(note, *span)
    begin = span.start if begins is None else begins.end()
    contrast = _CONTRAST.search(note, begin, span.end)
    denied = note[begin : span.end if contrast is None else contrast.start()]
    for item in _ITEM.finditer(denied):
        if len(item[0].split()) > _LONGEST_ITEM or _TELLS.search(item[0]) is not None:
            return Span(span.start, begin + len(denied[: item.start()].rstrip(" \t,(")))
    return Span(span.start, span.end if contrast is None else begin + len(denied.rstrip(" \t,(")))


class LaidOutNote:
    """A note under the layout that it has; each part is read where it is asked for, and then kept.

    Offsets are characters of `text`, the note with line feeds only.
    """

    def __init__(self, text: str, reader: "NoteReader") -> None:
        self.text = normalize_newlines(text)
        self._reader = reader

    @cached_property
    def shown(self) -> ShownText:
        """The note as a reader sees it, in which headers and facts are looked for."""
        return show(self.text)

    @cached_property
    def shown_headings(self) -> list[Heading]:
        """Its headers in order, in characters of the shown text."""
        alone = self._reader.one_style
        return alone.read(self.shown.text) if alone else self._read[2]

    @cached_property
    def _read(self) -> tuple[Layout, bool, list[Heading], FoundFields]:
        return self._reader.choose_layout(self)

    @property
    def layout(self) -> Layout:
        """The first layout that the note fits; the last one where it fits none."""
        return self._read[0]

    @property
    def layout_name(self) -> str:
        """The layout's name, or `NO_LAYOUT` where the note fits none."""
        return self.layout.name if self._read[1] else NO_LAYOUT

    @property
    def shown_found(self) -> FoundFields:
        """The facts in its structure and in its prose, in characters of the shown text."""
        return self._read[3]

    @cached_property
    def found(self) -> FoundFields:
        """The facts in its structure and in its prose."""
        return self.shown_found if self.shown.offsets is None else self.shown_found.at(self.shown.offsets)

    @property
    def fields(self) -> Mapping[str, FoundField]:
        """All facts by id, with where they stand."""
        return {**self.found.in_prose, **self.found.placed}

    @cached_property
    def headings(self) -> list[Heading]:
        """Its headers in order, body-system headers resolved to their parent."""
        offsets = self.shown.offsets
        return self.shown_headings if offsets is None else [item.at(offsets) for item in self.shown_headings]

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The note cut at its headers: consecutive sections that cover it without gaps, none of them empty."""
        cuts = [(PREAMBLE, 0)] + [(heading.section, heading.span_chars.start) for heading in self.headings]
        ends = [start for _, start in cuts[1:]] + [len(self.text)]
        return tuple(Section(name, Span(at, end)) for (name, at), end in zip(cuts, ends, strict=True) if at < end)

    @cached_property
    def _spans_in_text(self) -> dict[Rule, list[Span]]:
        """What each rule matches that looks at the text alone."""
        text = plain_blanks(self.text)
        return {rule: list(find(text)) for rule, find in self._reader.rules.items()}

    @cached_property
    def _combined_history(self) -> list[Span]:
        starts = [heading.span_chars.start for heading in self.headings]
        return [
            Span(heading.span_chars.start, end)
            for heading, end in zip(self.headings, [*starts[1:], len(self.text)], strict=False)
            if heading.header == self._reader.profile.templated_header
        ]

    @property
    def spans_by_rule(self) -> dict[Rule, list[Span]]:
        """What each rule matches."""
        return self._spans_in_text | {Rule.COMBINED_HISTORY: self._combined_history}

    @cached_property
    def templated(self) -> bytes:
        """One byte for each character: 1 where templated by the paper's rules, which its tables count."""
        return bytes(mask_spans(len(self.text), self.spans_by_rule.values()))

    def templated_in(self, span_chars: Span) -> bytes:
        """Return that part of `templated`, of which its lines alone are read: no rule looks beyond a line."""
        begin, end = self._lines_of(span_chars)
        lines = plain_blanks(self.text[begin:end])
        combined = (Span(at - begin, stop - begin) for at, stop in self._combined_history if stop > begin)
        within = [Span(max(0, at), min(stop, len(lines))) for at, stop in combined if at < len(lines)]
        groups = [*(find(lines) for find in self._reader.rules.values()), within]
        return bytes(mask_spans(len(lines), groups)[span_chars.start - begin : span_chars.end - begin])

    @cached_property
    def boilerplate(self) -> bytes:
        """The same: 1 where it is boilerplate, templated and telling nothing, which no headline counts."""
        return _mask_boilerplate(plain_blanks(self.text), self._spans_in_text, self._terms)

    def boilerplate_in(self, span_chars: Span) -> bytes:
        """Return that part of `boilerplate`; but for the terms its lines alone are read, which is faster."""
        begin, end = self._lines_of(span_chars)
        # A cue of the last line may end in the next one.
        text = plain_blanks(self.text[begin : end + _LONGEST_CUE])
        by_rule = {rule: list(find(text[: end - begin])) for rule, find in self._reader.rules.items()}
        if not any(by_rule.values()):
            # The terms, for which the whole note is read, could only take away.
            return bytes(span_chars.end - span_chars.start)
        terms = [
            Span(max(0, first - begin), min(last - begin, len(text)))
            for first, last in self._terms
            if first < end and last > begin
        ]
        return _mask_boilerplate(text, by_rule, terms)[span_chars.start - begin : span_chars.end - begin]

    @cached_property
    def _terms(self) -> list[Span]:
        return list(self._reader.find_terms(plain_blanks(self.text)))

    def _lines_of(self, span_chars: Span) -> Span:
        """Return the characters of the whole lines that some characters lie in, with the last line's end."""
        line_end = self.text.find("\n", span_chars.end)
        return Span(self.text.rfind("\n", 0, span_chars.start) + 1, len(self.text) if line_end < 0 else line_end + 1)


class NoteReader:
    """Reads whole notes under one profile; without `find_terms` no term of a diagnosis or drug tells."""

    def __init__(self, profile: NoteProfile, find_terms: TermFinder = lambda _: ()) -> None:
        self.profile = profile
        self.find_terms = find_terms
        readers = {styles: HeadingReader(profile, styles) for styles in {at.header_styles for at in profile.layouts}}
        self._layouts = [(at, readers[at.header_styles], FieldFinder(at)) for at in profile.layouts]
        #: The reader of headings, where all layouts set headers off alike and no choice is needed for them.
        self.one_style = next(iter(readers.values())) if len(readers) == 1 else None
        header_prefix = re.compile(rf"\n[ \t]*(?:{alternatives(profile.lexicon)}):", re.IGNORECASE)
        #: The rules that look at the text alone.
        self.rules = {Rule.HEADER_PREFIX: _spans_in_lines(header_prefix), **_RULES}

    def read(self, text: str) -> LaidOutNote:
        """Return a note as the profile lays it out."""
        return LaidOutNote(text, self)

    def choose_layout(self, note: LaidOutNote) -> tuple[Layout, bool, list[Heading], FoundFields]:
        """Return the first layout that a note fits, else the last; whether it fits; and its headers and facts there.

        Spans are in characters of the shown text.
        """
        text = note.shown.text
        for layout, reader, finder in self._layouts:
            signed = layout.matches_signature(text)
            is_last = layout is self._layouts[-1][0]
            if signed or is_last:
                headings = note.shown_headings if self.one_style else reader.read(text)
                found = finder.find(text, headings)
                fits = signed and found.placed.keys() | found.in_prose.keys() >= set(layout.required)
                if fits or is_last:
                    return layout, fits, headings, found
        raise AssertionError("a profile has at least one layout")
