"""What `clinaudit mask` finds: identifiers in every reading of a text, and where a masked value stands once more.

Owns the detectors of the filter (rules, a language model, what is a site's own), and the readings beside the plain one:
words that are spelled out with blanks, sentences and words that run on over lines, values that dots lead to, and
numbers that are spelled out. Nothing that a detector saw in any of them is dropped. Owns, too, how a masked value may
be written once more: split over lines, spaced, in other letters. That comparison knows nothing of how identifiers are
found.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.detectors.numbers_and_dates import ends_of, find_ends
from clinaudit.audit.pii.detectors.word_lists import (
    is_first_name,
    is_last_name,
    is_name_again,
    is_plain_word,
    read_words,
)
from clinaudit.audit.pii.masking.not_masked import is_only_a_word
from clinaudit.audit.pii.masking.running_names import Names, RunningNames
from clinaudit.audit.pii.masking.tags import Hidden
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.plain_text import Edit, decoded_stretches, joins, leaders, normalize_text, without
from clinaudit.audit.pii.taxonomy import Detector, EntitySpan, categories, resolve_overlaps
from clinaudit.audit.pii.values.known_values import places_of
from clinaudit.audit.pii.values.normal_form import NUMBER_WORDS, TENS, name_parts
from clinaudit.errors import UsageError

_RE: Final = Patterns(__name__)

_UNITS: Final = {
    **{word: number for number, word in enumerate(NUMBER_WORDS[:9], 1)},
    **dict.fromkeys(("zero", "oh", "o", "nought"), 0),
    "niner": 9,
}
_TENS: Final = {**{word: 10 * number for number, word in enumerate(TENS, 2)}, "fourty": 40}
_SMALL: Final = {**_UNITS, **{word: number for number, word in enumerate(NUMBER_WORDS[9:], 10)}, **_TENS}
_REPEATS: Final = {"double": 2, "triple": 3}
_MULTIPLIERS: Final = {"hundred": 100, "thousand": 1000}
_WORDS: Final = "|".join(sorted((*_SMALL, *_REPEATS, *_MULTIPLIERS, "and"), key=lambda word: (-len(word), word)))
#: The O of "O'Connor" is not a zero.
_WORD: Final = rf"(?i:{_WORDS})(?![^\W_]|['’][^\W\d_])"
_TOKEN: Final = re.compile(rf"{_WORD}|[0-9]+")
#: What may stand between two numerals of one number.
_MARKS: Final = r"[ \t]{0,2}(?:[-–,./;]|dash|hyphen|\r?\n)?[ \t]{0,2}"
_MORE: Final = rf"(?:{_MARKS}(?:{_WORD}|[0-9]+))+"
_RUN: Final = re.compile(rf"(?<![\w]){_WORD}{_MORE}|(?<![\w.])[0-9]+{_MORE}")
#: A number of fewer than four digits identifies nobody and is not a year: it is left as written.
_FEWEST_FIGURES: Final = 4


def spoken(text: str) -> Iterator[Edit]:
    """Yield an edit for each run of number words that gives four digits or more: the run, and the digits.

    Such runs are "five-one-two 44", "oh one four three", "nineteen forty-six"; single number words stay: "three days".
    A run may hold figures too, but not figures alone. A blank stands where a mark parts numbers.
    """
    for run in _RUN.finditer(text):
        tokens = list(_TOKEN.finditer(text, *run.span()))
        # "10/28 and 11/05" spells nothing out.
        if all(token[0].isdigit() or token[0].lower() == "and" for token in tokens):
            continue
        found: list[tuple[str, int, int]] = []
        for written, start, end in _numbers(tokens):
            if found:
                last = found[-1][2]
                gap, are_figures = text[last:start], (text[start].isdigit(), text[last - 1].isdigit())
                # Words run on into one number; figures, and what a mark parts, begin another.
                if gap.strip(" \t") not in ("", "-") or any(are_figures):
                    # Days in figures stay days: "10/28, 11/05 and two more".
                    found.append(("/" if gap == "/" and all(are_figures) else " ", last - 1, last))
            found.append((written, start, end))
        if sum(character.isdigit() for written, _, _ in found for character in written) >= _FEWEST_FIGURES:
            yield *run.span(), found


def _numbers(tokens: Sequence["re.Match[str]"]) -> Iterator[tuple[str, int, int]]:
    """Yield each numeral of a run as figures: "forty" and "six" are one, so are "two thousand and one"."""
    place = 0
    while place < len(tokens):
        token, *rest = tokens[place : place + 2]
        word, following = token[0].lower(), rest[0][0].lower() if rest else ""
        place += 1
        if word.isdigit():
            yield token[0], *token.span()
        elif following in _UNITS and (word in _REPEATS or (word in _TENS and _UNITS[following])):
            is_repeat = word in _REPEATS
            figures = str(_UNITS[following]) * _REPEATS[word] if is_repeat else str(_TENS[word] + _UNITS[following])
            yield figures, token.start(), tokens[place].end()
            place += 1
        elif following in _MULTIPLIERS and word in _SMALL:
            value, place, end = _read_hundreds_and_thousands(tokens, place - 1)
            yield str(value), token.start(), end
        elif word in _SMALL:
            yield str(_SMALL[word]), *token.span()


def _read_hundreds_and_thousands(tokens: Sequence["re.Match[str]"], place: int) -> tuple[int, int, int]:
    """Return a number of hundreds or thousands, the place after its last token, and where that ends."""
    total = current = end = 0
    last = "multiplier"
    while place < len(tokens):
        word = tokens[place][0].lower()
        if word in _MULTIPLIERS:
            current = (current or 1) * _MULTIPLIERS[word]
            total, current = (total + current, 0) if word == "thousand" else (total, current)
            last = "multiplier"
        elif word in _SMALL and (last == "multiplier" or (last == "tens" and word in _UNITS)):
            current += _SMALL[word]
            last = "tens" if word in _TENS else "small"
        elif word != "and" or last != "multiplier":
            break
        end = end if word == "and" else tokens[place].end()
        place += 1
    return total + current, place, end


#: Letters beyond Latin: Greek to Georgian and on, the scripts of East Asia, Braille, and those of the higher planes.
_LETTER: Final = (
    "[\u0370-\u03ff\u0400-\u1cff\u1d00-\u1dbf\u1f00-\u1fff\u2800-\u28ff\u2c00-\u2c5f\u2c80-\u2dff\u3005-\u3007"
    "\u3040-\ua4cf\ua4d0-\ua71f\ua800-\uabff\uac00-\ud7ff\uf900-\ufaff\ufb13-\ufdff\ufe70-\ufefe"
    "\U00010000-\U0001d3ff\U0001e000-\U0001efff\U00020000-\U0003ffff]"
)
_FOREIGN_WORDS: Final = re.compile(rf"{_LETTER}{{2,}}(?:[ \t.,'’·・-]{{0,2}}{_LETTER}+)*")
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
        found = {EntitySpan(*match.span(), "other_code", self.name) for match in _SELECTORS.finditer(text)}
        for match in _FOREIGN_WORDS.finditer(plain.text):
            found.add(plain.original_span(EntitySpan(*match.span(), "full_name", self.name)))
        for start, end in (match.span() for match in _FOREIGN_WORDS.finditer(text)):
            # A word of look-alikes throughout is of that script as well; one letter of it among Latin ones is not.
            beside = text[max(0, start - 1) : start], text[end : end + 1]
            if not any(one.isascii() and one.isalpha() for one in beside):
                found.add(EntitySpan(start, end, "full_name", self.name))
        return sorted(found)


class TelephoneNumbers:
    """Finds telephone numbers of the countries that the rules know least, such as "020 7946 0018", by `phonenumbers`.

    A number counts where a numbering plan has it and it is grouped as that country writes it: 120/80 is none. These
    countries' plans are asked about a number without the code of its country; with it ("+44 ...") any country's is.
    """

    name = "phonenumbers"
    _regions = ("GB", "AU", "DE", "FR", "IN")

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; the same number may stand twice."""
        # Fewer figures stand in no text that can hold such a number.
        if sum(map(str.isdigit, text)) < 8:
            return []
        from phonenumbers import Leniency, PhoneNumberMatcher

        found = {
            EntitySpan(match.start, match.end, "phone", self.name)
            for region in self._regions
            for match in PhoneNumberMatcher(text, region, Leniency.STRICT_GROUPING, max_tries=len(text))
        }
        return sorted(found)


