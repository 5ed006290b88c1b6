"""benchmarks/faithfulness.py: pairs of models that saw the patients and that did not, counted by hand."""

import polars as pl
import pytest
from support.scripts import load_script

from clinaudit.reports.schema.unlearning import FIGURES

faithfulness = load_script("faithfulness", "benchmarks")


@pytest.mark.parametrize(
    ("metric", "saw", "never", "auroc"),
    [
        # 0.4 beats three, 0.2 one, 0.3 two and ties with one.
        ("ls", [0.4, 0.2, 0.3], [0.3, 0.1, 0.25], 6.5 / 9),
        ("rouge_l", [0.9, 0.8, 0.7], [0.1, 0.2, 0.3], 1.0),
        # AFE falls with what is known.
        ("afe", [0.1, 0.2], [0.8, 0.9], 1.0),
        # One model is not enough, nor is none.
        ("em", [0.9], [0.1, 0.2], None),
        ("em", [], [0.1, 0.2], None),
    ],
)
def test_pairs_of_models_are_counted(metric, saw, never, auroc):
    found = faithfulness.measure_faithfulness(saw, never, metric)
    assert found.value == (None if auroc is None else pytest.approx(auroc))
    # Three of each kind are no proof, even where they never overlap.
    assert found.low is None if auroc is None else found.low < 0.9


def test_the_table_is_of_the_forgotten_of_one_split():
    place = {"split": "random:10", "group": "forget", "kind": "factual", "use": "train", "metric": "afe"}
    values = {"with 0": 0.2, "with 1": 0.3, "without 0": 0.25, "without 1": 0.75, "without 2": None}
    rows = [place | {"model": model, "value": value} for model, value in values.items()]
    rows += [row | {"split": "random:5", "value": 0.0} for row in rows]
    rows += [row | {"group": "retain", "value": 0.0} for row in rows]
    lines = {line.split(" | ")[0]: line for line in faithfulness.table_lines(pl.DataFrame(rows, FIGURES), "random:10")}
    # Of the four pairs (0.2, 0.3) x (0.25, 0.75) one has it the other way round.
    assert lines["| afe"].startswith("| afe | 0.75 (")
    assert lines["| afe"].endswith("), 2 + 2 | – |")
    assert lines["| em"] == "| em | – | – |"
