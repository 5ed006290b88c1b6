"""Published judge quality from its classes: exact where the labelled texts are invented (docs/results.md).

Takes classes alone.
"""

from clinaudit.audit.ranges.counts import add, share_range
from clinaudit.reports.schema.judge import (
    VERDICT_CLASSES,
    PublishedAnswers,
    PublishedConfusionRow,
    PublishedJudgeQuality,
    PublishedSecondJudge,
    VerdictClass,
)
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.suppression.coarse_table import Cells, CoarseAnswers, CoarseJudge


def publish_judge(coarse: CoarseJudge) -> PublishedJudgeQuality:
    """Return how well the judge reads; shares are of the texts that it could rate, with Wilson's interval."""
    matrix = coarse.matrix
    rest = [truth for truth in VERDICT_CLASSES if truth != "positive" and truth in matrix]
    agreed = add([matrix[truth][truth] for truth in matrix])
    parted = add([cell for truth in matrix for cell in _others(matrix[truth], truth)])
    second = coarse.second
    return PublishedJudgeQuality(
        judge=coarse.judge,
        labels=coarse.labels,
        texts=add([cell for row in matrix.values() for cell in row.values()]),
        matrix=[PublishedConfusionRow(truth=truth, **row) for truth, row in matrix.items()],
        sensitivity=share_range(
            add([matrix["positive"]["positive"]] if "positive" in matrix else []),
            add(_others(matrix["positive"], "positive") if "positive" in matrix else []),
            by_wilson=True,
        ),
        specificity=share_range(
            add([cell for truth in rest for cell in _others(matrix[truth], "positive")]),
            add([matrix[truth]["positive"] for truth in rest]),
            by_wilson=True,
        ),
        agreement=share_range(agreed, parted, by_wilson=True),
        accuracy_by_class={
            _verdict_class(truth): share_range(row[truth], add(_others(row, truth)), by_wilson=True)
            for truth, row in matrix.items()
        },
        accuracy_by_diagnosis=dict(coarse.accuracy_by_diagnosis),
        flip_rate=coarse.flip_rate,
        hiding_rate=coarse.hiding_rate,
        second=None
        if coarse.second_judge is None
        else PublishedSecondJudge(
            second_judge=coarse.second_judge,
            agreements=second["agreements"],
            disagreements=second["disagreements"],
            unjudged=second["unjudged"],
            agreement=share_range(second["agreements"], second["disagreements"], by_wilson=True),
        ),
        answers=_answers(coarse.answers),
        run_answers=_answers(coarse.run_answers),
    )


def _answers(coarse: CoarseAnswers | None) -> PublishedAnswers | None:
    if coarse is None:
        return None
    return PublishedAnswers(answers_each=coarse.answers_each, alpha=coarse.alpha, **coarse.cells)


def _others(row: Cells, verdict: str) -> list[CountRange]:
    """Return the texts of a true class that were rated, but not with this verdict."""
    return [row[other] for other in VERDICT_CLASSES if other != verdict]


def _verdict_class(name: str) -> VerdictClass:
    return next(known for known in VERDICT_CLASSES if known == name)
