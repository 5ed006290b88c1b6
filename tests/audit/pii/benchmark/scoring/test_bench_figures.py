"""Figures, privacy and kinds of identifier on samples written by hand."""

from collections.abc import Sequence

import pytest
from support.pii.marked_samples import prediction_of, sample_of

from clinaudit.audit.pii.benchmark.sample import Prediction, Sample, find_occurrences, mask_texts
from clinaudit.audit.pii.benchmark.scoring import (
    NO_UTILITY,
    UNUSABLE,
    Utilities,
    bench_items,
    figures_of,
    privacy_score,
)
from clinaudit.reports.schema.pii_bench import GOLD_MASKS, BenchFigure

FIRST = sample_of("[A patient_name|Ann Bell], [A age*|34], lies in [A city|Ashford].", key="q1")
SECOND = sample_of(
    "[A patient_name|Bob Crane], [A age*|51], and [B relative_name|Carl Dorn], of [B city*|Norvale].", key="q2"
)
SAMPLES = [FIRST, SECOND]
GOOD = [
    prediction_of(
        [("Ann Bell", "PER"), ("34", "DEM"), ("Ashford", "LOC")],
        sample="q1",
        query_related=["34"],
        masked=["Ann Bell", "Ashford"],
    ),
    prediction_of([("Bob Crane", "PER"), ("51", "DEM")], sample="q2", query_related=["51"], masked=["Bob Crane"]),
]
#: It answers nothing that can be read.
MUTE = [prediction_of(sample="q1", system="mute"), prediction_of(sample="q2", system="mute")]


Key = tuple[str, str, str, str, str]


def figures(
    samples: Sequence[Sample],
    predictions: Sequence[Prediction],
    *,
    utilities: Utilities | None = None,
) -> dict[Key, BenchFigure]:
    """The figures, by system, task, grouping, group and metric."""
    found = figures_of(bench_items(samples, predictions), utilities=utilities, seed=0)
    by_key = {(each.system, each.task, each.grouping, each.group, each.metric): each for each in found}
    assert len(by_key) == len(found)
    return by_key


def test_means_are_over_samples_and_a_mute_system_scores_nothing() -> None:
    found = {key: each.value for key, each in figures(SAMPLES, [*GOOD, *MUTE]).items()}
    assert found["rules", "detection", "subset", "single", "strict_f1.f1"] == 1.0
    # One of two subjects whole: F1 is 1 over 2.
    assert found["rules", "detection", "subset", "multi", "strict_f1.f1"] == 0.5
    assert found["rules", "detection", "subset", "all", "strict_f1.f1"] == 0.75
    # P 1, R 1/2 of what is needed in the second sample.
    assert found["rules", "query_related", "subset", "all", "strict_f1.f1"] == pytest.approx((1 + 2 / 3) / 2)
    # Of the four and the two that no question needs one is left in the second sample.
    assert found["rules", "masking", "subset", "all", "leak"] == pytest.approx((0 + 1 / 2) / 2)
    for task in ("detection", "query_related", "masking"):
        of = ("mute", task, "subset", "all")
        assert (found[*of, "unparsed"], found[*of, "strict_f1.f1"]) == (1.0, 0.0)


def test_a_domain_of_one_subset_has_no_figures_of_it_beside_those_of_all() -> None:
    assert {group for _, _, grouping, group, _ in figures([FIRST], GOOD[:1]) if grouping == "subset"} == {"all"}


def test_recall_stands_apart_by_category_and_hipaas_identifier() -> None:
    found = {
        key[2:4]: (each.entities, each.value) for key, each in figures(SAMPLES, GOOD).items() if key[-1] == "found"
    }
    assert found["category", "City or region"] == (2, 0.5)
    assert found["hipaa", "A"] == (3, pytest.approx(2 / 3))


def test_names_are_told_by_their_origin() -> None:
    (subject,) = FIRST.subjects
    named = [
        entity.model_copy(update={"name_origin": "pl_PL"}) if entity.text == "Ann Bell" else entity
        for entity in subject.entities
    ]
    sample = FIRST.model_copy(update={"subjects": [subject.model_copy(update={"entities": named})]})
    rows = {key: each for key, each in figures([sample], GOOD[:1]).items() if key[2] == "name_origin"}
    assert [(key[3], each.entities, each.value) for key, each in rows.items()] == [("pl_PL", 1, 1.0)]


