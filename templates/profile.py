"""The note-template profile: a site's headers and places of facts, as data; which ship (paper, Appendix B, Table 2)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinaudit.errors import BadInputError
from clinaudit.templates.names import FACTS, Pattern, bare
from clinaudit.templates.profile_problems import FieldTable, LayoutTable, ProfileTable, read_profile_table
from clinaudit.templates.text_file import locate_shipped, parse_toml, read_text_file

PROFILES_PATH = Path(__file__).with_name("profiles")
#: Profiles that ship, by the name that `--template` takes.
SHIPPED: tuple[str, ...] = tuple(sorted(path.stem for path in PROFILES_PATH.glob("*.toml")))
DEFAULT = "soap"
DEFAULT_PROFILE = PROFILES_PATH / f"{DEFAULT}.toml"


@dataclass(frozen=True, slots=True)
class _FactPattern:
    """A regular expression whose named groups are facts."""

    pattern: Pattern
    #: Searched in the whole note rather than in its banner.
    in_whole_note: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """One way in which the notes of a site are laid out."""

    name: str
    date_formats: tuple[str, ...]
    header_styles: tuple[str, ...]
    #: Fact id -> where it stands; facts that do not stand in these notes have no place.
    fields: Mapping[str, FieldTable]
    patterns: tuple[_FactPattern, ...]
    #: Labels of what is no fact (a record number): they end the value before them on their line.
    other_labels: tuple[str, ...]
    #: Ends a labelled value, and parts a line of the banner; None where nothing does.
    delimiter: str | None
    #: Values that mean "not given", lower-case: the ___ of de-identified notes.
    blanks: frozenset[str]
    #: A note has this layout where `signature` (if any) matches and all of `required` are found.
    signature: Pattern | None
    required: tuple[str, ...]

    @property
    def placed(self) -> frozenset[str]:
        """Facts that this layout says where to find in a note's structure: in its banner, or under a header.

        A fact that only a pattern looks for in the whole note stands in its prose; an opening need not hold it.
        """
        by_field = {fact for fact, at in self.fields.items() if at.has_place}
        return frozenset(by_field.union(*(item.pattern.groups for item in self.patterns if not item.in_whole_note)))


@dataclass(frozen=True, slots=True)
class NoteProfile:
    """One site's note template."""

    name: str
    #: Lower-case header -> section name, headers of the lexicon and aliases alike.
    section_of: Mapping[str, str]
    #: Headers of the lexicon proper (Table 2): the `header_prefix` rule of note.py calls a line's beginning templated
    #: if it is one of these and a colon.
    lexicon: frozenset[str]
    #: Headers that set the parent of the ambiguous ones after them -> the parent's section name.
    parent_of: Mapping[str, str]
    #: Body-system headers that stand under either parent.
    ambiguous: frozenset[str]
    #: The literal header under which everything is templated, or None.
    templated_header: str | None
    #: At least one; a note has the first that fits, and is read under the last where none does.
    layouts: tuple[Layout, ...]
    #: SHA-256 of the profile's entries: comments, blanks and the order of keys do not change it.
    digest: str

    @property
    def headers(self) -> frozenset[str]:
        """All headers that open or continue a section, lower-case."""
        return frozenset(self.section_of) | self.ambiguous

    @property
    def fields(self) -> Mapping[str, FieldTable]:
        """Return for each fact its entry in the first layout that places it (its label is used for prompts)."""
        return {
            fact: next((at.fields[fact] for at in self.layouts if fact in at.placed), self.layouts[0].fields[fact])
            for fact in sorted(FACTS)
        }

    @property
    def date_formats(self) -> tuple[str, ...]:
        """The date formats of all layouts, each once."""
        return tuple(dict.fromkeys(form for layout in self.layouts for form in layout.date_formats))


def locate_profile(given: Path | None) -> Path:
    """Return the file that holds a profile; raises `BadInputError` where a name means nothing, or two things."""
    return locate_shipped(given, role="note template", shipped=SHIPPED, folder=PROFILES_PATH, default=DEFAULT)


def load_profile(path: Path | None = None) -> NoteProfile:
    """Read a profile, given as a file or by the name of one that ships (the default one without `path`).

    Raises `BadInputError` naming every wrong entry by its path.
    """
    source = locate_profile(path)
    return read_profile(read_text_file(source, role="the note template"), source.name)


def read_profile(text: str, name: str) -> NoteProfile:
    """Read the text of a profile, as `load_profile` does; `name` is what messages call its file."""
    document = parse_toml(text, f"the note template {name}")
    table = read_profile_table(document)
    if isinstance(table, list):
        raise BadInputError(f"note template {name} is not valid; mend what is listed", list(map(str, table)))
    return make_profile(table, document)


def make_profile(table: ProfileTable, document: Mapping[str, Any]) -> NoteProfile:
    """Return the profile of a file whose entries are `table`."""
    section_of: dict[str, str] = {}
    parent_of: dict[str, str] = {}
    lexicon: set[str] = set()
    for section in table.sections:
        openers = [*section.headers, *section.aliases]
        section_of |= dict.fromkeys([*openers, *section.leaves], section.name)
        if section.name in table.ambiguous.parents:
            parent_of |= dict.fromkeys(openers, section.name)
        lexicon.update(section.headers, section.leaves)
    ambiguous = frozenset(table.ambiguous.leaves)
    canonical = json.dumps(document, sort_keys=True, ensure_ascii=False)
    layouts = (LayoutTable(name=table.name),) if table.layouts is None else table.layouts
    return NoteProfile(
        name=table.name,
        section_of=section_of,
        lexicon=ambiguous.union(lexicon),
        parent_of=parent_of,
        ambiguous=ambiguous,
        templated_header=bare(table.templated.header) or None,
        layouts=tuple(_layout(table, layout) for layout in layouts),
        digest=hashlib.sha256(canonical.encode()).hexdigest(),
    )


def _layout(profile: ProfileTable, layout: LayoutTable) -> Layout:
    """Return one layout: what it does not say itself, the profile says for all."""

    def said(key: str) -> Any:
        return getattr(layout if key in layout.model_fields_set else profile, key)

    fields = {**profile.fields, **layout.fields}
    # What one layout places for itself stands in its notes, whatever the profile says of all.
    absent = {*profile.not_in_notes, *layout.not_in_notes} - layout.fields.keys()
    return Layout(
        name=layout.name,
        date_formats=said("date_formats"),
        header_styles=said("header_styles"),
        fields={
            fact: FieldTable(label=field.label) if fact in absent else field
            for fact, field in ((fact, fields.get(fact, FieldTable())) for fact in sorted(FACTS))
        },
        patterns=tuple(
            _FactPattern(Pattern(item.regex), item.where == "note") for item in [*layout.patterns, *profile.patterns]
        ),
        other_labels=said("other_labels"),
        delimiter=said("delimiter"),
        blanks=frozenset(blank.strip().lower() for blank in said("blanks")),
        signature=Pattern(layout.signature) if layout.signature else None,
        required=layout.required,
    )
