"""A proposed profile: the layouts of a corpus, their headers, styles, places of facts and date formats."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from clinaudit.templates.dates import other_order
from clinaudit.templates.learning import MOST, LearningSample, enough
from clinaudit.templates.learning.groups import Signature, choose_signature, group_notes, recurring_lines
from clinaudit.templates.learning.header_candidates import ChosenHeaders, HeaderUse, choose_headers, find_header_uses
from clinaudit.templates.learning.known_words import fact_of_header, known_words
from clinaudit.templates.learning.labels import LabelledValue, LabelUse, assign_facts, choose_formats, find_labels
from clinaudit.templates.learning.line_shapes import LinePattern, first_kinds, learn_line_patterns
from clinaudit.templates.names import FACTS, Pattern

_DATES = ("dob", "visit_date")
#: Words that head other things too: they place a fact where no other header does.
_VAGUE = frozenset({"history", "problem", "hx"})
#: A sentence that fewer of a group's notes have places no fact.
_SENTENCE_SHARE = 0.2
#: In non-blank lines: where a note has no known header, no more than this is its banner.
_LONGEST_BANNER = 15
#: Sections of facts, whatever word heads them.
_SECTIONS = {"chief_complaint": "Chief Complaint", "hpi": "History of Present Illness", "medications": "Medications"}


@dataclass(frozen=True, slots=True)
class ProposedLayout:
    """One layout that was found, with the number of its patients for all it holds."""

    #: Its notes, as places in the corpus.
    members: tuple[int, ...]
    headers: ChosenHeaders
    labels: tuple[LabelUse, ...]
    #: Patterns and positions of the banner.
    lines: tuple[LinePattern, ...]
    #: Expressions for sentences anywhere in the note -> patients.
    sentences: Mapping[str, int]
    #: Fact -> headers under which it stands, the most frequent first.
    under: Mapping[str, tuple[str, ...]]
    date_formats: tuple[str, ...]
    #: Whether something tells the order of day and month.
    order_is_certain: bool
    signature: Signature | None

    @property
    def patients(self) -> int:
        """Patients whose note has it."""
        return len(self.members)

    @property
    def placed(self) -> frozenset[str]:
        """Facts that have a place."""
        by_label = {use.fact for use in self.labels if use.fact}
        by_line = {fact for line in self.lines for fact in line.facts}
        by_sentence = {fact for regex in self.sentences for fact in Pattern(regex).groups}
        return frozenset(by_label | by_line | by_sentence | self.under.keys())

    @property
    def features(self) -> frozenset[str]:
        """What most of its notes have: headers, labels and lines of the banner."""
        labels = {use.label: use.patients for use in self.labels}
        lines = {str(line.regex): line.patients for line in self.lines}
        return frozenset(
            word for word, found in {**self.headers.patients, **labels, **lines}.items() if found > MOST * self.patients
        )

    @property
    def absent(self) -> tuple[str, ...]:
        """Facts that have none."""
        return tuple(sorted(FACTS - self.placed))


@dataclass(frozen=True, slots=True)
class _ProposedSection:
    """A section: its header words -> patients over all layouts."""

    name: str
    headers: Mapping[str, int]
    leaves: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed for a corpus."""

    patients: int
    #: In the order in which a note is tried; empty where the notes have no structure that recurs.
    layouts: tuple[ProposedLayout, ...]
    #: Patients whose note is of none of them.
    strays: int
    #: Column of the notes table -> its cells, None where blank -> such patients.
    strays_by: Mapping[str, Mapping[str | None, int]]
    sections: tuple[_ProposedSection, ...]
    #: Body systems that stand under several of the sections -> patients.
    ambiguous: Mapping[str, int]
    parents: tuple[str, ...]
    #: Words in a header's place that may be something else -> patients.
    doubtful: Mapping[str, int]
    #: The header under which everything is templated, where the notes have it.
    templated_header: str | None
    #: Lines that recur word for word below the banners -> patients.
    boilerplate: Mapping[str, int]


