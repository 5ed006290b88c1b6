"""What hides in a text is found at the place where it hides."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pii.found_spans import found_by

from clinaudit.audit.pii.detectors.combined import PlainReadingDetector
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.plain_text import decoded_stretches, joins, normalize_text, read_past_leaders

DETECTOR = PlainReadingDetector(RuleDetector())
ENCODED = base64.b64encode(b"Patient: John Smith DOB 03/14/1950").decode()


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("１２３", "123"),
        ("١٢٣", "123"),
        ("①②", "12"),
        ("Ѕmіth", "Smith"),
        ("Ροτρος", "Potpoς"),
        ("a\u200bb\u00adc\u202ed\ufeff", "abcd"),
        ("1\u03362\u0336", "12"),
        ("12\u201345", "12-45"),
        ("a\u00a0b", "a b"),
        ("&#49;&#x32;3&amp;", "123&"),
        ("%31%32", "12"),
        ("98%", "98%"),
        ("\\u0041", "A"),
        ("ﬁn", "fin"),
        ("l23-45-678O", "123-45-6780"),
        ("José", "José"),
    ],
)
def test_a_text_is_read_as_it_looks(text, plain):
    assert normalize_text(text).text == plain


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("123-45-\n6780", "123-45-6780"),
        ("617-555\n-0142", "617-555-0142"),
        ("03/14/\r\n1950", "03/14/1950"),
        ("Cra-\nnecott", "Cranecott"),
        ("1 2 3 - 4", "123-4"),
        ("J o h n Smith", "John Smith"),
        ("12 mg\nof x", "12 mg\nof x"),
        ("a b", "ab"),
        ("at 3 pm", "at 3 pm"),
    ],
)
def test_breaks_inside_numbers_and_words_are_read_over(text, joined):
    plain = normalize_text(text)
    assert plain.replaced(joins(plain.text)).text == joined


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("NO.......: 12", "NO: 12"),
        ("No: ....... 12", "No: 12"),
        ("No . . . . 12", "No: 12"),
        ("No........ 12", "No: 12"),
        ("No... 12", "No: 12"),
        ("No…: 12", "No: 12"),
        ("No: ____12", "No: 12"),
        ("No         : 12", "No: 12"),
        ("No:         A12", "No: A12"),
        ("No         12", "No 12"),
        ("Name......: ADA LUND  No...: 12", "Name: ADA LUND  No: 12"),
        # A pause, a sentence's end, columns, and blanks to fill in.
        ("no... Karen left", "no... Karen left"),
        ("no. 12", "no. 12"),
        ("Glucose         105", "Glucose         105"),
        ("No: ______\nDate: 12", "No: ______\nDate: 12"),
        ("No: ______ Date: ____ 12", "No: ______ Date: 12"),
        ("No: ______", "No: ______"),
    ],
)
def test_what_leads_from_a_label_to_its_value_is_a_colon(text, read):
    assert read_past_leaders(normalize_text(text)).text == read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SSN 123\u200b-45-\u200b6780", [("ssn", "123\u200b-45-\u200b6780")]),
        ("SSN １２３-４５-６７８０", [("ssn", "１２３-４５-６７８０")]),
        ("SSN 123-45-\n6780", [("ssn", "123-45-\n6780")]),
        ("SSN &#49;&#50;&#51;-45-6780", [("ssn", "&#49;&#50;&#51;-45-6780")]),
        ("SSN %31%32%33-45-6780", [("ssn", "%31%32%33-45-6780")]),
        ("SSN 1 2 3 - 4 5 - 6 7 8 0", [("ssn", "1 2 3 - 4 5 - 6 7 8 0")]),
        ("SSN l23-45-678O", [("ssn", "l23-45-678O")]),
        ("Dr. Ѕmіth", [("clinician_name", "Ѕmіth")]),
        ("Dr. \u202eSmith\u202c", [("clinician_name", "Smith")]),
        ("Patient: J\u00adohn Sm\u00adith", [("patient_name", "J\u00adohn Sm\u00adith")]),
        ("ada.lund@\nexample.com", [("email", "ada.lund@\nexample.com")]),
        ("DOB: 03/14/\n1950", [("birth_date", "03/14/\n1950")]),
        (f"blob {ENCODED} end", [("patient_name", ENCODED)]),
        ("HR 72\n120\n98", []),
        ("NHS No 350 313 1201\n747 Jayne Union", [("mrn", "350 313 1201")]),
        ("MRN: 00482913\n3 tablets", [("mrn", "00482913")]),
        ("MRN 445512\n5678. Seen", [("mrn", "445512"), ("mrn", "5678")]),
        ("SSN 123-4\n5-6780 on file", [("ssn", "123-4\n5-6780")]),
        ("blob " + base64.b64encode(b"nothing to see in here").decode(), []),
    ],
)
def test_what_hides_is_found_where_it_hides(text, expected):
    assert found_by(DETECTOR, text) == expected


def test_hexadecimal_text_is_read():
    (stretch,) = decoded_stretches("x " + b"call 617-555-0142".hex())
    assert (stretch.text, stretch.start) == ("call 617-555-0142", 2)


@given(st.text(max_size=60) | st.text(alphabet="aN1.:_… \n", max_size=30))
def test_every_plain_character_stands_for_characters_of_the_original(text):
    read = normalize_text(text)
    for plain in (read, read.replaced(joins(read.text)), read_past_leaders(read)):
        assert len(plain.text) == len(plain.starts) == len(plain.ends)
        assert list(plain.starts) == sorted(plain.starts)
        assert all(0 <= start < end <= len(text) for start, end in zip(plain.starts, plain.ends, strict=True))


@given(st.text(alphabet="abc 123-\u200b\n", min_size=1, max_size=30))
def test_a_span_of_the_whole_reading_covers_all_that_is_read(text):
    plain = normalize_text(text)
    if plain.text:
        span = plain.original_span(EntitySpan(0, len(plain.text), "mrn", "x"))
        assert text[span.start : span.end].replace("\u200b", "") == text.replace("\u200b", "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Call 555-12\n\n3-4567 today", "555-12\n\n3-4567"),
        ("phone 617-555\t-0134", "617-555\t-0134"),
        ("phone: 617-55\r\n \r\n5-0134 home", "617-55\r\n \r\n5-0134"),
        ("SSN 412-5\n\n5-6789", "412-5\n\n5-6789"),
        ("SSN 412\t-55-6789", "412\t-55-6789"),
        ("phone 617-555-0\t134", "617-555-0\t134"),
    ],
)
def test_halves_of_a_number_with_hyphens_are_one_over_a_tab_or_an_empty_line(text: str, found: str) -> None:
    assert found in [text[span.start : span.end] for span in DETECTOR.detect(text)]


@pytest.mark.parametrize(
    "text",
    [
        "BP 120-130\n\n80-85 at home",
        "doses 3-4\n\n10-12 units",
        "reps 10-20\t30-40\t50-60",
        "pain 3-4\n\n2024-2025 flu season",
        "labs: 12-15\t140-145\t3.5-5.0",
        "Na\t140\tK\t4.1\nCl\t102\t24-28\t7.35",
    ],
)
def test_cells_and_paragraphs_of_ranges_are_no_number(text: str) -> None:
    found = [text[span.start : span.end] for span in DETECTOR.detect(text)]
    assert not [written for written in found if "\t" in written or "\n\n" in written]
