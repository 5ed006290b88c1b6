"""Names of people, by what stands beside them and whatever their origin; organizations, demographics and amounts."""

import pytest
from faker import Faker
from support.pii.found_spans import found_by, recognized

from clinaudit.audit.pii.detectors.rules import RuleDetector


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Patient: Birgit B. Cranecott\nDOB", [("patient_name", "Birgit B. Cranecott")]),
        ("patient: birgit b. cranecott\ndob: 1", [("patient_name", "birgit b. cranecott")]),
        ("Name: CRANECOTT, BIRGIT", [("patient_name", "CRANECOTT, BIRGIT")]),
        ("Patient Name: María de la Cruz", [("patient_name", "María de la Cruz")]),
        ("provider: orla estermont, md\n", [("clinician_name", "orla estermont")]),
        ("reviewed on 6/13/2022 by Estermont, Orla", [("clinician_name", "Estermont, Orla")]),
        ("Electronically signed by Jane Doe, RN", [("clinician_name", "Jane Doe")]),
        ("seen with Betty Ross, PA-C", [("clinician_name", "Betty Ross")]),
        ("Dr. O'Neil agreed", [("clinician_name", "O'Neil")]),
        ("dr. estermont agreed", [("clinician_name", "estermont")]),
        ("Her wife Mary called", [("relative_name", "Mary")]),
        ("his son (Tom) and daughter, Ann-Sophie, came", [("relative_name", "Tom"), ("relative_name", "Ann-Sophie")]),
        ("Emergency contact: John Lund", [("relative_name", "John Lund")]),
        ("Martha Collins is a 50-year-old female", [("patient_name", "Martha Collins")]),
        ("Ada Lund (DOB 1/2/1950)", [("patient_name", "Ada Lund")]),
        ("Ms. Lund is well", [("full_name", "Lund")]),
        ("My name is Ada Lund.", [("full_name", "Ada Lund")]),
        ("Patient initials: A.L.", [("patient_name", "A.L.")]),
        ("goes by Addie", [("nickname", "Addie")]),
        ("Dr. Foley inserted a Foley catheter", [("clinician_name", "Foley")]),
        ("Patient: John Parkinson", [("patient_name", "John Parkinson")]),
        # "A" and "I" are initials as well.
        ("Mr. John A. Lund was seen", [("full_name", "John A. Lund")]),
        ("patient: john a. lund\ndob", [("patient_name", "john a. lund")]),
        ("Name: Lund, Ada I.\nDOB", [("patient_name", "Lund, Ada I.")]),
        ("patient: Ada I Lund\n", [("patient_name", "Ada I Lund")]),
        ("signed by A. Estermont, MD", [("clinician_name", "A. Estermont")]),
        ("Mrs. I. Lund agrees", [("full_name", "I. Lund")]),
        ("A. Lund is a 40-year-old woman", [("patient_name", "A. Lund")]),
        ("his son Tom I saw before", [("relative_name", "Tom")]),
    ],
)
def test_a_name_is_told_by_what_stands_beside_it(text, expected):
    assert recognized("names", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("Parkinson's disease", "A Foley catheter was placed.", "Crohn disease is stable.", "Bell's palsy"),
        *("Wright stain",),
        *(
            "Graves Disease is controlled.",
            "Foley Catheter was removed.",
            "seen by Doppler Ultrasound",
            "Mother: Diabetes",
        ),
        *("Father with Hypertension", "Chief Complaint is pain", "HISTORY OF PRESENT ILLNESS\n\nShe", "Patient: Alive"),
        *(
            "patient reports chest pain",
            "Metoprolol Tartrate 25 mg",
            "Physical Exam was normal",
            "Mother Alive and well",
        ),
        *("Past Medical History: Diabetes", "name: unknown", "provider: see above", "Review of Systems: negative"),
        *("A Holter was worn.", "A. Colonoscopy was done.", "I. Lungs has cleared.", "Hepatitis A. Titers was drawn"),
        *("Congestive Heart Failure has worsened.", "his son is well", "brother, deceased", "patient is here today"),
    ],
)
def test_words_of_a_note_are_no_names(text):
    assert recognized("names", text) == []


def test_a_name_is_found_again_whole_and_by_its_parts():
    text = "Patient: Ada Lund\nShe came. Ms. Lund sat. Ada smiled; Lund's sister too. Lundgren did not."
    assert recognized("names", text) == [
        ("patient_name", "Ada Lund"),
        ("patient_name", "Lund"),
        ("patient_name", "Lund"),
    ]


