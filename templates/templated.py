"""The six templated-text rules of Table 3 and the combined-history rule (paper, Appendix B).

Owns which characters of a whole note are documentation boilerplate. Knows nothing of tokens: a token is templated when
its characters overlap one of these spans. The rules have high precision at the cost of recall: text that no rule
matches counts as clinically revealing, which is the conservative side.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

from clinaudit.templates.markup import plain_blanks
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.sections import SectionResolver
from clinaudit.templates.spans import Span


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
_NEGATIVE_ROS = re.compile(rf"^[ \t]*(?:{_LABEL}){{0,2}}negative[ \t]+for\b[^.;\n]*[.;]?", re.IGNORECASE | re.MULTILINE)
_LAST_REVIEWED = re.compile(r"^[ \t]*last[ \t]+reviewed\b[^\n]*", re.IGNORECASE | re.MULTILINE)
_DATE_TIME_LINE = re.compile(r"^[ \t]*\d{1,2}([/-])\d{1,2}\1\d{2,4}(?!\d)[^\n]*", re.MULTILINE)
# Letters of any alphabet, apostrophes, hyphens, and the initials' dots.
_NAME = r"[^\W\d_][^\W\d_'’.-]*(?:['’-][^\W\d_]+)*\.?"
_CAPITAL_NAME = rf"(?-i:(?=[^\W\d_a-zß-öø-ÿ])){_NAME}"
_VERB = r"(?:reviewed|signed|entered|recorded|documented|dictated|updated|performed|verified|transcribed|completed)"
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
    r"\bsee[ \t]+(?:hpi|history|ros|pe|exam|note|chart|assessment|plan|above|below|prior|previous|attached)\b",
    re.IGNORECASE,
)


class TemplatedText:
    """The templated spans of whole notes under one profile."""

    def __init__(self, profile: NoteProfile, resolver: SectionResolver) -> None:
        self._resolver = resolver
        self._combined = profile.templated_header
        headers = "|".join(re.escape(header) for header in sorted(profile.lexicon, key=lambda h: (-len(h), h)))
        header_prefix = re.compile(rf"^[ \t]*(?:{headers}):", re.IGNORECASE | re.MULTILINE)
        self._rules: dict[Rule, Callable[[str], Iterator[Span]]] = {
            Rule.HEADER_PREFIX: _spans_of(header_prefix),
            Rule.NEGATIVE_ROS: _spans_of(_NEGATIVE_ROS),
            Rule.LAST_REVIEWED: _spans_of(_LAST_REVIEWED),
            Rule.DATE_TIME_LINE: _spans_of(_DATE_TIME_LINE),
            Rule.BY_NAME_LINE: _by_name_spans,
            Rule.SEE_REFERENCE: _spans_of(_SEE_REFERENCE),
            Rule.COMBINED_HISTORY: self._combined_history,
        }

    def spans_by_rule(self, note: str) -> dict[Rule, list[Span]]:
        """Return the spans each rule matches in a whole note (line feeds only), in characters."""
        note = plain_blanks(note)
        return {rule: list(find(note)) for rule, find in self._rules.items()}

    def mask(self, note: str) -> bytes:
        """Return one byte for each character of the whole note: 1 where some rule matches, else 0."""
        return bytes(mask_spans(len(note), self.spans_by_rule(note).values()))

    def _combined_history(self, note: str) -> Iterator[Span]:
        headings = self._resolver.headings(note)
        starts = [heading.span_chars.start for heading in headings]
        for heading, end in zip(headings, [*starts[1:], len(note)], strict=False):
            if heading.header == self._combined:
                yield Span(heading.span_chars.start, end)


def mask_spans(length: int, groups: Iterable[Iterable[Span]]) -> bytearray:
    """Return one byte for each character of a note of that length: 1 in some span, else 0."""
    mask = bytearray(length)
    for spans in groups:
        for start, end in spans:
            mask[start:end] = b"\x01" * (end - start)
    return mask


def _spans_of(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Span]]:
    return lambda note: (Span(*match.span()) for match in pattern.finditer(note))


def _by_name_spans(note: str) -> Iterator[Span]:
    found = {Span(*match.span()) for match in _BY_NAME_LINE.finditer(note)}
    found |= {Span(*match.span("attribution")) for match in _BY_NAME_AFTER_VERB.finditer(note)}
    yield from sorted(found)
