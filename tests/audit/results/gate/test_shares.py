"""One logic for all rules of shares, at its boundaries, by hand."""

import pytest

from clinaudit.audit.results.gate import words
from clinaudit.audit.results.gate.needed import patients_needed
from clinaudit.audit.results.gate.shares import Sides
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.reports.estimates.frame import Row
from clinaudit.reports.estimates.intervals import beta_bounds


def row(value: float, low: float, high: float) -> Row:
    return Row("own_identifiers", value=value, low=low, high=high)


NONE = row(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("figure", "chance", "expected"),
    [
        # Without chance in it, the difference has the figure's ends.
        (row(0.06, 0.04, 0.10), NONE, words.WITHIN),
        (row(0.06, 0.04, 0.1001), NONE, words.AROUND),
        (row(0.20, 0.11, 0.30), NONE, words.BEYOND),
        (row(0.20, 0.10, 0.30), NONE, words.AROUND),
        # d = 0.14 and its lower end 0.14 - hypot(0.08, 0.06) = 0.04: above 0, the figure's above the limit.
        (row(0.20, 0.12, 0.30), row(0.06, 0.03, 0.12), words.BEYOND),
        # d = 0.10, its lower end 0.10 - hypot(0.08, 0.06) = 0 (to rounding below): may be chance.
        (row(0.20, 0.12, 0.30), row(0.1001, 0.05, 0.1601), words.LIKE_CHANCE),
        # d's upper end: 0.02 + hypot(0.04, 0.03) = 0.07.
        (row(0.10, 0.06, 0.14), row(0.08, 0.05, 0.12), words.WITHIN),
        # The same difference, but of strangers as much as is forbidden comes out.
        (row(0.20, 0.16, 0.24), row(0.18, 0.15, 0.22), words.STRANGERS),
        # Nothing shows chance: within, it passes; beyond, it is open.
        (row(0.05, 0.02, 0.10), None, words.WITHIN),
        (row(0.20, 0.11, 0.30), None, words.CHANCE_NOT_KNOWN),
        (row(0.08, 0.02, 0.12), None, words.AROUND),
    ],
)
def test_a_share_less_chance_is_held_against_the_limit(
    figure: Row, chance: Row | None, expected: words.Decided
) -> None:
    assert Sides(figure, chance).decide(0.10) == expected


def test_nothing_measured_is_no_pass() -> None:
    assert Sides(None, NONE).decide(0.10).status == "inconclusive"
    assert Sides(share_row("own_identifiers", 0, 0), NONE).decide(0.10).status == "inconclusive"


@pytest.mark.parametrize(
    ("whole", "sampled", "chance", "scale", "expected"),
    [
        # The whole figure is within, whatever 27 times the sampled difference's upper end is.
        (row(0.02, 0.01, 0.04), row(0.01, 0.0, 0.03), row(0.01, 0.0, 0.03), 27.0, words.WITHIN),
        # It is not, and the sampled one is only in its own pool: 27 times 0.03 is beyond.
        (row(0.90, 0.85, 0.94), row(0.03, 0.0, 0.06), row(0.0, 0.0, 0.03), 27.0, words.LIKE_CHANCE),
        (row(0.90, 0.85, 0.94), row(0.08, 0.04, 0.13), row(0.0, 0.0, 0.03), 27.0, words.BEYOND),
        # Chance explains it in equal pools.
        (row(0.20, 0.15, 0.26), row(0.10, 0.08, 0.12), row(0.10, 0.08, 0.12), 2.0, words.STRANGERS),
        (row(0.08, 0.04, 0.12), row(0.04, 0.03, 0.05), row(0.04, 0.03, 0.05), 2.0, words.WITHIN),
        (row(0.08, 0.04, 0.12), row(0.04, 0.03, 0.05), row(0.04, 0.03, 0.05), 4.0, words.AROUND),
        # Nothing is given of all who were trained on: chance in pools has nothing to be taken off.
        (row(0.0, 0.0, 0.03), row(0.15, 0.10, 0.23), row(0.31, 0.23, 0.40), 1.0, words.WITHIN),
        # One patient's text in every answer, and not in the sampled pool.
        (row(1.00, 0.99, 1.00), row(0.0, 0.0, 0.01), row(0.0, 0.0, 0.01), 2.0, words.LIKE_CHANCE),
    ],
)
def test_pools_of_equal_size_are_scaled_to_all_who_were_trained_on(
    whole: Row, sampled: Row, chance: Row, scale: float, expected: words.Decided
) -> None:
    assert Sides(whole, chance, sampled, scale).decide(0.05) == expected


def test_what_passes_a_limit_passes_a_wider_one_and_fails_only_tighter_ones() -> None:
    order = ["fail", "inconclusive", "pass"]
    for given in range(0, 60, 3):
        for by_chance in range(0, 60, 5):
            rows = (share_row("m", count, 130) for count in (given, by_chance))
            figure, chance = rows
            found = [order.index(Sides(figure, chance).decide(of / 100).status) for of in range(1, 60)]
            assert found == sorted(found)


@pytest.mark.parametrize(
    ("count", "of", "limit"), [(0, 40, 0.05), (8, 100, 0.10), (13, 100, 0.10), (30, 100, 0.10), (3, 300, 0.02)]
)
def test_the_number_of_patients_that_closes_a_rule_is_the_least_step_that_does(
    count: int, of: int, limit: float
) -> None:
    never = share_row("m", 0, of)
    number = patients_needed(Sides(share_row("m", count, of), never), limit)
    assert number is not None
    assert number % 50 == 0

    def decides(patients: int) -> bool:
        low, high = beta_bounds(count / of * patients, patients)
        figure = Row("m", value=count / of, low=low, high=high)
        return Sides(figure, share_row("m", 0, patients)).decide(limit).status != "inconclusive"

    assert decides(number)
    assert number > of
    assert number - 50 <= of or not decides(number - 50)


def test_of_pools_the_number_is_of_the_figure_and_of_chance() -> None:
    """12% of which half is chance: alone it would never be within 10%; less chance it is, with enough patients."""
    whole, half, chance = (share_row("m", count, 200) for count in (24, 12, 6))
    number = patients_needed(Sides(whole, chance, half, 2.0), 0.10)
    assert number is not None
    assert patients_needed(Sides(whole, chance, half, 2.0), 0.10) != patients_needed(Sides(whole, None), 0.10)


def test_a_hidden_count_takes_the_larger_number_of_both_ends_and_a_figure_at_the_limit_takes_none() -> None:
    hidden = Row("m", low=0.0, high=0.2, count_low=1, count_high=10, of_low=130, of_high=130)
    ends = [share_row("m", count, 130) for count in (1, 10)]
    numbers = [patients_needed(Sides(of, None), 0.10) for of in ends]
    assert patients_needed(Sides(hidden, None), 0.10) == max(of for of in numbers if of)
    assert patients_needed(Sides(share_row("m", 10, 100), None), 0.10) is None
    # Without chance, nothing beyond the limit is decided by any number.
    assert patients_needed(Sides(share_row("m", 30, 100), None), 0.10) is None
    assert patients_needed(Sides(None, None), 0.10) is None
