"""The headers and labels that the shipped profiles know: the words by which a proposal names what it finds.

A word that is a label of who, when or where in one profile is no header of a section here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from clinaudit.templates.names import BANNER_FACTS, bare
from clinaudit.templates.profile import PROFILES_PATH
from clinaudit.templates.text_file import read_toml_file

#: Where two profiles say different things of one word, the first counts.
_ORDER = ("soap", "capitals", "dictation", "mimic-discharge", "uk-gp")
#: Facts that have headers of their own below the banner.
_LISTED = ("marital_status", "occupation", "children")
#: Words that tell the fact of a label that no profile has ("Patient's name", "Seen by Dr"), the first that fits.
_TELLING = (
    ("dob", ("birth", "dob", "born")),
    ("visit_date", ("date", "dos", "seen on", "visited", "visit", "encounter", "appointment")),
    ("sex", ("sex", "gender")),
    ("age", ("age",)),
    ("provider", ("clinician", "provider", "physician", "doctor", "consultant", "gp", "seen by", "practitioner")),
    (
        "practice",
        (
            *("location", "clinic", "practice", "surgery", "site", "facility", "hospital", "ward", "department"),
            *("team", "branch", "office", "unit"),
        ),
    ),
    ("name", ("name", "patient", "client")),
)
#: Likewise for headers below the banner.
_TELLING_HEADERS = (
    ("hpi", ("present illness", "presenting illness", "current illness", "interval history")),
    ("chief_complaint", ("complaint", "complaints", "presenting problem", "reason for", "presents with")),
    ("medications", ("medication", "medications", "drugs", "medicines", "prescribed")),
)
#: Headers that no shipped profile has, and that many sites do.
_FURTHER = {
    **dict.fromkeys(("a/p", "a&p", "assessment/plan", "assessment & plan"), "Assessment and Plan"),
    **dict.fromkeys(("pe", "p/e"), "Physical Exam"),
}


@dataclass(frozen=True, slots=True)
class _KnownHeader:
    """A header of a shipped profile."""

    section: str
    #: Opens a part of a section (a body system), rather than a section.
    is_leaf: bool
    #: The fact that stands under it, or None.
    fact: str | None


@dataclass(frozen=True, slots=True)
class _KnownWords:
    """Headers and labels of all shipped profiles, lower-case."""

    headers: Mapping[str, _KnownHeader]
    #: Label -> fact.
    labels: Mapping[str, str]
    #: Labels of what is no fact.
    other_labels: frozenset[str]
    #: Body systems that stand under several sections, and those sections.
    ambiguous: frozenset[str]
    parents: tuple[str, ...]
    #: Headers under which everything is templated.
    templated: frozenset[str]
    #: Regular expressions that hold facts, and whether they are for the whole note rather than its banner.
    patterns: tuple[tuple[str, bool], ...]

    @property
    def anchors(self) -> tuple[str, ...]:
        """Headers that open a section below the banner: where they stand, a note's sections begin."""
        return tuple(
            header
            for header, known in self.headers.items()
            if not known.is_leaf and known.fact not in _LISTED and len(header) > 1
        )


@cache
def known_words() -> _KnownWords:
    """Return the words of the profiles that ship."""
    documents = [read_toml_file(PROFILES_PATH / f"{name}.toml", role="the note template") for name in _ORDER]
    labels: dict[str, str] = {}
    facts: dict[str, str] = {}
    for document in documents:
        for fact, field in document["fields"].items():
            for label in [*field.get("labels", []), *(field.get("headers", []) if fact in BANNER_FACTS else [])]:
                labels.setdefault(bare(label), fact)
            for header in field.get("headers", []) if fact not in BANNER_FACTS else []:
                facts.setdefault(bare(header), fact)
    headers: dict[str, _KnownHeader] = {}
    for document in documents:
        for header, section, is_leaf in _headers(document):
            if header not in labels:
                headers.setdefault(header, _KnownHeader(section, is_leaf, facts.get(header)))
    for header, name in _FURTHER.items():
        headers.setdefault(header, _KnownHeader(name, is_leaf=False, fact=None))
    return _KnownWords(
        headers=MappingProxyType(headers),
        labels=MappingProxyType(labels),
        other_labels=frozenset(bare(label) for document in documents for label in document.get("other_labels", [])),
        ambiguous=frozenset(bare(leaf) for item in documents for leaf in item.get("ambiguous", {}).get("leaves", [])),
        parents=tuple(name for item in documents for name in item.get("ambiguous", {}).get("parents", [])),
        templated=frozenset(bare(item["templated"]["header"]) for item in documents if "templated" in item),
        patterns=tuple(
            (item["regex"], item.get("where") == "note")
            for document in documents
            for item in document.get("patterns", [])
        ),
    )


def fact_of_label(label: str) -> str | None:
    """Return the fact that a label's words name, or None."""
    exact = known_words().labels.get(label)
    if exact is not None:
        return exact
    return _told(label, _TELLING)


def fact_of_header(header: str) -> str | None:
    """Return the fact that stands under a header, as its words say, or None."""
    known = known_words().headers.get(header)
    return known.fact if known is not None else _told(header, _TELLING_HEADERS)


def _told(name: str, facts: Iterable[tuple[str, Iterable[str]]]) -> str | None:
    words = f" {' '.join(name.replace(chr(39), ' ').replace('/', ' ').split())} "
    return next((fact for fact, telling in facts if any(f" {word} " in words for word in telling)), None)


def _headers(document: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    found: list[tuple[str, str, bool]] = []
    for section in document["sections"]:
        found += [(bare(name), section["name"], False) for name in [*section["headers"], *section.get("aliases", [])]]
        found += [(bare(name), section["name"], True) for name in section.get("leaves", [])]
    return found