def propose_profile(notes: Sequence[LearningSample]) -> Proposal:
    """Return what the notes suggest, one note a patient."""
    search = LayoutSearch(notes, least=enough(len(notes)))
    layouts = search.layouts()
    taken = {at for layout in layouts for at in layout.members}
    told = [Pattern(layout.signature.regex) for layout in layouts if layout.signature is not None]
    left = [
        note
        for at, note in enumerate(notes)
        if at not in taken and not any(pattern.found_in(note.text) for pattern in told)
    ]
    found = _labels_are_no_headers(layouts)
    headers = Counter[str]()
    for layout in found:
        headers.update(layout.headers.patients)
    sections = _sections(found)
    return Proposal(
        patients=len(notes),
        layouts=found,
        strays=len(left),
        strays_by={
            column: Counter(note.columns.get(column) for note in left)
            for column in dict.fromkeys(name for note in left for name in note.columns)
        },
        sections=sections,
        ambiguous={header: patients for header, patients in headers.items() if header in known_words().ambiguous},
        parents=tuple(name for name in known_words().parents if name in {section.name for section in sections}),
        doubtful=_doubtful(found),
        templated_header=next((header for header in sorted(headers) if header in known_words().templated), None),
        boilerplate={
            line: patients
            for line, patients in recurring_lines(notes, search.banner_ends).items()
            if line.lower().strip(" #*_[]:") not in headers
        },
    )


def _labels_are_no_headers(layouts: Sequence[ProposedLayout]) -> tuple[ProposedLayout, ...]:
    """Return the layouts without headers that are the label of a fact in another: a profile takes a word as one."""
    labels = {use.label for layout in layouts for use in layout.labels if use.fact}
    kept: list[ProposedLayout] = []
    for layout in layouts:
        patients = {header: found for header, found in layout.headers.patients.items() if header not in labels}
        under = {fact: tuple(item for item in headers if item not in labels) for fact, headers in layout.under.items()}
        if not patients.keys() <= known_words().ambiguous:
            under = {fact: headers for fact, headers in under.items() if headers}
            kept.append(replace(layout, headers=replace(layout.headers, patients=patients), under=under))
    return tuple(kept)


def _sections(layouts: Sequence[ProposedLayout]) -> tuple[_ProposedSection, ...]:
    """Return the sections in the order of their headers."""
    counts = Counter[str]()
    named: dict[str, tuple[str, bool]] = {}
    for layout in layouts:
        fact_of = {header: fact for fact, headers in layout.under.items() for header in headers}
        for header, found in layout.headers.patients.items():
            if header in known_words().ambiguous:
                continue
            counts[header] += found
            named.setdefault(header, _section_of(header, fact_of.get(header)))
    sections: dict[str, tuple[dict[str, int], dict[str, int]]] = {}
    for header, (name, is_leaf) in named.items():
        sections.setdefault(name, ({}, {}))[is_leaf][header] = counts[header]
    return tuple(
        # A section of leaves alone would have no header to open it.
        _ProposedSection(name, headers or leaves, leaves if headers else {})
        for name, (headers, leaves) in sections.items()
    )


def _section_of(header: str, fact: str | None) -> tuple[str, bool]:
    known = known_words().headers.get(header)
    if fact in _SECTIONS and (known is None or fact != "medications"):
        return _SECTIONS[fact], False
    return (known.section, known.is_leaf) if known is not None else (header.title(), False)


def _doubtful(layouts: Sequence[ProposedLayout]) -> dict[str, int]:
    taken = {header for layout in layouts for header in layout.headers.patients}
    taken |= {use.label for layout in layouts for use in layout.labels}
    counts = Counter[str]()
    for layout in layouts:
        counts.update({header: found for header, found in layout.headers.doubtful.items() if header not in taken})
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


