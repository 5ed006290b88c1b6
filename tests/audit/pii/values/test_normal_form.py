"""The value behind a wording, and days in every form that English text writes."""

from dataclasses import replace

import pytest
from support.cases import read_cases, read_rows

from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values import normal_form
from clinaudit.audit.pii.values.dates_in_text import find_dates, read_written_date
from clinaudit.audit.pii.values.normal_form import IdentifierValue, kind_of, name_parts, normalize, readings

ROWS = read_rows("pii/rows.txt")

CASES = read_cases("pii/value_cases.txt")


@pytest.mark.parametrize(("written", "value"), CASES["normal form"])
def test_a_value_has_one_normal_form_and_a_text_without_one_none(written, value):
    expected = None if value is None else IdentifierValue(*value.split(" ", 1))
    assert normalize(*written.split(" ", 1)) == expected


@pytest.mark.parametrize(("written", "parts"), CASES["parts of a name"])
def test_names_are_folded_and_put_in_the_order_of_speech(written, parts):
    assert name_parts(written) == tuple(parts.split())


@pytest.mark.parametrize(("written", "values"), CASES["readings"])
def test_a_name_is_read_without_its_middle_too_and_a_date_in_both_orders_and_centuries(written, values):
    assert [value.text for value in readings(*written.split(" ", 1))] == values.split(" | ")


def test_categories_that_hold_the_same_values_are_of_one_kind():
    assert kind_of("phone") == kind_of("fax") == "phone"
    assert kind_of("birth_date") == kind_of("admission_date") == kind_of("date")
    assert {kind_of(category) for category in categories()} >= {
        *("name", "date", "phone", "code", "address", "zip", "age")
    }


def test_a_category_that_the_taxonomy_lacks_is_refused():
    with pytest.raises(KeyError):
        normalize("shoe_size", "42")


@pytest.mark.parametrize("fault", [{"type": "ODD", "value": None}, {"value": "odd"}])
def test_a_type_or_a_kind_of_value_that_is_unknown_is_refused(monkeypatch, fault):
    category = replace(categories()["city"], **fault)
    monkeypatch.setattr(normal_form, "categories", lambda: {"odd_city": category})
    with pytest.raises((KeyError, AssertionError)):
        normalize("odd_city", "Ashford")


@pytest.mark.parametrize("written", ROWS["one day is read in every form"])
def test_one_day_is_read_in_every_form(written):
    (found,) = find_dates(f"seen {written}.")
    assert found.readings[0] == "2024-03-14"


@pytest.mark.parametrize(("written", "days"), CASES["dates"])
def test_a_date_that_can_be_read_twice_says_so(written, days):
    assert read_written_date(written) == tuple((days or "").split())


@pytest.mark.parametrize("text", ROWS["other numbers are no dates"])
def test_other_numbers_are_no_dates(text):
    assert find_dates(text) == []


def test_a_range_is_two_dates():
    text = "admitted 3/1/24-3/5/24"
    assert [text[found.start : found.end] for found in find_dates(text)] == ["3/1/24", "3/5/24"]


def test_a_day_without_a_year_needs_a_word_of_time():
    text = "seen on 3/14 with 3/14 points"
    assert [(found.start, found.readings) for found in find_dates(text)] == [(8, ("--03-14",))]
