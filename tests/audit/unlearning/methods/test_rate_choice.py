"""Which learning rate counts, and on whom it is tried."""

from dataclasses import replace

import pytest
from support.unlearning.tiny_job import SPLIT

from clinaudit.audit.unlearning.methods.rate_choice import TriedRate, choose_rate, tuning_patients
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
