"""Tags as answers write them: what is read as one, what is unknown and stays, and days that an answer counts on."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import read_cases

from clinaudit.audit.pii.masking.written_tags import unmask_text, write_later
from clinaudit.audit.pii.values.dates_in_text import read_written_date

CASES = read_cases("pii/value_cases.txt")
FORMS = {
    "PATIENT_1": ("Ada Lund",),
    "PATIENT_12": ("Per Berg",),
    "DATE_1+0d": ("03/01/2024",),
    "DATE_2+14d": ("March 15, 2024",),
    "DATE_3": ("May",),
}


@pytest.mark.parametrize(
    "written",
    [
        *("<PATIENT_1>", "<patient_1>", "PATIENT_1", "[PATIENT_1]", "{Patient_1}", "&lt;PATIENT_1&gt;", "<PATIENT_1 >"),
        *("< PATIENT_1>", r"<PATIENT\_1>", r"PATIENT\_1", "\\u003cPATIENT_1\\u003e", "<PATIENT_01>", "＜PATIENT_1＞"),
        # Full-width letters, Cyrillic ones that look alike, a mark that shows nothing, an Arabic figure.
        *("＜ＰＡＴＩＥＮＴ＿１＞", "<РАТIЕNТ_1>", "<PATIENT_\u200b1>", "<PATIENT_\u0661>"),
    ],
)
def test_a_tag_is_known_in_every_spelling(written: str) -> None:
    assert unmask_text(f"Is {written} well?", FORMS) == ("Is Ada Lund well?", 0)


@pytest.mark.parametrize(
    ("answer", "expected", "unknown"),
    [
        ("**PATIENT_1**'s, (PATIENT_12), |PATIENT_1|25|", "**Ada Lund**'s, (Per Berg), |Ada Lund|25|", 0),
        ("[PATIENT_1 and PATIENT_12]", "[Ada Lund and Per Berg]", 0),
        ("<<PATIENT_1>> [<PATIENT_1>]", "<Ada Lund> [Ada Lund]", 0),
        # No tag, or one within a word; nothing is counted.
        ("XPATIENT_1 PATIENT_1S MY_PATIENT_1 COVID_19 <H1> <table_1> [1]", None, 0),
        ("<X_1> <ПАЦИЕНТ_1> PATIENT_123 [patient_3] <PATIENT_2>", None, 5),
    ],
)
def test_what_is_no_tag_stays_and_what_is_unknown_is_counted(answer: str, expected: str | None, unknown: int) -> None:
    assert unmask_text(answer, FORMS) == (expected or answer, unknown)


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
            "<PATIENT_1> and PATIENT_12, <DATE_1+42d>; <FOO_1> " * 20_000,
            "[" * 500_000 + "A" * 500_000,
            "<" * 1_000_000,
        ),
        *(
            "<PATIENT_" + "1" * 1_000_000 + ">",
            "<DATE_1" + "+1d" * 300_000 + ">",
            "&lt;" * 250_000,
            "PATIENT_" * 125_000,
        ),
    ],
    ids=["tags", "open", "angles", "figures", "days", "entities", "words"],
)
def test_an_answer_of_a_megabyte_is_read(answer: str) -> None:
    text, unknown = unmask_text(answer, FORMS)
    assert unknown == answer.count("<FOO_1>") or text
    assert text.count("04/12/2024") == answer.count("<DATE_1+42d>")


@pytest.mark.parametrize(
    "written",
    ["<DATE_1+6w>", "<DATE_1+1mo>", "<DATE_1+42>", "‹DATE_1−42d>", "‹DATE_1–42d>", "<DATE_1 plus 42d>", "DATE_1 - 3 w"],
)
def test_an_offset_in_another_form_is_an_unknown_tag(written: str) -> None:
    assert unmask_text(f"seen {written} again", {"DATE_1+0d": ("03/01/2024",)}) == (f"seen {written} again", 1)
    assert unmask_text("<DATE_1>-6 weeks", {"DATE_1+0d": ("03/01/2024",)}) == ("03/01/2024-6 weeks", 0)
