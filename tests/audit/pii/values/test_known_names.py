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
    ("first", "second", "may_be"),
    [
        ("John Smith", "Smith, John", True),
        ("J. Smith", "John Smith", True),
        ("J. Smith-Jones", "John Smith-Jones", True),
        ("John Smith Jones", "Smith-Jones, John", True),
        ("John A. Smith", "John Smith", True),
        ("John A. Smith", "John Albert Smith", True),
        ("John A. B. Smith", "John Bernard Smith", True),
        ("JOSÉ GARCÍA", "Jose Garcia", True),
        ("Mr. John Smith", "John Smith, MD", True),
        ("O'Brien, Kate", "Kate O’Brien", True),
        ("John Smith", "Jane Smith", False),
        ("John Smith", "John Smythe", False),
        ("K. Smith", "John Smith", False),
        ("John B. Smith", "John A. Smith", False),
        ("John Smith-Jones", "John Jones", False),
        ("John Smith-Jones", "John Smith", False),
        ("Smith John", "John Smith", False),
    ],
)
def test_both_may_be_names_of_one_person_or_not(first: str, second: str, may_be: bool) -> None:
    assert name(first).may_be(name(second)) is name(second).may_be(name(first)) is may_be


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
    ("kind", "value", "text", "stands"),
    [
        ("phone", "6175550123", "call (617) 555-0123 now", True),
        ("phone", "6175550123", "617.555.0123", True),
        ("phone", "6175550123", "+1 617 555 0123", True),
        ("phone", "6175550123", "tel:16175550123", True),
        ("code", "ab123456", "MRN AB-123456.", True),
        ("code", "212456789", "ssn 212-45-6789", True),
        ("name", "john smith", "seen by Smith, John today", True),
        ("name", "jose garcia", "paciente José  García", True),
        ("name", "li wu", "Li Wu", True),
        ("email", "a.oak@x.org", "to A.Oak@X.org.", True),
        ("address", "12 oak st", "lives at 12 Oak Street, Salem", True),
        ("address", "12 oak st", "12 OAK ST.", True),
        ("zip", "02139", "MA 02139-4307", True),
        ("age", "93", "a 93-year-old woman", True),
        ("age", "93", "Age: 93", True),
        ("date", "2024-03-14", "on 3/14/2024,", True),
        ("date", "2024-03-14", "March 14th, 2024", True),
        ("date", "2024-03-14", "14 Mar 2024", True),
        ("date", "2024-03-14", "2024-03-14", True),
        ("date", "2024-03-14", "03/14/24", True),
        ("date", "2024-03", "since 03/2024", True),
        ("phone", "6175550123", "9617555012344", False),
        ("phone", "6175550123", "617 555 or 0123", False),
        ("code", "212456789", "ssn 212-45-67891", False),
        ("code", "ab12", "a b 12", False),
        ("zip", "02139", "0213 9", False),
        ("zip", "02139", "102139", False),
        ("name", "john smith", "john met\n\n\n\n\nsmith", False),
        ("name", "john smith", "Johnny Smithers", False),
        ("name", "john", "John is well", False),
        ("age", "93", "bp 93/60", False),
        ("age", "93", "spo2 93%", False),
        ("age", "93", "193 years", False),
        ("date", "2024-03-14", "4/14/2024", False),
        ("date", "2024-03-14", "13/14/2024", False),
    ],
)
def test_a_value_is_found_however_it_is_written_and_nowhere_else(
    kind: str, value: str, text: str, stands: bool
) -> None:
    assert holds(kind, value, text) is stands


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
