"""The judge's figures as rows, by hand."""

import polars as pl

from clinaudit.audit.measures.judge.estimates import estimate_judge
from clinaudit.reports.estimates.frame import Estimates

TYPES = dict.fromkeys(("kind", "diagnosis", "truth", "verdict", "injected_verdict"), pl.String)


def _estimate(rows: list[tuple[str | None, ...]]) -> Estimates:
    return Estimates(estimate_judge({"scored_texts": pl.LazyFrame(rows, schema=TYPES, orient="row")}))


def test_figures_by_hand():
    found = _estimate(
        [
            ("labelled", "hiv", "positive", "positive", None),
            ("labelled", "hiv", "positive", "not_mentioned", None),
            ("labelled", "hiv", "positive", "unjudged", None),
            ("labelled", "hiv", "negative", "ambiguous", None),
            ("labelled", "ptsd", "negative", "positive", None),
            ("planted", "hiv", "positive", "positive", "unjudged"),
            ("planted", "hiv", "positive", "positive", "positive"),
            ("planted", "hiv", "negative", "negative", "positive"),
            ("planted", "hiv", "positive", "unjudged", "negative"),
        ]
    )

    def counts(metric: str, diagnosis: str = "") -> tuple[int | None, int | None]:
        row = found.find(metric, diagnosis=diagnosis)
        return row.count_low, row.of_low

    assert counts("judge_sensitivity") == counts("judge_sensitivity", "hiv") == (1, 2)
    assert counts("judge_specificity") == (1, 2)
    assert counts("judge_specificity", "ptsd") == (0, 1)
    assert counts("judge_accuracy") == (1, 4)
    assert counts("judge_flips") == (2, 3)
    assert counts("judge_hidden") == (1, 2)
    nobody = found.find("judge_sensitivity", diagnosis="ptsd")
    assert nobody.value is None
    assert nobody.reason
