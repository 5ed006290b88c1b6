"""Codes by their label and by their shape, telephone numbers, addresses of a network, dates, ages and places."""

import pytest
from support.pii.found_spans import recognized

from clinaudit.audit.pii.detectors.numbers import is_vin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MRN: 00482913", [("mrn", "00482913")]),
        ("MRN 00-482-913 seen", [("mrn", "00-482-913")]),
        ("medical record number is A1234567", [("mrn", "A1234567")]),
        ("Patient ID: p0001", [("mrn", "p0001")]),
        ("NHS No 350 313 1201", [("mrn", "350 313 1201")]),
        ("NHS number: 1631526830", [("mrn", "1631526830")]),
        ("member no 8831 2231\n9901 seen", [("health_plan_number", "8831 2231")]),
        ("Account #: 99812", [("account_number", "99812")]),
        ("encounter no. 2231-88", [("account_number", "2231-88")]),
        ("Health plan ID: XYZ123456789", [("health_plan_number", "XYZ123456789")]),
        ("member number 8831 2231 9901", [("health_plan_number", "8831 2231 9901")]),
        ("Device serial number: SN-39X2231", [("device_id", "SN-39X2231")]),
        ("pacemaker serial no. PJN500212S", [("device_id", "PJN500212S")]),
        ("Driver's license D1234567", [("driver_licence", "D1234567")]),
        ("license plate: ABC 1234", [("vehicle_id", "ABC 1234")]),
        ("VIN 1HGCM82633A004352", [("vehicle_id", "1HGCM82633A004352")]),
        ("drove 1HGCM82633A004352 home", [("vehicle_id", "1HGCM82633A004352")]),
        ("certificate number 77-2231", [("licence_number", "77-2231")]),
        ("NPI 1234567893", [("licence_number", "1234567893")]),
        ("Passport: 531234567", [("passport", "531234567")]),
        ("TIN: 12-3456789", [("tax_id", "12-3456789")]),
        ("bank account 4421998877", [("bank_account", "4421998877")]),
        ("Employee ID: E-2231", [("employee_id", "E-2231")]),
        ("student number 20231187", [("student_id", "20231187")]),
        ("SSN ending in 6780", [("ssn", "6780")]),
        ("SSN xxx-xx-6780", [("ssn", "xxx-xx-6780")]),
        ("fingerprint template id 88213", [("biometric_id", "88213")]),
        ("see face_front.jpg", [("photograph", "face_front.jpg")]),
        ("accession number S24-1182", [("other_code", "S24-1182")]),
        ("hash " + "ab12" * 16, [("password_hash", "ab12" * 16)]),
    ],
)
def test_a_code_is_told_by_its_label(text, expected):
    assert recognized("labelled codes", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("platelets 250,000", "TSH 2.45", "hemoglobin 12.3", "ICD I48.0", "CPT 99213", "apixaban 2.5 mg", "BP 120/80"),
        *(
            "the patient 45 years old",
            "account of the illness",
            "device was checked 3 times",
            "chart reviewed 03/14/2024",
        ),
        *("plan: 325 mg aspirin", "order 2 units", "lead II", "hash " + "ab12" * 15, "member of the team", "study 1"),
        *("drove 1HGCM82633A004353 home", "case 12", "visit 3", "staff 12"),
    ],
)
def test_values_of_a_note_are_no_codes(text):
    assert recognized("labelled codes", text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("123-45-6780", [("ssn", "123-45-6780")]),
        ("SSN: 123456780", [("ssn", "123456780")]),
        ("social security 123 45 6780", [("ssn", "123 45 6780")]),
        ("4111 1111 1111 1111", [("credit_card", "4111 1111 1111 1111")]),
        ("card 4111111111111111.", [("credit_card", "4111111111111111")]),
        ("GB29 NWBK 6016 1331 9268 19", [("bank_account", "GB29 NWBK 6016 1331 9268 19")]),
        ("from 192.168.1.20", [("ip_address", "192.168.1.20")]),
        ("from 2001:db8::8a2e:370:7334", [("ip_address", "2001:db8::8a2e:370:7334")]),
        ("ITIN 912-70-1234", [("tax_id", "912-70-1234")]),
        ("DEA certificate AB1234563", [("licence_number", "AB1234563")]),
        ("Medicare 1EG4-TE5-MK73", [("health_plan_number", "1EG4-TE5-MK73")]),
        ("00:1B:44:11:3A:B7", [("device_id", "00:1B:44:11:3A:B7")]),
        ("passport_no._C04912281_US", [("passport", "C04912281")]),
        ("license_no._D49125581_MA", [("driver_licence", "D49125581")]),
    ],
)
def test_a_code_is_told_by_its_shape_or_check_digit(text, expected):
    assert recognized("checked codes", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("4111 1111 1111 1112", "000-12-3456", "666-12-3456", "123-45-0000", "platelets 250000"),
        *("1234567 units", "10:38:22"),
        *("GB29 NWBK 6016 1331 9268 18", "192.168.1.999", "version 2.1.0", "999 000 111", "troponin 0.012345"),
        *("12/13/2022",),
        *("ICD-10 E11.9, I10, K21.9", "CD4 450 count", "specific gravity 1.015", "I48.0 K21.9 F41.9 Z33.2", "A1234567"),
    ],
)
def test_numbers_of_a_laboratory_are_no_codes(text):
    assert recognized("checked codes", text) == []


def test_the_check_digit_of_a_vehicle_is_computed_over_all_17_characters():
    # 49 CFR 565.15(c): 11111111111111111 gives the digit 1.
    assert is_vin("1" * 17)
    assert not is_vin("1" * 16 + "2")
    assert not is_vin("1M8GDM9AXKP04278O")
    assert is_vin("1M8GDM9AXKP042788")


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
    assert recognized("phones", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("6175550142", "WBC 555-1234", "platelets 250 3500", "12-617-555-0142", "617-555-0142-3"),
        *("123-45-6780", "1234567"),
        *("017-555-0142", "BP 120 800 1234", "BP 120/80, P 72, R 16", "2024-03-14 10:38"),
        *("4111 1111 1111 1111", "x 3 weeks"),
    ],
)
def test_other_numbers_are_no_telephone_numbers(text):
    assert recognized("phones", text) == []


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
    assert recognized("dates", text) == expected


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
    assert recognized("times", text) == expected


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
    assert recognized("ages", text) == expected


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
    assert recognized("web addresses", text) == expected


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
    assert recognized("places", text) == expected
