"""How well a note-template profile fits a corpus: what its entries find in the patients' latest notes, by layout.

Findings are what only notes can show (a label that never occurs, a date that no format reads). They hold words of the
profile and counts; never a note's text or a patient's id.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.fragments import find_known_headers
from clinaudit.priors.introduction import read_age, read_sex
from clinaudit.priors.tiers import HISTORY, Fact
from clinaudit.templates.dates import other_order, read_birth_date, read_date
from clinaudit.templates.learning.known_words import known_words
from clinaudit.templates.names import NO_LAYOUT, named_layout
from clinaudit.templates.note_fields import FoundField, placed_sources
from clinaudit.templates.profile import Layout, NoteProfile
from clinaudit.templates.text_file import EntryPath

#: A fact of the fragment tiers that is found for fewer of a layout's patients is a problem: its prompts would miss it.
MINIMUM_SHARE = 0.9
#: Facts of the fragment tiers; any other may well be missing from a note.
_OPENING_FACTS = (
    *(Fact.NAME, Fact.DOB, Fact.VISIT_DATE, Fact.PROVIDER, Fact.PRACTICE),
    *(Fact.CHIEF_COMPLAINT, Fact.HPI),
)
_DATES = (Fact.DOB, Fact.VISIT_DATE)
#: Facts that differ between patients; one value for most of them is a place of something else.
_PERSONAL = (Fact.NAME, Fact.DOB)
#: From so many patients on, chance does not make all days of the month 12 or less ((12/31)^10 < 0.0001), nor one
#: value the most common name.
_ENOUGH = 10
_MOST_COMMON_SHARE = 0.5
#: A name longer than this is a line of text.
_LONGEST_NAME = 100
_WHAT = {
    Fact.AGE: "an age in years",
    Fact.SEX: "a sex",
    **dict.fromkeys((Fact.NAME, Fact.PROVIDER, Fact.PRACTICE), "a name"),
}


Level = Literal["problem", "note"]


class Kind(StrEnum):
    """What a finding is about."""

    NO_LAYOUT = "no_layout"
    LAYOUT_UNUSED = "layout_unused"
    FACT_MISSING = "fact_missing"
    VALUE_UNREAD = "value_unread"
    VALUE_REPEATED = "value_repeated"
    DATE_ORDER_UNTOLD = "date_order_untold"
    DATE_ORDER_OTHER = "date_order_other"
    BIRTH_AFTER_VISIT = "birth_after_visit"
    NO_HEADER = "no_header"
    #: Of the text of the notes (`notes_fit`).
    FACT_DENIED = "fact_denied"
    LABEL_UNREAD = "label_unread"
    NOT_PLAIN = "not_plain"
    #: Of the patients table (`notes_fit`).
    TABLE_OF_OTHERS = "table_of_others"
    TABLE_DIFFERS = "table_differs"
    TABLE_UNTOLD = "table_untold"
    TABLE_EXCHANGED = "table_exchanged"


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which a profile does not fit its corpus."""

    kind: Kind
    #: A problem makes prompts or figures wrong or few; a note may well be as it should.
    level: Level
    #: Name of the layout, or `NO_LAYOUT`; None where it is about all notes.
    layout: str | None
    #: What of the profile it is about: a fact, a layout, `date_formats`, `sections`, `layouts`.
    subject: str
    #: Of `of` patients, values or entries of the profile, `found` are as the profile says, or are of use.
    found: int
    of: int
    #: One sentence for the reader, counts included.
    text: str


@dataclass(frozen=True, slots=True)
class _FactFit:
    """One placed fact in the latest notes of one layout."""

    #: Patients in whose latest note the fact was found.
    found: int
    #: Found values that are what the fact says: a date that a format reads, an age, a sex, a name.
    read: int


@dataclass(frozen=True, slots=True)
class ProfileFit:
    """What a profile finds in a corpus, and the findings, problems first."""

    layouts: tuple["_LayoutFit", ...]
    findings: tuple[Finding, ...]


def measure_fit(facts: Mapping[str, PatientFacts], profile: NoteProfile) -> ProfileFit:
    """Return how the profile fits the notes that these patients are asked with (patient id -> facts)."""
    by_layout: dict[str, list[PatientFacts]] = {layout.name: [] for layout in profile.layouts}
    for known in facts.values():
        for source in known.sources:
            by_layout.setdefault(source.layout, []).append(source)
    rules = {layout.name: layout for layout in profile.layouts}
    layouts = [
        # A note that fits no layout is read under the last one.
        _LayoutFit(name, rules.get(name, profile.layouts[-1]), patients)
        for name, patients in by_layout.items()
        if patients
    ]
    findings = [finding for fit in layouts for finding in fit.findings()]
    findings += _choice_findings(by_layout, len(facts))
    return ProfileFit(tuple(layouts), problems_first(findings))


