"""Groups, masks, privacy and factors of the benchmark on samples written by hand, and the paper's own figures."""

import pytest
from support.pii.marked_samples import prediction_of, sample_of

from clinaudit.audit.pii.benchmark.scoring.bench_figures import (
    SEEN,
    UNSEEN,
    ScoredSystems,
    describe_samples,
    group_recalls,
    paper_scores,
)
from clinaudit.audit.pii.benchmark.scoring.privacy import (
    balance_score,
    find_occurrences,
    mask_texts,
    privacy_rows,
    privacy_score,
)
from clinaudit.audit.pii.benchmark.terminal_text import PAPER_ROWS, paper_value
from clinaudit.reports.schema.pii_bench import BenchTask

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


def test_means_are_over_samples_and_a_mute_system_scores_nothing() -> None:
    results = {
        (row.system, row.task, row.subset): row for row in ScoredSystems(SAMPLES, [*GOOD, *MUTE], seed=0).results()
    }
    assert results["rules", "detection", "single"].metrics["strict_f1"].f1.value == 1.0
    # One of two subjects whole: F1 is 1 over 2.
    assert results["rules", "detection", "multi"].metrics["strict_f1"].f1.value == 0.5
    assert results["rules", "detection", "all"].metrics["strict_f1"].f1.value == 0.75
    # P 1, R 1/2 of what is needed in the second sample.
    assert results["rules", "query_related", "all"].metrics["strict_f1"].f1.value == pytest.approx((1 + 2 / 3) / 2)
    for task in ("detection", "query_related", "masking"):
        mute = results["mute", task, "all"]
        assert (mute.unparsed, mute.metrics["strict_f1"].f1.value) == (2, 0.0)


def test_differences_are_of_the_same_samples() -> None:
    differences = {row.task: row for row in ScoredSystems(SAMPLES, [*GOOD, *MUTE], seed=0).differences()}
    row = differences["detection"]
    assert (row.a, row.b, row.a_only, row.b_only, row.difference.value) == ("rules", "mute", 1, 0, 0.75)


def test_points_group_by_what_makes_a_sample_hard() -> None:
    points = [row for row in ScoredSystems(SAMPLES, GOOD, seed=0).points() if row.task == "detection"]
    subjects = [(row.low, row.high, row.samples, row.f1.value) for row in points if row.factor == "subjects"]
    assert subjects == [(1, 1, 1, 1.0), (2, 2, 1, 0.5)]
    assert {row.samples for row in points if row.factor == "entities"} == {2}


def test_statistics_count_each_subjects_texts_once() -> None:
    everything, single, multi = describe_samples(SAMPLES)
    assert (everything.subset, single.subset, multi.subset) == ("all", "single", "multi")
    assert (everything.samples, everything.subjects, everything.entities) == (2, 1.5, 3.5)
    assert everything.types == {"PER": 3, "CODE": 0, "LOC": 2, "ORG": 0, "DEM": 2, "DATETIME": 0, "QUANTITY": 0}


def test_recall_stands_apart_for_what_training_held() -> None:
    rows = list(group_recalls(SAMPLES, GOOD, seen=frozenset({"Ann Bell", "Norvale"}), seed=0))
    found = {(row.grouping, row.group): (row.entities, row.recall.value) for row in rows}
    assert found["vocabulary", SEEN] == (2, 0.5)
    assert found["vocabulary", UNSEEN] == (5, 0.8)
    assert found["category", "City or region"] == (2, 0.5)
    assert found["hipaa", "A"] == (3, pytest.approx(2 / 3))
    assert not [row for row in group_recalls(SAMPLES, GOOD, seen=frozenset(), seed=0) if row.grouping == "vocabulary"]


def test_names_are_told_by_their_origin() -> None:
    (subject,) = FIRST.subjects
    named = [
        entity.model_copy(update={"name_origin": "pl_PL"}) if entity.text == "Ann Bell" else entity
        for entity in subject.entities
    ]
    sample = FIRST.model_copy(update={"subjects": [subject.model_copy(update={"entities": named})]})
    rows = group_recalls([sample], GOOD[:1], seen=frozenset(), seed=0)
    assert [(row.group, row.entities, row.recall.value) for row in rows if row.grouping == "name_origin"] == [
        ("pl_PL", 1, 1.0)
    ]


