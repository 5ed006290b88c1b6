"""Labels in banners: where they end, which words belong to them, and what they hold."""

from clinaudit.templates.learning import LearningSample, enough, frequency_class
from clinaudit.templates.learning.labels import assign_facts, find_labels

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


def test_shapes_tell_where_no_word_does_and_a_fact_is_given_once() -> None:
    notes = [LearningSample("", {})] * 6
    banners = [f"Geb: 0{at + 1}.02.19{40 + 8 * at}\nVerfasst: 0{at + 1}.03.2024" for at in range(6)]
    assert {use.label: use.fact for use in assign_facts(notes, find_labels(banners, least=5))} == {
        "geb": "dob",
        "verfasst": "visit_date",
    }


def test_how_many_patients_a_word_needs() -> None:
    assert [enough(patients) for patients in (3, 100, 101, 1000)] == [5, 5, 6, 50]
    assert frequency_class(97, 100) == "nearly all patients (97%)"
    assert frequency_class(20, 100) == "some patients (20%)"
    assert frequency_class(5, 100) == "few patients (5%)"