def problems_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings in their order, problems before notes."""
    return tuple(sorted(findings, key=lambda finding: finding.level != "problem"))


#: What of a layout, or of the whole profile, findings are about that are not about the place of a fact.
_ENTRIES: Mapping[Kind, list[EntryPath]] = {
    Kind.FACT_DENIED: [("not_in_notes",)],
    Kind.LABEL_UNREAD: [("date_formats",)],
    Kind.NO_LAYOUT: [],
    Kind.NOT_PLAIN: [],
    Kind.LAYOUT_UNUSED: [()],
    Kind.DATE_ORDER_OTHER: [("date_formats",)],
    Kind.DATE_ORDER_UNTOLD: [("date_formats",)],
    Kind.NO_HEADER: [("header_styles",), ("sections",)],
}


def entries_of(finding: Finding, profile: NoteProfile) -> list[EntryPath]:
    """Return the entries of the profile's file that a finding is about, the most exact first; some may not be there."""
    names = [layout.name for layout in profile.layouts]
    index = names.index(finding.layout) if finding.layout in names else len(names) - 1
    of_fact: list[EntryPath] = [("fields", finding.subject), ("patterns",)]
    tails = _ENTRIES.get(finding.kind, of_fact if finding.subject in set(Fact) else [("sections",)])
    entries: list[EntryPath] = [entry for tail in tails for entry in (("layouts", index, *tail), tail)]
    return [*entries, ("layouts",)]


class _LayoutFit:
    """The latest notes of one layout, and what they show of it."""

    def __init__(self, layout: str, rules: Layout, patients: Sequence[PatientFacts]) -> None:
        self._rules = rules
        self._known = patients
        self._sources = placed_sources(rules)
        #: The name of the layout, and how many patients have it.
        self.layout = layout
        self.patients = len(patients)
        #: Of every fact that it places.
        self.facts = {Fact(fact): self._fact_fit(Fact(fact)) for fact in self._sources}
        #: Patients whose latest note has a header.
        self.with_header = sum(bool(known.headers) for known in patients)

    def _values(self, fact: Fact) -> list[str]:
        """Return what the notes hold as a fact, but for tags of de-identification."""
        return [value for known in self._known if (value := _value(known, fact)) is not None]

    def _fact_fit(self, fact: Fact) -> _FactFit:
        values = self._values(fact)
        # A tag of de-identification stands in the right place, and is read as what it is.
        tags = sum(fact in known.tagged for known in self._known)
        return _FactFit(len(values) + tags, sum(_is_read(fact, value, self._rules) for value in values) + tags)

    def findings(self) -> Iterator[Finding]:
        """Yield what does not fit."""
        for fact, fit in self.facts.items():
            yield from self._fact_findings(fact, fit)
        for fact in _PERSONAL:
            values = Counter(self._values(fact))
            total, most = values.total(), max(values.values(), default=0)
            if total >= _ENOUGH and most > _MOST_COMMON_SHARE * total:
                text = (
                    f"{most} of {total} patients have one and the same {fact} in their notes; its place seems to hold "
                    "something else"
                )
                yield self._finding(Kind.VALUE_REPEATED, "problem", fact, total - most, total, text)
        for fact in _DATES:
            if fact in self.facts:
                yield from self._order_findings(fact)
        yield from self._birth_findings()
        with_header, patients = self.with_header, self.patients
        if with_header < MINIMUM_SHARE * patients:
            text = (
                f"{with_header} of {patients} notes have a header of the profile; add the headers of these notes to "
                "its sections, or their style to header_styles"
            )
            yield self._finding(Kind.NO_HEADER, "problem", "sections", with_header, patients, text)

    def _finding(self, kind: Kind, level: Level, subject: str, found: int, of: int, text: str) -> Finding:
        return Finding(kind, level, self.layout, subject, found, of, f"{named_layout(self.layout)}: {text}")

    def _fact_findings(self, fact: Fact, fit: _FactFit) -> Iterator[Finding]:
        patients = self.patients
        if fit.found == 0 or (fact in _OPENING_FACTS and fit.found < MINIMUM_SHARE * patients):
            text = (
                f"{fact} is found in {fit.found} of {patients} notes (looked for by {', '.join(self._sources[fact])})"
            )
            if fact in HISTORY and (bare := sum(_lacks_section(known, fact) for known in self._known)):
                text += f"; {bare} of the other {patients - fit.found} have no such header, and nothing to mend"
            level: Level = "problem" if fact in _OPENING_FACTS else "note"
            yield self._finding(Kind.FACT_MISSING, level, fact, fit.found, patients, text)
        if fit.read < fit.found:
            missed = "dates" if fact in _DATES else f"values of {fact}"
            others = f"the others are not {_WHAT.get(fact, 'words')}"
            hint = "no format of date_formats reads the others" if fact in _DATES else others
            text = f"{missed} read: {fit.read} of {fit.found} ({fact}); {hint}"
            yield self._finding(Kind.VALUE_UNREAD, "problem", fact, fit.read, fit.found, text)

    def _order_findings(self, fact: Fact) -> Iterator[Finding]:
        order = date_order(self._values(fact), self._rules)
        total, exchanged, either = order.total(), order["exchanged"], order["either"]
        if exchanged:
            text = (
                f"{exchanged} of {total} dates ({fact}) can be read only with day and month exchanged; give "
                "date_formats the other order (day_first or month_first), or make a layout of these notes"
            )
            yield self._finding(Kind.DATE_ORDER_OTHER, "problem", fact, total - exchanged, total, text)
        elif either == total > 0:
            text = (
                f"all {either} dates ({fact}) can be read as day first and as month first; make sure that date_formats "
                "has the right order"
            )
            level: Level = "problem" if either >= _ENOUGH else "note"
            yield self._finding(Kind.DATE_ORDER_UNTOLD, level, fact, 0, either, text)

    def _birth_findings(self) -> Iterator[Finding]:
        formats, wrong, total = self._rules.date_formats, 0, 0
        for known in self._known:
            seen = read_date(_value(known, Fact.VISIT_DATE) or "", formats)
            born = read_birth_date(_value(known, Fact.DOB) or "", formats, before=seen)
            if born is not None and seen is not None:
                total += 1
                wrong += born > seen
        if wrong:
            text = (
                f"{wrong} of {total} dates of birth are after the visit date of their note; the places of the two may "
                "be exchanged"
            )
            yield self._finding(Kind.BIRTH_AFTER_VISIT, "problem", Fact.DOB, total - wrong, total, text)


