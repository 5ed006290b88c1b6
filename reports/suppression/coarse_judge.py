"""The judge's part of the coarse table: how it read labelled texts, and how far a second judge agrees.

Owns which of it is coarsened: labelled texts that ship are invented, a site's own are of patients. Knows nothing of the
judge's metrics, which are computed from it.
"""

from clinaudit.reports.exact.estimate import exact_estimate
from clinaudit.reports.exact.judge import AnswerCounts, JudgeQuality
from clinaudit.reports.schema.judge import ANSWER_CELLS, VERDICT_CLASSES
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.suppression.classes import COHORT_STEP, exactly
from clinaudit.reports.suppression.coarse_table import CoarseAnswers, CoarseJudge
from clinaudit.reports.suppression.rules import Rules


def coarsen_judge(quality: JudgeQuality, rules: Rules, *, readings: int, exact: bool) -> CoarseJudge:
    """Return how the judge read the labelled texts; with `exact`, every class holds one number.

    `readings`: how often a patient of a matched set is read, once at each tier in each form. The run's texts are so
    many times its cohorts' patients, and their classes have as many times the numbers.
    """
    step = COHORT_STEP * max(1, readings)

    def texts(count: int) -> CountRange:
        return exactly(count) if quality.labels == "shipped" else rules.count(count)

    second = quality.second
    both = 0 if second is None else second.verdicts - second.unjudged
    return CoarseJudge(
        judge=quality.judge,
        labels=quality.labels,
        matrix={
            row.truth: {verdict: texts(getattr(row, verdict)) for verdict in (*VERDICT_CLASSES, "unjudged")}
            for row in quality.matrix
        },
        flip_rate=exact_estimate(quality.flip_rate),
        hiding_rate=exact_estimate(quality.hiding_rate),
        accuracy_by_diagnosis={
            diagnosis: exact_estimate(accuracy)
            for diagnosis, accuracy in quality.accuracy_by_diagnosis.items()
            if exact or quality.labels == "shipped"
        },
        second_judge=None if second is None else second.second_judge,
        second={}
        if second is None
        else rules.cells(
            {
                "agreements": both - second.disagreements,
                "disagreements": second.disagreements,
                "unjudged": second.unjudged,
            },
            step=step,
        ),
        # Of a site's own texts they would be a second partition beside the matrix, which has too many cells for one.
        answers=None
        if quality.answers is None or not (exact or quality.labels == "shipped")
        else _answers(quality.answers, Rules(exact=True), step=step),
        run_answers=None if quality.run_answers is None else _answers(quality.run_answers, rules, step=step),
    )


def _answers(counts: AnswerCounts, rules: Rules, *, step: int) -> CoarseAnswers:
    cells = {name: getattr(counts, name) for name in ANSWER_CELLS}
    alpha = exact_estimate(counts.alpha) if rules.exact and counts.alpha is not None else None
    return CoarseAnswers(counts.answers_each, rules.cells(cells, step=step), alpha)
