"""Privacy and balance, and the agreement with real texts: worked by hand."""

import pytest

from clinaudit.audit.pii.benchmark.privacy.balance import (
    balance_curve,
    balance_score,
    privacy_score,
)
from clinaudit.audit.pii.benchmark.scoring.real_data import performance_consistency, ranking_consistency

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


def test_agreement_with_real_texts() -> None:
    assert performance_consistency(0.893, 0.912) == pytest.approx(0.979, abs=5e-4)  # Table 16, GPT4o
    assert performance_consistency(0.9, 0.6) == performance_consistency(0.6, 0.9) == pytest.approx(2 / 3)
    assert performance_consistency(0, 0) == 1
    assert performance_consistency(0, 0.5) == 0
    # Tables 6 and 18: one swap of neighbours among seven would give 1 - 6 * 2 / (7 * 48).
    single = [0.893, 0.858, 0.903, 0.881, 0.866, 0.748, 0.787]
    real = [0.912, 0.887, 0.923, 0.901, 0.884, 0.762, 0.798]
    assert ranking_consistency(single, real) == pytest.approx(1 - 6 * 2 / (7 * 48))
    assert ranking_consistency([0.1], [0.2]) is None
    assert ranking_consistency([0.1, 0.2], [0.3, 0.3]) is None
    with pytest.raises(ValueError, match="both sides"):
        ranking_consistency([0.1], [])
