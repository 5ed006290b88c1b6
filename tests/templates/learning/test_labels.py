"""Labels in banners: where they end, which words belong to them, what they hold; and how a site writes dates."""

from datetime import date

import pytest
from support.cases import read_rows

from clinaudit.templates.learning import LearningSample, enough
from clinaudit.templates.learning.labels import assign_facts, choose_formats, find_labels, fits, same, shape_of

CASES = read_rows("template_cases.txt")

NAMES = ("Ada Lund", "Mia Ode", "Ian Silva", "Zoë Weiss", "Tom Novak", "Olu Hill")


def found(banners: list[str]) -> list[list[tuple[str, str]]]:
    return [[(item.label, item.value) for item in items] for items in find_labels(banners, least=5)]


def test_a_value_ends_at_the_next_label_and_names_are_no_part_of_labels() -> None:
    banners = [f"Patient: {name} DOB: 01/02/19{50 + at}   Sex: F | MRN: 4{at}" for at, name in enumerate(NAMES)]
    assert found(banners)[1] == [("patient", "Mia Ode"), ("dob", "01/02/1951"), ("sex", "F"), ("mrn", "41")]


def test_all_words_that_recur_belong_to_a_label() -> None:
    banners = [f"Date of birth: 01/02/19{50 + at}\nClinic name: Elm" for at in range(6)]
    assert found(banners)[0] == [("date of birth", "01/02/1950"), ("clinic name", "Elm")]


def test_a_bracket_that_opens_before_a_label_is_no_part_of_its_value() -> None:
    assert found(["Patient: Ada Lund (DOB: 01/02/1950)"] * 5)[0] == [("patient", "Ada Lund"), ("dob", "01/02/1950")]


def test_dots_that_lead_to_a_value_are_no_part_of_its_label() -> None:
    banners = [f"Date of birth.....: 01/02/19{50 + at}\nSeen by ........ Jo Ek\nD.O.B.: 1" for at in range(6)]
    assert found(banners)[0] == [("date of birth", "01/02/1950"), ("seen by", "Jo Ek"), ("d.o.b.", "1")]


def test_bold_labels_and_times_of_day() -> None:
    assert found(["**Name:** Ada Lund\nseen at 10:30"] * 5)[0] == [("name", "Ada Lund")]


def test_what_fewer_banners_have_is_no_label() -> None:
    assert found(["Name: Ada Lund"] * 5 + ["Lund: Ada"] * 4)[-1] == []


def test_a_table_tells_what_an_opaque_label_holds() -> None:
    notes = [LearningSample("", {"name": name, "provider": "Jo Ek"}) for name in NAMES]
    banners = [f"K1: {name}\nK2: Jo Ek\nK3: {at}" for at, name in enumerate(NAMES)]
    uses = {use.label: use for use in assign_facts(notes, find_labels(banners, least=5))}
    assert [(uses[label].fact, uses[label].confirmed) for label in ("k1", "k2", "k3")] == [
        ("name", 6),
        ("provider", 6),
        (None, 0),
    ]


def test_a_table_wins_over_the_words_of_a_label() -> None:
    # "Name" is that of the clinician here.
    notes = [LearningSample("", {"name": name, "provider": "Jo Ek"}) for name in NAMES]
    (use,) = assign_facts(notes, find_labels(["Name: Jo Ek"] * 6, least=5))
    assert use.fact == "provider"


def test_words_that_name_a_fact_do_so_only_where_the_values_can_be_one() -> None:
    notes = [LearningSample("", {})] * 6
    for banner, fact in (
        ("Date seen: 01/02/2024", "visit_date"),
        ("Date seen: on request", None),
        ("Patient's name: Ada", "name"),
        ("Page: 1", None),
        ("MRN: 12", None),
    ):
        (use,) = assign_facts(notes, find_labels([banner] * 6, least=5))
        assert use.fact == fact, banner


def facts_by_label(banners: list[str], known: list[dict[str, str | date]] | None = None) -> dict[str, str | None]:
    notes = [LearningSample("", said) for said in known or [{}] * len(banners)]
    return {use.label: use.fact for use in assign_facts(notes, find_labels(banners, least=5))}


@pytest.mark.parametrize(("banner", "unread"), CASES["test_a_label_of_dates_that_no_format_reads_is_kept_in_mind"])
def test_a_label_of_dates_that_no_format_reads_is_kept_in_mind(banner: str, unread: str | None) -> None:
    (use,) = assign_facts([LearningSample("", {})] * 6, find_labels([banner] * 6, least=5))
    assert use.unread == unread
    assert use.fact is None or unread is None


def test_how_many_patients_a_word_needs() -> None:
    assert [enough(patients) for patients in (3, 100, 101, 1000)] == [5, 5, 6, 50]


@pytest.mark.parametrize(("values", "fact"), CASES["test_the_shape_of_values_tells_their_fact"])
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
    assert fits("visit_date", ["01/02/2024 10:15", "03/04/2024 11:15"])
    assert not fits("visit_date", ["01/02/2024 by Jo Ek", "03/04/2024 by Jo Ek"])
    assert fits("practice", ["anything"])
    assert not fits("practice", ["692512-4", "118301-2"])


def test_days_above_twelve_tell_the_order() -> None:
    assert choose_formats(["03/04/2024", "27/04/2024"], {}) == (("%d/%m/%Y",), True)
    assert choose_formats(["03/04/2024", "04/27/2024"], {}) == (("%m/%d/%Y",), True)
    assert choose_formats(["2024-04-03", "12 March 2024"], {})[1]


def test_a_table_tells_the_order_where_no_day_does() -> None:
    assert choose_formats(["03/04/2024"], {"03/04/2024": [date(2024, 4, 3)]}) == (("%d/%m/%Y",), True)


def test_an_order_that_nothing_tells_or_of_which_there_are_two_is_said_to_be_uncertain() -> None:
    assert choose_formats(["03/04/2024", "05/06/2024"], {}) == (("%m/%d/%Y",), False)
    assert choose_formats(["13/04/2024"] * 9 + ["04/13/2024"], {}) == (("%d/%m/%Y",), False)
    assert choose_formats(["13/04/2024"] * 99 + ["04/13/2024"], {}) == (("%d/%m/%Y",), True)


def test_the_most_frequent_format_comes_first_and_what_no_format_reads_is_left() -> None:
    assert choose_formats(["2024-04-03", "27/04/2024", "28/04/2024", "soon"], {}) == (("%d/%m/%Y", "%Y-%m-%d"), True)
    assert choose_formats([], {}) == ((), True)
    # A format that reads a date may write another: the one in which most are written comes first.
    assert choose_formats(["3-Mar-2021", "4-Mar-2021", "5 March 2021"], {}) == (("%d-%b-%Y",), True)
    assert choose_formats(["3rd of March 2021", "3210305"], {})[1]
