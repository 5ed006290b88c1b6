"""What an attacker got through: numbers in groups, rests of addresses, loose dates, old ages, files, initials."""

import pytest
from support.pii.masked_by_rules import masked

from clinaudit.audit.pii.masking import filter_detectors, mask_prompt
from clinaudit.audit.pii.plain_text import decoded_stretches


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MRN 00 12 34 56 was seen.", "MRN <MRN_1> was seen."),
        ("Her MRN is 4 8 2 9 1 3.", "Her MRN is <MRN_1>."),
        ("MRN: 00-12/34.56", "MRN: <MRN_1>"),
        ("policy # 88 1234 5 today", "policy # <PLAN_NUMBER_1> today"),
        ("Member ID: W 2281 0993 4", "Member ID: <PLAN_NUMBER_1>"),
        ("Medicare number 1EG4 TE5 MK73", "Medicare number <PLAN_NUMBER_1>"),
        ("Medicaid CIN AB12345C on file", "Medicaid CIN <PLAN_NUMBER_1> on file"),
        ("SSN 4-1-2-5-5-6-7-8-9 noted", "SSN <SSN_1> noted"),
        ("Soc. Sec. 412/55/6789", "Soc. Sec. <SSN_1>"),
        ("NI AB 12 34 56 C", "NI <SSN_1>"),
        ("NHS number 943 476 5919", "NHS number <MRN_1>"),
        ("Record 556677 reviewed", "Record <CODE_1> reviewed"),
        ("Pt #4829 13, claim 4481 22 771", "Pt #<CODE_1>, claim <CODE_2>"),
        ("DL: D123 4567 8901", "DL: <DRIVER_LICENCE_1>"),
        ("00123456 is her MRN", "<MRN_1> is her MRN"),
        ("ref 4-1-2-5-5-6-7-8-9", "ref <CODE_1>"),
        ("His truck outside, 4KLM 293, was hit", "His truck outside, <VEHICLE_ID_1>, was hit"),
        # What stands after the number is none of it.
        ("MRN 00482913 A1c 7.2", "MRN <MRN_1> A1c 7.2"),
        ("MRN 00 48 29 13 120/80", "MRN <MRN_1> 120/80"),
        ("MRN 11482913 500 mg", "MRN <MRN_1> 500 mg"),
        ("MRN 00482913 02/14/2024", "MRN <MRN_1> <DATE_1>"),
        # Encoded, a number says who it is of as well as plain.
        ("Attachment: NDEyLTU1LTY3ODk= end", "Attachment: <SSN_1> end"),
        ("code NDEyNTU2Nzg5 here", "code <CODE_1> here"),
        ("NTU1LTAxMzQ= is hers", "<PHONE_1> is hers"),
    ],
)
def test_a_number_beside_a_label_is_masked_in_whatever_groups(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SSN of mom 123-45-6789", "SSN of mom <SSN_1>"),
        ("Her mother's SSN is 123-45-6789.", "Her mother's SSN is <SSN_1>."),
        ("SSN (wife): 123-45-6789", "SSN (wife): <SSN_1>"),
        ("SSN, wife: 123 45 6789", "SSN, wife: <SSN_1>"),
        ("SSN - husband - 123 45 6789", "SSN - husband - <SSN_1>"),
        ("ssn mother in law 123 45 6789", "ssn mother in law <SSN_1>"),
        ("SSN of mom's sister 123456789", "SSN of mom's sister <SSN_1>"),
        ("social security number of his wife: 123 45 6789", "social security number of his wife: <SSN_1>"),
        ("123 45 6789 is mom's SSN", "<SSN_1> is mom's SSN"),
        ("MRN of baby 00123456, MRN (twin) 00123457", "MRN of baby <MRN_1>, MRN (twin) <MRN_2>"),
        ("Policy number of husband 88123456", "Policy number of husband <PLAN_NUMBER_1>"),
        # By its form alone, be it of a kind that nobody was given; other numbers have another.
        ("the id is 123-45-6789", "the id is <SSN_1>"),
        ("NDC 0069-2587-10, CAS 50-78-2", "NDC 0069-2587-10, CAS 50-78-2"),
        ("policy covers the patient 2 of 3 days", "policy covers the patient 2 of 3 days"),
    ],
)
def test_a_number_is_masked_whosever_it_is(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zuri came in today. Zuri denies fever.", "<PERSON_1> came in today. <PERSON_1> denies fever."),
        ("Hope came in today.", "<PERSON_1> came in today."),
        ("HPI\nZuri reports pain.", "HPI\n<PERSON_1> reports pain."),
        ("Zuri here for f/u", "<PERSON_1> here for f/u"),
        *(
            (text, text)
            for text in (
                "Patient came in today",
                "Mother reports fever",
                "Surgeon told him",
                "Counselor says so",
                "Nobody came in today",
                "Endocrinology says so",
                "Cultures came back negative",
                "Interpreter here today",
                "Toddler is here with mom",
            )
        ),
    ],
)
def test_a_name_that_opens_a_line_is_masked_where_only_somebody_does_so(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sister Ola, 555-0134", "sister <RELATIVE_1>, <PHONE_1>"),
        ("Her sister Ola 555 0134 came", "Her sister <RELATIVE_1> <PHONE_1> came"),
        ("Mom's cell: 555-01-34", "Mom's cell: <PHONE_1>"),
        ("Tel. 0161 496 0123", "Tel. <PHONE_1>"),
        ("call 1-800-FLOWERS today", "call <PHONE_1> today"),
        ("reach her at (617) 555 HELP", "reach her at <PHONE_1>"),
        ("lives at 14 Elm, Apt 3B, Dedham 02026", "lives at <ADDRESS_1>, <CITY_1> <ZIP_1>"),
        ("12 Oak Street, Flat 2, Salem, MA 01970 now", "<ADDRESS_1>, <CITY_1>, MA <ZIP_1> now"),
        ("lives on 221B Baker, Flat 2, London NW1 6XE", "lives on <ADDRESS_1>, <CITY_1> <ZIP_1>"),
        ("Home: 8 Birch", "Home: <ADDRESS_1>"),
        ("Rural Route 2 Box 118, Hadley", "<ADDRESS_1>, <CITY_1>"),
        ("Postcode: SW1A 1AA", "Postcode: <ZIP_1>"),
        ("near SW1A 1AA, or K1A 0B1", "near <ZIP_1>, or <ZIP_2>"),
        ("ZIP 0 2 0 2 6", "ZIP <ZIP_1>"),
    ],
)
def test_short_telephone_numbers_and_the_rest_of_an_address_are_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Visit 14/3 went well", "Visit <DATE_1> went well"),
        ("admitted Tues 14th, better", "admitted Tues <DATE_1>, better"),
        ("Seen on the 14th for cough", "Seen on the <DATE_1> for cough"),
        ("the 14th of last month", "the <DATE_1> of last month"),
        ("seen 14 3 2023 in clinic", "seen <DATE_1> in clinic"),
        ("seen 14,3,2023 or 2023 3 14", "seen <DATE_1> or <DATE_2>"),
        ("d.o.b 14 03 50", "d.o.b <DATE_1>"),
        ("born 14.III.2023, seen 2-XI-23", "born <DATE_1>, seen <DATE_2>"),
        ("LMP 3-14, since 2023-03", "LMP <DATE_1>, since <DATE_2>"),
        ("DOB1950-11-11 here", "DOB<BIRTH_DATE_1> here"),
        ("DOB_1950-11-11 here", "DOB_<BIRTH_DATE_1> here"),
        ("in his 96th year of life", "in his <AGE_OVER_89_1> year of life"),
        ("in her tenth decade", "in her <AGE_OVER_89_1> decade"),
        ("She is in her late nineties.", "She is in her <AGE_OVER_89_1>."),
        ("Age 1092 months", "Age <AGE_OVER_89_1>"),
        ("aged 34,000 days", "aged <AGE_OVER_89_1>"),
        ("She is 92.5 years old", "She is <AGE_OVER_89_1> years old"),
    ],
)
def test_days_and_ages_in_any_form_are_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "A.K. is a pleasant writer; A.K. was admitted.",
            "<PATIENT_1> is a pleasant writer; <PATIENT_1> was admitted.",
        ),
        ("AK is a 45-year-old; pt J.S. has asthma", "<PATIENT_1> is a <AGE_1>; pt <PATIENT_2> has asthma"),
        ("see smith_john_ct.pdf now", "see <CODE_1> now"),
        ("C:\\scans\\Smith_John\\ct.dcm opened", "<CODE_1> opened"),
        ("/data/Ada Lund/mri.nii and Ada Lund CT.pdf", "<CODE_1> and <CODE_2>"),
        ("Mr. Bartolone has asthma. Bartolone was well.", "Mr. <PERSON_1> has asthma. <PERSON_1> was well."),
        ("daughter maria bartolone called", "daughter <RELATIVE_1> called"),
        ("patient Bartolone, Maria came", "patient <PERSON_1> came"),
        ("her surname is Bartolone", "her surname is <PERSON_1>"),
        ("mr. smith-jones called", "mr. <PERSON_1> called"),
        ("Mr. John Smith SSN 412-55-6789", "Mr. <PERSON_1> SSN <SSN_1>"),
        ("JOHN SMITH SSN 412-55-6789", "<PATIENT_1> SSN <SSN_1>"),
        ("Dr. May Cell 617-555-0134", "Dr. <CLINICIAN_1> Cell <PHONE_1>"),
    ],
)
def test_names_are_masked_to_their_end_and_no_further(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Plan: 325 mg aspirin. BP 120/80, HR 90.",
        "on 2-4 L NC, pain 3/10, take 1/2 tablet",
        "Ferritin 150-1000, platelets 150-4000, TSH (ref 0.4-4.0), GFR 60",
        "vancomycin 12 IV 2000 mg; T2N0M0; ANA 1:40",
        "E.D. is crowded. I.V. was placed. E.D. was full.",
        "on the 4th rib; 3rd toe; grade 2/6 murmur; CIN 2-3 on biopsy",
        "MS is a chronic disease. UC is a chronic disease.",
        "CPT 99213, code 99214, NDC 0002-8215-01",
        "Growth over 24/7 care, unit 4, case 12, visit 3, lot 12 of 40",
        "Policy of the ward; account of the illness; member of the team",
        "Mother: Gout. Father: Stroke. Sister: Lupus.",
        "FEV1 was 1.2, last A1c 7.2, sat 98",
        "in his third decade, the 14th week; van accident, T12 fracture, plates at L4-L5",
    ],
)
def test_values_and_words_of_a_note_are_neither_numbers_nor_names(text: str) -> None:
    assert masked(text) == text


