"""What hides in a text is found at the place where it hides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import read_cases, read_found
from support.pii.found_spans import found_in_readings

from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.plain_text import decoded_stretches, joins, leaders, normalize_text
from clinaudit.audit.pii.taxonomy import EntitySpan

DETECTOR = RuleDetector()
CASES = read_cases("pii/value_cases.txt")


@pytest.mark.parametrize(("text", "plain"), CASES["as it looks"])
def test_a_text_is_read_as_it_looks(text, plain):
    assert normalize_text(text).text == plain


@pytest.mark.parametrize(("text", "joined"), CASES["over breaks"])
def test_breaks_inside_numbers_and_words_are_read_over(text, joined):
    plain = normalize_text(text)
    assert plain.replaced(joins(plain.text)).text == joined


@pytest.mark.parametrize(("text", "read"), CASES["past leaders"])
def test_what_leads_from_a_label_to_its_value_is_a_colon(text, read):
    plain = normalize_text(text)
    assert plain.replaced(leaders(plain.text)).text == read


@pytest.mark.parametrize(("text", "found"), CASES["what hides"])
def test_what_hides_is_found_where_it_hides(text, found):
    assert found_in_readings(DETECTOR, text) == read_found(found)


def test_hexadecimal_text_is_read():
    (stretch,) = decoded_stretches("x " + b"call 617-555-0142".hex())
    assert (stretch.text, stretch.start) == ("call 617-555-0142", 2)


@given(st.text(max_size=60) | st.text(alphabet="aN1.:_… \n", max_size=30))
def test_every_plain_character_stands_for_characters_of_the_original(text):
    read = normalize_text(text)
    for plain in (read, read.replaced(joins(read.text)), read.replaced(leaders(read.text))):
        assert len(plain.text) == len(plain.starts) == len(plain.ends)
        assert list(plain.starts) == sorted(plain.starts)
        assert all(0 <= start < end <= len(text) for start, end in zip(plain.starts, plain.ends, strict=True))


@given(st.text(alphabet="abc 123-\u200b\n", min_size=1, max_size=30))
def test_a_span_of_the_whole_reading_covers_all_that_is_read(text):
    plain = normalize_text(text)
    if plain.text:
        span = plain.original_span(EntitySpan(0, len(plain.text), "mrn", "x"))
        assert text[span.start : span.end].replace("\u200b", "") == text.replace("\u200b", "")
