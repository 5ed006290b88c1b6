"""The note-template profile: a site's headers and places of facts, as data; which ship (paper, Appendix B, Table 2).

Owns a profile as its file gives it, what is wrong with it before any note is read, and what is looked for in notes. The
tables say what each entry must be; below them stand the rules that several entries keep together. What only a corpus
can show (a label that never occurs) is found where a corpus is read.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from clinaudit.errors import BadInputError
from clinaudit.templates import header_styles as styles
from clinaudit.templates import text_file
from clinaudit.templates.dates import NAMED_FORMATS, format_problem, other_order
from clinaudit.templates.header_styles import DEFAULT_STYLES, FACTS, NO_LAYOUT, STYLES, Pattern, bare
from clinaudit.templates.text_file import EntryPath, Listed, Problem, TomlTable, Word

_STYLES = ", ".join(STYLES)
_UNKNOWN_FACT = f"unknown fact; known are {', '.join(sorted(FACTS))}"
_REGEX = "a regular expression is needed"
_DELIMITER = "a text is needed, for example '|' or two blanks"
_LINE = "is the number of a non-blank line of the banner, from 1 (or -1 for the last)"
_PART = "is a number from 1"
_PATTERN = "write each pattern as a table with a regex"


#: A header or label, as it is compared.
Name = Annotated[Word, AfterValidator(bare)]


class PositionTable(TomlTable):
    """A place in an unlabelled banner."""

    line: int = Field(0, description=_LINE)
    part: int | None = Field(None, description=_PART)
    delimiter: str | None = Field(None, description=_DELIMITER)


class FieldTable(TomlTable):
    """Where a fact stands in a note, and the label under which prompts write it where only a table holds it."""

    headers: Listed[Name] = ()
    labels: Listed[Name] = ()
    position: PositionTable | None = Field(
        None, description="write { line = 1 }, or { line = 1, part = 2, delimiter = ',' }"
    )
    label: Word | None = Field(None, description="a text is needed")

    @property
    def has_place(self) -> bool:
        """Whether it says where the fact stands."""
        return bool(self.headers or self.labels or self.position)


class PatternTable(TomlTable):
    """A regular expression whose named groups are facts."""

    regex: str = Field("", description=_REGEX)
    where: Literal["banner", "note"] = Field("banner", description="is banner (the default) or note")

    @cached_property
    def pattern(self) -> Pattern:
        """The expression, compiled; raises `ValueError` where it is none."""
        return Pattern(self.regex)

    @property
    def in_whole_note(self) -> bool:
        """Whether it is searched in the whole note rather than in its banner."""
        return self.where == "note"


def _formats(said: object) -> object:
    return NAMED_FORMATS.get(said, said) if isinstance(said, str) else said


class _Scope(TomlTable):
    """What a layout may give for itself; the profile's own entries stand for all layouts that do not."""

    name: str = ""
    #: Named formats stand here as a list.
    date_formats: Annotated[Listed[Word], BeforeValidator(_formats)] = Field(
        (), description="a list of strptime formats is needed, or one of the names day_first and month_first"
    )
    header_styles: Listed[str] = Field(DEFAULT_STYLES, description=f"a list of styles is needed: {_STYLES}")
    fields: Mapping[str, FieldTable] = Field(default_factory=dict)
    patterns: Listed[PatternTable] = Field((), description=_PATTERN)
    #: Labels of what is no fact (a record number): they end the value before them on their line.
    other_labels: Listed[Name] = ()
    not_in_notes: Listed[Word] = ()
    #: Ends a labelled value, and parts a line of the banner; None where nothing does.
    delimiter: str | None = Field(None, description=_DELIMITER)
    #: Values that mean "not given", lower-case: the ___ of de-identified notes.
    blanks: Listed[Annotated[Word, AfterValidator(lambda blank: blank.strip().lower())]] = ()

    @property
    def groups(self) -> frozenset[str]:
        """Named groups of the patterns; of one that is wrong too, which is not said to place nothing besides."""
        return frozenset(group for item in self.patterns for group in re.findall(r"\(\?P?<(\w+)>", item.regex))


