"""What the generator composes from: tables of facts, scenes, encounters, scenarios and words, read from their files.

Owns their records. Knows nothing of drawing.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, Literal

from clinaudit.audit.pii.benchmark.sample import Domain, Relation

Register = Literal["formal", "casual"]
#: Who a subject is in its encounter.
Kind = Literal["person", "patient", "relative", "clinician"]
_BOTH: Final = ("general", "clinical")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a description may tell of a subject."""

    key: str
    category: str
    #: Its category in clinical samples.
    clinical: str
    domains: tuple[str, ...]
    #: Clauses that hold it, of both registers, and of one.
    said: tuple[str, ...]
    formal: tuple[str, ...]
    casual: tuple[str, ...]
    #: Clauses that a clinician says instead; empty where the others suit.
    clinician: tuple[str, ...]
    #: How a question speaks of it; empty where none may.
    asked: tuple[str, ...]

    def category_in(self, domain: Domain) -> str:
        """Return its category in a domain."""
        return self.clinical if domain == "clinical" else self.category


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
    #: What their facts must have to do with each other (`consistency.agree`).
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
class Scenario:
    """What a question is about, and which facts it can need."""

    id: str
    domains: tuple[str, ...]
    facts: frozenset[str]
    wordings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Thread:
    """A forum or network conversation of several members, into which descriptions are woven; {member} is a letter."""

    id: str
    openings: tuple[str, ...]
    tags: tuple[str, ...]
    remarks: tuple[str, ...]


@cache
def facts() -> Mapping[str, Fact]:
    """Return every fact by key."""
    return MappingProxyType(
        {
            key: Fact(
                key=key,
                category=row["category"],
                clinical=row.get("clinical", row["category"]),
                domains=tuple(row.get("domains", _BOTH)),
                **{name: tuple(row.get(name, ())) for name in ("said", "formal", "casual", "clinician", "asked")},
            )
            for key, row in _read("keys").items()
        }
    )


@cache
def scenes(domain: Domain) -> tuple[Scene, ...]:
    """Return the scenes of one subject."""
    return tuple(Scene(**row) for row in _rows("scenes", "single") if row["domain"] == domain)


@cache
def encounters(domain: Domain, relation: Relation) -> tuple[Encounter, ...]:
    """Return the encounters of two subjects in a relation."""
    rows = _rows("encounters", "encounter")
    return tuple(Encounter(**row) for row in rows if (row["domain"], row["relation"]) == (domain, relation))


@cache
def scenarios(domain: Domain) -> tuple[Scenario, ...]:
    """Return what questions are about in a domain."""
    found = (
        Scenario(row["id"], row.get("domains", _BOTH), frozenset(row["facts"]), row["wordings"])
        for row in _rows("scenarios", "scenario")
    )
    return tuple(scenario for scenario in found if domain in scenario.domains)


@cache
def vocabulary() -> Mapping[str, Any]:
    """Return the parts of names and the demographic words."""
    return MappingProxyType(_read("vocabulary"))


@cache
def turns() -> Mapping[str, Any]:
    """Return the words around facts: how a subject names itself, what begins and links clauses."""
    return MappingProxyType(_read("openings"))


@cache
def threads() -> tuple[Thread, ...]:
    """Return the threads."""
    return tuple(Thread(**row) for row in _rows("threads", "thread"))


@cache
def question_frames() -> Mapping[str, list[str]]:
    """Return how a question over several members begins, goes on and ends."""
    return MappingProxyType(_read("threads")["questions"])


def _rows(name: str, table: str) -> list[dict[str, Any]]:
    return [
        {field: tuple(cell) if isinstance(cell, list) else cell for field, cell in row.items()}
        for row in _read(name)[table]
    ]


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))
