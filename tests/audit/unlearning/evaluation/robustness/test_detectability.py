"""Detectability: who is told apart, on either side, and who are too few to tell."""

import pytest

from clinaudit.audit.unlearning.evaluation.robustness.parts import FEW_PATIENTS, TRAITS, detect


def _patients(values: list[float | None], trait: str = "answer_loss") -> list[dict[str, float | None]]:
    return [{**dict.fromkeys(TRAITS, 1.0), trait: value} for value in values]


@pytest.mark.parametrize(("shift", "auroc"), [(100.0, 1.0), (-100.0, 0.0), (0.0, 0.5)])
def test_too_much_and_too_little_loss_both_give_away_who_was_forgotten(shift: float, auroc: float) -> None:
    never = [float(place) for place in range(20)]
    found = detect(_patients([value + shift for value in never]), _patients(list(never)))
    assert found["answer_loss"].auroc.value == auroc
    assert found["answer_loss"].is_told_apart is (shift != 0)
    # The other traits are equal for all.
    assert {one.is_told_apart for trait, one in found.items() if trait != "answer_loss"} == {False}


def test_several_traits_are_several_chances() -> None:
    # A mean rank somewhat higher among eight: shown by one test, and not by one of five.
    forgotten, never = _patients([9.0, 10.0, 11, 12, 13, 14, 15, 5]), _patients([float(place) for place in range(12)])
    (alone,) = [one for trait, one in detect(forgotten, never).items() if trait == "answer_loss"]
    without_others = [{**one, **dict.fromkeys(set(TRAITS) - {"answer_loss"})} for one in forgotten]
    only = detect(without_others, never)["answer_loss"]
    assert only.auroc.value == alone.auroc.value
    assert only.p_value is not None
    assert alone.p_value == pytest.approx(min(1.0, 5 * only.p_value))


@pytest.mark.parametrize(("forgotten", "never"), [(4, 30), (30, 4)])
def test_few_patients_tell_nothing(forgotten: int, never: int) -> None:
    found = detect(_patients([5.0] * forgotten), _patients([0.0] * never))["answer_loss"]
    assert (found.auroc.value, found.auroc.reason, found.is_told_apart) == (None, FEW_PATIENTS, None)
    assert (found.forgotten, found.never_trained) == (forgotten, never)


def test_patients_without_the_trait_do_not_count() -> None:
    found = detect(_patients([5.0] * 5 + [None] * 9), _patients([1.0] * 6))["answer_loss"]
    assert (found.forgotten, found.never_trained, found.auroc.value) == (5, 6, 1.0)