def _place(known: PatientFacts, fact: Fact) -> FoundField | None:
    return known.in_note.get(fact) or known.in_prose.get(fact)


def _value(known: PatientFacts, fact: Fact) -> str | None:
    """Return a fact that the note holds; a tag of de-identification is none."""
    field = None if fact in known.tagged else _place(known, fact)
    return None if field is None else field.value


def _is_read(fact: Fact, value: str, layout: Layout) -> bool:
    """Whether a value is one of this fact."""
    if fact in _DATES:
        return read_date(value, layout.date_formats) is not None
    if fact is Fact.AGE:
        return read_age(value) is not None
    if fact is Fact.SEX:
        return read_sex(value) is not None
    if fact not in (Fact.NAME, Fact.PROVIDER, Fact.PRACTICE):
        return any(char.isalnum() for char in value)
    # A name of a person or a place; what holds a colon is a line with a label of its own.
    is_name = any(char.isalpha() for char in value) and len(value) <= _LONGEST_NAME and not set(value) & set(":\n")
    return is_name and not (fact is Fact.NAME and any(char.isdigit() for char in value))


def _lacks_section(known: PatientFacts, fact: Fact) -> bool:
    """Whether a note has neither a section of the fact nor a line that begins with a header for one."""
    if _place(known, fact) is not None:
        return False
    headers = known_words().headers
    return all(headers[name].fact != fact for name, _ in find_known_headers(known.note))


def date_order(values: Iterable[str], layout: Layout) -> Counter[str]:
    """Return how many dates are read `as_said` only, only with day and month `exchanged`, and `either` way.

    Those in words do not count.
    """
    orders: Counter[str] = Counter()
    others = [other for form in layout.date_formats if (other := other_order(form)) is not None]
    for value in values:
        said = next((form for form in layout.date_formats if read_date(value, (form,)) is not None), None)
        if said is None:
            orders["exchanged"] += read_date(value, others) is not None
        elif (other := other_order(said)) is not None:
            orders["either" if read_date(value, (other,)) is not None else "as_said"] += 1
    return orders


def _choice_findings(by_layout: Mapping[str, Sequence[PatientFacts]], patients: int) -> Iterator[Finding]:
    missed = len(by_layout.get(NO_LAYOUT, ()))
    if missed:
        text = f"{missed} of {patients} patients have a latest note that fits no layout; it is read under the last one"
        yield Finding(Kind.NO_LAYOUT, "problem", NO_LAYOUT, "layouts", patients - missed, patients, text)
    for name, of_layout in by_layout.items():
        if not of_layout and name != NO_LAYOUT:
            text = f"{named_layout(name)}: no patient's latest note fits it"
            yield Finding(Kind.LAYOUT_UNUSED, "problem", name, name, 0, patients, text)
