"""The fit of a note-template profile to a corpus: in the patients' latest notes, by layout, and in their table.

Owns what only notes can show: a label that never occurs, a date that no format reads, facts that the profile calls
absent and the notes hold (by the words and shapes with which `template learn` finds facts), the share of the table's
values that stands in the patients' own notes, and facts that the template finds in the wrong place, so that a prompt
that rests on one does not fit. Findings hold words of the profile and counts; never a note's text or a patient's id.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import polars as pl

from clinaudit.audit.runtime.cluster import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts, read_shard
from clinaudit.priors.introduction import read_age, read_sex
from clinaudit.priors.table_agreement import IDENTIFYING, Standing
from clinaudit.priors.tiers import HISTORY, Fact
from clinaudit.templates.dates import other_order, read_birth_date, read_date
from clinaudit.templates.header_styles import NO_LAYOUT, named_layout
from clinaudit.templates.learning import MOST, LearningSample
from clinaudit.templates.learning.labels import fact_of_label
from clinaudit.templates.learning.proposal import propose_profile
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.note_fields import placed_sources
from clinaudit.templates.profile import Layout, NoteProfile
from clinaudit.templates.shown_text import HOW_TO_BREAK, HOW_TO_READ, form_of, show, unbroken_form

#: A fact of the fragment tiers that is found for fewer of a layout's patients is a problem: its prompts would miss it.
MINIMUM_SHARE: Final = 0.9
#: Beside the facts a place of every layout: any header of the profile.
ANY_HEADER: Final = "some header"
_DATES: Final = (Fact.DOB, Fact.VISIT_DATE)
_NAMES: Final = (Fact.NAME, Fact.PROVIDER, Fact.PRACTICE)
#: Facts of the fragment tiers; any other may well be missing from a note.
_OPENING_FACTS: Final = (*_NAMES, *_DATES, Fact.CHIEF_COMPLAINT, Fact.HPI)
#: Facts that differ between patients; one value for most of them is a place of something else.
_PERSONAL: Final = (Fact.NAME, Fact.DOB)
#: From so many patients on, chance does not make all days of the month 12 or less ((12/31)^10 < 0.0001), nor one
#: value the most common name.
_ENOUGH: Final = 10
_MOST_COMMON: Final = 0.5
#: A name longer than this is a line of text.
_LONGEST_NAME: Final = 100
_WHAT: Final = {
    **dict.fromkeys(_DATES, "a date in any of date_formats"),
    **dict.fromkeys(_NAMES, "a name"),
    Fact.AGE: "an age in years",
    Fact.SEX: "a sex",
}


class Kind(StrEnum):
    """What a finding is about, in the words of a run's report."""

    NO_LAYOUT = "notes fit no layout of the template"
    LAYOUT_UNUSED = "a layout of the template fits no note"
    NO_HEADER = "notes have no header of the template"
    FACT_MISSING = "the template does not find facts"
    VALUE_UNREAD = "the template finds values that are not what they should be"
    VALUE_REPEATED = "the template finds one and the same value in most notes"
    DATE_ORDER_UNTOLD = "nothing tells whether day or month comes first"
    DATE_ORDER_OTHER = "dates can be read only with day and month exchanged"
    BIRTH_AFTER_VISIT = "dates of birth are after the visit"
    #: Of the text of the notes (`find_misfits`).
    FACT_DENIED = "facts stand in the notes that the template denies, so that prompts may show what their tier must not"
    LABEL_UNREAD = "notes have a label of dates that no format of the template reads"
    NOT_PLAIN = "notes are RTF or HTML, in which the template finds little"
    NO_LINES = "notes have no line breaks, so that the template finds no headers"
    #: Of the tables (`find_table_misfits`).
    TABLE_OF_OTHERS = "nothing shows that rows of the patients table are their patients' own"
    TABLE_DIFFERS = "the notes have another value than the patients table, or none"


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which a profile does not fit its corpus: it makes prompts or figures wrong, or few."""

    kind: Kind
    #: Name of the layout, or `NO_LAYOUT`; None where it is about all notes.
    layout: str | None
    #: What it is about: a fact, `ANY_HEADER`, a layout, `layouts`, `notes`, `patients`.
    subject: str
    #: Of `of` patients or values `found` are as the profile says, or are of use.
    found: int
    of: int
    #: One sentence for the reader, counts included.
    text: str


_PLACES: Final = {
    **dict.fromkeys(("layout", "arm", "place"), pl.String),
    "is_found": pl.Boolean,
    "value": pl.String,
    "is_read": pl.Boolean,
    "order": pl.String,
    "is_late": pl.Boolean,
}


def tabulate_places(facts: Mapping[str, PatientFacts], profile: NoteProfile) -> pl.DataFrame:
    """Return what the notes that these patients are asked with hold, a row a note and place of its layout.

    Columns: layout, arm, place (a fact, or `ANY_HEADER`), is_found; the value, null for a tag of de-identification,
    which stands in the right place; is_read, whether the value is what the fact says; of a date its order
    (`_order_of`); is_late, of a date of birth whether it is after the visit.
    """
    rules = {layout.name: (layout, placed_sources(layout)) for layout in profile.layouts}
    rows: list[tuple[object, ...]] = []
    for known in (source for patient in facts.values() for source in patient.sources):
        # A note that fits no layout is read under the last one.
        layout, placed = rules.get(known.layout, rules[profile.layouts[-1].name])
        formats = layout.date_formats
        rows.append((known.layout, known.arm, ANY_HEADER, bool(known.headers), None, True, None, None))
        # A tag of de-identification is no value.
        fields = {
            fact: field for fact, field in {**known.in_prose, **known.in_note}.items() if fact not in known.tagged
        }
        values = {fact: fields[fact].value if fact in fields else None for fact in Fact}
        for fact in map(Fact, placed):
            value, order, is_late = values[fact], None, None
            is_found = value is not None or fact in known.tagged
            if value is not None and fact in _DATES:
                order = _order_of(value, formats)
            if value is not None and fact is Fact.DOB:
                seen = read_date(values[Fact.VISIT_DATE] or "", formats)
                born = read_birth_date(value, formats, before=seen)
                is_late = None if born is None or seen is None else born > seen
            is_read = value is None or _is_read(fact, value, layout)
            rows.append((known.layout, known.arm, fact, is_found, value, is_read, order, is_late))
    return pl.DataFrame(rows, schema=_PLACES, orient="row")


def _is_read(fact: Fact, value: str, layout: Layout) -> bool:
    """Whether a value is one of this fact."""
    if fact in _DATES:
        return read_date(value, layout.date_formats) is not None
    if fact is Fact.AGE:
        return read_age(value) is not None
    if fact is Fact.SEX:
        return read_sex(value) is not None
    if fact not in _NAMES:
        return any(char.isalnum() for char in value)
    # A name of a person or a place; what holds a colon is a line with a label of its own.
    is_name = any(char.isalpha() for char in value) and len(value) <= _LONGEST_NAME and not set(value) & set(":\n")
    return is_name and not (fact is Fact.NAME and any(char.isdigit() for char in value))


def _order_of(value: str, formats: tuple[str, ...]) -> str | None:
    """Return whether a date is read `as_said` only, only with day and month `exchanged`, or `either` way.

    None for one in words, or that nothing reads.
    """
    said = next((form for form in formats if read_date(value, (form,)) is not None), None)
    others = [other for form in ([said] if said else formats) if (other := other_order(form)) is not None]
    is_other = read_date(value, others) is not None
    if said is None:
        return "exchanged" if is_other else None
    return ("either" if is_other else "as_said") if others else None


_FOUND, _PATIENTS, _VALUES, _DATED = map(pl.col, ("found", "patients", "values", "dates"))
_IS_HEADER: Final = pl.col("place") == ANY_HEADER
#: How a place of a layout can be wrong: when it is, how many are right, of what, and what is said of it.
_CHECKS: Final[tuple[tuple[Kind, pl.Expr, pl.Expr, str, str], ...]] = (
    (
        Kind.NO_HEADER,
        _IS_HEADER & (_FOUND < MINIMUM_SHARE * _PATIENTS),
        _FOUND,
        "patients",
        "{found} of {patients} notes have a header of the profile; add the headers of these notes to its sections, or "
        "their style to header_styles, before all else: whatever else is said here, of the tables too, may follow",
    ),
    (
        Kind.FACT_MISSING,
        pl.col("place").is_in(list(_OPENING_FACTS)) & (_FOUND < MINIMUM_SHARE * _PATIENTS),
        _FOUND,
        "patients",
        "{place} is found in {found} of {patients} notes (looked for by {sources})",
    ),
    (
        Kind.VALUE_UNREAD,
        pl.col("read") < _FOUND,
        pl.col("read"),
        "found",
        "{place} is {what} in {read} of the {found} notes in which it is found, and something else in the others",
    ),
    (
        Kind.VALUE_REPEATED,
        pl.col("place").is_in(list(_PERSONAL)) & (_VALUES >= _ENOUGH) & (pl.col("repeated") > _MOST_COMMON * _VALUES),
        _VALUES - pl.col("repeated"),
        "values",
        "{repeated} of {values} patients have one and the same {place} in their notes; its place seems to hold "
        "something else",
    ),
    (
        Kind.DATE_ORDER_OTHER,
        pl.col("exchanged") > 0,
        _DATED - pl.col("exchanged"),
        "dates",
        "{exchanged} of {dates} dates ({place}) can be read only with day and month exchanged; give date_formats the "
        "other order (day_first or month_first), or make a layout of these notes",
    ),
    (
        Kind.DATE_ORDER_UNTOLD,
        (pl.col("either") == _DATED) & (_DATED >= _ENOUGH),
        pl.lit(0),
        "dates",
        "all {dates} dates ({place}) can be read as day first and as month first; make sure that date_formats has the "
        "right order",
    ),
    (
        Kind.BIRTH_AFTER_VISIT,
        pl.col("late") > 0,
        pl.col("births") - pl.col("late"),
        "births",
        "{late} of {births} dates of birth are after the visit date of their note; the places of the two may be "
        "exchanged",
    ),
)


def find_misplaced(places: pl.DataFrame, profile: NoteProfile, *, patients: int) -> Iterator[Finding]:
    """Yield how the profile does not fit the notes that so many patients are asked with (`tabulate_places`)."""
    counts = places.group_by("layout", "place", maintain_order=True).agg(
        patients=pl.len(),
        found=pl.col("is_found").sum(),
        read=(pl.col("is_found") & pl.col("is_read")).sum(),
        values=pl.col("value").count(),
        repeated=pl.col("value").drop_nulls().unique_counts().max(),
        dates=pl.col("order").count(),
        exchanged=(pl.col("order") == "exchanged").sum(),
        either=(pl.col("order") == "either").sum(),
        births=pl.col("is_late").count(),
        late=pl.col("is_late").sum(),
    )
    sources = {layout.name: placed_sources(layout) for layout in profile.layouts}
    for kind, wrong, right, of, text in _CHECKS:
        for row in counts.filter(wrong).with_columns(right=right).rows(named=True):
            placed = sources.get(row["layout"], sources[profile.layouts[-1].name])
            said = {"sources": ", ".join(placed.get(row["place"], ())), "what": _WHAT.get(row["place"], "words")}
            named = f"{named_layout(row['layout'])}: {text.format(**row, **said)}"
            yield Finding(kind, row["layout"], row["place"], row["right"], row[of], named)
    notes = dict(places.filter(_IS_HEADER).group_by("layout").len().rows())
    if missed := notes.get(NO_LAYOUT, 0):
        text = f"{missed} of {patients} patients have a latest note that fits no layout; it is read under the last one"
        yield Finding(Kind.NO_LAYOUT, NO_LAYOUT, "layouts", patients - missed, patients, text)
    for name in (layout.name for layout in profile.layouts if layout.name not in notes):
        text = f"{named_layout(name)}: no patient's latest note fits it"
        yield Finding(Kind.LAYOUT_UNUSED, name, name, 0, patients, text)


#: More of a layout's notes tell no more of what stands in most.
_MOST_NOTES: Final = 100
#: A note with fewer has none that a reader finds where they are.
_FEW_HEADERS: Final = 2
#: Notes that a process reads facts of at a time, and what the last patient has more.
_SHARD_NOTES: Final = 100
#: Facts whose shape alone tells them in a banner.
_SHAPED: Final = frozenset({"name", "dob", "age", "sex", "visit_date"})


def find_misfits(facts: Mapping[str, PatientFacts], profile: NoteProfile) -> tuple[pl.DataFrame, list[Finding]]:
    """Return what the profile finds in the notes asked with (`tabulate_places`), and what is wrong with it."""
    places = tabulate_places(facts, profile)
    found = [*find_misplaced(places, profile, patients=len(facts))]
    sources = [source for known in facts.values() for source in known.sources]
    rules = {layout.name: layout for layout in profile.layouts}
    for name in {known.layout: None for known in sources if known.layout != NO_LAYOUT}:
        patients = [known for known in sources if known.layout == name]
        patients = patients[:: -(-len(patients) // _MOST_NOTES)]
        found += _denied(rules.get(name, profile.layouts[-1]), patients, profile.date_formats)
        found += _not_plain(patients)
    return places, found


def _denied(layout: Layout, patients: Sequence[PatientFacts], formats: Sequence[str]) -> Iterator[Finding]:
    """Yield the facts that the layout says do not stand in its notes, and that most hold, or most have a label for."""
    denied = layout.fields.keys() - placed_sources(layout).keys()
    # What the learner finds in the notes without the tables, but for the birth: its date is not the visit's.
    notes = []
    for known in patients if denied else ():
        of_table = known.values[Fact.DOB] if Fact.DOB in known.from_table else ""
        born = read_date(of_table, formats)
        notes.append(LearningSample(show(normalize_newlines(known.note)).text, {Fact.DOB: born} if born else {}))
    name, learned = patients[0].layout, propose_profile(notes) if denied else None
    if learned is None:
        return
    # Facts -> notes that hold them. What a value only looks like may be another fact: the words of its label tell.
    standing = {fact: learned.headers.patients[words[0]] for fact, words in learned.under.items()}
    for item, found in learned.patterns:
        standing |= {fact: found for fact in item.pattern.groups if fact in _SHAPED and not item.in_whole_note}
    standing |= {use.fact: use.patients for use in learned.labels if use.fact and fact_of_label(use.label) == use.fact}
    for fact, found in sorted(standing.items()):
        if fact in denied and found > MOST * len(patients):
            text = (
                f"{named_layout(name)}: not_in_notes names {fact}, and {found} of {len(patients)} notes looked at hold "
                "it; say where it stands: prompts may hold it at tiers that do not know it"
            )
            yield Finding(Kind.FACT_DENIED, name, fact, len(patients) - found, len(patients), text)
    for use in learned.labels:
        if use.unread in denied and use.patients > MOST * len(patients):
            text = (
                f"{named_layout(name)}: {use.patients} of {len(patients)} notes looked at have the label {use.label}, "
                f"and its dates are not read; if date_formats can give their spelling, do, and name the label in "
                f"fields.{use.unread}. Without it no prompt counts on the {use.unread}, and some show it all the same"
            )
            rest = len(patients) - use.patients
            yield Finding(Kind.LABEL_UNREAD, name, str(use.unread), rest, len(patients), text)


def _not_plain(patients: Sequence[PatientFacts]) -> Iterator[Finding]:
    name, forms = patients[0].layout, (form_of(known.note) for known in patients)
    for form, found in sorted(Counter(form for form in forms if form is not None).items()):
        text = (
            f"{named_layout(name)}: {found} of {len(patients)} notes looked at are {form}, or hold it; headers and "
            f"facts are looked for in plain text. If the model learned them as plain text, {HOW_TO_READ}"
        )
        yield Finding(Kind.NOT_PLAIN, name, "notes", len(patients) - found, len(patients), text)
    # Dictation may well have its headers in one line.
    unread = [known for known in patients if len(known.headers) < _FEW_HEADERS]
    breaks = (unbroken_form(normalize_newlines(known.note)) for known in unread)
    for how, found in sorted(Counter(how for how in breaks if how is not None).items()):
        if found > (1 - MINIMUM_SHARE) * len(patients):
            text = f"{named_layout(name)}: {found} of {len(patients)} notes looked at have {how}; {HOW_TO_BREAK}"
            yield Finding(Kind.NO_LINES, name, "notes", len(patients) - found, len(patients), text)


_KINDS: Final = frozenset({Kind.VALUE_UNREAD, Kind.VALUE_REPEATED, Kind.DATE_ORDER_OTHER, Kind.BIRTH_AFTER_VISIT})


def read_all_facts(
    corpus: Corpus, profile: NoteProfile, progress: Progress, runner: ShardRunner = ALL_CORES
) -> dict[str, PatientFacts]:
    """Return the facts of all patients of the arms, sorted by id, with those marked that are doubtful."""
    read = read_facts_in_shards(corpus, profile, corpus.patients, progress, runner)
    return mark_doubtful_facts({known.patient_id: known for known in read}, profile)


def read_facts_in_shards(
    corpus: Corpus, profile: NoteProfile, patient_ids: Collection[str], progress: Progress, runner: ShardRunner
) -> Iterator[PatientFacts]:
    """Yield the facts of some patients of the arms, in their order."""
    asked = ((corpus.patients[patient_id], corpus.notes_of(patient_id)) for patient_id in patient_ids)
    with progress.stage("reading facts", total=len(patient_ids), unit="patients") as advance:
        shards = batches(asked, lambda one: len(one[1]), _SHARD_NOTES)
        for found in runner.map(read_shard, profile, shards):
            yield from (known.of(corpus.notes_of(known.patient_id)) for known in found)
            advance(len(found))


def mark_doubtful_facts(facts: Mapping[str, PatientFacts], profile: NoteProfile) -> dict[str, PatientFacts]:
    """Return the facts of all patients (by id), with those marked that are doubtful in the layout of their note."""
    doubtful: dict[str, set[Fact]] = {}
    rare: dict[str, set[Fact]] = {}
    for finding in find_misplaced(tabulate_places(facts, profile), profile, patients=len(facts)):
        if finding.kind in _KINDS and finding.layout is not None and finding.found < MINIMUM_SHARE * finding.of:
            marked = doubtful.setdefault(finding.layout, set())
            marked.add(Fact(finding.subject))
            if finding.kind is Kind.BIRTH_AFTER_VISIT:
                marked.update(_DATES)
        elif finding.kind is Kind.FACT_MISSING and finding.layout is not None and 2 * finding.found < finding.of:
            # A section may be missing from a note; from most notes of a layout it is missing for the template alone.
            rare.setdefault(finding.layout, set()).update(HISTORY.intersection({finding.subject}))

    def mark(known: PatientFacts) -> PatientFacts:
        wrong, seldom = (of.get(known.layout, set()) for of in (doubtful, rare))
        # Without an age or a date of birth in the table the age follows from the note's dates.
        follows = (
            {Fact.AGE} if wrong.intersection(_DATES) and known.from_table.isdisjoint({Fact.AGE, Fact.DOB}) else set()
        )
        earlier = {tier: mark(older) for tier, older in known.earlier.items()}
        return replace(known, doubtful=frozenset(wrong | follows), rarely_found=frozenset(seldom), earlier=earlier)

    return {patient_id: mark(known) for patient_id, known in facts.items()}


def count_standing(patients: Collection[PatientFacts]) -> dict[Fact, Counter[Standing]]:
    """Return of each column of the patients table the patients with a value, by whether it stands in their notes."""
    told = {fact: Counter(known.table[fact] for known in patients if fact in known.table) for fact in IDENTIFYING}
    return {fact: of_fact for fact, of_fact in told.items() if of_fact}


def count_own_rows(patients: Collection[PatientFacts]) -> tuple[int, int]:
    """Return for how many patients the row agrees with their notes, of how many with anything to compare."""
    rows = [known.is_own_row for known in patients if known.table]
    return sum(rows), len(rows)


def find_table_misfits(patients: Collection[PatientFacts]) -> Iterator[Finding]:
    """Yield how the rows of the patients table do not agree with the notes of their patients."""
    own, compared = count_own_rows(patients)
    if own < MINIMUM_SHARE * compared:
        text = (
            f"patients table: {own} of {compared} rows agree with the notes of their patient on name, date of birth "
            "and sex. Prompts made of the others may ask about somebody else: make sure that the rows are of these "
            "patients, the template is of these notes, and date_formats has the right order of day and month"
        )
        yield Finding(Kind.TABLE_OF_OTHERS, None, "patients", own, compared, text)
    for fact, of_fact in count_standing(patients).items():
        known, differs = of_fact.total(), of_fact[Standing.DIFFERS]
        if differs > (1 - MINIMUM_SHARE) * known:
            text = (
                f"patients table: for {differs} of {known} patients the notes have another {fact} than the table, or "
                "none where the note template says that they have one"
            )
            yield Finding(Kind.TABLE_DIFFERS, None, fact, known - differs, known, text)
