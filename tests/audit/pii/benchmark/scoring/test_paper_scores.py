"""The paper's figures beside ours: read whole, and picked by model, task and subset."""

import pytest

from clinaudit.audit.pii.benchmark.scoring.bench_figures import paper_scores
from clinaudit.audit.pii.benchmark.terminal_text import PAPER_ROWS, paper_value
from clinaudit.reports.schema.pii_bench import BenchTask


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
