"""Descriptions of one subject in a scene, and of two in an encounter (PII-Bench, 3.2.2).

Owns which facts are given, the grammar of sentences and turns, and the place of every value: entities are known by
construction. The numbers of entities and of characters follow Tables 3 and 10.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from clinaudit.audit.pii.benchmark.generator.catalog import Encounter, Grammar, Kind, Register, Scene, facts
from clinaudit.audit.pii.benchmark.generator.consistency import Conflict, settle, settle_pair
from clinaudit.audit.pii.benchmark.generator.person import Names, Person, draw_person
from clinaudit.audit.pii.benchmark.generator.values import Writer
from clinaudit.audit.pii.benchmark.sample import Domain, Relation
from clinaudit.audit.pii.taxonomy import PII_TYPES, PiiType, categories

_SLOT: Final = re.compile(r"\{([A-Za-z]+)\}")


@dataclass(frozen=True, slots=True)
class Value:
    """An entity to be written: who it belongs to, what it is of them, and its text."""

    #: Numbers of the subjects to whom it belongs; two where they share it.
    owners: tuple[int, ...]
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value stands in a passage: characters `start` to `end`, half-open."""

    start: int
    end: int
    value: Value


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and the values in it, by start."""

    text: str
    marks: tuple[Mark, ...] = ()

    def shifted(self, by: int) -> tuple[Mark, ...]:
        """Return the marks as they stand `by` characters further on."""
        return tuple(Mark(mark.start + by, mark.end + by, mark.value) for mark in self.marks)

    def capitalized(self) -> "Passage":
        """Return the passage with a capital first letter; a value that stands first is left as it is."""
        if not self.text or (self.marks and self.marks[0].start == 0):
            return self
        return Passage(self.text[0].upper() + self.text[1:], self.marks)


def fill(template: str, words: Mapping[str, str], parts: Mapping[str, Value | Passage]) -> Passage:
    """Fill a template: a slot takes a word, a value (which is marked), or a passage with its marks.

    Raises `KeyError` for a slot that nothing fills.
    """
    pieces: list[Passage] = []
    at = 0
    for slot in _SLOT.finditer(template):
        pieces.append(Passage(template[at : slot.start()]))
        at = slot.end()
        name = slot[1]
        if name in parts:
            part = parts[name]
            if isinstance(part, Value):
                part = Passage(part.text, (Mark(0, len(part.text), part),))
            pieces.append(part)
        else:
            pieces.append(Passage(words[name]))
    pieces.append(Passage(template[at:]))
    return join(pieces, "")


def join(passages: Sequence[Passage], separator: str) -> Passage:
    """Return the passages as one, with `separator` between them."""
    text, marks = "", list[Mark]()
    for number, passage in enumerate(passages):
        if number:
            text += separator
        marks += passage.shifted(len(text))
        text += passage.text
    return Passage(text, tuple(marks))


#: Of 4 to 16 entities a subject: 4 and a binomial of 12 with these chances, which give the means of Table 3.
_LEAST, _SPREAD = 4, 12
_CHANCE_SINGLE: Final = 0.306
_CHANCE_MULTI: Final = 0.211
#: Characters of a description of one subject: mean of Table 3, and a spread of ours.
_CHARS_SINGLE: Final = 893
_CHARS_SPREAD: Final = 130
#: Weights of the types of entities, without PER: a subject is named once.
_TYPES: Final[Mapping[Literal["single", "multi", "clinical"], Mapping[PiiType, int]]] = {
    # Table 10.
    "single": {"CODE": 1464, "ORG": 1590, "LOC": 1053, "DEM": 1220, "DATETIME": 1368, "QUANTITY": 1394},
    # As the paper's, less what is drawn as shared: an organization in most relations, a town in some.
    "multi": {"CODE": 2470, "ORG": 1390, "LOC": 1310, "DEM": 2450, "DATETIME": 2526, "QUANTITY": 2174},
    # In clinical texts amounts of money are rare, and findings are not.
    "clinical": {"CODE": 2000, "ORG": 1300, "LOC": 1200, "DEM": 2300, "DATETIME": 1700, "QUANTITY": 300},
}
_NAMINGS: Final[Mapping[str, float]] = {"full_name": 0.74, "nickname": 0.13, "social_handle": 0.13}
#: What clinicians say of themselves.
_OF_CLINICIANS: Final = frozenset(
    {
        "licence_number", "phone", "fax", "email", "url", "employee_id", "street_address", "city", "county", "zip_code",
        "healthcare_facility", "clinic", "school", "ngo", "occupation", "age", "gender", "degree",
        "education_level", "nationality", "work_years", "time", "appointment_date",
    }
)  # fmt: skip
_NAME_CATEGORIES: Final[Mapping[Kind, str]] = {
    "person": "full_name",
    "patient": "patient_name",
    "relative": "relative_name",
    "clinician": "clinician_name",
}
_REPEATED_NAME_SHARE: Final = 0.3
_REPLY_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Described:
    """A subject of a description: who it is, which facts are given, and how a question may call it."""

    person: Person
    kind: Kind
    #: Its values by key; `per` is what names it.
    values: Mapping[str, Value]
    #: The category of what names it.
    naming: str
    #: Possessives by who asks: of somebody else, and of the speaker.
    noun: str
    own: str


@dataclass(frozen=True, slots=True)
class Description:
    """A passage about subjects, and what was repaired of their facts."""

    passage: Passage
    subjects: tuple[Described, ...]
    scene: str
    relation: Relation | None
    repairs: Counter[Conflict]


class Describer:
    """Draws descriptions of a domain, in the sentences of a grammar."""

    def __init__(self, domain: Domain, grammar: Grammar) -> None:
        self.domain = domain
        self._grammar = grammar
        self._names = Names()
        self._writer = Writer(self._names)

    def describe_one(self, rng: random.Random) -> Description | None:
        """Draw a description of one subject; None where its facts conflict for good."""
        scene = rng.choice([scene for scene in self._grammar.scenes if scene.domain == self.domain])
        kind: Kind = "patient" if self.domain == "clinical" else "person"
        settled = settle(draw_person(rng, self._names, kind=kind), rng)
        if settled is None:
            return None
        person, repairs = settled
        keys = self._draw_keys(rng, _CHANCE_SINGLE, kind, self._weights("single"))
        called = f"{scene.noun}'s", "my" if scene.person == "first" else ""
        subject = self._described(rng, person, kind, keys, called=called)
        return Description(self._tell(scene, subject, rng), (subject,), scene.id, None, repairs)

    def describe_two(self, rng: random.Random) -> Description | None:
        """Draw a description of two subjects, their relation first; None where their facts conflict for good."""
        relation: Relation = rng.choice(("intersection", "hierarchy", "none"))
        wanted = self.domain, relation
        encounter = rng.choice([one for one in self._grammar.encounters if (one.domain, one.relation) == wanted])
        settled = settle_pair(
            draw_person(rng, self._names, kind=encounter.kinds[0]),
            draw_person(rng, self._names, kind=encounter.kinds[1]),
            rule=encounter.rule,
            shares=encounter.shares,
            rng=rng,
        )
        if settled is None:
            return None
        first, second, repairs = settled
        persons = first, second
        shared = encounter.shares
        texts = {shared: self._writer.write(persons[0], shared, rng)} if shared else {}
        subjects = []
        for owner, (person, kind) in enumerate(zip(persons, encounter.kinds, strict=True)):
            keys = self._draw_keys(rng, _CHANCE_MULTI, kind, self._weights("multi"), shared)
            called = f"{encounter.nouns[owner]}'s", ("my", f"{encounter.asker}'s")[owner]
            subjects.append(self._described(rng, person, kind, keys, called=called, owner=owner, shared=texts))
        passage = self._converse(encounter, subjects, rng)
        return Description(passage, tuple(subjects), encounter.id, relation, repairs)

    def _weights(self, general: Literal["single", "multi"]) -> Mapping[PiiType, int]:
        return _TYPES["clinical" if self.domain == "clinical" else general]

    def _draw_keys(
        self,
        rng: random.Random,
        chance: float,
        kind: Kind,
        weights: Mapping[PiiType, int],
        shared: str | None = None,
    ) -> list[str]:
        """Draw which facts are given: types by their weights, then one of the type's facts not yet drawn."""
        number = _LEAST + sum(rng.random() < chance for _ in range(_SPREAD)) - 1
        drawn_keys = [shared] if shared else []
        left = {
            pii_type: [key for key in of_type if key != shared] for pii_type, of_type in self._keys_of(kind).items()
        }
        while len(drawn_keys) < number:
            types = [pii_type for pii_type in left if left[pii_type]]
            (drawn,) = rng.choices(types, [weights[pii_type] for pii_type in types])
            drawn_keys.append(left[drawn].pop(rng.randrange(len(left[drawn]))))
        rng.shuffle(drawn_keys)
        return drawn_keys

    def _keys_of(self, kind: Kind) -> dict[PiiType, list[str]]:
        by_type: dict[PiiType, list[str]] = {pii_type: [] for pii_type in PII_TYPES if pii_type != "PER"}
        for key, fact in facts().items():
            professional = key == "licence_number"
            if self.domain in fact.domains and (key in _OF_CLINICIANS if kind == "clinician" else not professional):
                by_type[categories()[fact.category_in(self.domain)].type].append(key)
        return by_type

    def _described(
        self,
        rng: random.Random,
        person: Person,
        kind: Kind,
        keys: Sequence[str],
        *,
        called: tuple[str, str],
        owner: int = 0,
        shared: Mapping[str, str] = {},
    ) -> Described:
        """Write the values of a person's facts; `called` are its noun and its own possessive."""
        (form,) = rng.choices(list(_NAMINGS), list(_NAMINGS.values())) if kind == "person" else ("full_name",)
        values = {"per": Value((owner,), "per", self._writer.name_of(person, form, rng))}
        for key in keys:
            if key in shared:
                values[key] = Value((0, 1), key, shared[key])
            else:
                values[key] = Value((owner,), key, self._writer.write(person, key, rng))
        naming = _NAME_CATEGORIES[kind] if form == "full_name" else form
        return Described(person, kind, values, naming, *called)

    def _clause(
        self, key: str, subject: Described, register: Register, words: Mapping[str, str], rng: random.Random
    ) -> Passage:
        value, clauses = subject.values[key], self._grammar.clauses[key]
        said = clauses.said + (clauses.formal if register == "formal" else clauses.casual)
        if subject.kind == "clinician" and clauses.clinician:
            said = clauses.clinician
        article = "an" if value.text[0] in "aeiouAEIO" else "a"
        return fill(rng.choice(said), {**words, "a": article}, {"x": value})

    def _tell(self, scene: Scene, subject: Described, rng: random.Random) -> Passage:
        """Write a description of one subject: an opening, its facts with sentences between them, a closing."""
        frames = self._grammar.turns["frames"][scene.register]
        named = {"per": subject.values["per"]}
        parts = [fill(rng.choice(scene.openings), {}, named)]
        keys = [key for key in subject.values if key != "per"]
        while keys:
            count = 2 if len(keys) > 1 and rng.random() < 0.25 else 1
            clauses = []
            for key in keys[:count]:
                words = _FIRST_PERSON if scene.person == "first" else _words(subject.person, scene.noun, rng)
                clauses.append(self._clause(key, subject, scene.register, words, rng))
            keys = keys[count:]
            parts.append(_sentence(join(clauses, rng.choice((", and ", "; ", ", and "))), rng.choice(frames)))
        closing = fill(rng.choice(scene.closings), {}, named)
        wanted = rng.gauss(_CHARS_SINGLE, _CHARS_SPREAD)
        fillers = rng.sample(scene.fillers, len(scene.fillers))
        chars = sum(len(part.text) + 1 for part in parts) + len(closing.text)
        while fillers and chars + len(fillers[-1]) / 2 < wanted:
            filler = fillers.pop()
            chars += len(filler) + 1
            parts.insert(rng.randint(1, len(parts)), Passage(filler))
        return join([*parts, closing], " ")

    def _converse(self, encounter: Encounter, subjects: Sequence[Described], rng: random.Random) -> Passage:
        """Write a dialogue in which two subjects speak in turn, each of itself."""
        said: list[list[Passage]] = []
        for subject in subjects:
            clauses = [fill(rng.choice(self._grammar.turns["named"]), {}, {"per": subject.values["per"]})]
            for key, value in subject.values.items():
                if key != "per" and len(value.owners) == 1:
                    clauses.append(self._clause(key, subject, "casual", _FIRST_PERSON, rng))
            said.append(clauses)
        if encounter.shares:
            value = subjects[0].values[encounter.shares]
            common = fill(rng.choice(self._grammar.turns["shared"][encounter.shares]), {}, {"shared": value})
            said[rng.randrange(2)].insert(1, common)
        lines = [Passage(rng.choice(encounter.settings))]
        speaker = rng.randrange(2)
        while said[0] or said[1]:
            if not said[speaker]:
                speaker = 1 - speaker
            count = min(len(said[speaker]), rng.choice((1, 2, 2, 3)))
            turn = self._turn([said[speaker].pop(0) for _ in range(count)], rng)
            tag = Passage(encounter.tags[speaker])
            named_before = any(
                mark.value.key == "per" and mark.value.owners == (speaker,) for line in lines for mark in line.marks
            )
            if named_before and rng.random() < _REPEATED_NAME_SHARE:
                tag = fill("{per}", {}, {"per": subjects[speaker].values["per"]})
            lines.append(join([tag, turn], ": "))
            speaker = 1 - speaker
            if rng.random() < _REPLY_SHARE:
                lines.append(Passage(f"{encounter.tags[speaker]}: {rng.choice(self._grammar.turns['replies'])}"))
        return join(lines, "\n")

    def _turn(self, clauses: Sequence[Passage], rng: random.Random) -> Passage:
        lead = Passage(rng.choice(self._grammar.turns["leads"]))
        linked = clauses[0]
        for clause in clauses[1:]:
            linked = join([linked, clause], rng.choice(self._grammar.turns["links"]))
        return _sentence(join([lead, linked], ""), "{c}.")


