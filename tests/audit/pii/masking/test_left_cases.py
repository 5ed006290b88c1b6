"""What a filter once left or took by mistake: last digits, places on a map, small letters, eponyms, states, roles."""

import pytest
from support.pii.masked_by_rules import masked

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking.not_masked import without_larger_places


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The last digits of a number.
        (
            "SSN 123-45-6789, ends in 6789; the last four are 6789",
            "SSN <SSN_1>, ends in <CODE_1>; the last four are <CODE_1>",
        ),
        ("MRN 00482913; 2913 on the band", "MRN <MRN_1>; <MRN_2> on the band"),
        ("His card ending in 4471 was charged, xxxx-4471.", "His card ending in <CODE_1> was charged, xxxx-<CODE_1>."),
        # Places on a map, and devices.
        ("Found at 42.3601, -71.0589, cold.", "Found at <ADDRESS_1>, cold."),
        ("at 42°21'36\"N 71°03'32\"W", "at <ADDRESS_1>"),
        ("at geo:42.3601,-71.0589 today", "at <ADDRESS_1> today"),
        ("Accession: S22-12345; pathology S23-004512", "Accession: <CODE_1>; pathology <CODE_2>"),
        ("UDI (01)00643169007222(17)160712(21)PJN1", "UDI <DEVICE_ID_1>"),
        # Names in small letters.
        (
            "Mr. Lund came. spoke with lund about results",
            "Mr. <PERSON_1> came. spoke with <PERSON_1> about results",
        ),
        ("daughter maria called. dr. foley saw.", "daughter <RELATIVE_1> called. dr. <CLINICIAN_1> saw."),
        ("pt john smith has asthma", "pt <PATIENT_1> has asthma"),
        ("Mom is named theodora.", "Mom is named <PERSON_1>."),
        # Towns, and the states beside them.
        ("She was seen at a clinic in Gary, IN.", "She was seen at a clinic in <CITY_1>, IN."),
        ("seen by Gary, MD", "seen by <PERSON_1>, MD"),
        ("Lives in Austin, Texas. From Oslo, moved to Kansas.", None),
        # People by their role, and numbers by what they count.
        ("Godson Cornelius and nurse Priscilla came.", "Godson <PERSON_1> and nurse <PERSON_2> came."),
        ("Judge Marchetti on claim 4481-22-771", "Judge <PERSON_1> on claim <CODE_1>"),
        ("This is the note of Yevgenia Petrosyan.", "This is the note of <PERSON_1>."),
        ("Interpreter ID 448213, user name okwuosa_77", "Interpreter ID <CODE_1>, user name <HANDLE_1>"),
        ("Patient Name/DOB: Lund R / 02-17-1931", "Patient Name/DOB: <PERSON_1> / <DATE_1>"),
        ("Mrs. Lund is in Gilbert AZ.", "Mrs. <PERSON_1> is in <CITY_1> AZ."),
        # Banners of a hospital, a letter, and columns.
        (
            "PATIENT NAME......: HAROLD WARD\nHOSPITAL NO.......: 377004-3",
            "PATIENT NAME......: <PERSON_1>\nHOSPITAL NO.......: <MRN_1>",
        ),
        (
            "DOB 18 Jan 2005, NHS No 350 313 1201\n747 Jayne Union, Plymouth DT8Y 3QE",
            "DOB <BIRTH_DATE_1>, NHS No <MRN_1>\n<ADDRESS_1>, <CITY_1> <ZIP_1>",
        ),
        ("NHS No 778 877 5091\n228 O'Connor Way, Dedham", "NHS No <MRN_1>\n<ADDRESS_1>, <CITY_1>"),
        (
            "Lakeshore Internal Medicine          Singh, Russell   MRN: 05968751\nGeneral Internal Medicine",
            "<CLINIC_1>          <PATIENT_1>   MRN: <MRN_1>\nGeneral Internal Medicine",
        ),
        # A whole value, and no verb after a name.
        ("She is 5 ft 3 and weighs 120 lbs.", "She is <HEIGHT_1> and weighs <WEIGHT_1>."),
        ("She is 5 ft 3 in, and 5 ft 11.", "She is <HEIGHT_1>, and <HEIGHT_2>."),
        ("mrs. birgit cranecott rang.", "mrs. <PATIENT_1> rang."),
        ("pt john smith vomited twice", "pt <PATIENT_1> vomited twice"),
        ("here last Tuesday, 3/5, and on 9/14.", "here last <DATE_1>, <DATE_2>, and on <DATE_3+193d>."),
    ],
)
def test_what_was_left_is_masked(text: str, expected: str | None) -> None:
    if expected is not None:
        assert masked(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Dr. Foley inserted a Foley catheter. Foley catheter in place. The Foley was removed. Foley agrees.",
            "Dr. <CLINICIAN_1> inserted a Foley catheter. Foley catheter in place. The Foley was removed."
            " <CLINICIAN_1> agrees.",
        ),
        ("Ms. Crohn has Crohn's disease.", "Ms. <PERSON_1> has Crohn's disease."),
        ("Mr. White has a white count of 12, no rose.", "Mr. <PERSON_1> has a white count of 12, no rose."),
        ("Mr. Lund's LDL is 98.", "Mr. <PERSON_1>'s LDL is 98."),
    ],
)
def test_what_bears_a_name_stays_beside_whoever_does(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "she will follow in may, a rose in grant funding",
        "Thomas test positive; the Baker cyst was aspirated.",
        "Glasgow Coma Scale is 15 and the pupils are equal.",
        "Dose with a ratio of 1:10, ANA 1:40.",
        "The last four were 142, 138, 151 and 120. Pain ends in the calf.",
        "She moved from Zambia; lives in Texas.",
        "Growth of E. Coli and S. Aureus. Nurse Practitioner visit.",
        "Knee swelling x 6 mo, amoxicillin x 10 days.",
        "Switched from Heparin SC to Lovenox SC; oxygen in NC.",
        "flexion 0° to 120°, urine gravity 1.020, 1.015",
        "the course ended 2019, seen 1 of 4 times, CPT 99214",
    ],
)
def test_words_and_values_of_a_note_stay(text: str) -> None:
    assert masked(text) == text


def test_a_state_stays_beside_its_town() -> None:
    assert masked("She lives in Austin, Texas, by choice.") == "She lives in <CITY_1>, Texas, by choice."
    assert masked("12 Elm Street, Austin, TX 78701") == "<ADDRESS_1>, <CITY_1>, TX <ZIP_1>"


def test_a_town_that_a_model_takes_for_a_person_is_a_town_without_its_state() -> None:
    text = "She is in Gilbert AZ."
    assert without_larger_places(text, EntitySpan(10, 20, "full_name", "model")) == EntitySpan(10, 17, "city", "model")
    name = EntitySpan(0, 7, "full_name", "model")
    assert without_larger_places("Lund AZ is here.", name) == name
