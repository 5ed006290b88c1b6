"""The detectors of the filter: those that look first, over every reading of a text, and the one that looks again.

Owns which detectors `clinaudit mask` uses, and the readings beside the plain one: words that are spelled out with
blanks, sentences and words that run on over lines, values that dots lead to. Nothing that any of them saw is dropped.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from clinaudit.audit.pii.detectors.combined import PlainReadingDetector, Readings
from clinaudit.audit.pii.detectors.rule_table import words
from clinaudit.audit.pii.detectors.word_lists import is_allowed
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.masking.not_masked import is_clinical
from clinaudit.audit.pii.masking.spoken_numbers import spoken
from clinaudit.audit.pii.masking.structured_text import StructuredText
from clinaudit.audit.pii.plain_text import (
    Edit,
    PlainText,
    as_given,
    leaders,
    normalize_text,
    overlapping_pieces,
    without,
)
from clinaudit.audit.pii.taxonomy import categories

#: Letters beyond Latin: Greek to Georgian and on, the scripts of East Asia, Braille, and those of the higher planes.
_LETTER: Final = (
    "[\u0370-\u03ff\u0400-\u1cff\u1d00-\u1dbf\u1f00-\u1fff\u2800-\u28ff\u2c00-\u2c5f\u2c80-\u2dff\u3005-\u3007"
    "\u3040-\ua4cf\ua4d0-\ua71f\ua800-\uabff\uac00-\ud7ff\uf900-\ufaff\ufb13-\ufdff\ufe70-\ufefe"
    "\U00010000-\U0001d3ff\U0001e000-\U0001efff\U00020000-\U0003ffff]"
)
_WORDS: Final = re.compile(rf"{_LETTER}{{2,}}(?:[ \t.,'’·・-]{{0,2}}{_LETTER}+)*")
#: Marks that change how a sign is shown, several in a row: they can carry a text that nobody sees.
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}")


class OtherScripts:
    """Finds words of other scripts."""

    name = "other scripts"

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; they may overlap."""
        if text.isascii():
            return []
        plain = normalize_text(text)
        found = {
            plain.original_span(EntitySpan(*match.span(), "full_name", self.name))
            for match in _WORDS.finditer(plain.text)
        }
        # A word of look-alikes throughout is a word of that script as well; one letter of it among Latin ones is not.
        found |= {
            EntitySpan(*match.span(), "full_name", self.name)
            for match in _WORDS.finditer(text)
            if not _adjoins_latin(text, *match.span())
        }
        found |= {EntitySpan(*match.span(), "other_code", self.name) for match in _SELECTORS.finditer(text)}
        return sorted(found)


