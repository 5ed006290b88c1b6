"""Scores of one sample in the three tasks, by hand and against nervaluate; figures of many, privacy, kinds found."""

import random
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from nervaluate.evaluator import Evaluator
from support.pii.marked_samples import prediction_of, sample_of

from clinaudit.audit.pii.benchmark.sample import PredictedEntity, PredictedSubject, Prediction, Sample, mask_texts
from clinaudit.audit.pii.benchmark.scoring import (
    ANSWERS,
    NO_ANSWER,
    NO_UTILITY,
    UNUSABLE,
    TaskScores,
    Utilities,
    bench_items,
    figures_of,
    gold_of,
    mean_over_samples,
    measure_answer,
    privacy_score,
    score_detection,
    score_predictions,
    score_texts,
)
from clinaudit.audit.pii.taxonomy import PII_TYPES
from clinaudit.reports.schema.pii_bench import GOLD_MASKS, BenchFigure

#: Ann needs her age; the question needs nothing else.
SAMPLE = sample_of("[A full_name|Ann Lee], [A age*|41], lives in [A city|Oslo] and owes [A loan_amount|$4,200].")
GOLD = gold_of(SAMPLE)


def subjects(*found: list[tuple[str, str]]) -> list[PredictedSubject]:
    return prediction_of(*found).subjects or []