def test_privacy_counts_what_is_left_and_makes_up_no_utility() -> None:
    found = {(key[0], *key[3:]): each for key, each in figures(SAMPLES, [*GOOD, *MUTE]).items() if key[2] == "masking"}
    assert found[GOLD_MASKS, "none", "privacy"].value == 0.0
    assert found[GOLD_MASKS, "none", "balance"].value == 0.5
    assert found[GOLD_MASKS, "all", "privacy"].value == 1.0
    # Two of three, two of four.
    assert found[GOLD_MASKS, "query_unrelated", "privacy"].value == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found["rules", "query_unrelated", "privacy"].value == pytest.approx((2 / 3 + 1 / 4) / 2)
    # What cannot be read masks nothing.
    assert found["mute", "all", "privacy"].value == 0.0
    assert ("rules", "all", "utility") not in found


@pytest.mark.parametrize(("utilities", "reason"), [(None, NO_UTILITY), ({}, UNUSABLE)])
def test_no_answer_that_can_be_used_is_told_from_no_model(utilities: Utilities | None, reason: str) -> None:
    found = figures([FIRST], GOOD[:1], utilities=utilities)
    of = {key[3]: each for key, each in found.items() if key[-1] == "utility"}
    assert {masking: each.reason for masking, each in of.items()} == {
        "none": None, "all": reason, "query_unrelated": reason,
    }  # fmt: skip
    assert found[GOLD_MASKS, "masking", "masking", "all", "balance"].value is None


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


def test_a_text_without_entities_has_no_privacy_score_and_a_look_alike_is_left_all_the_same() -> None:
    assert privacy_score([], ORIGINAL, ORIGINAL) is privacy_score(["Bergen"], ORIGINAL, ORIGINAL) is None
    assert privacy_score(["Ann"], "Ann.", "\uff21nn.") == 0


def test_balance_is_the_mean_of_privacy_and_utility() -> None:
    # The rows of the paper's Table 8: nothing is masked, all, and all but what the question needs, one of six.
    sample = sample_of("[A age*|34]; [A city|Ashford], [A city|Norvale], [A city|Oslo], [A city|Lund], [A city|Ely].")
    utilities = {(sample.domain, "all"): [0.52], (sample.domain, "query_unrelated"): [0.89]}
    found = figures([sample], [], utilities=utilities)
    balances = {key[3]: each.value for key, each in found.items() if key[-1] == "balance"}
    assert balances == pytest.approx({"none": 0.5, "all": 0.76, "query_unrelated": 0.86}, abs=0.005)


@pytest.mark.parametrize(
    ("entities", "text", "expected"),
    [
        (["25"], "Aged 25, born 1925, room 25b, 25% of 25.", [(5, "25"), (30, "25"), (37, "25")]),
        (["250"], "1,250 or 250.75 or 250.", [(19, "250")]),
        (["$4,200"], "owes $4,200; not US$4,200.50", [(5, "$4,200")]),
        (["@ab_c"], "x@ab_c and @ab_cd and @ab_c", [(1, "@ab_c"), (22, "@ab_c")]),
        # The longest takes its place first, also where a shorter one begins before it.
        (["New York", "York City Hall", "York"], "New York City Hall, York", [(4, "York City Hall"), (20, "York")]),
        (["Ann", "Ann Lee"], "Ann Lee and Ann", [(0, "Ann Lee"), (12, "Ann")]),
        (["ann"], "Ann", []),
        ([""], "Ann", []),
        (["a.b"], "a.b axb", [(0, "a.b")]),
    ],
)
def test_occurrences(entities: list[str], text: str, expected: list[tuple[int, str]]) -> None:
    found = find_occurrences(entities, text)
    assert [(start, entity) for (start, _), entity in found] == expected
    assert [text[start:end] for (start, end), _ in found] == [entity for _, entity in expected]


def test_every_occurrence_is_replaced_and_nothing_else() -> None:
    tags = {"Ann Lee": "<PERSON_1>", "Ann": "<NICKNAME_1>", "25": "<AGE_1>"}
    assert mask_texts("Ann Lee (Ann) is 25, born 1925.", tags) == "<PERSON_1> (<NICKNAME_1>) is <AGE_1>, born 1925."