def _adjoins_latin(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    return (before.isascii() and before.isalpha()) or (after.isascii() and after.isalpha())


#: Single characters with blanks between them ("1 2 3 - 4 5"); a blank that was one itself stands as three.
_SPELLED_OUT: Final = re.compile(r"(?<!\S)(?:\S[ ]{1,3}){4,}\S(?!\w)")
_BLANKS: Final = re.compile(r"(?<=\S)[ ](?=\S)|(?<=\S)[ ](?=[ ]{2})|(?<=[ ]{2})[ ](?=\S)|(?<=\S[ ])[ ](?=\S)")
#: A line that ends within a sentence: no label, no heading and no item begins the next one.
_LINE_END: Final = re.compile(r"(?<=[^\W\d_,])[ \t]*\r?\n[ \t]*(?=[^\W\d_])(?![^\n:]{1,40}:)(?![^a-z\n]{3,}(?:\n|$))")
#: A label and its number in one word ("DOB1950-11-11"), and underscores for blanks ("dob_1950-11-11").
_GLUED: Final = re.compile(
    r"(?<![^\W_])(?i:d\.?o\.?b|yob|born|dod|dos|mrn|ssn|ss|tel|ph|phone|cell|mobile|fax|pager|acct|account|id|zip|postcode|adm"
    r"|admitted|admit|dc|discharged|visit|seen|on|date|dated|mbi|hicn?|cin|npi|dea|vin|policy|member|age|aged|record|chart|case)"
    r"_?(?=[\d(+])|(?<=[^\W_])_+(?=[^\W_])"
)
#: Marks of HTML and Markdown, which show nothing by themselves.
_MARKUP: Final = re.compile(
    r"</?[A-Za-z][A-Za-z0-9]{0,10}(?:\s[^<>\n]{0,200})?/?>|\*{1,3}|`+|~~|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)"
)


#: How much of a text is looked through at once, and how much of it two neighbours share at least.
PART_CHARS: Final = 50_000
SHARED_CHARS: Final = 1_000
#: Parts of a text -> what is found in each, in their order.
Look = Callable[[Iterable[str]], Iterable[Iterable[EntitySpan]]]


class PartedDetector(ABC):
    """Looks through a long text in parts, which overlap by more than an identifier's length and what is beside it.

    Where they are cut depends on the text alone, so that the same is found whoever looks through them.
    """

    name: str

    @abstractmethod
    def detect_in_part(self, text: str) -> Iterable[EntitySpan]:
        """Return what is found in a part."""

    def detect_by_line(self, _text: str) -> Iterable[EntitySpan]:
        """Return what is found by the lines of a whole text."""
        return ()

    def detect(
        self, text: str, advance: Callable[[int], None] = lambda _: None, look: Look | None = None
    ) -> list[EntitySpan]:
        """Return the spans of a text by start; calls `advance` with the characters of each part that is looked through.

        `look` looks through the parts (None: this detector, one after the other).
        """
        found = set(self.detect_by_line(text))
        places = list(overlapping_pieces(text, chars=PART_CHARS, shared=SHARED_CHARS))
        parts = (text[begin:end] for begin, end in places)
        done = 0
        for (begin, end), spans in zip(
            places, map(self.detect_in_part, parts) if look is None else look(parts), strict=True
        ):
            found.update(
                EntitySpan(span.start + begin, span.end + begin, span.category, span.found_by) for span in spans
            )
            advance(end - done)
            done = end
        return sorted(found)


class SecondLook(PartedDetector):
    """Finds what one detector does in every plain reading of a text."""

    def __init__(self, detector: Detector) -> None:
        self._detector = PlainReadingDetector(detector)
        self.name = detector.name

    def detect_in_part(self, text: str) -> list[EntitySpan]:
        """Return what is found in a part."""
        return self._detector.detect(text)


class EnsembleDetector(PartedDetector):
    """Finds what any of its detectors does; unlike a detector's own, the spans may overlap."""

    def __init__(self, detectors: Iterable[Detector], *, by_line: Iterable[Detector] = ()) -> None:
        """`by_line` go by the lines of a text: they are not shown the readings in which these run on."""
        self._detectors = tuple(detectors)
        self._by_line = tuple(by_line)
        self.name = " + ".join(detector.name for detector in (*self._detectors, *self._by_line))

    def detect_by_line(self, text: str) -> Iterator[EntitySpan]:
        """Yield what is found by the lines of a whole text."""
        plain = normalize_text(text)
        # Most texts read plainly as they are given.
        for reading in [as_given(text), *([plain] if plain.text != text else [])]:
            yield from (reading.original_span(span) for one in self._by_line for span in one.detect(reading.text))

    def detect_in_part(self, text: str) -> set[EntitySpan]:
        """Return what is found in a part."""
        readings = Readings(text)
        plain = readings.plain
        found = {span for one in self._detectors for span in PlainReadingDetector(one).detect_in(readings)}
        for edits in (_spelled, _run_on, _apart, leaders, spoken, _unmarked):
            for reading in plain.around(edits(plain.text)):
                found.update(self._found_in(reading))
        return found

    def _found_in(self, reading: PlainText) -> list[EntitySpan]:
        return [reading.original_span(span) for one in self._detectors for span in one.detect(reading.text)]


def _spelled(text: str) -> Iterator[Edit]:
    return without(
        blank for found in _SPELLED_OUT.finditer(text) for blank in _BLANKS.finditer(text, found.start(), found.end())
    )


def _unmarked(text: str) -> Iterator[Edit]:
    return without(_MARKUP.finditer(text))


def _apart(text: str) -> Iterator[Edit]:
    """Yield where a label and its number are glued, and underscores in words, to be parted by a blank."""
    # The blank stands for the last character before it: no span begins or ends with one.
    for found in _GLUED.finditer(text):
        start = found.end() - found[0].endswith("_")
        yield start, found.end(), [(" ", start - 1, start)]


def _run_on(text: str) -> Iterator[Edit]:
    """Yield the line ends within a sentence, to be blanks."""
    return ((*found.span(), [(" ", found.start(), found.start() + 1)]) for found in _LINE_END.finditer(text))


_CHARS: Final = 50
#: Written in capitals throughout, so short a word is an abbreviation.
_LONGEST_ABBREVIATION: Final = 5
#: Before any name, of one word or more.
_SURE_BEFORE: Final = words(
    r"\b(?:mr|mrs|ms|miss|dr|prof|sir|madam|${kin}|${close}|(?:let|told|tell|asked|saw|met|meet|named|called|thank|dear|hi|hello"
    r"|hey|cc|nurse|known\sas|me\sdown\sas|call\sme|it['’]s|i\sam|i['’]m|this\sis|name\sis|write|by|spoke\s(?:to|with)"
    r"|discussed\s(?:this\s)?with|(?:me|him|her)\sas))\.?,?[ ]$"
)
_SURE_AFTER: Final = words(
    r"(?:,?[ ](?:who|whom|whose)\b|[ ](?:said|says|reports?|reported|states|stated|denies|denied|lives|lived|works"
    r"|worked|wants|likes|calls|asks|asked|told|tells|agreed|agrees|came|comes|writes?|wrote|writing|speaking|here)\b"
    r"|[ ]and[ ](?:his|her)[ ]|[ ]is[ ](?:an?|my|his|her|our|\d+)\b"
    r"|['’]s[ ](?:wife|husband|mother|father|son|daughter|care|case)\b)"
)
#: Before or after two words or more.
_BEFORE: Final = words(
    r"(?:[:(>\[\"“]\s?|\]\s|\b(?:as|of|with|for|to|from|about|and|or|that|concerning|regarding|re|is|was|see|seeing|seen|refer"
    r"|than|because|but|if|while|after|before|since|when)[ ])$"
)
_AFTER: Final = words(
    r"(?:['’]s\b|:|,?[ ](?:is|was|has|had|will|would|and|also|presents?|presented|attended|remains)\b"
    r"|,[ ](?:an?|the|my|his|her|\d|born|dob|aged?)|[ ]\((?:\d|dob|mrn|he|she|they))"
)
_BEFORE_PLACE: Final = words(r"\b(?:in|near|from|at|to|outside|around|visit(?:s|ed|ing)?|via|through|of)[ ]$")
_TOKEN: Final = re.compile(r"[^\s,.;:()]+")


class AgreedNames:
    """Finds the people and places of a language model with which a rule of context agrees."""

    name = "a language model, where the context agrees"

    def __init__(self, named: Callable[[str], Iterable[EntitySpan]]) -> None:
        """`named` returns what the model names in a text, in any order."""
        self._named = named

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; who is spoken of as a person is one, whatever the model calls them."""
        named = ((span, _agreed(text, span)) for span in self._named(text))
        return sorted(EntitySpan(span.start, span.end, kind, span.found_by) for span, kind in named if kind is not None)


def _agreed(text: str, span: EntitySpan) -> str | None:
    found = _TOKEN.findall(text, span.start, span.end)
    if not text[span.start].isupper() or any(map(_is_clinical_or_short, found)):
        return None
    begin = max(0, span.start - _CHARS)
    if categories()[span.category].type == "LOC" and _BEFORE_PLACE.search(text, begin, span.start):
        return span.category
    cues = [(_SURE_BEFORE, _SURE_AFTER), (_BEFORE, _AFTER)][: len(found)]
    agrees = any(before.search(text, begin, span.start) or after.match(text, span.end) for before, after in cues)
    return "full_name" if agrees else None


def _is_clinical_or_short(word: str) -> bool:
    """Whether a word is clinical or an abbreviation."""
    is_short = word.isupper() and 1 < len(word) <= _LONGEST_ABBREVIATION
    return is_short or is_clinical(word) or is_allowed(word)


def filter_detectors(*site: Detector, ner: bool = False) -> tuple[Detector, Detector]:
    """Return what finds, and what looks over the rest.

    `site` are a site's own detectors: of its patients' names (`Gazetteer`), by its rules (`SiteRules`). With `ner` a
    small language model adds people and places where the context agrees, which rules miss in running text; it needs
    the extra `clinaudit[pii]`.
    """
    from clinaudit.audit.pii.detectors.presidio import PresidioDetector
    from clinaudit.audit.pii.detectors.rules import RuleDetector, SuspectedDetector

    detectors: list[Detector] = [RuleDetector(), SuspectedDetector(of_names=True), SuspectedDetector(), OtherScripts()]
    detectors += site
    if ner:
        from clinaudit.audit.pii.detectors.spacy_model import SpacyDetector

        detectors.append(AgreedNames(SpacyDetector().entities))
    return EnsembleDetector(detectors, by_line=[StructuredText()]), SecondLook(PresidioDetector())