def answers(items: pl.DataFrame) -> dict[tuple[str, str], dict[str, float]]:
    """The metrics of each task and sample."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for task, sample, metric, value in items.select("task", "sample", "metric", "value").iter_rows():
        found.setdefault((task, sample), {})[metric] = value
    return found


def test_detection_tells_a_wrong_type_and_a_wrong_border_apart() -> None:
    found = subjects([("Ann Lee", "PER"), ("41", "DATETIME"), ("4,200", "QUANTITY")])
    scores = score_detection(found, GOLD)
    assert scores.strict_f1 == pytest.approx((1 / 3, 1 / 4, 2 / 7))
    assert scores.ent_f1 == pytest.approx((2 / 3, 2 / 4, 4 / 7))
    # "4,200" of "$4,200": 10/11 by character; the age has another type, and gives nothing.
    precision, recall = (1 + 10 / 11) / 3, (1 + 10 / 11) / 4
    assert scores.rouge_l_f == pytest.approx((precision, recall, 2 * precision * recall / (precision + recall)))


def test_an_entity_of_the_wrong_person_is_wrong_in_all_scores() -> None:
    sample = sample_of("[A nickname|Ann] is [A age|41], [B nickname|Bob] is [B age|25].")
    swapped = subjects([("Bob", "PER"), ("41", "DEM")], [("Ann", "PER"), ("25", "DEM")])
    scores = score_detection(swapped, gold_of(sample))
    assert scores.strict_f1 == scores.ent_f1 == pytest.approx((0.5, 0.5, 0.5))
    assert score_detection(list(reversed(swapped)), gold_of(sample)) == scores


def test_query_related_scores_sets_of_texts() -> None:
    scores = score_texts(["41", "Oslo"], GOLD.needed, GOLD)
    assert scores.strict_f1 == scores.ent_f1 == pytest.approx((0.5, 1, 2 / 3))
    assert score_texts([], GOLD.needed, GOLD) == NO_ANSWER
    nothing_needed = gold_of(sample_of("[A nickname|Ann] is 41."))
    assert score_texts([], nothing_needed.needed, nothing_needed).strict_f1.f1 == 1
    assert score_texts(["Ann"], nothing_needed.needed, nothing_needed) == NO_ANSWER


def test_a_needed_text_is_compared_by_its_own_type() -> None:
    gold = gold_of(sample_of("Due [A date*|2018] at [A street_address|14 Elm Street]."))
    assert score_texts(["2019"], gold.needed, gold).rouge_l_f.f1 == pytest.approx(0.75)  # by character
    assert score_texts(["12 Elm Street"], gold.unneeded, gold).rouge_l_f.f1 == pytest.approx(2 / 3)  # by word


def test_masking_counts_what_was_left_and_what_was_taken() -> None:
    scores = score_texts(["Ann Lee", "41"], GOLD.unneeded, GOLD)
    # To be masked: the name, the city and the loan.
    assert scores.strict_f1 == scores.ent_f1 == pytest.approx((1 / 2, 1 / 3, 2 / 5))
    errors = {"over_masking": 1.0, "leak": 2 / 3}
    nothing_to_mask = measure_answer("masking", prediction_of(masked=["Ann Lee"]), gold_of(sample_of("[A age*|41].")))
    assert (nothing_to_mask["over_masking"], nothing_to_mask["leak"]) == (0, None)
    (found,) = answers(score_predictions([GOLD], [prediction_of(masked=["Ann Lee", "41"])])).values()
    assert found == pytest.approx(
        {
            **{f"strict_f1.{part}": value for part, value in scores.strict_f1._asdict().items()},
            **{f"ent_f1.{part}": value for part, value in scores.ent_f1._asdict().items()},
            **{f"rouge_l_f.{part}": value for part, value in scores.rouge_l_f._asdict().items()},
            "exact": 0,
            "given": 1,
            "unparsed": 0,
            "missing": 0,
            **errors,
        }
    )


def test_no_answer_scores_zero_and_is_counted_and_never_dropped() -> None:
    second, third = (GOLD._replace(sample=sample) for sample in ("q2", "q3"))
    found = answers(
        score_predictions(
            [GOLD, second, third], [prediction_of(masked=["Ann Lee", "Oslo", "$4,200"]), prediction_of(sample="q3")]
        )
    )
    states = {key: next(name for name in ANSWERS if metrics[name]) for key, metrics in found.items()}
    assert states == {("masking", "s1"): "given", ("masking", "q2"): "missing", ("masking", "q3"): "unparsed"}
    one, *others = found.values()
    assert (one["exact"], one["over_masking"], one["leak"]) == (1, 0, 0)
    for metrics in others:
        assert (metrics["over_masking"], metrics["leak"]) == (1, 1)
        assert {metrics[name] for name in metrics if "." in name or name == "exact"} == {0}


def random_sample_and_answer(rng: random.Random) -> tuple[Sample, list[PredictedSubject]]:
    """A single subject with distinct texts, and an answer that misses, mistypes and invents some."""
    count = rng.randrange(3, 12)
    words = [f"w{number}" for number in range(count)]
    kinds = [rng.choice(("age", "city", "company", "full_name", "date")) for _ in words]
    sample = sample_of(" ".join(f"[A {kind}|{word}]." for word, kind in zip(words, kinds, strict=True)))
    found = [
        PredictedEntity(text=entity.text, type=entity.type if rng.random() < 0.8 else rng.choice(PII_TYPES))
        for entity in sample.subjects[0].entities
        if rng.random() < 0.7
    ]
    invented = [PredictedEntity(text="w", type="PER")] if rng.random() < 0.3 else []
    return sample, [PredictedSubject(entities=[*found, *invented])]


@pytest.mark.parametrize("seed", range(20))
def test_scores_of_one_subject_are_those_of_nervaluate(seed: int) -> None:
    sample, answer = random_sample_and_answer(random.Random(seed))
    gold = [{"label": entity.type, "start": entity.start, "end": entity.end} for entity in sample.subjects[0].entities]
    places = {entity.text: (entity.start, entity.end) for entity in sample.subjects[0].entities}
    # An invented text stands nowhere near another.
    predicted = [
        dict(zip(("label", "start", "end"), (entity.type, *places.get(entity.text, (900, 905))), strict=True))
        for entity in answer[0].entities
    ]
    evaluator = Evaluator([gold], [predicted], tags=list(PII_TYPES), loader="dict")
    theirs = evaluator.evaluate()["overall"]
    ours: TaskScores = score_detection(answer, gold_of(sample))
    # Their "exact" compares borders alone.
    for scores, name in ((ours.strict_f1, "strict"), (ours.ent_f1, "exact")):
        result = theirs[name]
        assert scores == pytest.approx((result.precision, result.recall, result.f1))


THREE = [
    gold_of(sample)
    for sample in (
        sample_of("[A nickname|Ann] is [A age*|41].", key="q1"),
        sample_of("[A nickname*|Bob] is [A age*|25].", key="q2"),
        sample_of("[A nickname|Eva] is [A age|33].", key="q3"),
    )
]


def test_means_and_the_errors_of_masking_over_the_samples_that_can_have_them() -> None:
    rows = score_predictions(
        THREE,
        [
            prediction_of(sample="q1", masked=["Ann", "41"]),
            prediction_of(sample="q2", masked=["Bob"]),
            prediction_of(sample="q3", masked=["Eva"]),
        ],
    )
    found = {each.metric: each for each in figures_of(rows, seed=0)}
    # F1: 2/3; nothing was to be masked, and something was: 0; 2/3.
    assert found["strict_f1.f1"].value == pytest.approx(4 / 9)
    assert found["strict_f1.precision"].value == pytest.approx(0.5)
    assert (found["given"].value, found["exact"].value) == (1, 0)
    # q3 needs nothing: 1 and 1/2. q2 has nothing to mask: 0 and 1/2.
    assert (found["over_masking"].value, found["over_masking"].n) == (pytest.approx(0.75), 2)
    assert (found["leak"].value, found["leak"].n) == (pytest.approx(0.25), 2)


def test_samples_of_several_values_are_resampled_whole() -> None:
    # Two samples: all of 99 right, and the only one wrong.
    sums, counts = np.array([99.0, 0.0]), np.array([99, 1])
    share = mean_over_samples(sums, counts, seed=0)
    assert (share.value, share.low, share.high, share.n) == (0.99, 0, 1, 2)
    assert mean_over_samples(np.zeros(1), np.zeros(1, dtype=np.int64), seed=0).value is None


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


def test_every_occurrence_is_replaced_and_nothing_else() -> None:
    tags = {"Ann Lee": "<PERSON_1>", "Ann": "<NICKNAME_1>", "25": "<AGE_1>"}
    assert mask_texts("Ann Lee (Ann) is 25, born 1925.", tags) == "<PERSON_1> (<NICKNAME_1>) is <AGE_1>, born 1925."