def test_privacy_counts_what_is_left_and_makes_up_no_utility() -> None:
    rows = {(row.system, row.masking): row for row in privacy_rows(SAMPLES, [*GOOD, *MUTE], seed=0)}
    assert rows[None, "none"].privacy.value == 0.0
    assert rows[None, "none"].balance.value == 0.5
    assert rows[None, "all"].privacy.value == 1.0
    # Two of three, two of four.
    assert rows[None, "query_unrelated"].privacy.value == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert rows["rules", "query_unrelated"].privacy.value == pytest.approx((2 / 3 + 1 / 4) / 2)
    # What cannot be read masks nothing.
    assert rows["mute", "all"].privacy.value == 0.0
    for row in rows.values():
        if row.masking != "none":
            assert (row.utility.value, row.balance.value, row.curve) == (None, None, [])
            assert "U needs one" in (row.utility.reason or "")


@pytest.mark.parametrize(
    ("model", "task", "subset", "metric", "value"),
    [
        ("25 students", "detection", "single", "strict_f1", 0.972),
        ("25 students", "query_related", "distract", "strict_f1", 0.915),
        ("BiLSTM-CRF", "detection", "hard", "ent_f1", 0.684),
        ("BiLSTM-CRF", "detection", "hard", "strict_f1", None),
        ("GPT-4o", "detection", "distract", "rouge_l_f", 0.716),
        # The best of the strategies; with-choice is an oracle.
        ("GPT-4o", "query_related", "single", "strict_f1", 0.72),
        ("GPT-4o", "query_related", "multi", "strict_f1", 0.685),
        ("GPT-4o", "masking", "single", "strict_f1", 0.77),
        ("GPT-4o", "masking", "hard", "strict_f1", 0.46),
        ("Qwen 2.5 0.5B", "detection", "single", "strict_f1", 0.002),
        ("Qwen 2.5 3B", "query_related", "single", "strict_f1", 0.381),
    ],
)
def test_the_figure_that_stands_beside(model, task, subset, metric, value) -> None:
    assert model in PAPER_ROWS
    assert paper_value(paper_scores(), model, task, subset, metric=metric) == value


@pytest.mark.parametrize(
    ("model", "printed"),
    [
        ("GPT-5", (0.871, 0.733, 0.840)),
        ("DeepSeek-V3.2", (0.856, 0.765, 0.852)),
        ("DeepSeek-R1", (0.876, 0.745, 0.850)),
    ],
)
def test_the_best_strategies_are_what_table_9_prints(model: str, printed: tuple[float, ...]) -> None:
    tasks: tuple[BenchTask, ...] = ("detection", "query_related", "masking")
    assert tuple(paper_value(paper_scores(), model, task, "single") for task in tasks) == printed


def test_every_figure_is_a_share_and_stands_once() -> None:
    scores = paper_scores()
    keys = [score.model_dump(exclude={"value", "deviation"}).values() for score in scores]
    assert len({tuple(key) for key in keys}) == len(scores)
    assert all(0 <= score.value <= 1 for score in scores)
    assert {score.deviation is not None for score in scores if score.table == "Table 2"} == {True}


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


def test_balance() -> None:
    # The rows of the paper's Table 8.
    assert [round(balance_score(p, u), 2) for p, u in ((0, 1), (1, 0.52), (0.83, 0.89))] == [0.5, 0.76, 0.86]
    assert [balance_score(0.83, 0.89, alpha=alpha) for alpha in (0, 1)] == [0.89, 0.83]


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
    assert [(span.start, entity) for span, entity in found] == expected
    assert [text[start:end] for (start, end), _ in found] == [entity for _, entity in expected]


def test_every_occurrence_is_replaced_and_nothing_else() -> None:
    tags = {"Ann Lee": "<PERSON_1>", "Ann": "<NICKNAME_1>", "25": "<AGE_1>"}
    assert mask_texts("Ann Lee (Ann) is 25, born 1925.", tags) == "<PERSON_1> (<NICKNAME_1>) is <AGE_1>, born 1925."