class Readings:
    """How a text can be read beside how it is given: plainly, past the breaks in its numbers, and what it hides."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.plain = normalize_text(text)
        pieces = self.plain.pieces() if self.plain.text != text else ()
        changed = (one for one in pieces if one.text and one.text != text[one.starts[0] : one.ends[-1]])
        self.others = [*changed, *self.plain.around(joins(self.plain.text))]
        self._hidden = list(decoded_stretches(text))

    def detect(self, detector: Detector) -> list[EntitySpan]:
        """Return what a detector finds in any of them, apart; a stretch that hides something is one span."""
        text = self.text
        found = list(detector.detect(text))
        for reading in self.others:
            spans = [reading.original_span(span) for span in detector.detect(reading.text)]
            ends = {span.end for span in found}
            for span in spans:
                # A code without a label that runs over lines or cells: values of a table, read as one number.
                if span.category != "other_code" or not re.search(r"[\n\t]", text[span.start : span.end]):
                    found += _by_number(text, span, ends)
        for stretch in self._hidden:
            # It may hide another one, which is shorter.
            hidden = Readings(stretch.text).detect(detector)
            if hidden:
                found.append(hidden[0]._replace(start=stretch.start, end=stretch.end))
        return resolve_overlaps(found)


def _by_number(text: str, span: EntitySpan, ends: Collection[int]) -> Iterator[EntitySpan]:
    """Yield a span, or only its part after a line end where another span ends: a number above "747 High Street"."""
    found = _RE.number_end.search(text, span.start, span.end)
    if found is None or found.start() not in ends:
        yield span
        return
    is_whole = sum(map(str.isdigit, text[span.start : found.start()])) >= 7
    if not (_RE.house.match(text, found.end()) or (is_whole and _RE.count.match(text, found.end()))):
        yield span._replace(start=found.end())


class EnsembleDetector:
    """Finds what any of its detectors does, in every reading; unlike a detector's own, the spans may overlap."""

    def __init__(self, detectors: Iterable[Detector]) -> None:
        self._detectors = tuple(detectors)

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start."""
        readings = Readings(text)
        plain = readings.plain
        found = {span for one in self._detectors for span in readings.detect(one)}
        for reading in chain.from_iterable(map(plain.around, _ways_to_read(plain.text))):
            found |= {reading.original_span(span) for one in self._detectors for span in one.detect(reading.text)}
        return sorted(found)


def _ways_to_read(text: str) -> Iterator[Iterable[Edit]]:
    spelled = (run.span() for run in _RE.spelled_out.finditer(text))
    yield without(blank for run in spelled for blank in _RE.blanks.finditer(text, *run))
    # Line ends within a sentence are blanks; a header of mail and a row of a table end with their line.
    ends = (end.span() for end in _RE.line_end.finditer(text))
    yield (
        (start, end, [(" ", start, start + 1)])
        for start, end in ends
        if text[start - 1] == "," or not _RE.header_or_row.match(text, text.rfind("\n", 0, start) + 1)
    )
    # A label and its number that are glued, and words with underscores, are parted by a blank. It stands for the last
    # character before it: no span begins or ends with one.
    glued = ((found.end() - found[0].endswith("_"), found.end()) for found in _RE.glued.finditer(text))
    yield ((start, end, [(" ", start - 1, start)]) for start, end in glued)
    yield leaders(text)
    yield spoken(text)
    yield without(_RE.markup.finditer(text))


class _Remembered:
    """A detector that knows what it found last, in a few readings of a text: another one asks for it too."""

    def __init__(self, detector: Detector) -> None:
        self.detect = lru_cache(maxsize=500)(detector.detect)


def filter_detectors(*site: Detector, rules_only: bool = False, name_model: Path | None = None) -> Detector:
    """Return what finds the identifiers of a text: rules, a language model and what is a site's own, as one.

    `site` are a site's own detectors: of its patients' names (`Gazetteer`), by its rules (`SiteRules`). The language
    model is spaCy's small one, or that in the directory `name_model`, or with `rules_only` none. Raises `UsageError`
    for both, and `BadInputError` where the model is not installed or cannot be used.
    """
    from clinaudit.audit.pii.detectors.rules import RuleDetector, SuspectedDetector

    if rules_only and name_model is not None:
        raise UsageError("--rules-only uses no language model, and --name-model names one; give one of them")
    first: tuple[Detector, ...] = (RuleDetector(), SuspectedDetector(of_names=True), SuspectedDetector(), *site)
    known = [_Remembered(one) for one in first]
    model: Names | None = None
    detectors: list[Detector] = [*known, OtherScripts(), TelephoneNumbers()]
    if not rules_only:
        from clinaudit.audit.pii.detectors.language_models import NameModel, SpacyDetector

        if name_model is None:
            model = SpacyDetector(otherwise="give --rules-only").detect_each
        else:
            detectors.append(NameModel(name_model))
    return EnsembleDetector([*detectors, RunningNames(known, model)])


#: What finds a value once more.
_AGAIN: Final = ("masked elsewhere in the record",)
#: Shorter values stand in a text by chance: "93" is an age and a heart rate.
_LEAST_LETTERS: Final = 4
_LEAST_LETTERS_OF_NAME: Final = 3
_LEAST_DIGITS: Final = 5
#: What is written backwards is looked for too, from this length on.
_LEAST_BACKWARDS: Final = 7


class FoldedText:
    """The letters and digits of a text, folded (Unicode NFKD, case, accents), and where each stood."""

    def __init__(self, text: str, hidden: Sequence[Hidden] = ()) -> None:
        """`hidden` stretches, by start and without overlaps, are left out, and nothing is found across them."""
        self.text = text
        edges = [0, *(edge for one in hidden for edge in (one.start, one.end)), len(text)]
        #: What is not hidden, with where it begins.
        self.parts = [(start, text[start:end]) for start, end in list(pairwise(edges))[::2] if start < end]
        # No value holds a NUL, so that none is found across one.
        self.letters = "\0".join(fold_value(part) for _, part in self.parts)

    @cached_property
    def _places(self) -> list[int]:
        """Where each of the letters stood; few texts hold a value once more, so that it is seldom asked."""
        places: list[int] = []
        for start, part in self.parts:
            if part.isascii():
                places += (start + letter.start() for letter in _RE.letter_or_digit.finditer(part))
            else:
                places += (start + at for at, letter in enumerate(part) for _ in fold_value(letter))
            places.append(start + len(part))
        return places

    def find(self, values: Collection[str]) -> Iterator[tuple[str, int, int]]:
        """Yield which of some folded values stand in the text as whole words, and where; one pass for all of them."""
        for value, begin in places_of(values, self.letters):
            start, end = self._places[begin], self._places[begin + len(value) - 1] + 1
            if not self.text[start - 1 : start].isalnum() and not self.text[end : end + 1].isalnum():
                yield value, start, end


def fold_value(text: str) -> str:
    """Return the letters and digits of a text, folded as in `FoldedText`."""
    if text.isascii():
        return _RE.neither.sub("", text).lower()
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(letter.casefold() for letter in decomposed if letter.isalnum())


def find_values(folded: FoldedText, values: Iterable[tuple[str, Hidden]], *, kept: Iterable[str] = ()) -> list[Hidden]:
    """Return where values stand in a text; each comes with the stretch where it was masked, for its category.

    The words of a person's name are looked for one by one too, where they are that name again (`is_name_again`), and
    the last digits of a long number. `kept` are values that are to stand: a question needs them of somebody else.
    """
    needed = {fold_value(value) for value in kept}
    wanted: dict[str, dict[bool, str | None]] = {}
    numbers: list[tuple[str, str | None]] = []
    for value, one in values:
        numbers.append((value, one.category))
        for word, alone in _looked_for(value, one.category):
            if word not in needed:
                wanted.setdefault(word, {}).setdefault(alone, one.category)
    found = [
        Hidden(start, end, category, _AGAIN)
        for word, start, end in folded.find(wanted)
        for alone, category in wanted[word].items()
        # Who speaks ("Teacher: ...") is none of a patient's trades.
        if not (category == "occupation" and folded.text[end : end + 1] == ":")
        and (not alone or (is_name_again(folded.text, start, end) and not _is_only_a_word(folded.text, start, end)))
    ]
    ends = {digits: category for digits, category in ends_of(numbers).items() if digits not in needed}
    return found + [
        Hidden(start + at, end + at, category, _AGAIN)
        for at, part in folded.parts
        for start, end, category in find_ends(part, ends)
    ]


def _is_only_a_word(text: str, start: int, end: int) -> bool:
    """Whether a word of a name is one of the language here: in small letters, or in capitals among capitals."""
    written = text[start:end]
    if written[0].isupper() and not (written.isupper() and text[max(0, start - 20) : end + 20].isupper()):
        return is_only_a_word(written)
    is_name = is_first_name(written) or is_last_name(written)
    return is_plain_word(written) and not is_name and _RE.title.search(text, max(0, start - 8), start) is None


def _looked_for(value: str, category: str | None) -> Iterator[tuple[str, bool]]:
    """Yield what is looked for of a value, and whether it is one word of a name, which may be another word as well."""
    # The words of a time are everybody's: "a day" that something took stands in "twice a day" too.
    if category is None or category in ("duration", "time"):
        return
    whole = fold_value(value)
    is_name = categories()[category].type == "PER"
    if len(whole) >= (_LEAST_DIGITS if whole.isdecimal() else _LEAST_LETTERS_OF_NAME if is_name else _LEAST_LETTERS):
        # A name of one word may be a word as well ("Hope", "White").
        yield whole, is_name and len(value.split()) == 1
    if len(whole) >= _LEAST_BACKWARDS:
        yield whole[::-1], False
    parts = name_parts(value) if is_name else ()
    if len(parts) > 1:
        yield "".join(map(fold_value, (parts[-1], *parts[:-1]))), False
    for word in map(fold_value, parts):
        if len(word) >= _LEAST_LETTERS_OF_NAME and word not in read_words("particles") and word != whole:
            yield word, True
