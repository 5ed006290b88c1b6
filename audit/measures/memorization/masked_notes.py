"""Masked K: notes with placeholders for the values that tell who a note is about and which visit (docs/methods.md, 2).

Owns where the values of a note's identity occur in a text, the text with placeholders in their stead, and the masking
of a corpus in shards. Case does not count, and a value is found as whole words only. Knows nothing of who counts what
in the notes. Example, of Brandon Green, 46: `Mr. Green, a 46-year-old` reads `Mr. <name>, a <age>-year-old`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from clinaudit.audit.runtime.cluster import ShardRunner
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note, PackedTexts, Patient, Split, TextStore, release_pages, split_patients
from clinaudit.priors.identity import Identity, IdentityReader
from clinaudit.templates.dates import WrittenDates
from clinaudit.templates.note import LaidOutNote, normalize_newlines
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.shown_text import Span

ValueKind = Literal["name", "age", "sex", "date", "provider", "practice"]
#: One character a kind. These are noncharacters, which Unicode sets aside for internal use.
PLACEHOLDERS: Final[dict[ValueKind, str]] = {
    "name": "\ufdd0",
    "age": "\ufdd1",
    "sex": "\ufdd2",
    "date": "\ufdd3",
    "provider": "\ufdd4",
    "practice": "\ufdd5",
}
#: A note that holds such a character itself holds no placeholder: there it reads as the replacement character.
_TAKEN: Final = str.maketrans(dict.fromkeys(PLACEHOLDERS.values(), "\ufffd"))
#: Placeholders and white space alone, or nothing: nobody's text.
_NO_TEXT: Final = re.compile(rf"[\s{''.join(PLACEHOLDERS.values())}]*")
#: Words and letter of each sex [choice]; pronouns are none, or the same clinical text about a man and about a woman
#: would be one text.
_SEXES: Final = (("female", "woman", "lady", "girl", "f"), ("male", "man", "gentleman", "boy", "m"))
#: A table's words for no sex that is known, and everyday words of notes.
_NO_SEX: Final = frozenset({"other", "unknown"})
#: The letter stands for nothing in "f/u", "I'm" or "98.6 F".
_LETTER: Final = r"(?<![/'’°.])(?<!\d )({})(?![\w/'’])"
#: A number is the age beside a cue alone, and never a part of another number ("46.5", "1,046", "46/80"): a dose, a
#: score and a duration have no cue.
_NO_NUMBER_AFTER: Final = r"(?![.,/:-]?\d)"
_AGE: Final = rf"({{}})(?=(?:y(?:o|rs?|ears?)?)?(?!\w)){_NO_NUMBER_AFTER}"
_CUE_THEN_AGE: Final = r"age(?:d|\sof|\sis)?\s{0,2}[:=]?\s{0,4}"
_AGE_THEN_CUE: Final = (
    r"(?<!\d[.,/:-])({0}(?:{1}(?![\w/'’])|(?=[\s-]{{0,2}}(?:y\.?/?o\b|(?:years?|yrs?\.?|y)[\s-]{{1,2}}(?:old\b|of\sage\b)))))"
    + _NO_NUMBER_AFTER
)
#: A part of a name: letters, "O'Brien" as one; and what may stand between two parts: a full stop ends a sentence.
_NAME_PART: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_BETWEEN_NAMES: Final = re.compile(r"[^\w\n.;:!?]{1,3}")
_WORD: Final = re.compile(r"\w+")
#: Bytes of notes in a shard: masking takes a tenth of a second a megabyte.
PART_BYTES: Final = 2 << 20
#: Some patients, each with all notes, oldest first.
PatientsShard = list[tuple[Patient, list[Note]]]


class MaskedValue(NamedTuple):
    """One occurrence of a value in a text."""

    span_chars: Span
    kind: ValueKind
    #: What the occurrence says: the words of a name, the day of a date, or nothing beyond its kind.
    says: frozenset[str]


#: Few ages, providers and practices are those of many notes.
_compiled = lru_cache(maxsize=1 << 14)(re.compile)


class ValueMask:
    """Finds the values of one identity in texts.

    No pattern is made of a whole identity, or of a name, which would take longer than reading its note: the first word
    of each value is sought, and the value's pattern, whose first group is the value, is tried there.
    """

    def __init__(self, identity: Identity, dates: WrittenDates) -> None:
        self._dates = dates
        self._days = identity.birth_dates | identity.visit_dates
        #: By the first word, "" for the age field; of several patterns the first that matches counts. None: a date, or
        #: a name.
        self._ways: dict[str, list[tuple[ValueKind, re.Pattern[str] | None]]] = {}
        # Values of many words come first: a provider's name may hold the patient's.
        self._add_phrases("provider", identity.providers)
        self._add_phrases("practice", identity.practices)
        for word in {word for day in self._days for word in dates.first_words(day)}:
            self._ways.setdefault(word, []).append(("date", None))
        parts = {part for name in identity.names for part in _NAME_PART.findall(_lower(name))}
        #: Parts of names: whole ones; letters count with a point or before a whole one, as "a" is mostly a word.
        self._names, self._parts = _longest_first(part for part in parts if part[1:]), parts
        for word in self._names:
            self._ways.setdefault(word, []).append(("name", None))
        written = {_lower(value).rstrip(".") for value in identity.sexes}
        sexes = [sex for sex in _SEXES if written.intersection(sex)]
        letters = "".join(sex[-1] for sex in sexes)
        # Beside an age either letter tells a sex, where none is known.
        cues = letters or "".join(sex[-1] for sex in _SEXES)
        for age in map(str, identity.ages):
            self._add("age", age, _AGE_THEN_CUE.format(age, f"[{cues}]"))
            self._add("age", "age", _CUE_THEN_AGE + _AGE.format(age))
            self._add("age", "", _AGE.format(age))
        self._add_phrases(
            "sex", {*(word for sex in sexes for word in sex[:-1]), *(own for own in written - _NO_SEX if own[1:])}
        )
        for letter in letters:
            self._add("sex", letter, _LETTER.format(letter))

    def find(self, text: str, age_place: int | None = None) -> list[MaskedValue]:
        """Return the occurrences in a text, in order; they do not overlap.

        A number is an age beside a cue, or where the text's age field has it (`age_place`).
        """
        text = _lower(text)
        places = [(at, word) for word in self._ways if word for at in _places(text, word)]
        if age_place is not None and "" in self._ways:
            places.append((age_place, ""))
        found: list[MaskedValue] = []
        end = 0
        for start, word in sorted(places):
            value = self._at(text, start, word) if start >= end else None
            if value is not None:
                end = value.span_chars.end
                found.append(value)
        return found

    def _at(self, text: str, start: int, word: str) -> MaskedValue | None:
        for kind, pattern in self._ways[word]:
            if kind == "name":
                if end := self._name_end(text, start):
                    return MaskedValue(Span(start, end), kind, frozenset(_NAME_PART.findall(text, start, end)))
            elif pattern is None:
                days = [(end, day) for end, day in self._dates.at(text, start) if day in self._days]
                if days:
                    end, day = max(days)
                    return MaskedValue(Span(start, end), kind, frozenset([day.isoformat()]))
            elif (match := pattern.match(text, start)) is not None:
                return MaskedValue(Span(*match.span(1)), kind, frozenset())
        return None

    def _name_end(self, text: str, start: int) -> int:
        """Return where a name ends that stands at a place, 0 if none does; "Green, Brandon J." is one name."""
        reached = end = self._part_end(text, start)
        while reached:
            end, reached = reached, 0
            if (between := _BETWEEN_NAMES.match(text, end)) is not None:
                at = between.end()
                reached = self._part_end(text, at)
                if not reached and text[at : at + 1] in self._parts:
                    following = _BETWEEN_NAMES.match(text, at + 1)
                    if text.startswith(".", at + 1):
                        reached = at + 2
                    elif following is not None and self._part_end(text, following.end()):
                        reached = at + 1
        return end

    def _part_end(self, text: str, start: int) -> int:
        """Return where a whole part of a name ends that stands at a place; 0 if none does."""
        for part in self._names:
            if text.startswith(part, start):
                end = start + len(part)
                if end == len(text) or not _goes_on(text[end]):
                    return end
        return 0

    def _add(self, kind: ValueKind, word: str, pattern: str) -> None:
        self._ways.setdefault(word, []).append((kind, _compiled(pattern)))

    def _add_phrases(self, kind: ValueKind, values: Iterable[str]) -> None:
        for value in _longest_first(map(_lower, values)):
            first = _WORD.search(value)
            if first is not None:
                words = r"\s+".join(map(re.escape, value[first.start() :].split()))
                self._add(kind, first[0], rf"({words})(?!\w)")


def mask_text(text: str, values: Iterable[MaskedValue], span_chars: Span | None = None) -> str:
    """Return a text, or a part of it, with placeholders for `values`, those found in the whole text, in order.

    A value that the part holds a piece of only has its placeholder all the same: it is that value's text.
    """
    start, end = span_chars or Span(0, len(text))
    parts: list[str] = []
    for (first, last), kind, _ in values:
        if first < end and start < last:
            parts += [text[start:first].translate(_TAKEN), PLACEHOLDERS[kind]]
            start = last
    return "".join([*parts, text[start:end].translate(_TAKEN)])


def holds_value(held: Iterable[MaskedValue], value: MaskedValue) -> bool:
    """Whether some values, those found in a prompt, say what a value says."""
    same = [other.says for other in held if other.kind == value.kind]
    return bool(same) and value.says <= frozenset().union(*same)


def _lower(text: str) -> str:
    """Return a text in lower case, character by character: some have two characters then, and are kept.

    Apostrophes are one: a table writes O'Brien, and a note O’Brien.
    """
    text = text.replace("’", "'")
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _longest_first(values: Iterable[str]) -> list[str]:
    return sorted(set(values), key=lambda value: (-len(value), value))


def _goes_on(sign: str) -> bool:
    """Whether a word goes on with a character."""
    return sign.isalnum() or sign == "_"


def _places(text: str, word: str) -> Iterator[int]:
    """Yield where a word begins that no word goes into; some times faster than a pattern that goes over all words."""
    start = text.find(word)
    while start >= 0:
        if not start or not _goes_on(text[start - 1]):
            yield start
        start = text.find(word, start + 1)


class MaskableText(NamedTuple):
    """A note with line feeds only, and the occurrences of its own patient's and visit's values, in order."""

    text: str
    values: list[MaskedValue]
    #: Finds the same values in other texts.
    mask: ValueMask

    def mask_part(self, place: Span) -> tuple[str, str] | None:
        """Return a part as it stands and masked; None where this is placeholders and white space alone."""
        text, masked = self.text[slice(*place)], mask_text(self.text, self.values, place)
        return None if _NO_TEXT.fullmatch(masked) else (text, masked)


class NoteMasker:
    """Finds in notes the values of their own patient and visit, under one note template."""

    def __init__(self, profile: NoteProfile) -> None:
        self._identities = IdentityReader(profile)
        self._dates = WrittenDates(profile.date_formats)

    def read(
        self, patient: Patient, notes: Sequence[Note], laid_out: Sequence[LaidOutNote] | None = None
    ) -> list[MaskableText]:
        """Return a patient's notes with their values; `notes` are all of the patient's, oldest first.

        `laid_out` are the notes as their template reads them, where that is done already.
        """
        masks: dict[Identity, ValueMask] = {}
        found: list[MaskableText] = []
        for note, identity in zip(notes, self._identities.read(patient, notes, laid_out), strict=True):
            if identity not in masks:
                masks[identity] = ValueMask(identity, self._dates)
            text = normalize_newlines(note.text)
            found.append(MaskableText(text, masks[identity].find(text, identity.age_place), masks[identity]))
        return found


def mask_notes(
    corpus: Corpus, profile: NoteProfile, split: Split, *, runner: ShardRunner, advance: Callable[[int], None]
) -> PackedTexts:
    """Return the notes of a split with placeholders, patients in the order of `Corpus.scan_order`.

    They lie in a nameless file. `advance` is called with bytes of notes.
    """
    parts = split_patients(corpus.packed(split), part_bytes=PART_BYTES)
    shards = cut_notes(corpus, split)
    places: list[range] = []
    with TextStore(corpus.scratch) as texts:
        for masked, (_, size) in zip(runner.map(mask_shard, profile, shards), parts, strict=True):
            for own in masked:
                places.append(range(len(texts), len(texts) + len(own)))
                for text in own:
                    texts.append(text)
            advance(size)
    return texts.packed(places)


def cut_notes(corpus: Corpus, split: Split) -> Iterator[PatientsShard]:
    """Yield the patients of a split in shards of `PART_BYTES`, in the order of `Corpus.scan_order`; line feeds only."""
    packed, patients = corpus.packed(split), corpus.scan_order(split)
    for part, _ in split_patients(packed, part_bytes=PART_BYTES):
        shard: PatientsShard = []
        for place in part:
            own = zip(corpus.notes_of(patients[place]), packed.notes_of(place), strict=True)
            shard.append((corpus.patients[patients[place]], [replace(note, texts=text) for note, text in own]))
        release_pages(packed, part)
        yield shard


def mask_shard(profile: NoteProfile, shard: PatientsShard) -> list[list[str]]:
    """Return the notes of some patients with placeholders, wherever that is done."""
    masker = NoteMasker(profile)
    return [[mask_text(note.text, note.values) for note in masker.read(patient, notes)] for patient, notes in shard]
