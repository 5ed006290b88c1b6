"""Descriptions of one subject in a scene, and of two in an encounter (PII-Bench, 3.2.2).

Owns which facts are given, sentences and turns, and the place of every value. While a text is put together, each value
is one character in it (of Unicode's private use area), so that a text is cut, joined and capitalized as any other and
no value is cut in two; `write_out` puts the values in place and tells where they stand. The numbers of entities and of
characters follow Tables 3 and 10.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from clinaudit.audit.pii.benchmark.generator import person as of_person
from clinaudit.audit.pii.benchmark.generator.grammar import (
    Encounter,
    Grammar,
    Kind,
    Register,
    Scene,
    category_of_fact,
    facts,
)
from clinaudit.audit.pii.benchmark.generator.person import Gender, Person
from clinaudit.audit.pii.benchmark.sample import Domain, Relation
from clinaudit.audit.pii.taxonomy import PiiType, categories

_FIRST_PLACE: Final = 0xE000
_PLACE: Final = re.compile("[\ue000-\uf8ff]")


def place_of(number: int) -> str:
    """Return the character that stands for a value, by its number."""
    return chr(_FIRST_PLACE + number)


def write_out(text: str, values: Sequence[str]) -> tuple[str, list[tuple[int, int, int]]]:
    """Return a text with its values in place, and start, end and number of each; a value may end the sentence."""
    done, at, spans = "", 0, []
    for place in _PLACE.finditer(text):
        number = ord(place[0]) - _FIRST_PLACE
        done += text[at : place.start()]
        spans.append((len(done), len(done) + len(values[number]), number))
        done += values[number]
        at = place.end() + (values[number].endswith(".") and text.startswith(".", place.end()))
    return done + text[at:], spans


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
_NAME_CATEGORIES: Final[Mapping[Kind, str]] = {
    "person": "full_name",
    "patient": "patient_name",
    "relative": "relative_name",
    "clinician": "clinician_name",
}
#: Of the sentences of a description, those that more stands around than a full stop; of turns, those with a lead.
_FRAMED_SHARE: Final = 0.7
_LED_SHARE: Final = 0.5
_PAIRED_SHARE: Final = 0.25
_NOUN_SHARE: Final = 0.25
_REPEATED_NAME_SHARE: Final = 0.3
_REPLY_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Described:
    """A subject of a description: who it is, which facts are given, and how a question may call it."""

    person: Person
    kind: Kind
    #: The numbers of its values by key, its name's first; one that two share has one number.
    values: Mapping[str, int]
    #: The category of what names it.
    naming: str
    #: Possessives by who asks: of somebody else, and of the speaker ("" where the subject does not speak).
    noun: str
    own: str


@dataclass(frozen=True, slots=True)
class Description:
    """A text about subjects, in which a character stands for each value."""

    text: str
    values: tuple[str, ...]
    subjects: tuple[Described, ...]
    scene: str
    relation: Relation | None


def describe_one(domain: Domain, grammar: Grammar, rng: random.Random) -> Description:
    """Draw a description of one subject."""
    scene = rng.choice(grammar.scenes[domain])
    pen = _Pen(domain, grammar, rng)
    kind: Kind = "patient" if domain == "clinical" else "person"
    keys = pen.draw_keys(kind, "single", chance=_CHANCE_SINGLE)
    own = "my" if scene.person == "first" else ""
    subject = pen.describe(of_person.draw_person(rng, kind=kind), kind, keys, called=(f"{scene.noun}'s", own))
    return Description(pen.tell(scene, subject), tuple(pen.values), (subject,), scene.id, None)


def describe_two(domain: Domain, grammar: Grammar, rng: random.Random) -> Description:
    """Draw a description of two subjects, their relation first."""
    relation: Relation = rng.choice(("intersection", "hierarchy", "none"))
    encounter = rng.choice([one for one in grammar.encounters[domain] if one.relation == relation])
    pen = _Pen(domain, grammar, rng)
    subjects: list[Described] = []
    common: dict[str, int] = {}
    for owner, person in enumerate(of_person.draw_pair(rng, encounter)):
        kind, noun, own = encounter.kinds[owner], encounter.nouns[owner], ("my", f"{encounter.asker}'s")[owner]
        keys = pen.draw_keys(kind, "multi", chance=_CHANCE_MULTI, shared=encounter.shares)
        subjects.append(pen.describe(person, kind, keys, called=(f"{noun}'s", own), common=common))
        if encounter.shares:
            common = {encounter.shares: subjects[0].values[encounter.shares]}
    text = pen.converse(encounter, subjects)
    return Description(text, tuple(pen.values), tuple(subjects), encounter.id, relation)


class _Pen:
    """Writes one description: draws from `rng`, and keeps the values by number."""

    def __init__(self, domain: Domain, grammar: Grammar, rng: random.Random) -> None:
        self._domain = domain
        self._grammar = grammar
        self._rng = rng
        self.values: list[str] = []

    def draw_keys(
        self, kind: Kind, general: Literal["single", "multi"], *, chance: float, shared: str | None = None
    ) -> list[str]:
        """Draw which facts are given: types by their weights, then one of the type's facts not yet drawn."""
        weights = _TYPES["clinical" if self._domain == "clinical" else general]
        number = _LEAST + sum(self._rng.random() < chance for _ in range(_SPREAD)) - 1
        drawn = [shared] if shared else []
        left: dict[PiiType, list[str]] = {pii_type: [] for pii_type in weights}
        for key in facts(self._domain, kind):
            if key != shared:
                left[categories()[category_of_fact(key, self._domain)].type].append(key)
        while len(drawn) < number:
            types = [pii_type for pii_type in left if left[pii_type]]
            (pii_type,) = self._rng.choices(types, [weights[one] for one in types])
            drawn.append(left[pii_type].pop(self._rng.randrange(len(left[pii_type]))))
        self._rng.shuffle(drawn)
        return drawn

    def describe(
        self,
        person: Person,
        kind: Kind,
        keys: Sequence[str],
        *,
        called: tuple[str, str],
        common: Mapping[str, int] = {},
    ) -> Described:
        """Write the values of a person's facts but those in `common`; `called` are the noun and own possessive."""
        rng = self._rng
        (form,) = rng.choices(list(_NAMINGS), list(_NAMINGS.values())) if kind == "person" else ("full_name",)
        numbers: dict[str, int] = {}
        for key in ("per", *keys):
            numbers[key] = common.get(key, len(self.values))
            if key not in common:
                write, what = (of_person.write_name, form) if key == "per" else (of_person.write_fact, key)
                self.values.append(write(person, what, rng))
        naming = _NAME_CATEGORIES[kind] if form == "full_name" else form
        return Described(person, kind, numbers, naming, *called)

    def tell(self, scene: Scene, subject: Described) -> str:
        """Write a description of one subject: an opening, its facts with sentences between them, a closing."""
        rng, per = self._rng, place_of(subject.values["per"])
        parts = [rng.choice(scene.openings).format(per=per)]
        keys = [key for key in subject.values if key != "per"]
        while keys:
            clauses = []
            for _ in range(2 if len(keys) > 1 and rng.random() < _PAIRED_SHARE else 1):
                who = "speaker" if scene.person == "first" else subject.person.gender
                noun = scene.noun if scene.person == "third" and rng.random() < _NOUN_SHARE else ""
                clauses.append(self._clause(keys.pop(0), subject, scene.register, who, noun))
            sentence = rng.choice((", and ", "; ", ", and ")).join(clauses)
            frame = rng.choice(self._grammar.frames[scene.register]) if rng.random() < _FRAMED_SHARE else "{c}."
            parts.append(_capitalized(frame.format(c=sentence)))
        parts.append(rng.choice(scene.closings).format(per=per))
        wanted = rng.gauss(_CHARS_SINGLE, _CHARS_SPREAD)
        chars = len(write_out(" ".join(parts), self.values)[0])
        for filler in rng.sample(scene.fillers, len(scene.fillers)):
            if chars + len(filler) / 2 >= wanted:
                break
            chars += len(filler) + 1
            parts.insert(rng.randint(1, len(parts) - 1), filler)
        return " ".join(parts)

    def converse(self, encounter: Encounter, subjects: Sequence[Described]) -> str:
        """Write a dialogue in which two subjects speak in turn, each of itself."""
        rng = self._rng
        names = [place_of(subject.values["per"]) for subject in subjects]
        said: list[list[str]] = []
        for one, name in zip(subjects, names, strict=True):
            said.append([rng.choice(self._grammar.named).format(per=name)])
            told = (key for key in one.values if key not in ("per", encounter.shares))
            said[-1] += [self._clause(key, one, "casual", "speaker") for key in told]
        if encounter.shares:
            common = rng.choice(self._grammar.shared[encounter.shares])
            said[rng.randrange(2)].insert(1, common.format(shared=place_of(subjects[0].values[encounter.shares])))
        lines = [rng.choice(encounter.settings)]
        speaker, has_spoken = rng.randrange(2), [False, False]
        while said[0] or said[1]:
            if not said[speaker]:
                speaker = 1 - speaker
            turn = rng.choice(self._grammar.leads) if rng.random() < _LED_SHARE else ""
            turn += said[speaker].pop(0)
            for _ in range(min(len(said[speaker]), rng.choice((0, 1, 1, 2)))):
                turn += rng.choice(self._grammar.links) + said[speaker].pop(0)
            # A subject names itself in its first turn; later its name may stand before what it says.
            by_name = has_spoken[speaker] and rng.random() < _REPEATED_NAME_SHARE
            lines.append(f"{names[speaker] if by_name else encounter.tags[speaker]}: {_capitalized(turn)}.")
            has_spoken[speaker] = True
            speaker = 1 - speaker
            if rng.random() < _REPLY_SHARE:
                lines.append(f"{encounter.tags[speaker]}: {rng.choice(self._grammar.replies)}")
        return "\n".join(lines)

    def _clause(
        self, key: str, subject: Described, register: Register, who: Literal["speaker"] | Gender, noun: str = ""
    ) -> str:
        """Return a clause about the speaker or a person of a gender; with a noun in place of the pronoun."""
        number = subject.values[key]
        article = "an" if self.values[number][0] in "aeiouAEIO" else "a"
        said = self._rng.choice(self._grammar.clauses[key].of(register, subject.kind))
        words = (noun, f"{noun}'s", noun, *_WORDS["female"][3:]) if noun else _WORDS[who]
        return said.format_map({**dict(zip(_SLOTS, words, strict=True)), "a": article, "x": place_of(number)})


#: What stands for the slots of a clause, by who it is about.
_SLOTS: Final = ("I", "my", "me", "s", "es", "ies", "have", "am", "was")
_WORDS: Final[Mapping[Literal["speaker"] | Gender, tuple[str, ...]]] = {
    "speaker": ("I", "my", "me", "", "", "y", "have", "am", "was"),
    "female": ("she", "her", "her", "s", "es", "ies", "has", "is", "was"),
    "male": ("he", "his", "him", "s", "es", "ies", "has", "is", "was"),
    "other": ("they", "their", "them", "", "", "y", "have", "are", "were"),
}


def _capitalized(text: str) -> str:
    """Return a text with a capital first letter; a value that stands first is left as it is."""
    return text[:1].upper() + text[1:]