class Layout(_Scope):
    """One way in which the notes of a site are laid out; what it does not say itself, `make_profile` adds.

    Then its fields are of all facts, those without a place included, and its patterns those of the profile, too.
    """

    #: A note has this layout where the signature (if any) matches and all required facts are found.
    signature: str | None = Field(None, description=_REGEX)
    required: Listed[Word] = ()

    @cached_property
    def _signature(self) -> Pattern | None:
        return Pattern(self.signature) if self.signature else None

    def matches_signature(self, text: str) -> bool:
        """Whether a note has the signature, if there is one."""
        return self._signature is None or self._signature.found_in(text)

    @property
    def placed(self) -> frozenset[str]:
        """Facts that this layout says where to find in a note's structure: in its banner, or under a header.

        A fact that only a pattern looks for in the whole note stands in its prose; an opening need not hold it.
        """
        by_field = {fact for fact, at in self.fields.items() if at.has_place}
        return frozenset(by_field.union(*(item.pattern.groups for item in self.patterns if not item.in_whole_note)))


class SectionTable(TomlTable):
    """A section, and the headers that open it or a part of it."""

    name: str = ""
    headers: Listed[Name] = ()
    aliases: Listed[Name] = ()
    leaves: Listed[Name] = ()


class _AmbiguousTable(TomlTable):
    parents: Listed[Word] = ()
    leaves: Listed[Name] = ()


class _TemplatedTable(TomlTable):
    header: str = ""


class ProfileTable(_Scope):
    """The whole file."""

    sections: Listed[SectionTable] = Field((), description="at least one section is needed")
    ambiguous: _AmbiguousTable = _AmbiguousTable()
    templated: _TemplatedTable = _TemplatedTable()
    layouts: Listed[Layout] | None = Field(None, description="write each layout as a table under [[layouts]]")


def read_profile_table(document: Mapping[str, Any]) -> ProfileTable | list[Problem]:
    """Return the entries of a profile that can be used, or all that is wrong.

    Rules between entries are looked at where every entry is of its kind: else most would be said to be missing.
    """
    table = text_file.read_table(ProfileTable, document)
    return table if isinstance(table, list) else [*_problems(table)] or table


def _problems(profile: ProfileTable) -> Iterator[Problem]:
    if not profile.name.strip():
        yield Problem(("name",), "a text is needed")
    section_of: dict[str, str] = {}
    yield from _section_problems(profile, section_of)
    yield from _scope_problems((), profile, section_of)
    if profile.layouts is None:
        if "date_formats" not in profile.model_fields_set:
            yield Problem(("date_formats",), "missing; a list of strptime formats, or day_first or month_first")
        yield from _place_problems((), profile, Layout())
    elif not profile.layouts:
        yield Problem(("layouts",), "write each layout as a table under [[layouts]]")
    for index, layout in enumerate(profile.layouts or ()):
        yield from _layout_problems(profile, index, layout, section_of)


def _section_problems(profile: ProfileTable, section_of: dict[str, str]) -> Iterator[Problem]:
    """Yield what is wrong with sections and their headers; fills `section_of` (header -> section)."""
    if not profile.sections:
        yield Problem(("sections",), "at least one section is needed")
    names: set[str] = set()
    for index, section in enumerate(profile.sections):
        at = ("sections", index)
        if not section.name.strip():
            yield Problem((*at, "name"), "a text is needed")
        elif section.name in (*names, styles.PREAMBLE, styles.UNASSIGNED):
            yield Problem((*at, "name"), "used twice or reserved")
        names.add(section.name)
        if not section.headers:
            yield Problem(at, "headers: at least one header is needed")
        for key in ("headers", "aliases", "leaves"):
            for place, header in enumerate(getattr(section, key)):
                if header in section_of:
                    yield Problem((*at, key, place), f"a header stands in two places: {header}")
                section_of[header] = section.name
    for place, parent in enumerate(profile.ambiguous.parents):
        if parent not in names:
            yield Problem(("ambiguous", "parents", place), "names a section that is not there")
    for place, leaf in enumerate(profile.ambiguous.leaves):
        if leaf in section_of:
            yield Problem(("ambiguous", "leaves", place), f"stands in a section too: {leaf}")
        section_of.setdefault(leaf, styles.UNASSIGNED)
    if profile.templated.header and bare(profile.templated.header) not in section_of:
        yield Problem(("templated", "header"), "is no header of a section")