class LayoutSearch:
    """Finds the layouts of notes, of at least `least` notes each."""

    def __init__(self, notes: Sequence[LearningSample], *, least: int) -> None:
        self._notes = notes
        self._least = least
        self._uses = [find_header_uses(note.text) for note in notes]
        #: Where the banner of each note ends, in characters.
        self.banner_ends = [_banner_end(note.text, use) for note, use in zip(notes, self._uses, strict=True)]

    def layouts(self) -> list[ProposedLayout]:
        """Return the layouts in the order in which a note is tried, each with what tells it from the notes left.

        One that nothing tells comes last, the largest if there are several.
        """
        found = self._search(range(len(self._notes)))
        if len(found) == 1 and found[0].patients == len(self._notes):
            return found
        signed: list[ProposedLayout] = []
        left = list(range(len(self._notes)))
        while told := [replace(item, signature=one) for item in found if (one := self._signature(item, left))]:
            signed.append(min(told, key=lambda item: item.signature.others if item.signature else 0))
            found = [item for item in found if item.members != signed[-1].members]
            left = sorted(set(left) - set(signed[-1].members))
        return [*signed, *found[:1]]

    def layout_of(self, members: Sequence[int]) -> ProposedLayout | None:
        """Return the layout of notes that are laid out alike; None where no header recurs."""
        ends = [self.banner_ends[at] for at in members]
        chosen = choose_headers([self._uses[at] for at in members], ends, least=enough(len(members)))
        chosen = None if chosen is None else _without_names(chosen, self._notes)
        # Body systems alone open no section.
        if chosen is None or chosen.patients.keys() <= known_words().ambiguous:
            return None
        return _propose(self._notes, members, self._banners(members), chosen, least=self._least)

    def _search(self, places: Sequence[int]) -> list[ProposedLayout]:
        """Return the layouts of some notes, then those of what is left, by column where nothing else tells them."""
        banners = self._banners(places)
        labels = find_labels(banners, least=self._least)
        shapes = [
            (self._uses[at].family or "", frozenset(item.label for item in found) or first_kinds(banner))
            for at, banner, found in zip(places, banners, labels, strict=True)
        ]
        groups = [[places[index] for index in members] for members in group_notes(shapes, least=self._least)]
        found = self._alike([layout for members in groups for layout in self._told_by_column(members)])
        left = sorted(set(places).difference(*(layout.members for layout in found)))
        if len(left) < self._least:
            return found
        if found:
            return found + self._search(left)
        by_column = next((parts for parts in self._partitions(places) if parts), [])
        return [layout for part in by_column for layout in self._search(part)]

    def _told_by_column(self, members: list[int]) -> list[ProposedLayout]:
        """Return the layout of a group, or those of its parts where a column parts what is laid out otherwise."""
        for parts in self._partitions(members):
            apart = self._alike([layout for part in parts if (layout := self.layout_of(part)) is not None])
            # Where no text tells them, no reader of notes could; one may be what the others are not.
            if len(apart) > 1 and sum(self._signature(layout, members) is None for layout in apart) <= 1:
                return apart
        layout = self.layout_of(members)
        return [] if layout is None else [layout]

    def _alike(self, layouts: Sequence[ProposedLayout]) -> list[ProposedLayout]:
        """Return layouts with those made one that share most of what they hold, and the order of day and month."""
        shapes = [(" ".join(filter(other_order, layout.date_formats)), layout.features) for layout in layouts]
        groups = [[layouts[index] for index in group] for group in group_notes(shapes, least=1)]
        unions = [sorted(at for item in group for at in item.members) for group in groups]
        return [layout for union in unions if (layout := self.layout_of(union)) is not None]

    def _partitions(self, places: Sequence[int]) -> Iterator[list[list[int]]]:
        """Yield the parts of some notes by each column that parts them, where a part has notes enough."""
        for column in dict.fromkeys(name for at in places for name in self._notes[at].columns):
            parts: dict[str | None, list[int]] = {}
            for at in places:
                parts.setdefault(self._notes[at].columns.get(column), []).append(at)
            yield [part for part in parts.values() if self._least <= len(part) < len(places)]

    def _banners(self, members: Sequence[int]) -> list[str]:
        return [self._notes[at].text[: self.banner_ends[at]] for at in members]

    def _signature(self, layout: ProposedLayout, among: Sequence[int]) -> Signature | None:
        return choose_signature(
            [self._notes[at].text for at in layout.members],
            [self._notes[at].text for at in sorted(set(among) - set(layout.members))],
            labels=[use.label for use in layout.labels],
            headers=tuple(layout.headers.patients),
            lines=[line.regex for line in layout.lines if line.regex],
        )


def _banner_end(text: str, use: HeaderUse) -> int:
    if use.sections_start is not None:
        return use.sections_start
    end = filled = 0
    for line in text.splitlines(keepends=True):
        if filled == _LONGEST_BANNER or (filled > 1 and not line.strip()):
            break
        filled += bool(line.strip())
        end += len(line)
    return end


