"""What the generator composes from: tables of facts, scenarios and words, and grammars, which put them into sentences.

A grammar is a folder of tables. `SCORED` writes the samples that systems are measured on, `TRAINING` those that a
system is trained on: no sentence of one stands in the other.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final, Literal

from clinaudit.audit.pii.benchmark.sample import Domain, Relation

Register = Literal["formal", "casual"]
#: Who a subject is in its encounter.
Kind = Literal["person", "patient", "relative", "clinician"]
_BOTH: Final = ("general", "clinical")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a description may tell of a subject."""

    category: str
    #: Its category in clinical samples.
    clinical: str
    domains: tuple[str, ...]

    def category_in(self, domain: Domain) -> str:
        """Return its category in a domain."""
        return self.clinical if domain == "clinical" else self.category


@dataclass(frozen=True, slots=True, kw_only=True)
class Clauses:
    """How a grammar tells a fact, and asks for it."""

    #: Clauses that hold it, of both registers, and of one.
    said: tuple[str, ...]
    formal: tuple[str, ...] = ()
    casual: tuple[str, ...] = ()
    #: Clauses that a clinician says instead; empty where the others suit.
    clinician: tuple[str, ...] = ()
    #: How a question speaks of it.
    asked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """Where one subject speaks, or is written about."""

    id: str
    domain: Domain
    person: Literal["first", "third"]
    register: Register
    noun: str
    openings: tuple[str, ...]
    fillers: tuple[str, ...]
    closings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Encounter:
    """Where two subjects speak to each other."""

    id: str
    domain: Domain
    relation: Relation
    #: What their facts must have to do with each other (`consistency.agrees`).
    rule: Literal["shared", "parent", "supervisor", "teacher", "none"]
    tags: tuple[str, str]
    nouns: tuple[str, str]
    #: The second, in the words of the first.
    asker: str
    settings: tuple[str, ...]
    #: The fact that is the same for both.
    shares: str | None = None
    kinds: tuple[Kind, Kind] = ("person", "person")


@dataclass(frozen=True, slots=True)
class Thread:
    """A forum or network conversation of several members, into which descriptions are woven; {member} is a letter."""

    id: str
    openings: tuple[str, ...]
    tags: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Grammar:
    """The sentences that facts are told in, read from the tables of a folder."""

    folder: Literal["scored", "training"]

    @cached_property
    def clauses(self) -> Mapping[str, Clauses]:
        """How each fact is told and asked for, by its key."""
        return {key: Clauses(**_tuples(row)) for key, row in self.tables("clauses").items()}

    @cached_property
    def scenes(self) -> tuple[Scene, ...]:
        """The scenes of one subject."""
        return tuple(Scene(**_tuples(row)) for row in self.tables("scenes")["single"])

    @cached_property
    def encounters(self) -> tuple[Encounter, ...]:
        """The encounters of two subjects."""
        return tuple(Encounter(**_tuples(row)) for row in self.tables("encounters")["encounter"])

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        """The threads of several members."""
        return tuple(Thread(**_tuples(row)) for row in self.tables("threads")["thread"])

    @cached_property
    def turns(self) -> Mapping[str, Any]:
        """The words around facts: how a subject names itself, what begins and links clauses."""
        return self.tables("turns")

    @cached_property
    def questions(self) -> Mapping[str, Mapping[str, list[str]]]:
        """The `wordings` of each scenario, and how a question over several `members` begins, goes on and ends."""
        return self.tables("questions")

    def tables(self, name: str) -> dict[str, Any]:
        """Return the tables of one of its files."""
        return _read(f"{self.folder}/{name}")


SCORED: Final = Grammar("scored")
TRAINING: Final = Grammar("training")


@cache
def facts() -> Mapping[str, Fact]:
    """Return every fact by key."""
    return {
        key: Fact(row["category"], row.get("clinical", row["category"]), tuple(row.get("domains", _BOTH)))
        for key, row in _read("facts").items()
    }


@cache
def scenarios(domain: Domain) -> Mapping[str, frozenset[str]]:
    """Return what questions of a domain are about, each with the facts that it can need."""
    rows = _read("scenarios")["scenario"]
    return {row["id"]: frozenset(row["facts"]) for row in rows if domain in row.get("domains", _BOTH)}


@cache
def vocabulary() -> Mapping[str, Any]:
    """Return the parts of names and the demographic words."""
    return _read("vocabulary")


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {field: tuple(cell) if isinstance(cell, list) else cell for field, cell in row.items()}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))