def test_a_word_that_decodes_to_nothing_readable_is_no_encoding() -> None:
    assert list(decoded_stretches("Hypertension Metronidazole1 Electrocardiogram")) == []
    assert [one.text for one in decoded_stretches("NDEyLTU1LTY3ODk=")] == ["412-55-6789"]


@pytest.mark.parametrize(
    "text",
    [
        "Given Bactrim DS twice daily. Started Zosyn and Vanc for sepsis.",
        "NIHSS 4 on arrival. PD-L1 was 60%. Ki-67 20%, HER2 negative.",
        "SpO2 98% on RA. Wilson disease was ruled out. Bishop score of 6.",
        "Zerlinib 5 mg daily and Humira. Keytruda for NSCLC, Eliquis 5 mg.",
        "Glasgow Coma Scale 15, CHA2DS2-VASc 4, HAS-BLED 2. Received Shingrix and Prevnar.",
        "Colonoscopy showed Diverticulosis. EKG and CXR normal. CIN 2-3 on biopsy.",
    ],
)
def test_a_language_model_takes_no_clinical_shorthand_for_somebody(text: str) -> None:
    first, second = filter_detectors(ner=True)
    assert mask_prompt(text, None, first, second=second).text == text


def test_a_language_model_sees_a_name_that_ends_as_drugs_do() -> None:
    first, second = filter_detectors(ner=True)
    text = (
        "We discussed this with Bartolone and his wife. Bartolone and Politis agreed. Robert Bartolone SSN 412-55-6789."
    )
    left = mask_prompt(text, None, first, second=second).text
    assert left is not None
    assert not [name for name in ("Bartolone", "Politis") if name in left]
    assert left.endswith(" SSN <SSN_1>.")
