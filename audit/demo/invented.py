"""What the demo's patients are made of (`invented.toml`): words for people, and the wordings of what they have."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_TABLES: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("invented.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Condition:
    """A chronic condition that is none of the six; `{a}`, `{b}` in `status` are numbers drawn once a patient."""

    name: str
    problem: str
    medications: list[str]
    status: str
    plan: str
    a: tuple[int, int] = (0, 0)
    b: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Complaint:
    """A reason for a visit; `system` is the body system that the review of systems leaves to the HPI."""

    name: str
    system: str
    details: list[str]
    assessment: str
    plans: list[str]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Wordings of one sensitive diagnosis; the head of its tables in the file says what each is."""

    id: str
    names: list[str]
    histories: list[str]
    problems: list[str]
    visits: list[tuple[str, str]]
    medications: list[str]
    treated: float
    denials: list[str]
    family: list[str]
    education: list[str]


CONDITIONS: Final = [Condition(**table) for table in _TABLES["conditions"]]
COMPLAINTS: Final = [Complaint(**table) for table in _TABLES["complaints"]]
DIAGNOSES: Final = [Diagnosis(**table) for table in _TABLES["diagnoses"]]
DIAGNOSIS_IDS: Final = tuple(diagnosis.id for diagnosis in DIAGNOSES)
#: Names of people and places, and social facts, by what they are.
WORDS: Final[Mapping[str, list[str]]] = _TABLES["words"]
PROVIDERS: Final[list[tuple[str, str]]] = [(given, last) for given, last in map(str.split, WORDS["providers"])]
#: Race and ethnicity, with weights.
RACES: Final[Mapping[str, float]] = _TABLES["races"]
#: By body system, then by style of provider.
REVIEW_OF_SYSTEMS: Final[Mapping[str, list[str]]] = _TABLES["review_of_systems"]
#: By style of provider, then by body system.
EXAMS: Final[list[dict[str, str]]] = _TABLES["exams"]
