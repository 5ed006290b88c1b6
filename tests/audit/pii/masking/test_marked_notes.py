"""What is masked of notes in which a reader marked what identifies somebody, and of names that look clinical."""

import json

import pytest
from support.aci_bench import ACI_BENCH
from support.pii.clinical_words import CLINICAL, NAMES
from support.pii.marked_notes import YEAR, Mark, kinds_of, left_of, read_marks, wrong_of
from support.pii.masked_by_rules import FIRST, SECOND, masked

from clinaudit.audit.pii.masking import PromptMasker
from clinaudit.audit.pii.taxonomy import categories

MASKER = PromptMasker(FIRST, second=SECOND)
MOST_WRONG_A_NOTE = 0.1
MOST_QUASI_LEFT = 0.1


def hidden_in(text: str) -> list[tuple[int, int]]:
    return [(hidden.start, hidden.end) for hidden in MASKER.hidden_in(text)]


def test_marks_are_compared_with_what_is_hidden() -> None:
    text = "Ada Lund, 34, has asthma since 2018."
    marks = [Mark(0, 8, "patient_name"), Mark(10, 12, "age"), Mark(31, 35, YEAR)]
    # "Lund" alone is hidden, the age is, and so is "asthma", which nobody marked.
    hidden = [(4, 8), (10, 12), (18, 24)]
    assert left_of(text, marks, hidden) == [marks[0], marks[2]]
    assert wrong_of(marks, hidden) == [(18, 24)]
    assert left_of(text, marks, [(0, 3), (4, 8), (10, 12), (31, 35)]) == []


def test_the_marks_are_of_known_kinds() -> None:
    marks = read_marks()
    assert len(marks) == 45
    assert kinds_of(marks) - {YEAR} <= set(categories())


@pytest.mark.skipif(not ACI_BENCH.is_dir(), reason="ACI-Bench is not beside the repository")
def test_nothing_direct_is_left_of_marked_notes_and_little_is_masked_wrongly() -> None:
    rows = map(json.loads, (ACI_BENCH / "notes.jsonl").read_text(encoding="utf-8").splitlines())
    texts = {row["note_id"]: row["text"] for row in rows}
    left: list[Mark] = []
    wrong = known = 0
    marks = read_marks()
    for note_id, of_note in marks.items():
        hidden = hidden_in(texts[note_id])
        # A text that is withheld would leave nothing.
        assert hidden != [(0, len(texts[note_id]))]
        looked_for = [mark for mark in of_note if mark.kind != YEAR]
        left += left_of(texts[note_id], looked_for, hidden)
        known += sum(not categories()[mark.kind].direct for mark in looked_for)
        wrong += len(wrong_of(of_note, hidden))
    assert [mark.kind for mark in left if categories()[mark.kind].direct] == []
    assert len(left) <= MOST_QUASI_LEFT * known
    assert wrong <= MOST_WRONG_A_NOTE * len(marks)


