"""Which identifiers of a description its question needs, without a model (PII-Bench, 3.2): the floor of its task 2.

A span is needed where its category is one that the question's intents need, and where it is about whom the question
asks: pronouns, relatives, "the patient" and names, by rules for English. What cannot be decided is not needed.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.taxonomy import categories


@dataclass(frozen=True, slots=True)
class Intent:
    """Something that questions ask for."""

    name: str
    #: None: no word of this kind is needed.
    verbs: re.Pattern[str] | None
    nouns: re.Pattern[str] | None
    #: Ids of the taxonomy.
    needs: frozenset[str]

    def is_shown_by(self, query: str) -> bool:
        """Whether a question shows this intent."""
        return all(words is None or words.search(query) is not None for words in (self.verbs, self.nouns))


@cache
def intents() -> tuple[Intent, ...]:
    """Return the intents of the table; raises `ValueError` where a row needs nothing, a name, or no known category."""
    rows: list[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("intents.toml").read_text("utf-8"))["intent"]
    return tuple(map(_intent, rows))


def needed_categories(query: str | None) -> frozenset[str]:
    """Return the categories that a question needs; none where there is no question, or none of the intents is shown."""
    if query is None:
        return frozenset()
    return frozenset().union(*(intent.needs for intent in intents() if intent.is_shown_by(query)))


def _intent(row: dict[str, Any]) -> Intent:
    known = categories()
    needs = frozenset(row["needs"])
    if not needs or not needs <= known.keys() or any(known[category].type == "PER" for category in needs):
        raise ValueError(f"the intent {row['name']} needs nothing, somebody's name, or what the taxonomy does not hold")
    verbs, nouns = _pattern(row.get("verbs", [])), _pattern(row.get("nouns", []))
    if verbs is None and nouns is None:
        raise ValueError(f"the intent {row['name']} has neither verbs nor nouns: every question would show it")
    return Intent(row["name"], verbs, nouns, needs)


def _pattern(words: list[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_word, words))})(?!\w)", re.IGNORECASE)


def _word(written: str) -> str:
    return re.escape(written).replace(r"\ ", r"\s+").replace(r"\*", r"\w*")


Gender = Literal["female", "male"]
Role = Literal["speaker", "patient", "relative", "clinician", "other"]

_FEMALE_RELATIVES: Final = (
    "mother|mom|mum|wife|daughter|sister|grandmother|grandma|granddaughter|aunt|niece|girlfriend"
    "|stepmother|stepdaughter"
)
_MALE_RELATIVES: Final = (
    "father|dad|husband|son|brother|grandfather|grandpa|grandson|uncle|nephew|boyfriend|stepfather|stepson"
)
_OTHER_RELATIVES: Final = "parents?|child|children|kids?|baby|spouse|partner|cousin|sibling|friend|colleague|roommate"
_MENTION: Final = re.compile(
    r"(?<!\w)(?:(?P<speaker>I|me|my|mine|myself|I'm|I've|I’m|I’ve)|(?P<patient>patient|pt|client)"
    rf"|(?P<female_relative>{_FEMALE_RELATIVES})|(?P<male_relative>{_MALE_RELATIVES})|(?P<relative>{_OTHER_RELATIVES})"
    r"|(?P<female>she|her|hers|herself|woman|girl|lady)|(?P<male>he|him|his|himself|man|boy|gentleman)"
    r"|(?P<all>they|them|their|theirs|both|everyone|everybody|each|we|our|us|family|couple|these|people))(?!\w)",
    re.IGNORECASE,
)
_TITLE: Final = re.compile(r"\b(?:(?P<female>Mrs|Ms|Miss|Madam)|(?P<male>Mr|Sir)|(?P<clinician>Dr|Doctor|Prof))\.?\s+")
_TITLES: Final = frozenset({"mrs", "ms", "miss", "madam", "mr", "sir", "dr", "doctor", "prof"})
_NOUNS: Final = frozenset(f"{_FEMALE_RELATIVES}|{_MALE_RELATIVES}".split("|")) | {
    "parent",
    "parents",
    "child",
    "children",
}
#: A noun for somebody that stands right before their name.
_APPOSED: Final = re.compile(
    rf"(?:patient|pt|client|{_FEMALE_RELATIVES}|{_MALE_RELATIVES}|{_OTHER_RELATIVES})(?:[,:]?\s+|,?\s+(?:named|called)\s+)",
    re.IGNORECASE,
)
#: A sentence ends at a mark before white space, but after a title or an initial; and at a line's end.
_SENTENCE_END: Final = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\b[A-Za-z])[.!?][\"”']?\s+|\n+", re.IGNORECASE
)
_TITLE_CHARS = 10
_GENDERS: Final[dict[str, Gender]] = {
    "female": "female",
    "female_relative": "female",
    "male": "male",
    "male_relative": "male",
}


@dataclass(eq=False, slots=True)
class Subject:
    """Somebody who is spoken of."""

    role: Role
    gender: Gender | None = None
    #: Folded words of the names by which they are called; of a relative, the noun.
    words: set[str] = field(default_factory=set)


_Fits = Callable[[Subject], bool]


class DescribedSubjects:
    """The subjects of one text, and whom each stretch is about."""

    def __init__(self, text: str, spans: Iterable[EntitySpan]) -> None:
        self.subjects: list[Subject] = []
        self._text = text
        self._sentences = [0, *(end.end() for end in _SENTENCE_END.finditer(text))]
        people = [span for span in spans if categories()[span.category].type == "PER"]
        #: Where each is mentioned, by start; several by "they".
        self._mentions: list[tuple[int, list[Subject]]] = []
        for start, mention in _in_order(text, people):
            found = self._read_name(mention) if isinstance(mention, EntitySpan) else self._read_word(mention)
            if found:
                self._mentions.append((start, found))
        self._starts = [start for start, _ in self._mentions]

    def about(self, span: EntitySpan) -> list[Subject]:
        """Return whom a stretch is about; nobody where nobody is mentioned before it, nor in its sentence."""
        place = bisect_right(self._starts, span.start)
        sentence = bisect_right(self._sentences, span.start)
        begin = self._sentences[sentence - 1]
        end = self._sentences[sentence] if sentence < len(self._sentences) else len(self._text)
        if place and self._starts[place - 1] >= begin:
            return self._mentions[place - 1][1]
        if place:
            # A sentence without a subject goes on about whom the text is about.
            patients = [subject for subject in self.subjects if subject.role == "patient"]
            return patients or self._mentions[place - 1][1]
        if self._starts and self._starts[0] < end:
            return self._mentions[0][1]
        return []

    def asked_about(self, query: str) -> list[Subject] | None:
        """Return whom a question is about; None: about nobody in particular. Empty where that is unclear."""
        people = [subject for subject in self.subjects if subject.role != "clinician"]
        words = {word.casefold() for word in re.findall(r"\w+", query)}
        # Of two who share a surname, whoever is called by more.
        most = max((len(subject.words & words) for subject in self.subjects), default=0)
        if most:
            return [subject for subject in self.subjects if len(subject.words & words) == most]
        cues = {str(found.lastgroup) for found in _MENTION.finditer(query)}
        if "all" in cues:
            return people
        if "patient" in cues:
            return self._with(people, lambda subject: subject.role == "patient")
        if cues & {"female_relative", "male_relative", "relative"}:
            return self._with(people, lambda subject: subject.role == "relative" and bool(subject.words & words))
        genders = cues & {"female", "male"}
        if genders:
            # A relative is rather called by what they are.
            others = [subject for subject in people if subject.role != "relative"]
            fitting = [subject for subject in others if subject.gender in genders]
            return fitting or self._with(people, lambda subject: subject.gender in genders)
        if "speaker" in cues:
            return self._with(people, lambda subject: subject.role == "speaker")
        # "Which dose is right?" of a letter about a patient.
        return [subject for subject in people if subject.role == "patient"] or None

    def _with(self, people: Sequence[Subject], fits: _Fits) -> list[Subject]:
        found = [subject for subject in people if fits(subject)]
        # Of somebody who is alone in the text, the question can only mean them.
        return found or (list(people) if len(people) == 1 else [])

    def _read_name(self, span: EntitySpan) -> list[Subject]:
        # A title may stand before the name that was found, or within it.
        before = list(_TITLE.finditer(self._text, max(0, span.start - _TITLE_CHARS), span.start))
        adjoins = before and before[-1].end() == span.start
        title = before[-1] if adjoins else _TITLE.match(self._text, span.start, span.end)
        words = {word.casefold() for word in re.findall(r"\w+", self._text[span.start : span.end])} - _TITLES
        is_clinician = span.category == "clinician_name" or (title is not None and title["clinician"] is not None)
        role: Role = "clinician" if is_clinician else "patient" if span.category == "patient_name" else "other"
        gender: Gender | None = None
        if title is not None and not is_clinician:
            gender = "female" if title["female"] else "male"
        subject = self._known(span, words, role) or self._add(Subject(role, gender))
        subject.words |= words
        subject.gender = subject.gender or gender
        return [subject]

    def _known(self, span: EntitySpan, words: set[str], role: Role) -> Subject | None:
        """Return the subject whom a name calls, where they were mentioned before."""
        if self._mentions and _APPOSED.fullmatch(self._text, self._mentions[-1][0], span.start):
            # "Her husband Per Lund", "the patient, Ada Lund": one person.
            return self._mentions[-1][1][0]
        for subject in reversed(self.subjects):
            # Of two who share a surname neither has all words of the other's name.
            names = subject.words - _NOUNS
            if names and (words <= names or names <= words):
                return subject
        return self._first(self.subjects, lambda one: role == one.role == "patient" and not one.words)

    def _read_word(self, mention: "re.Match[str]") -> list[Subject]:
        kind, word = mention.lastgroup, mention[0].casefold()
        people = [subject for subject in self.subjects if subject.role != "clinician"]
        if kind == "all":
            return people
        if kind == "speaker":
            return [self._first(people, lambda subject: subject.role == "speaker") or self._add(Subject("speaker"))]
        if kind == "patient":
            known = self._first(people, lambda subject: subject.role == "patient")
            called = self._first(people, lambda subject: subject.role == "other")
            patient = known or called or self._add(Subject("patient"))
            patient.role = "patient"
            return [patient]
        gender = _GENDERS.get(kind or "")
        if gender is not None and kind == gender:
            return [self._of_gender(people, gender)]
        known = self._first(people, lambda subject: subject.role == "relative" and word in subject.words)
        return [known or self._add(Subject("relative", gender, {word}))]

    def _of_gender(self, people: Sequence[Subject], gender: Gender) -> Subject:
        latest = [subject for _, found in reversed(self._mentions) for subject in reversed(found) if subject in people]
        for wanted in (gender, None):
            for subject in latest:
                if subject.gender == wanted and subject.role != "speaker":
                    subject.gender = gender
                    return subject
        return self._add(Subject("other", gender))

    @staticmethod
    def _first(people: Sequence[Subject], fits: _Fits) -> Subject | None:
        return next(filter(fits, people), None)

    def _add(self, subject: Subject) -> Subject:
        self.subjects.append(subject)
        return subject


def _in_order(text: str, people: Sequence[EntitySpan]) -> list[tuple[int, EntitySpan | re.Match[str]]]:
    """Return names and the words that stand for somebody, by start; a word within a name is part of it."""
    mentions: list[tuple[int, EntitySpan | re.Match[str]]] = [(span.start, span) for span in people]
    for found in _MENTION.finditer(text):
        if not any(span.start <= found.start() < span.end for span in people):
            mentions.append((found.start(), found))
    return sorted(mentions, key=lambda mention: mention[0])


def needed_spans(text: str, spans: Iterable[EntitySpan], query: str | None) -> list[EntitySpan]:
    """Return those of the spans of a text that a question needs, in their order; names never (PII-Bench, 3.2).

    `spans` are all that was found: names among them tell whom the others are about.
    """
    found = list(spans)
    needed = needed_categories(query)
    if query is None or not needed:
        return []
    return spans_about(text, found, query, of=needed)


def spans_about(text: str, spans: Collection[EntitySpan], query: str, *, of: Collection[str]) -> list[EntitySpan]:
    """Return the spans of categories `of` that are about whom a question asks; names never."""
    table = categories()
    wanted = [span for span in spans if span.category in of and table[span.category].type != "PER"]
    described = DescribedSubjects(text, spans)
    asked = described.asked_about(query)
    if asked is None or not described.subjects:
        return wanted
    return [span for span in wanted if any(subject in asked for subject in described.about(span))]
