"""Which names can be one person's, and where a text writes a known value."""

import pytest

from clinaudit.audit.pii.values.known_names import KnownNames, PersonName, read_name, stands_in
from clinaudit.audit.pii.values.normal_form import IdentifierValue, fold_words
from clinaudit.audit.pii.values.value_scan import DateReader, ValueScanner, squeeze


def name(text: str) -> PersonName:
    found = read_name(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("John Smith", "Smith, John"),
        ("J. Smith", "John Smith"),
        ("J. Smith-Jones", "John Smith-Jones"),
        ("John Smith Jones", "Smith-Jones, John"),
        ("John A. Smith", "John Smith"),
        ("John A. Smith", "John Albert Smith"),
        ("John A. B. Smith", "John Bernard Smith"),
        ("JOSÉ GARCÍA", "Jose Garcia"),
        ("Mr. John Smith", "John Smith, MD"),
        ("O'Brien, Kate", "Kate O’Brien"),
    ],
)
def test_both_may_be_names_of_one_person(first: str, second: str) -> None:
    assert name(first).may_be(name(second))
    assert name(second).may_be(name(first))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("John Smith", "Jane Smith"),
        ("John Smith", "John Smythe"),
        ("K. Smith", "John Smith"),
        ("John B. Smith", "John A. Smith"),
        ("John Smith-Jones", "John Jones"),
        ("John Smith-Jones", "John Smith"),
        ("Smith John", "John Smith"),
    ],
)
def test_these_are_not(first: str, second: str) -> None:
    assert not name(first).may_be(name(second))
    assert not name(second).may_be(name(first))


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


@pytest.mark.parametrize(
    ("written", "prompt", "stands"),
    [
        ("J. Smith", "patient: John Smith", True),
        ("Smith, John", "John A. Smith is seen", True),
        ("John Smith", "Mr. Smith is seen", False),
        ("Ada Smith", "patient: John Smith", False),
    ],
)
def test_what_a_prompt_holds_of_a_name(written: str, prompt: str, stands: bool) -> None:
    assert stands_in(name(written), fold_words(prompt).split()) is stands


def test_a_stretch_of_text_is_no_name() -> None:
    assert read_name("the patient was seen with her two sisters and a friend") is None
    assert read_name("--") is None


US = DateReader(("%m/%d/%Y", "%m/%d/%y"))
EUROPE = DateReader(("%d/%m/%Y", "%d.%m.%Y"))


def holds(kind: str, value: str, text: str, dates: DateReader = US) -> bool:
    return ValueScanner([IdentifierValue(kind, value)], dates).find(text) == {0}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("phone", "6175550123", "call (617) 555-0123 now"),
        ("phone", "6175550123", "617.555.0123"),
        ("phone", "6175550123", "+1 617 555 0123"),
        ("phone", "6175550123", "tel:16175550123"),
        ("code", "ab123456", "MRN AB-123456."),
        ("code", "212456789", "ssn 212-45-6789"),
        ("name", "john smith", "seen by Smith, John today"),
        ("name", "jose garcia", "paciente José  García"),
        ("name", "li wu", "Li Wu"),
        ("email", "a.oak@x.org", "to A.Oak@X.org."),
        ("address", "12 oak st", "lives at 12 Oak Street, Salem"),
        ("address", "12 oak st", "12 OAK ST."),
        ("zip", "02139", "MA 02139-4307"),
        ("age", "93", "a 93-year-old woman"),
        ("age", "93", "Age: 93"),
        ("date", "2024-03-14", "on 3/14/2024,"),
        ("date", "2024-03-14", "March 14th, 2024"),
        ("date", "2024-03-14", "14 Mar 2024"),
        ("date", "2024-03-14", "2024-03-14"),
        ("date", "2024-03-14", "03/14/24"),
        ("date", "2024-03", "since 03/2024"),
    ],
)
def test_it_is_found_however_it_is_written(kind: str, value: str, text: str) -> None:
    assert holds(kind, value, text)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("phone", "6175550123", "9617555012344"),
        ("phone", "6175550123", "617 555 or 0123"),
        ("code", "212456789", "ssn 212-45-67891"),
        ("code", "ab12", "a b 12"),
        ("zip", "02139", "0213 9"),
        ("zip", "02139", "102139"),
        ("name", "john smith", "john met\n\n\n\n\nsmith"),
        ("name", "john smith", "Johnny Smithers"),
        ("name", "john", "John is well"),
        ("age", "93", "bp 93/60"),
        ("age", "93", "spo2 93%"),
        ("age", "93", "193 years"),
        ("date", "2024-03-14", "4/14/2024"),
        ("date", "2024-03-14", "13/14/2024"),
    ],
)
def test_and_nowhere_else(kind: str, value: str, text: str) -> None:
    assert not holds(kind, value, text)


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
