"""Which learning rate counts, and on whom it is tried."""

from dataclasses import replace

import pytest
from support.unlearning.tiny_job import SPLIT

from clinaudit.audit.unlearning.methods.unlearn import (
    TriedRate,
    choose_rate,
    describe_choice,
    rate_text,
    tuning_patients,
)
from clinaudit.errors import BadInputError


def _tried(*losses: float | None) -> list[TriedRate]:
    return [
        TriedRate(learning_rate=10.0**place, tuning_loss=loss, forget_loss=None) for place, loss in enumerate(losses)
    ]


@pytest.mark.parametrize(
    ("losses", "chosen"),
    [
        ((1.0, 1.05, 1.2), 1),
        ((1.0, 1.1, None), 1),
        # A rate in the middle that is not borne does not hide one after it that is.
        ((1.2, 1.0), 1),
        ((1.11, None), None),
        ((), None),
    ],
)
def test_the_largest_rate_that_is_borne(losses: tuple[float | None, ...], chosen: int | None) -> None:
    assert choose_rate(_tried(*losses), before=1.0) == chosen


def test_a_tenth_is_set_aside_whatever_the_order() -> None:
    many = replace(SPLIT, retain=tuple(f"p{number:03}" for number in range(50)))
    aside = tuning_patients(many)
    assert len(aside) == 5
    assert set(aside) < set(many.retain)
    assert tuning_patients(replace(many, retain=many.retain[::-1])) == aside
    assert tuning_patients(replace(many, percent=20)) != aside


def test_at_most_twenty_are_set_aside() -> None:
    assert len(tuning_patients(replace(SPLIT, retain=tuple(map(str, range(900)))))) == 20


def test_too_few_retained_patients_are_said() -> None:
    with pytest.raises(BadInputError, match="--learning-rate"):
        tuning_patients(replace(SPLIT, retain=SPLIT.retain[:9]))


def test_the_rates_tried_are_told_and_that_a_larger_one_than_the_largest_was_not() -> None:
    tried = [
        TriedRate(learning_rate=2e-5, tuning_loss=1.0, forget_loss=1.25),
        TriedRate(learning_rate=6e-3, tuning_loss=None, forget_loss=None),
    ]
    choice = describe_choice(tried, before=0.9)
    rows, chosen = rate_text(2e-5, choice).splitlines()[2:-1], rate_text(2e-5, choice).splitlines()[-1]
    assert [row.split() for row in rows] == [
        ["before", "0.900"],
        ["2e-05", "1.000", "1.250"],
        ["0.006", "diverged", "diverged"],
    ]
    assert chosen == "chosen: 2e-05, the largest with which the retained lose 0.1 at most"
    assert "a larger one (--learning-rate) may forget more" in rate_text(6e-3, choice)
