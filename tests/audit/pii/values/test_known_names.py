"""Names of persons: which ways of writing can be of one person, and which cannot."""

import pytest

from clinaudit.audit.pii.values.known_names import KnownNames, PersonName, read_name, stands_in
from clinaudit.audit.pii.values.normal_form import fold_words


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