def _layout_problems(
    profile: ProfileTable, index: int, layout: Layout, section_of: Mapping[str, str]
) -> Iterator[Problem]:
    layouts, at = profile.layouts or (), ("layouts", index)
    earlier = [other.name for other in layouts[:index]]
    if not layout.name.strip() or layout.name in (*earlier, NO_LAYOUT):
        yield Problem((*at, "name"), "a text is needed that no other layout has; 'no layout' is reserved")
    if "date_formats" not in profile.model_fields_set | layout.model_fields_set:
        yield Problem((*at, "date_formats"), "missing, here and for the whole profile")
    yield from _scope_problems(at, layout, section_of)
    if layout.signature is not None:
        yield from _regex_problems((*at, "signature"), layout.signature)
    yield from _known_facts((*at, "required"), layout.required)
    if not layout.signature and not layout.required and index + 1 < len(layouts):
        yield Problem(
            at, "fits every note, so that no layout after it is ever used; give it a signature or required facts"
        )
    yield from _place_problems(at, profile, layout)


def _scope_problems(at: EntryPath, scope: _Scope, section_of: Mapping[str, str]) -> Iterator[Problem]:
    """Yield what is wrong with the entries that both a profile and a layout may give."""
    if not scope.date_formats and "date_formats" in scope.model_fields_set:
        yield Problem((*at, "date_formats"), "at least one format is needed")
    for index, form in enumerate(scope.date_formats):
        problem = format_problem(form)
        if problem is None and (other := other_order(form)) in scope.date_formats[:index]:
            problem = f"with {other} before it, 03/04/2024 has two readings; keep one order, or make a layout for each"
        if problem is not None:
            yield Problem((*at, "date_formats", index), problem)
    if not scope.header_styles:
        yield Problem((*at, "header_styles"), f"a list of styles is needed: {_STYLES}")
    for index, style in enumerate(scope.header_styles):
        if style not in STYLES:
            yield Problem((*at, "header_styles", index), f"unknown style; known are {_STYLES}")
    yield from _delimiter_problems((*at, "delimiter"), scope.delimiter)
    yield from _known_facts((*at, "not_in_notes"), scope.not_in_notes)
    for index, pattern in enumerate(scope.patterns):
        place = (*at, "patterns", index, "regex")
        wrong = [*_regex_problems(place, pattern.regex)]
        groups = () if wrong else Pattern(pattern.regex).groups
        yield from wrong
        if not wrong and not groups:
            yield Problem(place, "has no named group; write what a fact is as (?P<name>...)")
        for group in groups:
            if group not in FACTS:
                yield Problem(place, f"group {group} is no fact; {_UNKNOWN_FACT.partition('; ')[2]}")
    owner: dict[tuple[bool, str], str] = {}
    for fact, field in scope.fields.items():
        if fact not in FACTS:
            yield Problem((*at, "fields", fact), _UNKNOWN_FACT)
        else:
            yield from _field_problems((*at, "fields", fact), field, section_of)
        for key in ("headers", "labels"):
            for index, name in enumerate(getattr(field, key)):
                first = owner.setdefault((key == "headers", name), fact)
                if first != fact:
                    yield Problem((*at, "fields", fact, key, index), f"is that of fields.{first} too: {name}")


def _field_problems(at: EntryPath, field: FieldTable, section_of: Mapping[str, str]) -> Iterator[Problem]:
    for key in ("headers", "labels"):
        for index, name in enumerate(getattr(field, key)):
            if key == "headers" and name not in section_of:
                yield Problem((*at, key, index), "is no header of a section; add it to one, or write it under labels")
            if key != "headers" and name in section_of:
                yield Problem((*at, key, index), "is a header of a section too; write it under headers")
    if field.position is not None:
        place = (*at, "position")
        if not field.position.line:
            yield Problem((*place, "line"), _LINE)
        if field.position.part is not None and field.position.part < 1:
            yield Problem((*place, "part"), _PART)
        yield from _delimiter_problems((*place, "delimiter"), field.position.delimiter)


