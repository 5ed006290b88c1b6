"""Longitudinal coverage and practices from hand-made notes, with values worked out by hand (the paper's Appendix E)."""

from datetime import date
from types import SimpleNamespace
from typing import cast

import pytest
from support.tallies import inside, number, numbers

from clinaudit.audit.measures.population.description import LONG, ONE, SHORT, describe_follow_up, describe_population
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.facts import PatientFacts
from clinaudit.reports.schema.corpus import FOLLOW_UP_UNKNOWN

Visit = tuple[date | None, str | None]


def corpus_of(notes: dict[str, list[Visit]]) -> Corpus:
    of = {
        patient: [SimpleNamespace(visit_date=visit, practice=practice) for visit, practice in own]
        for patient, own in notes.items()
    }
    people = {patient: SimpleNamespace(race=None) for patient in notes}
    corpus = SimpleNamespace(notes_of=of.__getitem__, patients=people, patient=people.__getitem__)
    return cast("Corpus", corpus)


def test_spans_and_rates_by_hand() -> None:
    first = date(2020, 1, 1)
    corpus = corpus_of(
        {
            # Two notes of one day are one encounter.
            "once": [(first, None), (first, None)],
            # 30 days are not more than 30.
            "month": [(first, None), (date(2020, 1, 31), None)],
            # 487 days are 4/3 of a year: 4 notes are 3 a year.
            "year": [(first, None), (first, None), (date(2021, 5, 2), None), (first, None)],
            # 1461 days are 4 years, out of order: 2 notes are 0.5 a year.
            "years": [(date(2024, 1, 1), None), (first, None)],
            # One note without a date: nothing is guessed from the others.
            "unknown": [(first, None), (None, None), (date(2024, 1, 1), None)],
        }
    )
    found = describe_follow_up(["once", "month", "year", "years", "unknown"], corpus)
    assert numbers(found.patients) == {ONE: 1, SHORT: 2, LONG: 1, FOLLOW_UP_UNKNOWN: 1}
    spans = [0, 30 / 365.25, 4 / 3, 4]
    assert inside(found.evidence).span_years.mean == pytest.approx(sum(spans) / 4)
    assert inside(found.evidence).span_years.median == pytest.approx((30 / 365.25 + 4 / 3) / 2)
    assert inside(found.evidence).notes_per_year.mean == pytest.approx((3 + 0.5) / 2)
    assert inside(found.evidence).notes_per_year.p25 == pytest.approx(0.5 + 2.5 / 4)


@pytest.mark.parametrize(("days", "cell"), [(1095, SHORT), (1096, LONG)])
def test_three_years_are_1095_days_and_three_quarters(days: int, cell: str) -> None:
    first = date(2020, 1, 1)
    corpus = corpus_of({"a": [(first, None), (date.fromordinal(first.toordinal() + days), None)]})
    assert numbers(describe_follow_up(["a"], corpus).patients)[cell] == 1


@pytest.mark.parametrize(("days", "cell"), [(36525, LONG), (36526, FOLLOW_UP_UNKNOWN)])
def test_dates_more_than_a_century_apart_are_not_believed(days: int, cell: str) -> None:
    first = date(1900, 1, 1)
    corpus = corpus_of({"a": [(first, None), (date.fromordinal(first.toordinal() + days), None)]})
    found = describe_follow_up(["a"], corpus)
    assert {name for name, count in numbers(found.patients).items() if count} == {cell}
    assert (inside(found.evidence).span_years.mean is None) is (cell == FOLLOW_UP_UNKNOWN)


def test_nobody_has_no_figures() -> None:
    found = describe_follow_up([], corpus_of({}))
    assert inside(found.evidence).span_years.median is None
    assert inside(found.evidence).notes_per_year.mean is None


def test_practices_count_their_notes_and_each_patient_once() -> None:
    notes: dict[str, list[Visit]] = {
        "a": [(None, "north"), (None, "north"), (None, "south")],
        "b": [(None, "north")],
        "c": [(None, None)],
    }
    unknown = cast("PatientFacts", SimpleNamespace(age=None, sex=None))
    tally = describe_population(
        list(notes),
        corpus=corpus_of(notes),
        facts=dict.fromkeys(notes, unknown),
        tokens=dict.fromkeys(notes, 100),
        is_split=True,
    )
    found = inside(tally.evidence)
    assert (number(inside(tally.practices).range), number(inside(tally.practice_patients).range)) == (2, 3)
    assert not tally.is_placed
    assert found.notes_per_practice is not None
    assert found.patients_per_practice is not None
    # North 3 notes of a and b, south 1 of a.
    assert (found.notes_per_practice.mean, found.notes_per_practice.min, found.notes_per_practice.max) == (2, 1, 3)
    assert (found.patients_per_practice.mean, found.patients_per_practice.max) == (1.5, 2)
    assert found.notes_without_practice == 1