def test_an_eponym_is_not_found_again_as_a_part_of_a_name():
    text = "Patient: John Parkinson\nNo signs of Parkinson disease."
    assert recognized("names", text) == [("patient_name", "John Parkinson")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5'10\" tall", [("height", "5'10\"")]),
        ("5 ft 10 in", [("height", "5 ft 10 in")]),
        ("178 cm", [("height", "178 cm")]),
        ("height: 1.78 m", [("height", "1.78 m")]),
        ("weighs 82.5 kg", [("weight", "82.5 kg")]),
        ("wt 120 lbs", [("weight", "120 lbs")]),
        ("blood type O+", [("blood_type", "O+")]),
        ("blood group: AB negative", [("blood_type", "AB negative")]),
        ("a 5 cm mass", []),
        ("80 cm from the tip", []),
        ("5 mg/kg", []),
        ("hepatitis B+", []),
        ("group A streptococcus", []),
    ],
)
def test_measures(text, expected):
    assert recognized("body measures", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a monthly income of $4,200", [("monthly_income", "$4,200")]),
        ("earns $4,200 a month", [("monthly_income", "$4,200")]),
        ("monthly expenses are $2,100.50", [("monthly_expenses", "$2,100.50")]),
        ("a balance of $12,000", [("account_balance", "$12,000")]),
        ("a student loan of $35,000", [("loan_amount", "$35,000")]),
        ("an annual bonus of $9,000", [("annual_bonus", "$9,000")]),
        ("a credit limit of $8,000", [("credit_limit", "$8,000")]),
        ("social security benefits of $1,300", [("social_security_payment", "$1,300")]),
        ("income tax of $6,100", [("tax_payment", "$6,100")]),
        ("a debt-to-income ratio of 35%", [("debt_ratio", "35%")]),
        ("investment return of 7.5%", [("investment_return", "7.5%")]),
        ("an ROI of 12%", [("roi", "12%")]),
        ("credit score: 712", [("credit_score", "712")]),
        ("hemoglobin A1c of 7.5%", []),
        ("ejection fraction 45%", []),
        ("platelets 250,000", []),
        ("balance and gait normal", []),
    ],
)
def test_amounts(text, expected):
    assert recognized("amounts", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a female", [("gender", "female")]),
        ("Sex: F", [("gender", "F")]),
        ("occupation: tile setter\n", [("occupation", "tile setter")]),
        ("works as a bus driver for", [("occupation", "bus driver")]),
        ("a retired engineer", [("occupation", "engineer")]),
        ("He is a German citizen", [("nationality", "German")]),
        ("race: white", [("race", "white")]),
        ("Hispanic", [("ethnicity", "Hispanic")]),
        ("She is Catholic", [("religion", "Catholic")]),
        ("a lesbian", [("sexual_orientation", "lesbian")]),
        ("white blood cells", []),
        ("occupational therapy once a week", []),
        ("German measles", []),
        ("conservative management", []),
        ("the cardiac conductor tissue", []),
    ],
)
def test_who_a_person_is(text, expected):
    assert recognized("demographics", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at St. Mary's Hospital.", [("healthcare_facility", "St. Mary's Hospital")]),
        ("Silverton Square Clinic", [("clinic", "Silverton Square Clinic")]),
        ("location: silverton square clinic\n", [("clinic", "silverton square clinic")]),
        ("Springfield High School", [("school", "Springfield High School")]),
        ("University of Oslo", [("school", "University of Oslo")]),
        ("Acme Corp", [("company", "Acme Corp")]),
        ("Department of Motor Vehicles", [("government_agency", "Department of Motor Vehicles")]),
        ("Hopewell Foundation", [("ngo", "Hopewell Foundation")]),
        ("The Hospital", []),
        ("in the clinic today", []),
        ("Department of Surgery", []),
    ],
)
def test_organizations(text, expected):
    assert recognized("organizations", text) == expected


LOCALES = ("en_US", "en_IN", "es_MX", "pl_PL", "tr_TR", "vi_VN", "yo_NG", "zu_ZA", "az_AZ", "nl_NL", "no_NO", "cs_CZ")
#: What rules must find whole: a label, a title, a degree, an age, a relative or a greeting stands beside the name.
SENTENCES = (
    *(
        "Patient: {}\nDOB: 03/14/1950",
        "Seen today by {}, MD, for cough.",
        "{} is a 50-year-old woman.",
        "My name is {}.",
    ),
    *("Her wife {} called.", "Electronically signed by {}", "Emergency contact: {}\n", "Dear {},\nyour results"),
)
DETECTOR = RuleDetector(kinds={"full_name", "patient_name", "clinician_name", "relative_name"})


@pytest.mark.parametrize("locale", LOCALES)
def test_names_with_something_beside_them_are_found_whatever_their_origin(locale):
    fake = Faker(locale)
    fake.seed_instance(16)
    names = [f"{fake.first_name()} {fake.last_name()}" for _ in range(12)]
    missed = [
        sentence
        for name in names
        for sentence in SENTENCES
        if not any(name in text for _, text in found_by(DETECTOR, sentence.format(name)))
    ]
    assert len(missed) <= 0.03 * len(names) * len(SENTENCES)
