"""What the demo plants and what it leaves out: every naming of a diagnosis in a note stands in the truth table."""

import re

import pytest

from clinaudit.audit.demo.corpus import write_notes
from clinaudit.audit.demo.population import DIAGNOSES, draw_population

#: Top-level headers in the order in which a note holds them; those of `OPTIONAL_HEADERS` only where they have content.
HEADERS: tuple[str, ...] = (
    "patient",
    "dob",
    "visit date",
    "provider",
    "location",
    "cc",
    "hpi",
    "ros",
    "past medical history / family history / social history",
    "past medical history",
    "surgical history",
    "family history",
    "social history",
    "marital status",
    "occupation",
    "children",
    "tobacco/alcohol/supplements",
    "gynecological history",
    "mental health history",
    "current problems",
    "current medications",
    "allergies",
    "vitals",
    "physical exam",
    "assessment",
    "plan",
)
OPTIONAL_HEADERS = frozenset({"gynecological history", "mental health history"})


def charts(seed: int):
    return [(p, write_notes(p, seed=seed)) for p in draw_population(seed=seed, patients_per_arm=40)]


@pytest.mark.parametrize("seed", range(3))
def test_whoever_lacks_a_diagnosis_is_named_with_it_only_where_planted(seed: int) -> None:
    statuses = set()
    for patient, notes in charts(seed):
        for diagnosis in DIAGNOSES:
            if patient.has(diagnosis.id):
                continue
            drugs = [choice.split()[0] for choice in diagnosis.medications]
            for note in notes:
                planted = [m for m in note.mentions if m.diagnosis == diagnosis.id]
                statuses |= {mention.status for mention in planted}
                rest = note.text
                for mention in planted:
                    assert mention.text in note.text
                    rest = rest.replace(mention.text, "")
                # Whole words: an allergy with hives is no hiv.
                assert not re.search(rf"\b({'|'.join([*diagnosis.names, *drugs])})\b", rest)
    assert statuses == {"denied", "family", "education"}


@pytest.mark.parametrize("seed", range(3))
def test_whoever_has_a_diagnosis_is_named_with_it_in_the_latest_note(seed: int) -> None:
    for patient, notes in charts(seed):
        for planted in patient.sensitive:
            present = {m.text for m in notes[-1].mentions if m.diagnosis == planted.diagnosis.id}
            assert planted.history in present
            assert all(text in notes[-1].text for text in present)


def test_headers_stand_in_the_order_of_the_template() -> None:
    for _, notes in charts(0):
        for note in notes:
            lines = note.text.splitlines()
            found = [line.split(":")[0] for line in lines]
            positions = [found.index(header) for header in HEADERS if header in found]
            assert positions == sorted(positions)
            assert set(HEADERS) - set(found) <= OPTIONAL_HEADERS


def test_visits_ascend_and_age_is_that_of_the_last() -> None:
    for patient, notes in charts(0):
        assert list(patient.visits) == sorted(set(patient.visits))
        last, born = patient.visits[-1], patient.dob
        assert patient.age == last.year - born.year - ((last.month, last.day) < (born.month, born.day))
        assert 19 <= patient.age <= 88
        assert f"{patient.age}-year-old" in notes[-1].text
