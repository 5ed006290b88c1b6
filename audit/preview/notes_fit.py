"""How notes and patients table fit each other and a note-template profile, beyond what `profile_fit` counts.

What the text says of facts that the profile calls absent, by the words and shapes with which `template learn` finds
facts; what share of the table's values stands in the patients' own notes; and which facts the template finds in the
wrong place, so that a prompt that rests on one does not fit. Findings hold words of the profile and counts.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from clinaudit.audit.preview.profile_fit import MINIMUM_SHARE, Finding, Kind, find_misplaced, tabulate_places
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts, read_shard
from clinaudit.priors.table_agreement import IDENTIFYING, Standing
from clinaudit.priors.tiers import HISTORY, Fact
from clinaudit.templates.learning import MOST, LearningSample
from clinaudit.templates.learning.known_words import fact_of_label
from clinaudit.templates.learning.proposal import Proposal, propose_profile
from clinaudit.templates.markup import HOW_TO_READ, form_of
from clinaudit.templates.names import NO_LAYOUT, named_layout
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.note_fields import placed_sources
from clinaudit.templates.profile import Layout, NoteProfile
from clinaudit.templates.shown_text import HOW_TO_BREAK, show, unbroken_form

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
        found += [*_denied(rules.get(name, profile.layouts[-1]), patients), *_not_plain(patients)]
    return places, found


def _denied(layout: Layout, patients: Sequence[PatientFacts]) -> Iterator[Finding]:
    """Yield the facts that the layout says do not stand in its notes, and that most hold, or most have a label for."""
    denied = layout.fields.keys() - placed_sources(layout).keys()
    name, learned = patients[0].layout, _learn(patients) if denied else None
    if learned is None:
        return
    for fact, found in sorted(_standing(learned).items()):
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


def _learn(patients: Sequence[PatientFacts]) -> Proposal | None:
    """Return what the learner finds in the notes without the tables."""
    notes = [LearningSample(show(normalize_newlines(known.note)).text, {}) for known in patients]
    return propose_profile(notes)


def _standing(proposal: Proposal) -> Mapping[str, int]:
    """Return facts -> notes that hold them."""
    # What a value only looks like may be another fact: the words of its label tell.
    told = {use.fact: use.patients for use in proposal.labels if use.fact and fact_of_label(use.label) == use.fact}
    shaped = {
        fact: use.patients
        for use in proposal.patterns
        for fact in use.facts
        if fact in _SHAPED and not use.in_whole_note
    }
    headers = {fact: proposal.headers.patients[words[0]] for fact, words in proposal.under.items()}
    return {**headers, **shaped, **told}


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
_DATES: Final = frozenset({Fact.DOB, Fact.VISIT_DATE})


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
                marked |= _DATES
        elif finding.kind is Kind.FACT_MISSING and finding.layout is not None and 2 * finding.found < finding.of:
            # A section may be missing from a note; from most notes of a layout it is missing for the template alone.
            rare.setdefault(finding.layout, set()).update(HISTORY.intersection({finding.subject}))
    return {patient_id: _mark(known, doubtful, rare) for patient_id, known in facts.items()}


def _mark(
    known: PatientFacts, by_layout: Mapping[str, set[Fact]], rare_by_layout: Mapping[str, set[Fact]]
) -> PatientFacts:
    doubtful, rare = (of.get(known.layout, set()) for of in (by_layout, rare_by_layout))
    # Without an age or a date of birth in the table the age follows from the note's dates.
    follows = {Fact.AGE} if doubtful & _DATES and known.from_table.isdisjoint({Fact.AGE, Fact.DOB}) else set()
    earlier = {tier: _mark(older, by_layout, rare_by_layout) for tier, older in known.earlier.items()}
    return replace(known, doubtful=frozenset(doubtful | follows), rarely_found=frozenset(rare), earlier=earlier)


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
