"""The note-template profile: the headers of a site's notes and the places of facts, as data that a site can replace.

Owns reading and validating the profile (paper, Appendix B, Table 2). Knows nothing of any note.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinaudit.errors import BadInputError
from clinaudit.templates.text_file import read_toml_file

#: Label of text before any header, and of a body-system header without a parent (docs/methods.md, section 2).
PREAMBLE = "preamble"
UNASSIGNED = "unassigned"
DEFAULT_PROFILE = Path(__file__).with_name("soap.toml")


@dataclass(frozen=True, slots=True)
class FieldSource:
    """Where one fact of a prior stands in a note: under a header, or on a line of its own."""

    headers: tuple[str, ...]
    line: tuple[str, ...]
    #: The label of the fact where only a table holds it.
    label: str


@dataclass(frozen=True, slots=True)
class NoteProfile:
    """One site's note template."""

    name: str
    date_formats: tuple[str, ...]
    #: Lower-case header -> section name, headers of the lexicon and aliases alike.
    section_of: Mapping[str, str]
    #: Headers of the lexicon proper (Table 2): those of the HEADER_PREFIX rule.
    lexicon: frozenset[str]
    #: Headers that set the parent of the ambiguous ones after them -> the parent's section name.
    parent_of: Mapping[str, str]
    #: Body-system headers that stand under either parent.
    ambiguous: frozenset[str]
    #: The literal header under which everything is templated, or None.
    templated_header: str | None
    #: Fact id -> where it stands.
    fields: Mapping[str, FieldSource]

    @property
    def headers(self) -> frozenset[str]:
        """All headers that open or continue a section, lower-case."""
        return frozenset(self.section_of) | self.ambiguous


def load_profile(path: Path | None = None) -> NoteProfile:
    """Read a profile (the default one without `path`); raises `BadInputError` naming every wrong entry."""
    source = path or DEFAULT_PROFILE
    document = read_toml_file(source, role="the note template")
    problems = list(_problems(document))
    if problems:
        raise BadInputError(f"note template {source.name} is not valid; mend what is listed", problems)
    return _profile(document)


def _profile(document: dict[str, Any]) -> NoteProfile:
    section_of: dict[str, str] = {}
    parent_of: dict[str, str] = {}
    lexicon: set[str] = set()
    ambiguous = document.get("ambiguous", {})
    parents = ambiguous.get("parents", [])
    for section in document["sections"]:
        openers = [*section["headers"], *section.get("aliases", [])]
        for header in [*openers, *section.get("leaves", [])]:
            section_of[header.lower()] = section["name"]
        if section["name"] in parents:
            parent_of |= {header.lower(): section["name"] for header in openers}
        lexicon |= {header.lower() for header in [*section["headers"], *section.get("leaves", [])]}
    leaves = frozenset(header.lower() for header in ambiguous.get("leaves", []))
    templated = document.get("templated", {}).get("header")
    return NoteProfile(
        name=document["name"],
        date_formats=tuple(document["date_formats"]),
        section_of=section_of,
        lexicon=frozenset(lexicon) | leaves,
        parent_of=parent_of,
        ambiguous=leaves,
        templated_header=templated.lower() if templated else None,
        fields={
            fact: FieldSource(
                headers=tuple(item.lower() for item in field.get("headers", [])),
                line=tuple(item.lower() for item in field.get("line", [])),
                label=field["label"],
            )
            for fact, field in document["fields"].items()
        },
    )


#: The facts that a profile must place (priors/tiers.py uses these ids).
_FACTS = frozenset(
    {"name", "dob", "age", "sex", "visit_date", "provider", "practice", "chief_complaint", "hpi"}
    | {"marital_status", "occupation", "children", "medications"}
)
_TOP_LEVEL = frozenset(["name", "date_formats", "sections", "ambiguous", "templated", "fields"])


def _problems(document: dict[str, Any]) -> Iterator[str]:
    for key in document.keys() - _TOP_LEVEL:
        yield f"{key}: unknown entry"
    if not isinstance(document.get("name"), str):
        yield "name: a text is needed"
    if not _is_texts(document.get("date_formats")):
        yield "date_formats: a list of strptime formats is needed"
    yield from _section_problems(document)
    fields = document.get("fields")
    if not isinstance(fields, dict):
        yield "fields: a table is needed"
        return
    for fact in sorted(_FACTS - fields.keys()):
        yield f"fields.{fact}: missing"
    for fact in sorted(fields.keys() - _FACTS):
        yield f"fields.{fact}: unknown fact"
    for fact in sorted(_FACTS & fields.keys()):
        field = fields[fact]
        if not isinstance(field, dict) or not isinstance(field.get("label"), str):
            yield f"fields.{fact}.label: a text is needed"
        elif not _is_texts(field.get("headers", [])) or not _is_texts(field.get("line", [])):
            yield f"fields.{fact}: headers and line are lists of texts"


def _section_problems(document: dict[str, Any]) -> Iterator[str]:
    sections = document.get("sections")
    if not isinstance(sections, list) or not sections:
        yield "sections: at least one section is needed"
        return
    owner: dict[str, str] = {}
    names: set[str] = set()
    for number, section in enumerate(sections, start=1):
        where = f"sections[{number}]"
        if not isinstance(section, dict) or not isinstance(section.get("name"), str) or not section["name"]:
            yield f"{where}.name: a text is needed"
            continue
        if section["name"] in names or section["name"] in (PREAMBLE, UNASSIGNED):
            yield f"{where}.name: used twice or reserved"
        names.add(section["name"])
        lists = [section.get(key, []) for key in ("headers", "aliases", "leaves")]
        if not all(_is_texts(entries) for entries in lists) or not section.get("headers"):
            yield f"{where}: headers (at least one), aliases and leaves are lists of texts"
            continue
        for header in (header for entries in lists for header in entries):
            if header.lower() in owner:
                yield f"{where}: a header stands in two places: {header.lower()}"
            owner[header.lower()] = section["name"]
    ambiguous = document.get("ambiguous", {})
    if not isinstance(ambiguous, dict) or not _is_texts(ambiguous.get("leaves", [])):
        yield "ambiguous.leaves: a list of texts is needed"
        return
    for parent in ambiguous.get("parents", []):
        if parent not in names:
            yield "ambiguous.parents: names a section that is not there"
    for leaf in ambiguous.get("leaves", []):
        if leaf.lower() in owner:
            yield f"ambiguous.leaves: stands in a section too: {leaf.lower()}"
    templated = document.get("templated", {})
    if not isinstance(templated, dict) or not isinstance(templated.get("header", ""), str):
        yield "templated.header: a text is needed"
    elif templated.get("header") and templated["header"].lower() not in owner:
        yield "templated.header: is no header of a section"


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item.strip() for item in value)
