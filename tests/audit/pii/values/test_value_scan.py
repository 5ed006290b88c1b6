"""Looking for values: found however a text writes them, and nowhere else."""

import pytest

from clinaudit.audit.pii.values.normal_form import IdentifierValue
from clinaudit.audit.pii.values.value_scan import DateReader, ValueScanner, squeeze

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
