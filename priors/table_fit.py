"""How well a patients table fits the notes it came with: what share of its values stands in the patients' own notes.

Owns the counts and findings over all patients. Knows nothing of how one patient's row is compared (`table_agreement`).
Findings hold counts; never a value or a patient's id.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.profile_fit import MINIMUM_SHARE, Finding, Kind
from clinaudit.priors.table_agreement import IDENTIFYING, Standing, words_of
from clinaudit.priors.tiers import Fact

_NAMES: Final = {Fact.NAME: "name", Fact.DOB: "date of birth", Fact.SEX: "sex"}


@dataclass(frozen=True, slots=True)
class ColumnFit:
    """One column of the patients table beside the notes; counts of patients for whom the table has a value."""

    known: int
    #: The value stands in a note of the patient.
    stands: int
    #: The notes state another, or none where the note template says that they state one.
    differs: int
    #: Neither: the notes do not tell.
    untold: int


@dataclass(frozen=True, slots=True)
class TableFit:
    """How a patients table fits the notes."""

    columns: Mapping[Fact, ColumnFit]
    #: Patients of whose row anything can be compared, and of these the ones with whose notes the row agrees.
    compared: int
    own_rows: int
    #: Problems first.
    findings: tuple[Finding, ...]


def measure_table_fit(patients: Collection[PatientFacts]) -> TableFit:
    """Return how the rows of the patients table agree with the notes of their patients."""
    columns: dict[Fact, ColumnFit] = {}
    for fact in IDENTIFYING:
        told = Counter(known.table[fact] for known in patients if fact in known.table)
        if told:
            columns[fact] = ColumnFit(
                told.total(), told[Standing.STANDS], told[Standing.DIFFERS], told[Standing.UNTOLD]
            )
    compared = [known for known in patients if known.table]
    own = sum(known.is_own_row for known in compared)
    findings = [*_row_findings(compared, own), *_column_findings(columns), *_exchange_findings(patients)]
    return TableFit(columns, len(compared), own, tuple(sorted(findings, key=lambda item: item.level != "problem")))


def _row_findings(compared: Sequence[PatientFacts], own: int) -> Iterator[Finding]:
    if own >= MINIMUM_SHARE * len(compared):
        return
    others = [known.table for known in compared if not known.is_own_row]
    by_birth = sum(
        [fact for fact, standing in told.items() if standing is Standing.DIFFERS] == [Fact.DOB]
        and Standing.STANDS in told.values()
        for told in others
    )
    same_name = sum(told.get(Fact.NAME) is not Standing.DIFFERS for told in others)
    with_header = sum(bool(known.headers) for known in compared)
    text = (
        f"patients table: {own} of {len(compared)} rows agree with the notes of their patient on name, date of birth "
        "and sex; "
    )
    if not any(Standing.DIFFERS in told.values() for told in others):
        text += "the notes of the others tell none of these, so that nothing shows whose rows they are"
    elif 2 * with_header < len(compared) and 2 * same_name > len(others):
        text += "few notes have a header of the note template, which seems to be that of other notes: mend it first"
    elif 2 * by_birth > len(others):
        text += (
            f"{by_birth} of the others differ in the date of birth alone: make sure that date_formats has the right "
            "order of day and month, and that the table has the right dates"
        )
    else:
        text += "the table seems to be joined to other patients, and prompts made of it ask about somebody else"
    yield Finding(Kind.TABLE_OF_OTHERS, "problem", None, "patients", own, len(compared), text)


def _column_findings(columns: Mapping[Fact, ColumnFit]) -> Iterator[Finding]:
    for fact, fit in columns.items():
        name = _NAMES[fact]
        if fit.differs:
            text = (
                f"patients table: for {fit.differs} of {fit.known} patients the notes have another {name} than the "
                "table, or none where the note template says that they have one"
            )
            level: Literal["problem", "note"] = "problem" if fit.differs > (1 - MINIMUM_SHARE) * fit.known else "note"
            yield Finding(Kind.TABLE_DIFFERS, level, None, fact, fit.known - fit.differs, fit.known, text)
        if fit.untold:
            text = f"patients table: for {fit.untold} of {fit.known} patients the notes do not tell the {name}"
            yield Finding(Kind.TABLE_UNTOLD, "note", None, fact, fit.known - fit.untold, fit.known, text)


def _exchange_findings(patients: Collection[PatientFacts]) -> Iterator[Finding]:
    """Find provider and practice of the notes table exchanged: each stands in the note where the note has the other."""
    exchanged = compared = 0
    for known in patients:
        said = {Fact.PROVIDER: known.latest.provider, Fact.PRACTICE: known.latest.practice}
        stated = {fact: known.in_note[fact].value for fact in said if fact in known.in_note}
        if len(stated) < len(said) or None in said.values():
            continue
        compared += 1
        here, there = said[Fact.PROVIDER], said[Fact.PRACTICE]
        is_right = _is_same(here, stated[Fact.PROVIDER]) or _is_same(there, stated[Fact.PRACTICE])
        exchanged += not is_right and _is_same(here, stated[Fact.PRACTICE]) and _is_same(there, stated[Fact.PROVIDER])
    if exchanged:
        text = (
            f"notes table: for {exchanged} of {compared} patients the note has the table's provider as its practice, "
            "and the practice as its provider; the two columns, or the two places in the note template, are exchanged"
        )
        yield Finding(Kind.TABLE_EXCHANGED, "problem", None, Fact.PROVIDER, compared - exchanged, compared, text)


def _is_same(said: str | None, stated: str) -> bool:
    """Whether a table's value is what a note states; titles and parts of a place's name are often left out."""
    one, other = set(words_of(said or "")), set(words_of(stated))
    return bool(one and other) and (one <= other or other <= one)