@pytest.mark.parametrize("text", CLINICAL)
def test_clinical_words_are_kept(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_names_that_look_like_clinical_words_are_masked(text: str, name: str) -> None:
    start = text.index(name)
    assert left_of(text, [Mark(start, start + len(name), "full_name")], hidden_in(text)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A day of the week is a day; several are a schedule.
        ("He fell on Saturday, while running.", "He fell on <DATE_1>, while running."),
        ("Seen Friday night for pain.", "Seen <DATE_1> night for pain."),
        ("Dialysis on Monday, Wednesday and Friday.", "Dialysis on Monday, Wednesday and Friday."),
        ("Methotrexate every Friday night.", "Methotrexate every Friday night."),
        # A month and a year of two figures; no share.
        ("Transplant in 12/07, stable.", "Transplant in <DATE_1>, stable."),
        ("Pain in 4/10 joints, strength 5/5 in 5/5.", "Pain in 4/10 joints, strength 5/5 in 5/5."),
        # A date of no calendar.
        ("DOB 02/29/1933 (reported)", "DOB <BIRTH_DATE_1> (reported)"),
        ("D0B: 0l/0l/1980", "D0B: <BIRTH_DATE_1>"),
        # What is lost, gained or lifted is nobody's weight; a span of hours holds no day; a clock shows a place.
        ("She wants to lose 25 pounds.", "She wants to lose 25 pounds."),
        ("No lifting more than 10 lbs; lost 110 pounds.", "No lifting more than 10 lbs; lost 110 pounds."),
        ("Gained weight from 150 to 170 lbs.", "Gained weight from 150 to <WEIGHT_1>."),
        ("Birth weight 4 pounds 8 ounces.", "Birth weight <WEIGHT_1>."),
        ("He iced it and after 2-3 hours slept.", "He iced it and after 2-3 hours slept."),
        ("A cyst at 2 o'clock; seen at 2 o'clock.", "A cyst at 2 o'clock; seen at <TIME_1>."),
        ("Usually at 5 to 10 years of age.", "Usually at 5 to 10 years of age."),
        ("Age: 67 yrs   DOB 1958-06-14", "Age: <AGE_1> yrs   DOB <BIRTH_DATE_1>"),
        ("A 2-week vacation is planned in 1 month.", "A 2-week vacation is planned in 1 month."),
        ("The sleep study took a month.", "The sleep study took a month."),
        # An illness of a relative is no name of theirs.
        ("FH: Mother Breast Cancer, Father Lung Ca, Sister Bipolar Disorder.",) * 2,
        ("Mother April Day called.", "Mother <RELATIVE_1> called."),
        ("Seen by a doctor in the next 2 days.", "Seen by a doctor in the next 2 days."),
        ("He has a master in nursing.", "He has a <DEGREE_1>."),
        ("At a stated age of 29 years.", "At a stated age of <AGE_1> years."),
        ("A 3-1/2-year-old boy.", "A <AGE_1>-1/<AGE_2> <GENDER_1>."),
        # Practices have names, departments do not.
        ("He is seen at Point May Orthopedics now.", "He is seen at <CLINIC_1> now."),
        ("Referred to Pediatric Cardiology and to Radiation Oncology.",) * 2,
        ("General anesthesia by the Department of Anesthesia.",) * 2,
        ("After Visit Summary, Endocrine Clinic", "After Visit Summary, Endocrine Clinic"),
        ("Follow-up at the Town Center location.", "Follow-up at the <CLINIC_1> location."),
        ("Provider: Priya Desai, MD (License AZ 45321)", "Provider: <CLINICIAN_1>, MD (License <LICENCE_NUMBER_1>)"),
        ("She went to a four-year college.", "She went to a <EDUCATION_LEVEL_1>."),
        # Whose work it is.
        ("The patient is a veteran.", "The patient is a <OCCUPATION_1>."),
        ("She owns an auto repair shop.", "She owns an <OCCUPATION_1>."),
        ("He receives 1% disability.", "He receives <DISABILITY_1>."),
        # Names once more, shorter; numbers of several parts.
        ("Patient: Greene, Eleanor (E.P. Greene)", "Patient: <PATIENT_1> (<PERSON_1>)"),
        ("Patient: Nguyen, Alice (A.N.)", "Patient: <PATIENT_1> (<PATIENT_2>)"),
        ("Client #: HH-CL-229911 | Lot SN: SYR-LOT-CAROLINA-0091", "Client #: <CODE_1> | Lot SN: <CODE_2>"),
        ("SARS-COV-2019 negative, HLA-B-2705 positive", "SARS-COV-2019 negative, HLA-B-2705 positive"),
        # No blank after a full stop is no address of the web, for which the text would be withheld.
        ("Occ.Lives with wife. Pain.No fever.", "Occ.Lives with wife. Pain.No fever."),
    ],
)
def test_what_notes_of_others_showed(text: str, expected: str) -> None:
    assert masked(text) == expected
