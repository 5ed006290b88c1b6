"""Which identifiers of a description its question needs, without a model (PII-Bench, 3.2): the floor of its task 2.

A span is needed where its category is one that the question's intents need, and where it is about whom the question
asks: pronouns, relatives, "the patient" and names, by rules for English. What cannot be decided is not needed.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import Any, Final, Literal

from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.taxonomy import EntitySpan, categories

_RE: Final = Patterns(__name__)

#: Patterns that must all stand in a question, of verbs or nouns, and the ids of the taxonomy that it needs then.
Intent = tuple[tuple[re.Pattern[str], ...], frozenset[str]]


@cache
def intents() -> tuple[Intent, ...]:
    """Return what questions ask for, by the table."""

    def any_of(words: Iterable[str]) -> re.Pattern[str]:
        written = (re.escape(word).replace(r"\ ", r"\s+").replace(r"\*", r"\w*") for word in words)
        return re.compile(rf"(?<!\w)(?:{'|'.join(written)})(?!\w)", re.IGNORECASE)

    rows: list[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("intents.toml").read_text("utf-8"))["intent"]
    return tuple(
        (tuple(any_of(row[kind]) for kind in ("verbs", "nouns") if row.get(kind)), frozenset(row["needs"]))
        for row in rows
    )


def needed_categories(query: str | None) -> frozenset[str]:
    """Return the categories that a question needs; none where there is no question, or none of the intents is shown."""
    if query is None:
        return frozenset()
    return frozenset().union(*(needs for kinds, needs in intents() if all(words.search(query) for words in kinds)))


Gender = Literal["female", "male"]
Role = Literal["speaker", "patient", "relative", "clinician", "other"]

#: What a relative is called by, beside names.
_NOUNS: Final = frozenset(_RE.noun.pattern.split("|"))
_TITLES: Final = frozenset({"mrs", "ms", "miss", "madam", "mr", "sir", "dr", "doctor", "prof"})


@dataclass(eq=False, slots=True)
class Subject:
    """Somebody who is spoken of."""

    role: Role
    gender: Gender | None = None
    #: Folded words of the names by which they are called; of a relative, the noun.
    words: set[str] = field(default_factory=set)


class DescribedSubjects:
    """The subjects of one text, and whom each stretch is about."""

    def __init__(self, text: str, spans: Iterable[EntitySpan]) -> None:
        self.subjects: list[Subject] = []
        self._text = text
        self._sentences = [0, *(end.end() for end in _RE.sentence_end.finditer(text)), len(text) + 1]
        #: Where each is mentioned, by start; several by "they".
        self._mentions: list[tuple[int, list[Subject]]] = []
        people = [span for span in spans if categories()[span.category].type == "PER"]
        names: list[tuple[int, EntitySpan | re.Match[str]]] = [(span.start, span) for span in people]
        # A word within a name is part of it.
        words = [
            (word.start(), word)
            for word in _RE.mention.finditer(text)
            if not any(span.start <= word.start() < span.end for span in people)
        ]
        for start, mention in sorted([*names, *words], key=itemgetter(0)):
            found = [self._named(mention)] if isinstance(mention, EntitySpan) else self._meant(mention)
            if found:
                self._mentions.append((start, found))

    def about(self, span: EntitySpan) -> list[Subject]:
        """Return whom a stretch is about; nobody where nobody is mentioned before it, nor in its sentence."""
        sentence = bisect_right(self._sentences, span.start)
        begin, end = self._sentences[sentence - 1 : sentence + 1]
        place = bisect_right(self._mentions, span.start, key=itemgetter(0))
        if not place:
            return [subject for start, found in self._mentions[:1] if start < end for subject in found]
        start, last = self._mentions[place - 1]
        # A sentence without a subject goes on about whom the text is about.
        return last if start >= begin else self._in_role("patient") or last

    def asked_about(self, query: str) -> list[Subject] | None:
        """Return whom a question is about; None: about nobody in particular. Empty where that is unclear."""
        words = {word.casefold() for word in _RE.word.findall(query)}
        # Of two who share a surname, whoever is called by more.
        people = [subject for subject in self.subjects if subject.role != "clinician"]
        most = max((len(subject.words & words) for subject in self.subjects), default=0)
        if most:
            return [subject for subject in self.subjects if len(subject.words & words) == most]
        cues = {str(found.lastgroup) for found in _RE.mention.finditer(query)}
        if "all" in cues:
            return people
        genders = cues & {"female", "male"}
        if "patient" in cues:
            found = self._in_role("patient")
        elif any(cue.endswith("relative") for cue in cues):
            # Nobody who is called so was named: `most` is 0.
            found = []
        elif genders:
            fitting = [subject for subject in people if subject.gender in genders]
            # A relative is rather called by what they are.
            found = [subject for subject in fitting if subject.role != "relative"] or fitting
        elif "speaker" in cues:
            found = self._in_role("speaker")
        else:
            # "Which dose is right?" of a letter about a patient.
            return self._in_role("patient") or None
        # Of somebody who is alone in the text, the question can only mean them.
        return found or (people if len(people) == 1 else [])

    def _in_role(self, role: Role) -> list[Subject]:
        return [subject for subject in self.subjects if subject.role == role]

    def _named(self, span: EntitySpan) -> Subject:
        """Return whom a name calls."""
        # A title may stand before the name that was found, or within it.
        before = list(_RE.title.finditer(self._text, max(0, span.start - 10), span.start))
        adjoins = before and before[-1].end() == span.start
        title = before[-1] if adjoins else _RE.title.match(self._text, span.start, span.end)
        words = {word.casefold() for word in _RE.word.findall(self._text[span.start : span.end])} - _TITLES
        is_clinician = span.category == "clinician_name" or (title is not None and title["clinician"] is not None)
        role: Role = "clinician" if is_clinician else "patient" if span.category == "patient_name" else "other"
        subject = self._known(span, words, role) or self._add(Subject(role))
        subject.words |= words
        if title is not None and not is_clinician:
            subject.gender = subject.gender or ("female" if title["female"] else "male")
        return subject

    def _known(self, span: EntitySpan, words: set[str], role: Role) -> Subject | None:
        """Return the subject whom a name calls, where they were mentioned before."""
        if self._mentions and _RE.apposed.fullmatch(self._text, self._mentions[-1][0], span.start):
            # "Her husband Per Lund", "the patient, Ada Lund": one person.
            return self._mentions[-1][1][0]
        for subject in reversed(self.subjects):
            # Of two who share a surname neither has all words of the other's name.
            names = subject.words - _NOUNS
            if names and (words <= names or names <= words):
                return subject
        return next((one for one in self._in_role(role) if role == "patient" and not one.words), None)

    def _meant(self, mention: re.Match[str]) -> list[Subject]:
        """Return whom a word stands for: somebody known, else somebody new."""
        kind, word = str(mention.lastgroup), mention[0].casefold()
        gender: Gender | None = "female" if kind.startswith("female") else "male" if kind.startswith("male") else None
        if kind == "all":
            return [subject for subject in self.subjects if subject.role != "clinician"]
        if kind == "speaker":
            return self._in_role("speaker")[:1] or [self._add(Subject("speaker"))]
        if kind == "patient":
            patient, *_ = self._in_role("patient") or self._in_role("other") or [self._add(Subject("patient"))]
            patient.role = "patient"
            return [patient]
        if kind.endswith("relative"):
            known = [subject for subject in self._in_role("relative") if word in subject.words]
            return known[:1] or [self._add(Subject("relative", gender, {word}))]
        latest = [subject for _, found in reversed(self._mentions) for subject in reversed(found)]
        for wanted in (gender, None):
            for subject in latest:
                if subject.gender == wanted and subject.role not in ("speaker", "clinician"):
                    subject.gender = gender
                    return [subject]
        return [self._add(Subject("other", gender))]

    def _add(self, subject: Subject) -> Subject:
        self.subjects.append(subject)
        return subject


def needed_spans(text: str, spans: Iterable[EntitySpan], query: str | None) -> list[EntitySpan]:
    """Return those of all spans of a text that a question needs, in their order; names never (PII-Bench, 3.2)."""
    found, needed = list(spans), needed_categories(query)
    wanted = [span for span in found if span.category in needed]
    if query is None or not wanted:
        return []
    described = DescribedSubjects(text, found)
    asked = described.asked_about(query)
    if asked is None or not described.subjects:
        return wanted
    return [span for span in wanted if any(subject in asked for subject in described.about(span))]