def _place_problems(at: EntryPath, profile: ProfileTable, layout: Layout) -> Iterator[Problem]:
    """Yield the facts of one layout that are neither placed nor absent, or both."""
    grouped = profile.groups | layout.groups
    fields = {**profile.fields, **layout.fields}
    placed = {fact for fact, field in fields.items() if field.has_place} | grouped
    scope = layout if at else profile
    absent = {*profile.not_in_notes, *layout.not_in_notes}
    for index, fact in enumerate(scope.not_in_notes):
        if (fact in scope.fields and scope.fields[fact].has_place) or fact in scope.groups:
            yield Problem((*at, "not_in_notes", index), f"fields or patterns say where {fact} stands")
    for fact in sorted(FACTS - placed - absent):
        yield Problem(
            (*at, "fields", fact),
            f"missing; say where {fact} stands (headers, labels, position or a pattern), or name it in not_in_notes",
        )
    for index, fact in enumerate(layout.required):
        if fact in FACTS and (fact not in placed or (fact in absent and fact not in layout.fields)):
            yield Problem((*at, "required", index), f"nothing says where {fact} stands")
    for fact, field in fields.items():
        delimiter = layout.delimiter or profile.delimiter
        if field.position and field.position.part and not (field.position.delimiter or delimiter):
            yield Problem((*at, "fields", fact, "position"), "part needs a delimiter, here or for the whole profile")


def _regex_problems(at: EntryPath, source: str) -> Iterator[Problem]:
    try:
        Pattern(source)
    except ValueError as error:
        yield Problem(at, str(error))
    if not source.strip():
        yield Problem(at, _REGEX)


def _delimiter_problems(at: EntryPath, delimiter: str | None) -> Iterator[Problem]:
    if delimiter is not None and (not delimiter or "\n" in delimiter):
        yield Problem(at, _DELIMITER)


def _known_facts(at: EntryPath, facts: Sequence[str]) -> Iterator[Problem]:
    yield from (Problem((*at, index), _UNKNOWN_FACT) for index, fact in enumerate(facts) if fact not in FACTS)


PROFILES_PATH = Path(__file__).with_name("profiles")
#: Profiles that ship, by the name that `--template` takes.
SHIPPED: tuple[str, ...] = tuple(sorted(path.stem for path in PROFILES_PATH.glob("*.toml")))
DEFAULT = "soap"
DEFAULT_PROFILE = PROFILES_PATH / f"{DEFAULT}.toml"


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
    return text_file.locate_shipped(given, role="note template", shipped=SHIPPED, folder=PROFILES_PATH, default=DEFAULT)


def load_profile(path: Path | None = None) -> NoteProfile:
    """Read a profile, given as a file or by the name of one that ships (the default one without `path`).

    Raises `BadInputError` naming every wrong entry by its path.
    """
    source = locate_profile(path)
    return read_profile(text_file.read_text_file(source, role="the note template"), source.name)


def read_profile(text: str, name: str) -> NoteProfile:
    """Read the text of a profile, as `load_profile` does; `name` is what messages call its file."""
    document = text_file.parse_toml(text, f"the note template {name}")
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
    layouts = (Layout(name=table.name),) if table.layouts is None else table.layouts
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


def _layout(profile: ProfileTable, layout: Layout) -> Layout:
    """Return one layout: what it does not say itself, the profile says for all."""
    shared = _Scope.model_fields.keys() - layout.model_fields_set - {"name"}
    fields = {**profile.fields, **layout.fields}
    # What one layout places for itself stands in its notes, whatever the profile says of all.
    absent = {*profile.not_in_notes, *layout.not_in_notes} - layout.fields.keys()
    whole = {fact: fields.get(fact, FieldTable()) for fact in sorted(FACTS)}
    own = {
        "fields": {fact: FieldTable(label=at.label) if fact in absent else at for fact, at in whole.items()},
        "patterns": (*layout.patterns, *profile.patterns),
    }
    return layout.model_copy(update={**{name: getattr(profile, name) for name in shared}, **own})
