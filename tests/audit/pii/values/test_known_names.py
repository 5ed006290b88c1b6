"""Which names can be one person's, and where a text writes a known value or another."""

import pytest
from support.cases import read_cases, read_rows

from clinaudit.audit.pii.values.known_values import (
    DateReader,
    KnownNames,
    PersonName,
    ValueScanner,
    read_name,
    squeeze,
    stands_in,
)
from clinaudit.audit.pii.values.normal_form import IdentifierValue, fold_words, normalize

ROWS = read_rows("pii/rows.txt")

CASES = read_cases("pii/value_cases.txt")


def name(text: str) -> PersonName:
    found = read_name(text)
    assert found is not None
    return found


@pytest.mark.parametrize(("names", "answer"), CASES["one person"])
def test_both_may_be_names_of_one_person_or_not(names: str, answer: str) -> None:
    first, second = map(name, names.split(" | "))
    assert first.may_be(second) is second.may_be(first) is (answer == "yes")


def test_a_name_is_of_everybody_whose_name_it_can_be() -> None:
    known = KnownNames(
        [(0, name("John Smith-Jones")), (1, name("Jane Smith")), (2, name("John A. Smith")), (3, name("Smith, J."))]
    )
    assert known.find(name("J. Smith-Jones")) == {0}
    assert known.find(name("John Smith")) == {2, 3}
    assert known.find(name("J. Smith")) == {1, 2, 3}
    assert known.find(name("Smith")) == known.find(name("Smith-Jones")) == set()
    assert known.find_part(name("Mrs. Smith-Jones")) == {0}
    assert known.find_part(name("Mrs. Smith")) == {0, 1, 2, 3}
    assert known.find_part(name("Jane")) == {1}
    assert known.find_part(name("Adam")) == set()


@pytest.mark.parametrize(("written", "prompt", "stands"), ROWS["what a prompt holds of a name"])
def test_what_a_prompt_holds_of_a_name(written: str, prompt: str, stands: bool) -> None:
    assert stands_in(name(written), fold_words(prompt).split()) is stands


def test_a_stretch_of_text_is_no_name() -> None:
    assert read_name("the patient was seen with her two sisters and a friend") is None
    assert read_name("--") is None


US = DateReader(("%m/%d/%Y", "%m/%d/%y"))
EUROPE = DateReader(("%d/%m/%Y", "%d.%m.%Y"))


def holds(kind: str, value: str, text: str, dates: DateReader = US) -> bool:
    return ValueScanner([IdentifierValue(kind, value)], dates).find(text) == {0}  # type: ignore[arg-type]


@pytest.mark.parametrize(("written", "answer"), CASES["where a value stands"])
def test_a_value_is_found_however_it_is_written_and_nowhere_else(written: str, answer: str) -> None:
    value, text = written.split(" | ")
    assert holds(*value.split(" ", 1), text) is (answer == "yes")


def test_a_sites_order_of_day_and_month_decides() -> None:
    assert holds("date", "2024-02-01", "01/02/2024", EUROPE)
    assert not holds("date", "2024-01-02", "01/02/2024", EUROPE)
    assert holds("date", "2024-01-02", "01/02/2024", US)


def test_values_with_one_form_are_all_found() -> None:
    wanted = [
        IdentifierValue("phone", "6175550123"),
        IdentifierValue("code", "6175550123"),
        IdentifierValue("zip", "02139"),
    ]
    assert ValueScanner(wanted, US).find("617-555-0123") == {0, 1}


def test_places_are_those_of_the_text() -> None:
    squeezed, places = squeeze("A-b 1")
    assert (squeezed, places.tolist()) == ("ab1", [0, 2, 4])
    squeezed, places = squeeze("É 1")
    assert squeezed == "e1"
    assert places.tolist() == [0, 2]


@pytest.mark.parametrize(("written", "text", "is_held"), ROWS["a number is held however it is written"])
def test_a_number_is_held_however_it_is_written(written: str, text: str, *, is_held: bool) -> None:
    value = normalize("phone", written)
    assert value is not None
    assert ValueScanner([value], DateReader(())).find(text) == ({0} if is_held else set())


def test_what_is_no_telephone_number_has_no_extension() -> None:
    value = normalize("mrn", "5550100199")
    assert value is not None
    assert ValueScanner([value], DateReader(())).find("mrn 5550100199x12") == set()
