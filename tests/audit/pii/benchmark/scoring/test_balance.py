"""Privacy and balance: worked by hand."""

import pytest

from clinaudit.audit.pii.benchmark.scoring.privacy import balance_curve, balance_score, privacy_score

ORIGINAL = "Ann Lee is 25. Ann Lee was born in 1925 and lives in Oslo."
ENTITIES = ["Ann Lee", "25", "Oslo"]


@pytest.mark.parametrize(
    ("masked", "expected"),
    [
        (ORIGINAL, 0),
        ("<PERSON> is <AGE>. <PERSON> was born in 1925 and lives in <CITY>.", 1),  # the year is no age
        ("<PERSON> is 25. Ann Lee was born in 1925 and lives in <CITY>.", 0.5),
        ("Ann Lee is 25. Ann Lee was born in 1925 and lives in Oslo. Oslo!", -0.25),
    ],
)
def test_privacy_is_the_share_of_occurrences_that_are_gone(masked: str, expected: float) -> None:
    assert privacy_score(ENTITIES, ORIGINAL, masked) == pytest.approx(expected)


def test_a_text_without_entities_has_no_privacy_score() -> None:
    assert privacy_score([], ORIGINAL, ORIGINAL) is None
    assert privacy_score(["Bergen"], ORIGINAL, ORIGINAL) is None


def test_a_look_alike_of_one_unicode_form_is_left_all_the_same() -> None:
    assert privacy_score(["Ann"], "Ann.", "\uff21nn.") == 0


def test_balance() -> None:
    # The rows of the paper's Table 8.
    assert [round(balance_score(p, u), 2) for p, u in ((0, 1), (1, 0.52), (0.83, 0.89))] == [0.5, 0.76, 0.86]
    curve = balance_curve(0.83, 0.89)
    assert (curve[0], len(curve)) == ((0.0, 0.89), 11)
    assert curve[10] == (1.0, pytest.approx(0.83))
