"""What values in a banner look like, and the formats in which a site writes its dates."""

from datetime import date

import pytest

from clinaudit.templates.learning.labels import choose_formats, fits, narrowed, same, shape_of


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        (["01/02/1940", "03/04/1975", "05/06/2001"], "dob"),
        (["01/02/2023", "03/04/2024", "05/06/2024"], "visit_date"),
        (["4 May 2024", "12 June 2023"], "visit_date"),
        (["F", "M", "female"], "sex"),
        (["46", "31 yrs", "50 years old"], "age"),
        (["Dr Hill", "Jo Ek, MD", "Nurse Kelly"], "provider"),
        (["Elm Clinic", "Park Lane Practice"], "practice"),
        (["Ada Lund", "O'Brien, Mia", "Zoë Nuñez"], "name"),
        # One value for most is the name of a place, or of somebody who is no patient.
        (["Riverbend West", "Riverbend West", "Ada Lund"], None),
        # So are a few that all notes share, and most patients have a name of their own.
        (["Family Medicine", "Internal Medicine", "Family Medicine", "Sleep Medicine", "Internal Medicine"] * 2, None),
        (["van den Berg, A.", "Ana de la Cruz", "Ode, Mia"], "name"),
        (["Mrs Ada Lund", "Mr Ian Silva", "Ms Mia Ode"], "name"),
        (["Mr Ian Silva", "Mr Ian Silva", "Dr Hill"], "provider"),
        (["Mrs Ada Lund, DOB 3 Mar 1961", "Mr Ian Silva, DOB 4 May 1950", "Ms Mia Ode, DOB 5 Jun 1971"], None),
        (["00417", "00418"], None),
        ([], None),
    ],
)
def test_the_shape_of_values_tells_their_fact(values: list[str], fact: str | None) -> None:
    assert shape_of(values) == fact


@pytest.mark.parametrize(
    ("fact", "value", "known", "expected"),
    [
        ("dob", "03/04/1980", date(1980, 4, 3), True),
        ("dob", "03/04/1980", date(1980, 3, 4), True),
        ("dob", "3 April 1980", date(1980, 4, 3), True),
        ("dob", "03/05/1980", date(1980, 4, 3), False),
        ("sex", "F", "female", True),
        ("sex", "Fine", "female", False),
        ("age", "46 yrs", "46", True),
        ("age", "46", "47", False),
        ("name", "LUND, Ada", "Ada Lund", True),
        ("name", "Ada", "Ada Lund", False),
    ],
)
def test_a_value_is_that_of_a_table_however_it_is_written(
    fact: str, value: str, known: str | date, expected: bool
) -> None:
    assert same(fact, value, known) is expected


def test_only_what_can_be_a_date_holds_one() -> None:
    assert fits("dob", ["01/02/1980", "3 May 1970"])
    assert not fits("visit_date", ["01/02/2024 10:15", "03/04/2024 11:15"])
    assert fits("practice", ["anything"])
    assert not fits("practice", ["692512-4", "118301-2"])


def test_days_above_twelve_tell_the_order() -> None:
    assert choose_formats(["03/04/2024", "27/04/2024"], {}) == (("%d/%m/%Y",), True)
    assert choose_formats(["03/04/2024", "04/27/2024"], {}) == (("%m/%d/%Y",), True)
    assert choose_formats(["2024-04-03", "12 March 2024"], {})[1]


def test_a_table_tells_the_order_where_no_day_does() -> None:
    assert choose_formats(["03/04/2024"], {"03/04/2024": [date(2024, 4, 3)]}) == (("%d/%m/%Y",), True)


def test_an_order_that_nothing_tells_is_said_to_be_uncertain() -> None:
    assert choose_formats(["03/04/2024", "05/06/2024"], {}) == (("%m/%d/%Y",), False)


def test_the_most_frequent_format_comes_first_and_what_no_format_reads_is_left() -> None:
    assert choose_formats(["2024-04-03", "27/04/2024", "28/04/2024", "soon"], {}) == (("%d/%m/%Y", "%Y-%m-%d"), True)
    assert choose_formats([], {}) == ((), True)


def test_a_pattern_takes_only_the_forms_that_occur() -> None:
    assert narrowed(("a+", "b+", "c"), ["a", "bb"]) == "(?:a+|b+)"
    assert narrowed(("a+", "b+"), ["a"]) == "a+"
    # Where some value has no form, none can be left out.
    assert narrowed(("a+", "b+"), ["a", "x"]) == "(?:a+|b+)"
