"""Telephone numbers, dates, ages and addresses, each with what looks like one and is none."""

import pytest
from support.pii.found_spans import recognized

from clinaudit.audit.pii.detectors.contacts import WEB_ADDRESSES, PhoneRecognizer
from clinaudit.audit.pii.detectors.dates import TIMES, AgeRecognizer, DateRecognizer
from clinaudit.audit.pii.detectors.places import PLACES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(617) 555-0142", [("phone", "(617) 555-0142")]),
        ("at 617-555-0142.", [("phone", "617-555-0142")]),
        ("617.555.0142 x12", [("phone", "617.555.0142 x12")]),
        ("+1 617 555 0142", [("phone", "+1 617 555 0142")]),
        ("001-617-555-0142x123", [("phone", "001-617-555-0142x123")]),
        ("call 6175550142", [("phone", "6175550142")]),
        ("home: 555-0142", [("phone", "555-0142")]),
        ("pager 12345", [("phone", "12345")]),
        ("fax: 617-555-0143", [("fax", "617-555-0143")]),
        ("Phone 617-555-0142 Fax (617) 555-0143", [("phone", "617-555-0142"), ("fax", "(617) 555-0143")]),
        ("+44 20 7946 0958", [("phone", "+44 20 7946 0958")]),
    ],
)
def test_telephone_numbers(text, expected):
    assert recognized(PhoneRecognizer(), text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            *("6175550142", "WBC 555-1234", "platelets 250 3500", "12-617-555-0142", "617-555-0142-3"),
            *("123-45-6780", "1234567"),
        ),
        *(
            *("017-555-0142", "BP 120 800 1234", "BP 120/80, P 72, R 16", "2024-03-14 10:38"),
            *("4111 1111 1111 1111", "x 3 weeks"),
        ),
    ],
)
def test_other_numbers_are_no_telephone_numbers(text):
    assert recognized(PhoneRecognizer(), text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DOB: 11/11/1946", [("birth_date", "11/11/1946")]),
        ("born on March 14, 1950", [("birth_date", "March 14, 1950")]),
        ("date of birth (3-14-50)", [("birth_date", "3-14-50")]),
        ("visit date: 06/13/2022", [("admission_date", "06/13/2022")]),
        ("was admitted on 2024-03-14", [("admission_date", "2024-03-14")]),
        ("discharged Monday, March 14, 2024", [("admission_date", "March 14, 2024")]),
        ("MRI of 3/14/24", [("date", "3/14/24")]),
    ],
)
def test_a_date_is_told_by_its_label(text, expected):
    assert recognized(DateRecognizer(), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at 10:38 am", [("time", "10:38 am")]),
        ("at 9pm", [("time", "9pm")]),
        ("at 23:05:10", [("time", "23:05:10")]),
        ("0830 hrs", [("time", "0830 hrs")]),
        ("for 5 months", [("duration", "5 months")]),
        ("over two weeks", [("duration", "two weeks")]),
        ("3-4 days", [("duration", "3-4 days")]),
        ("BP 130/85 HR 90, pulse 82 HR 77", []),
        ("a 75-year-old", []),
        ("ratio 1:100", []),
        ("25:61", []),
        ("10 mg", []),
    ],
)
def test_times_and_durations(text, expected):
    assert recognized(TIMES, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 75-year-old woman", [("age", "75-year-old")]),
        ("age: 46", [("age", "46")]),
        ("62 y.o. man", [("age", "62")]),
        ("62yo", [("age", "62")]),
        ("a 46F with", [("age", "46")]),
        ("an 8-month-old", [("age", "8-month-old")]),
        ("89 years old", [("age", "89")]),
        ("90 years old", [("age_over_89", "90")]),
        ("a ninety-four-year-old man", [("age_over_89", "ninety-four-year-old")]),
        ("one hundred and two years old", [("age_over_89", "one hundred and two")]),
        ("a 99-month-old", [("age", "99-month-old")]),
        ("in her late 90s", [("age_over_89", "in her late 90s")]),
        ("a nonagenarian", [("age_over_89", "nonagenarian")]),
        ("BP in the 90s", []),
        ("for 12 years", []),
        ("160 years old", []),
        ("dosage 50 mg", []),
        ("stage 2", []),
        ("temperature 98.6F", []),
    ],
)
def test_ages(text, expected):
    assert recognized(AgeRecognizer(), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ada.lund@example.org", [("email", "ada.lund@example.org")]),
        ("ada@clinic.local", [("email", "ada@clinic.local")]),
        ("ada [at] example [dot] org", [("email", "ada [at] example [dot] org")]),
        ("https://example.org/a?b=1.", [("url", "https://example.org/a?b=1")]),
        ("see www.example.co.uk/x", [("url", "www.example.co.uk/x")]),
        ("portal.example.com", [("url", "portal.example.com")]),
        ("@ada_lund on twitter", [("social_handle", "@ada_lund")]),
        ("instagram: ada.lund", [("social_handle", "ada.lund")]),
        ("b.i.d. and q.h.s.", []),
        ("pain.no fever", []),
        ("50 mg @ bedtime", []),
        ("2.5 mg", []),
        ("e.g. this", []),
    ],
)
def test_addresses_of_a_network(text, expected):
    assert recognized(WEB_ADDRESSES, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12 North Main Street, Apt 4", [("street_address", "12 North Main Street, Apt 4")]),
        ("at 4411 Oak Hill Rd.", [("street_address", "4411 Oak Hill Rd")]),
        ("P.O. Box 221", [("street_address", "P.O. Box 221")]),
        ("lives at 12 elm street, apt 3", [("street_address", "12 elm street")]),
        ("77 5th Avenue", [("street_address", "77 5th Avenue")]),
        (
            "12 Elm St, Springfield, IL 62704-1234",
            [("street_address", "12 Elm St"), ("city", "Springfield, IL"), ("zip_code", "62704-1234")],
        ),
        ("zip: 02139", [("zip_code", "02139")]),
        ("She lives in Springfield.", [("city", "Springfield")]),
        ("Hampden County", [("county", "Hampden County")]),
        ("room 412B", [("ward", "room 412B")]),
        ("Orla Estermont, MD", []),
        ("Jane Doe, PA", []),
        ("platelets 62704", []),
        ("3 Left Anterior Descending", []),
        ("10 mg by mouth every day", []),
        ("2 blocks down the road", []),
        ("5 Day Course", []),
        ("room air 98%", []),
    ],
)
def test_places(text, expected):
    assert recognized(PLACES, text) == expected
