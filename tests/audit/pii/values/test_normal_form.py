"""The value behind a wording, and days in every form that English text writes."""

import pytest

from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.dates_in_text import find_dates, read_written_date
from clinaudit.audit.pii.values.normal_form import IdentifierValue, kind_of, name_parts, normalize, readings


@pytest.mark.parametrize(
    ("category", "text", "kind", "value"),
    [
        ("birth_date", "Mar 14th, 1950", "date", "1950-03-14"),
        ("date", "3-14-24", "date", "2024-03-14"),
        ("date", "03/04/2024", "date", "2024-03-04"),
        ("phone", "+1 (617) 555-0142 ext. 12", "phone", "6175550142"),
        ("phone", "617.555.0142", "phone", "6175550142"),
        ("fax", "1-617-555-0142", "phone", "6175550142"),
        ("phone", "+44 20 7946 0958", "phone", "442079460958"),
        ("phone", "555-0142", "phone", "5550142"),
        ("full_name", "Smith, John A.", "name", "john a smith"),
        ("patient_name", "John A. Smith", "name", "john a smith"),
        ("patient_name", "JOSÉ García", "name", "jose garcia"),
        ("clinician_name", "Dr. Jane O’Brien-Smith, M.D., PhD", "name", "jane obrien smith"),
        ("clinician_name", "estermont, orla, md", "name", "orla estermont"),
        ("full_name", "Smith Jr., John", "name", "john smith"),
        ("mrn", "00-482 913a", "code", "00482913a"),
        ("ssn", "123-45-6780", "code", "123456780"),
        ("email", "mailto:A.Lund@Example.ORG", "email", "a.lund@example.org"),
        ("url", "https://www.Example.org/a/", "url", "example.org/a"),
        ("ip_address", "2001:0DB8::0001", "ip", "2001:db8::1"),
        ("street_address", "12 North Main Street, Apartment 4", "address", "12 n main st apt 4"),
        ("street_address", "12 N. Main St #4", "address", "12 n main st apt 4"),
        ("zip_code", "02139-1234", "zip", "02139"),
        ("age_over_89", "ninety-four-year-old", "age", "94"),
        ("age", "one hundred and two", "age", "102"),
        ("time", "2:05 pm", "time", "14:05"),
        ("monthly_income", "$4,200.50 a month", "quantity", "4200.5"),
        ("credit_limit", "12k", "quantity", "12000"),
        ("healthcare_facility", "St. Mary's Hospital", "text", "st marys hospital"),
    ],
)
def test_a_value_has_one_normal_form(category, text, kind, value):
    assert normalize(category, text) == IdentifierValue(kind, value)


@pytest.mark.parametrize(
    ("category", "text"),
    [("date", "tomorrow"), ("zip_code", "021"), ("full_name", "MD"), ("mrn", "--"), ("time", "25:99")],
)
def test_a_text_without_a_value_is_none(category, text):
    assert normalize(category, text) is None


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("Smith-Jones, Anne Marie", ("anne", "marie", "smith", "jones")),
        ("Anne-Marie Smith", ("anne", "marie", "smith")),
        ("J.R. Smith", ("j", "r", "smith")),
        ("Thi Do", ("thi", "do")),
        ("Ma, Yo Yo", ("yo", "yo", "ma")),
        ("Orla Estermont, PA-C", ("orla", "estermont")),
        ("ORLA ESTERMONT, DO", ("orla", "estermont")),
        ("Mr. Søren Łukasz Æbler", ("soren", "lukasz", "aebler")),
        ("O'Neil", ("oneil",)),
        ("Jose\u0301", ("jose",)),
    ],
)
def test_names_are_folded_and_put_in_the_order_of_speech(written, parts):
    assert name_parts(written) == parts


def test_a_name_is_read_with_and_without_its_middle():
    assert [value.text for value in readings("full_name", "Birgit B. Cranecott")] == [
        "birgit b cranecott",
        "birgit cranecott",
    ]


def test_a_date_is_read_in_both_orders_and_centuries():
    assert [value.text for value in readings("birth_date", "1/2/45")] == [
        "1945-01-02",
        "2045-01-02",
        "1945-02-01",
        "2045-02-01",
    ]


def test_categories_that_hold_the_same_values_are_of_one_kind():
    assert kind_of("phone") == kind_of("fax") == "phone"
    assert kind_of("birth_date") == kind_of("admission_date") == kind_of("date")
    assert {kind_of(category) for category in categories()} >= {
        *("name", "date", "phone", "code", "address", "zip", "age")
    }


def test_a_category_that_the_taxonomy_lacks_is_refused():
    with pytest.raises(KeyError):
        normalize("shoe_size", "42")


@pytest.mark.parametrize(
    "written",
    [
        *("03/14/2024", "3/14/24", "3-14-24", "03-14-2024", "03.14.2024", "14.03.2024", "03 / 14 / 2024", "2024-03-14"),
        *("2024/03/14", "20240314", "14 March 2024", "14th of March, 2024", "14-Mar-2024", "14MAR2024"),
        *("Mar 14th, 2024",),
        *("March 14 2024", "march 14, 2024", "Mar. 14, '24", "March fourteenth, 2024", "the 14th day of March 2024"),
    ],
)
def test_one_day_is_read_in_every_form(written):
    (found,) = find_dates(f"seen {written}.")
    assert found.readings[0] == "2024-03-14"


@pytest.mark.parametrize(
    ("written", "readings"),
    [
        ("03/04/2024", ("2024-03-04", "2024-04-03")),
        ("25/12/1999", ("1999-12-25",)),
        ("1/2/45", ("1945-01-02", "2045-01-02", "1945-02-01", "2045-02-01")),
        ("March 2024", ("2024-03",)),
        ("03/2024", ("2024-03",)),
        ("March 14", ("--03-14",)),
        ("3/14", ("--03-14",)),
        ("29 February 2023", ()),
        ("02/30/2024", ()),
        ("2024", ()),
    ],
)
def test_a_date_that_can_be_read_twice_says_so(written, readings):
    assert read_written_date(written) == readings


@pytest.mark.parametrize(
    "text",
    [
        *("BP 120/80", "grade 3/6 murmur", "strength 5/5", "pain 7/10", "1/2 tablet", "may 10 mg be given", "v1.2.10"),
        *("SSN 555-12-0345", "phone 617-555-0142", "decreased 12 units", "the second may follow", "on 1/2 tablet"),
        *("in 2003", "ratio 1:100", "24/7", "marked 5 times", "123456789012", "A20240314B", "ICD I48.0", "margin 2019"),
    ],
)
def test_other_numbers_are_no_dates(text):
    assert find_dates(text) == []


def test_a_range_is_two_dates():
    text = "admitted 3/1/24-3/5/24"
    assert [text[found.start : found.end] for found in find_dates(text)] == ["3/1/24", "3/5/24"]


def test_a_day_without_a_year_needs_a_word_of_time():
    text = "seen on 3/14 with 3/14 points"
    assert [(found.start, found.readings) for found in find_dates(text)] == [(8, ("--03-14",))]
