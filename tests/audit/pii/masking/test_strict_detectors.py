"""What a filter of prompts finds beyond the audit: spelled numbers, ages, structure, scripts; and what it leaves."""

import pytest
from support.pii.masked_by_rules import mask_prompt

from clinaudit.audit.pii.detectors.rules import RuleDetector, SuspectedDetector
from clinaudit.audit.pii.masking import filter_detectors
from clinaudit.audit.pii.masking.detection import EnsembleDetector, OtherScripts
from clinaudit.audit.pii.masking.spoken_numbers import spoken
from clinaudit.audit.pii.masking.structured_text import StructuredText
from clinaudit.audit.pii.masking.written_tags import unmask_text
from clinaudit.audit.pii.plain_text import normalize_text

DETECTOR = EnsembleDetector([RuleDetector(), SuspectedDetector(), OtherScripts()], by_line=[StructuredText()])


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("SSN five-one-two 44 1234", "SSN 512 44 1234"),
        ("on six zero two, five five five, oh one four three.", "on 602 555 0143."),
        ("born nineteen forty-six", "born 1946"),
        ("March, nineteen oh five", "March, 1905"),
        ("two thousand and one", "2001"),
        ("double five, triple three", "55 333"),
        ("three days, two times", None),
        ("one hundred and five", None),
        ("10-20 mg one or two", None),
        ("one twenty over eighty", None),
    ],
)
def test_spelled_numbers_are_read_as_figures(text: str, figures: str | None) -> None:
    plain = normalize_text(text)
    read = plain.replaced(spoken(plain.text))
    assert (None if read is plain else read.text) == figures


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("SSN five-one-two 44 1234", "SSN <SSN_1>"),
        ("Call six zero two, five five five, oh one four three.", "Call <PHONE_1>."),
        ("born the fourteenth of March, nineteen fifty-six", "born the <BIRTH_DATE_1>"),
        ("He was born nineteen forty-six.", "He was born <BIRTH_DATE_1>."),
        ("DOB: 1941", "DOB: <BIRTH_DATE_1>"),
        ("She is 75, and lives alone.", "She is <AGE_1>, and lives alone."),
        ("I'm 29 and well", "I'm <AGE_1> and well"),
        ("My mother is 93.", "My mother is <AGE_OVER_89_1>."),
        ("she is ninety-four years", "she is <AGE_OVER_89_1> years"),
        ("seen with cough (93/F)", "seen with cough (<AGE_OVER_89_1>/<GENDER_1>)"),
        ("lives with her son in Boston.", "lives with her son in <CITY_1>."),
        ("seen 3/14 for cough", "seen <DATE_1> for cough"),
        ("worse since March, better now", "worse since <DATE_1>, better now"),
        ("maria dot gonzalez at mail dot com", "<EMAIL_1>"),
        ("write to ada[dot]lund[at]example[dot]org today", "write to <EMAIL_1> today"),
        ("ada.lund (at) mail {dot} example.org", "<EMAIL_1>"),
        ("insta: ada_lund50", "insta: <HANDLE_1>"),
        ("Call 617-555-O199.", "Call <PHONE_1>."),
        ("HLA-DRB-Oll1 was seen", "HLA-DRB-Oll1 was seen"),
        ("M-A-R-I-A has asthma", "<PERSON_1> has asthma"),
        ("pt maria gonzalez c/o cough", "pt <PATIENT_1> c/o cough"),
        ("Patient: Ma<b>ri</b>a Gon<i>zal</i>ez", "Patient: <PATIENT_1>"),
        ('{"family":"Gonzalez","given":["Mari","Elsa"],"a1c":"7.2"}', None),
        ("<given>Mari</given><birthDate value='1956-03-14'/>", None),
        ("PID|1||4471^^^H^MR||GONZALEZ^MARI||19560314|F\nOBX|1|NM|4548-4^A1c^LN||7.2", None),
        ("| Name | MRN | A1c |\n|---|---|---|\n| Gonzalez | 4471 | 7.2 |", None),
        ("Name,MRN,A1c\nGonzalez,4471,7.2\n", None),
        ("Пациент: Мария Гонсалес", "<PERSON_1>: <PERSON_2>"),
        ("山田太郎 has asthma", "<PERSON_1> has asthma"),
        ("SSN ➎➊➋-44-1234", "SSN <SSN_1>"),
        ("SSN 5\x001\x002-44-1234", "SSN <SSN_1>"),
        ("Patient: %254Daria Gonzalez", "Patient: <PATIENT_1>"),
        ("VUdGMGFXVnVkRG9nVFdGeWFXRWdSMjl1ZW1Gc1pYbz0=", "<PATIENT_1>"),
    ],
)
def test_what_cannot_be_left_is_masked_and_comes_back(text: str, masked: str | None) -> None:
    result = mask_prompt(text, None, DETECTOR)
    assert result.text is not None
    if masked is not None:
        assert result.text == masked
    assert not [
        word for word in ("Gonzalez", "GONZALEZ", "Mari", "MARI", "4471", "1956") if word.lower() in result.text.lower()
    ]
    assert ("7.2" in text) == ("7.2" in result.text)
    assert unmask_text(result.text, result.forms) == (text, 0)


@pytest.mark.parametrize(
    "text",
    [
        *("HR is 93. Her pulse is 93 and BP is 120/80.", "She is 93% on room air, pain is 6/10."),
        *("Her LDL (131) is high, his INR (2.3).", "q.i.d. b.i.d. p.r.n. C-A-B-G A-fib T-cell"),
        *("In Parkinson disease, in ICU, treated with Lisinopril.",),
        *("ICD-10 E11.9, J45.909, CPT 99213, NDC 0002-8215-01", "5 mL q6h, α-blocker, 5 μg, Δ 3"),
        *("temperature at 98.6 at home", "may take 1/2 tablet, ejection fraction (41)"),
        *("blood pressure one twenty over eighty", "CA-125 and H1N1, CA-125 35 U/mL"),
        *('{"value":"7.2","unit":"%","display":"Asthma"}',),
    ],
)
def test_clinical_content_stays(text: str) -> None:
    assert mask_prompt(text, None, DETECTOR).text == text


def test_the_library_offers_the_detectors_of_the_command() -> None:
    first, second = filter_detectors()
    masked = mask_prompt("Mr. Lund is 93, SSN five-one-two 44 1234.", None, first, second=second)
    assert masked.text == "Mr. <PERSON_1> is <AGE_OVER_89_1>, SSN <SSN_1>."
