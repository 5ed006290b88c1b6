"""Quasi-identifiers: measures, amounts, who a person is, organizations; each with what looks like one and is none."""

import pytest
from support.pii.found_spans import recognized

from clinaudit.audit.pii.detectors.demographics import AMOUNTS, BODY_MEASURES, DEMOGRAPHICS
from clinaudit.audit.pii.detectors.organizations import ORGANIZATIONS


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
    assert recognized(BODY_MEASURES, text) == expected


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
    assert recognized(AMOUNTS, text) == expected


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
    assert recognized(DEMOGRAPHICS, text) == expected


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
    assert recognized(ORGANIZATIONS, text) == expected
