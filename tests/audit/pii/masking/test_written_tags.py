"""Tags as answers write them: what is read as one, what is unknown and stays, and days that an answer counts on."""

import json
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import read_cases, read_rows

from clinaudit.audit.pii.masking.written_tags import unmask_text, with_own, write_later
from clinaudit.audit.pii.values.dates_in_text import read_written_date

ROWS = read_rows("pii/rows.txt")

CASES = read_cases("pii/value_cases.txt")
FORMS = {
    "PATIENT_1": ("Ada Lund",),
    "PATIENT_12": ("Per Berg",),
    "DATE_1+0d": ("03/01/2024",),
    "DATE_2+14d": ("March 15, 2024",),
    "DATE_3": ("May",),
    "AGE_1": ("34",),
}


@pytest.mark.parametrize("written", ROWS["a tag is known in every spelling"])
def test_a_tag_is_known_in_every_spelling(written: str) -> None:
    assert unmask_text(f"Is {written} well?", FORMS) == ("Is Ada Lund well?", 0)


@pytest.mark.parametrize(("answer", "expected", "unknown"), ROWS["what is no tag stays and what is unknown is counted"])
def test_what_is_no_tag_stays_and_what_is_unknown_is_counted(answer: str, expected: str | None, unknown: int) -> None:
    assert unmask_text(answer, FORMS) == (expected or answer, unknown)


def test_what_the_prompt_holds_itself_stays() -> None:
    own = "PATIENT 1 is not <AGE>, nor [patient 12]"
    forms = with_own(FORMS, [own])
    assert unmask_text(f"{own}; PATIENT-1, [AGE]", forms) == (f"{own}; Ada Lund, 34", 0)


JSON_FORMS = {"PATIENT_1": ('Ada\n"Lund"',), "ADDRESS_1": ("14 Elm St\\Apt 3",), "AGE_1": ("34",)}


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('{"name": "<PATIENT_1>", "<ADDRESS_1>": [1]}', {"name": 'Ada\n"Lund"', "14 Elm St\\Apt 3": [1]}),
        # Without quotes: a number is one.
        ('{"name": <PATIENT_1>, "age": AGE_1}', {"name": 'Ada\n"Lund"', "age": 34}),
        ('["Mr. \\u003cPATIENT_1\\u003e", true]', ['Mr. Ada\n"Lund"', True]),
        # JSON within a string of JSON, as for a call of a tool.
        (json.dumps({"call": json.dumps({"of": "<PATIENT_1>"})}), {"call": json.dumps({"of": 'Ada\n"Lund"'})}),
    ],
)
@pytest.mark.parametrize("around", ["{}", "Here it is [1]:\n```json\n{}\n```\n", 'It is {} {{"a": 1}}'])
def test_within_json_it_stays_json(answer: str, value: object, around: str) -> None:
    text, unknown = unmask_text(around.replace("{}", answer, 1), JSON_FORMS)
    before, _, after = around.partition("{}")
    assert unknown == 0
    assert json.loads(text[len(before) : len(text) - len(after)]) == value


def test_what_is_no_json_gets_the_value_as_it_is() -> None:
    for answer in ("[<PATIENT_1>]", 'Say "<PATIENT_1>" {', '{"a": "<PATIENT_1>"'):
        assert unmask_text(answer, JSON_FORMS)[0] == answer.replace("<PATIENT_1>", 'Ada\n"Lund"')


@pytest.mark.parametrize(("tag", "day"), CASES["tags of later days"])
def test_days_are_added_or_the_tag_is_unknown(tag: str, day: str | None) -> None:
    assert unmask_text(f"due {tag}.", FORMS) == (f"due {day or tag}.", 0 if day else 1)


def test_a_later_day_takes_no_turn_of_the_day_that_it_counts_from() -> None:
    forms = {"DATE_1+0d": ("01/02/2024", "January 2, 2024")}
    assert unmask_text("<DATE_1>, <DATE_1+1d>, <DATE_1>", forms) == ("01/02/2024, 01/03/2024, January 2, 2024", 0)


@pytest.mark.parametrize(("written", "later"), CASES["later days"])
def test_a_later_day_is_written_alike(written: str, later: str | None) -> None:
    day, _, days = written.rpartition(" +")
    assert write_later(day, int(days)) == later


@given(
    st.dates(date(1931, 1, 1), date(2090, 1, 1)),
    st.integers(-400, 400),
    st.sampled_from(["%m/%d/%Y", "%d.%m.%Y", "%F"]),
)
def test_a_later_day_is_never_another_one(day: date, days: int, form: str) -> None:
    read = date.fromisoformat(read_written_date(f"{day:{form}}")[0])
    later = write_later(f"{day:{form}}", days)
    assert later is not None
    assert read_written_date(later)[0] == f"{read + timedelta(days)}"


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "<PATIENT_1> and PATIENT_12, <DATE_1+42d>; <FOO_1> " * 5_000,
            "[" * 125_000 + "A" * 125_000,
            "<" * 250_000,
        ),
        *(
            "<PATIENT_" + "1" * 250_000 + ">",
            "<DATE_1" + "+1d" * 75_000 + ">",
            "&lt;" * 62_500,
            "PATIENT_" * 31_250,
            '{"a":' * 37_500,
            '{"a": "' + 'x { "' * 37_500,
        ),
    ],
    ids=["tags", "open", "angles", "figures", "days", "entities", "words", "nested", "quotes"],
)
def test_an_answer_of_a_quarter_of_a_megabyte_is_read(answer: str) -> None:
    text, unknown = unmask_text(answer, FORMS)
    assert unknown == answer.count("<FOO_1>") or text
    assert text.count("04/12/2024") == answer.count("<DATE_1+42d>")


@pytest.mark.parametrize(
    "written",
    ["<DATE_1+6w>", "<DATE_1+1mo>", "<DATE_1+42>", "<DATE_1 plus 42d>", "DATE_1 - 3 w"],
)
def test_an_offset_in_another_form_is_an_unknown_tag(written: str) -> None:
    assert unmask_text(f"seen {written} again", {"DATE_1+0d": ("03/01/2024",)}) == (f"seen {written} again", 1)
    assert unmask_text("<DATE_1>-6 weeks", {"DATE_1+0d": ("03/01/2024",)}) == ("03/01/2024-6 weeks", 0)