def _without_names(chosen: ChosenHeaders, notes: Sequence[LearningSample]) -> ChosenHeaders:
    """Leave out lines that a table says are somebody's name, or a place's."""
    names = {said.lower() for note in notes for said in note.known.values() if isinstance(said, str)}
    return replace(
        chosen,
        patients={header: found for header, found in chosen.patients.items() if header not in names},
        doubtful={header: found for header, found in chosen.doubtful.items() if header not in names},
    )


def _propose(
    corpus: Sequence[LearningSample],
    members: Sequence[int],
    banners: Sequence[str],
    chosen: ChosenHeaders,
    *,
    least: int,
) -> ProposedLayout:
    notes = [corpus[at] for at in members]
    labels = find_labels(banners, least=least)
    uses = [use for use in assign_facts(notes, labels) if use.patients >= least and use.label not in chosen.patients]
    by_label = {use.label: use.fact for use in uses if use.fact and use.patients > MOST * len(notes)}
    lines = learn_line_patterns(notes, banners, labels, placed=by_label, least=least)
    placed = {*by_label.values()} | {fact for line in lines for fact in line.facts}
    sentences = _sentences(notes, placed, least=least)
    formats, certain = _formats(notes, banners, labels, uses, lines)
    return ProposedLayout(
        members=tuple(members),
        headers=chosen,
        labels=tuple(uses),
        lines=tuple(lines),
        sentences=sentences,
        under=_facts_under(chosen, {use.fact for use in uses if use.fact}, least=enough(len(notes))),
        date_formats=formats or ("%Y-%m-%d",),
        order_is_certain=certain,
        signature=None,
    )


def _sentences(notes: Sequence[LearningSample], placed: Collection[str], *, least: int) -> dict[str, int]:
    """Return the sentences that hold facts that neither the banner nor the tables have: prose is a poor witness."""
    found: dict[str, int] = {}
    for regex in known_words().sentences:
        pattern = Pattern(regex)
        in_tables = sum(note.known.keys() >= {*pattern.groups} for note in notes)
        matches = sum(pattern.found_in(note.text) for note in notes)
        is_frequent = matches >= max(least, _SENTENCE_SHARE * len(notes))
        if is_frequent and in_tables <= MOST * len(notes) and not {*placed} & {*pattern.groups}:
            found[regex] = matches
    return found


def _facts_under(chosen: ChosenHeaders, labelled: Collection[str], *, least: int) -> dict[str, tuple[str, ...]]:
    by_fact: dict[str, list[str]] = {}
    for header in sorted(chosen.patients, key=lambda header: (-chosen.patients[header], header)):
        fact = fact_of_header(header)
        # A fact whose most frequent header is rare has no place in the notes.
        if fact is not None and fact not in labelled and (fact in by_fact or chosen.patients[header] >= least):
            by_fact.setdefault(fact, []).append(header)
    found: dict[str, tuple[str, ...]] = {}
    for fact, (first, *others) in by_fact.items():
        # Words that only hint at a fact place it where none does that is known to; "Hx" beside "History" is no worse.
        usable = known_words().headers.keys() - (set() if first in _VAGUE else _VAGUE)
        found[fact] = (first, *(item for item in others if item in usable))
    return found


def _formats(
    notes: Sequence[LearningSample],
    banners: Sequence[str],
    labels: Sequence[Sequence[LabelledValue]],
    uses: Sequence[LabelUse],
    lines: Sequence[LinePattern],
) -> tuple[tuple[str, ...], bool]:
    fact_of = {use.label: use.fact for use in uses if use.fact in _DATES}
    patterns = [Pattern(line.regex) for line in lines if line.regex and not set(line.facts).isdisjoint(_DATES)]
    values: list[str] = []
    known: dict[str, list[date]] = {}
    for note, banner, of_note in zip(notes, banners, labels, strict=True):
        held = [(fact, item.value) for item in of_note if (fact := fact_of.get(item.label))]
        for pattern in patterns:
            held += [(fact, banner[slice(*at)]) for fact, at in pattern.spans(banner).items() if fact in _DATES]
        for fact, value in held:
            values.append(value)
            if isinstance(said := note.known.get(fact), date):
                known.setdefault(value, []).append(said)
    return choose_formats(values, known)
