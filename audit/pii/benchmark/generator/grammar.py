"""The grammar that samples are written in, and which of its sentence templates are held out for training.

Owns the tables of this folder. A sentence template is in one of two parts by a hash of its text, so that no sentence of
the samples that a system is trained on is one of those that it is measured on. What is no sentence (the tags of
speakers, nouns, links between clauses) is in both.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any, Final, Literal

from clinaudit.audit.pii.benchmark.sample import DOMAINS, Domain, Relation

#: What a template is for: the samples that systems are measured on, or those that one is trained on.
Part = Literal["scored", "training"]
Register = Literal["formal", "casual"]
#: Who a subject is in its encounter.
Kind = Literal["person", "patient", "relative", "clinician"]
#: What the first of two subjects is to the second; strangers, and those who just share something, are nothing.
Rule = Literal["parent", "supervisor", "teacher"]
Texts = tuple[str, ...]

_THIRDS: Final = 3
#: The third that is held out: of the three the one that leaves the most facts with clauses on both sides.
_HELD_OUT: Final = 1


#: The fields of the tables that hold sentence templates.
_SENTENCES: Final = frozenset(
    {"said", "formal", "casual", "clinician", "asked", "openings", "anywhere", "fillers", "closings", "settings"}
    | {"remarks", "named", "replies", "shared", "frames", "wordings", "members"}
)


def part_of(template: str) -> Part:
    """Return the part of a sentence template, by its words and slots alone: `training` for about a third of them."""
    words = " ".join(re.findall(r"\{\w+\}|\w+", template.casefold()))
    number = int.from_bytes(blake2b(words.encode(), digest_size=8).digest(), "big")
    return "training" if number % _THIRDS == _HELD_OUT else "scored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clauses:
    """How a fact is told, and asked for."""

    #: Clauses that hold it, of both registers, and of one.
    said: Texts
    formal: Texts
    casual: Texts
    #: Clauses that a clinician says instead; empty where the others suit.
    clinician: Texts = ()
    #: How a question speaks of it.
    asked: Texts

    def of(self, register: Register, kind: Kind) -> Texts:
        """Return the clauses that tell it of somebody, in a register."""
        if kind == "clinician" and self.clinician:
            return self.clinician
        return self.said + (self.formal if register == "formal" else self.casual)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where one subject speaks, or is written about."""

    id: str
    person: Literal["first", "third"]
    register: Register
    noun: str
    openings: Texts
    fillers: Texts
    closings: Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Encounter:
    """Where two subjects speak to each other."""

    id: str
    rule: Rule | None = None
    #: The fact that is the same for both.
    shares: str | None = None
    kinds: tuple[Kind, Kind] = ("person", "person")
    tags: Texts
    nouns: Texts
    #: The second, in the words of the first.
    asker: str
    settings: Texts

    @property
    def relation(self) -> Relation:
        """What the two are to each other, in the paper's words."""
        return "hierarchy" if self.rule else "intersection" if self.shares else "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A forum or network conversation of several members, into which descriptions are woven; {member} is a letter."""

    id: str
    openings: Texts
    tags: Texts
    remarks: Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The sentences of one part."""

    #: How each fact is told and asked for, by its key.
    clauses: Mapping[str, Clauses]
    scenes: Mapping[Domain, tuple[Scene, ...]]
    encounters: Mapping[Domain, tuple[Encounter, ...]]
    threads: tuple[Thread, ...]
    #: How a subject of an encounter names itself, and what the other says in between.
    named: Texts
    replies: Texts
    #: What is said of a fact that both share, by its key; and what stands around a clause, by register.
    shared: Mapping[str, Texts]
    frames: Mapping[Register, Texts]
    #: Of each scenario; and how a question over several members `begins`, `goes_on` and `ends`.
    wordings: Mapping[str, Texts]
    members: Mapping[str, Texts]
    #: What begins a turn, and links its clauses.
    leads: Texts
    links: Texts


@cache
def grammar(part: Part) -> Grammar:
    """Return one part of the grammar."""
    scenes, encounters, turns = (_held(_read(name), part) for name in ("scenes", "encounters", "turns"))
    for domain in DOMAINS:
        for row in scenes[domain].values():
            row |= row.pop("told")
            row["fillers"] += scenes["anywhere"][domain][row["person"]]

    def each(kind: Any, table: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(kind(id=name, **row) for name, row in table.items())

    return Grammar(
        clauses={key: Clauses(**row) for key, row in _held(_read("clauses"), part).items()},
        scenes={domain: each(Scene, scenes[domain]) for domain in DOMAINS},
        encounters={domain: each(Encounter, encounters[domain]) for domain in DOMAINS},
        threads=each(Thread, _held(_read("threads"), part)),
        **turns,
        **_held(_read("questions"), part),
    )


def _held(cell: Any, part: Part, field: str = "") -> Any:
    """Return a copy of a table with tuples for its lists, and in those of sentences the templates of a part alone."""
    if isinstance(cell, dict):
        return {name: _held(row, part, field if field in _SENTENCES else name) for name, row in cell.items()}
    if isinstance(cell, list):
        return tuple(text for text in cell if field not in _SENTENCES or part_of(text) == part)
    return cell


def facts(domain: Domain, kind: Kind) -> list[str]:
    """Return the keys of the facts that samples of a domain tell of somebody."""
    table = _read("facts")
    elsewhere = {key for name, keys in table["domain"].items() if name != domain for key in keys}
    told = table["clinician"] if kind == "clinician" else _read("clauses").keys() - {"licence_number"}
    return [key for key in _read("clauses") if key in told and key not in elsewhere]


def category_of_fact(key: str, domain: Domain) -> str:
    """Return the category of a fact in a domain, an id of the taxonomy."""
    table = _read("facts")
    category: str = table["category"].get(key, key)
    return table["clinical_category"].get(key, category) if domain == "clinical" else category


def scenarios(domain: Domain) -> Mapping[str, frozenset[str]]:
    """Return what questions of a domain are about, each with the facts that it can need."""
    table = _read("facts")
    rows = table["scenarios"] | (table["clinical_scenarios"] if domain == "clinical" else {})
    return {name: frozenset(keys) for name, keys in rows.items()}


def vocabulary() -> Mapping[str, Any]:
    """Return the parts that values are put together from: `texts`, `states`, `education` and `occupation`."""
    return _read("vocabulary")


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))