_FIRST_PERSON: Final = {
    "I": "I",
    "my": "my",
    "My": "My",
    "me": "me",
    "s": "",
    "es": "",
    "ies": "y",
    "have": "have",
    "am": "am",
    "was": "was",
}


def _words(person: Person, noun: str, rng: random.Random) -> dict[str, str]:
    """The words of the third person: a pronoun, or the noun."""
    singular = {"s": "s", "es": "es", "ies": "ies", "have": "has", "am": "is", "was": "was"}
    if rng.random() < 0.25:
        return {"I": noun, "my": f"{noun}'s", "me": noun, **singular}
    if person.gender == "female":
        return {"I": "she", "my": "her", "me": "her", **singular}
    if person.gender == "male":
        return {"I": "he", "my": "his", "me": "him", **singular}
    plural = {"s": "", "es": "", "ies": "y", "have": "have", "am": "are", "was": "were"}
    return {"I": "they", "my": "their", "me": "them", **plural}


def _sentence(clause: Passage, frame: str) -> Passage:
    """Put a clause into its frame; it begins with a capital where it stands first, and ends with one full stop."""
    sentence = fill(frame, {}, {"c": clause}).capitalized()
    return replace(sentence, text=sentence.text[:-1]) if sentence.text.endswith("..") else sentence
