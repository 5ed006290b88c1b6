"""The detector of the filter: rules, a language model and what is a site's own, over every reading of a text.

Owns which detectors `clinaudit mask` uses, and the readings beside the plain one: words that are spelled out with
blanks, sentences and words that run on over lines, values that dots lead to. Nothing that any of them saw is dropped.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.detectors.combined import PlainReadingDetector, Readings
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.masking.running_names import Names, RunningNames
from clinaudit.audit.pii.masking.spoken_numbers import spoken
from clinaudit.audit.pii.plain_text import Edit, leaders, normalize_text, without
from clinaudit.errors import UsageError

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


class EnsembleDetector:
    """Finds what any of its detectors does, in every reading; unlike a detector's own, the spans may overlap."""

    def __init__(self, detectors: Iterable[Detector]) -> None:
        self._detectors = tuple(detectors)
        self.name = " + ".join(detector.name for detector in self._detectors)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start."""
        readings = Readings(text)
        plain = readings.plain
        found = {span for one in self._detectors for span in PlainReadingDetector(one).detect_in(readings)}
        for edits in (_spelled, _run_on, _apart, leaders, spoken, _unmarked):
            for reading in plain.around(edits(plain.text)):
                found |= {reading.original_span(span) for one in self._detectors for span in one.detect(reading.text)}
        return sorted(found)


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


#: How many readings of a part are kept: one has a few long ones, and some short ones where it is hard to read.
_READINGS: Final = 500


class Remembered:
    """A detector that knows what it found last: another one asks for it too."""

    def __init__(self, detector: Detector) -> None:
        self.name = detector.name
        self.detect = lru_cache(maxsize=_READINGS)(detector.detect)


def filter_detectors(*site: Detector, rules_only: bool = False, name_model: Path | None = None) -> Detector:
    """Return what finds the identifiers of a text: rules, a language model and what is a site's own, as one.

    `site` are a site's own detectors: of its patients' names (`Gazetteer`), by its rules (`SiteRules`). The language
    model is spaCy's small one, or that in the directory `name_model`, or with `rules_only` none. Raises `UsageError`
    for both, and `BadInputError` where the model is not installed or cannot be used.
    """
    from clinaudit.audit.pii.detectors.rules import RuleDetector, SuspectedDetector
    from clinaudit.audit.pii.detectors.telephone_numbers import TelephoneNumbers

    if rules_only and name_model is not None:
        raise UsageError("--rules-only uses no language model, and --name-model names one; give one of them")
    first: tuple[Detector, ...] = (RuleDetector(), SuspectedDetector(of_names=True), SuspectedDetector(), *site)
    known = [Remembered(one) for one in first]
    model: Names | None = None
    detectors: list[Detector] = [*known, OtherScripts(), TelephoneNumbers()]
    if name_model is not None:
        from clinaudit.audit.pii.detectors.name_model import NameModel

        detectors.append(NameModel(name_model))
    elif not rules_only:
        from clinaudit.audit.pii.detectors.spacy_model import SpacyDetector

        model = SpacyDetector(otherwise="give --rules-only").entities_of
    return EnsembleDetector([*detectors, RunningNames(known, model)])
