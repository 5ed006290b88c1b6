"""Who is to be forgotten: nesting, sizes, the intersection property, and what is unavailable, on drawn populations."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clinaudit.audit.unlearning.benchmark.build import FEWEST_RETAINED, PERCENTS, split_patients, split_request
from clinaudit.audit.unlearning.benchmark.categories import OTHER, name_of, taxonomy

CATEGORIES = ("cancer", "cardiovascular", "kidney")


@st.composite
def populations(draw: st.DrawFn) -> dict[str, str]:
    sizes = draw(st.lists(st.integers(0, 90), min_size=4, max_size=4))
    names = [category for category, size in zip((*CATEGORIES, OTHER), sizes, strict=True) for _ in range(size)]
    return {f"P{place:03}": category for place, category in enumerate(draw(st.permutations(names)))}


@settings(max_examples=60, deadline=None)
@given(populations(), st.integers(0, 5))
def test_splits_hold_to_the_papers_properties(category_of: dict[str, str], seed: int) -> None:
    splits, missing = split_patients(category_of, categories=CATEGORIES, seed=seed)
    held = {(split.category, split.percent): split for split in splits}
    for (category, percent), split in held.items():
        assert sorted((*split.forget, *split.retain)) == sorted(category_of)
        assert len(split.forget) == int(percent * len(category_of) / 100 + 0.5) > 0
        for larger in (other for other in PERCENTS if other > percent and (category, other) in held):
            assert set(split.forget) <= set(held[category, larger].forget)
        if category is not None:
            assert {category_of[patient_id] for patient_id in split.forget} == {category}
            at_random = held[None, percent].forget
            assert {one for one in at_random if category_of[one] == category} <= set(split.forget)
            assert Counter(category_of.values())[category] - len(split.forget) >= FEWEST_RETAINED
    lacking = {(what.partition(":")[0], percent) for what, percents in missing.items() for percent in percents}
    sizes = Counter(category_of.values())
    wanted = {(category, percent) for category in CATEGORIES if sizes[category] for percent in PERCENTS}
    assert lacking == {(name_of(category), percent) for category, percent in wanted - held.keys()}


def test_with_the_papers_patients_its_splits_are_available_and_of_its_sizes() -> None:
    # Table 1 (patients by category) and Table 5 (sizes; available for).
    sizes = {"cancer": 2669, "infectious_immune": 1964, "cardiovascular": 1426, OTHER: 8820 - 2669 - 1964 - 1426}
    names = [category for category, size in sizes.items() for _ in range(size)]
    category_of = {f"{place:04}": category for place, category in enumerate(names)}
    splits, missing = split_patients(category_of, categories=list(sizes)[:3], seed=0)
    assert {split.name: len(split.forget) for split in splits if split.level == "random"} == {
        "random:5": 441,
        "random:10": 882,
        "random:15": 1323,
        "random:20": 1764,
        "random:25": 2205,
    }
    assert [split.name for split in splits if split.level == "category"] == [
        *(f"cancer:{percent}" for percent in (5, 10, 15, 20, 25)),
        *(f"infectious_immune:{percent}" for percent in (5, 10, 15, 20)),
        *(f"cardiovascular:{percent}" for percent in (5, 10, 15)),
    ]
    few = "fewer patients have the category than the split forgets"
    assert missing == {f"Infectious/Immune: {few}": [25], f"Cardiovascular: {few}": [20, 25]}
    assert {len(split.retain) for split in splits if split.percent == 15} == {7497}


def test_a_category_that_would_keep_too_few_is_unavailable_and_says_so() -> None:
    category_of = {f"{place:03}": "kidney" if place < 24 else OTHER for place in range(100)}
    splits, missing = split_patients(category_of, categories=["kidney"], seed=1, percents=(4, 5))
    assert [split.name for split in splits] == ["random:4", "random:5", "kidney:4"]
    reason = "it would retain fewer than 20 patients of the category"
    assert missing == {f"Kidney Disease: {reason}": [5]}


def test_the_seed_decides_and_the_order_of_the_patients_does_not() -> None:
    category_of = {f"{place:03}": "kidney" for place in range(60)}
    turned = dict(reversed(category_of.items()))
    first, again, other = (
        split_patients(held, categories=list(taxonomy()), seed=seed)[0]
        for held, seed in ((category_of, 3), (turned, 3), (category_of, 4))
    )
    assert first == again
    assert [split.forget for split in first] != [split.forget for split in other]


def test_a_request_forgets_whom_it_names_and_retains_all_others() -> None:
    trained = [f"{place:03}" for place in range(130)]
    split = split_request(["044", "007", "129", "001", "002"], trained)
    assert (split.name, split.forget) == ("request:4", ("001", "002", "007", "044", "129"))
    assert sorted([*split.forget, *split.retain]) == trained
    assert split_request(["000"], trained).name == "request:1"
    assert split_request(["0"], [str(place) for place in range(1000)]).name == "request:1"


@pytest.mark.parametrize("named", [["a", "x"], ["a", "b"]])
def test_a_request_names_some_of_those_trained_on_and_not_all(named: list[str]) -> None:
    with pytest.raises(ValueError, match="some of the patients trained on"):
        split_request(named, ["a", "b"])
