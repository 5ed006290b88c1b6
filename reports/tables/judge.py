"""Tables of the judge: confusion matrix and metrics.

Owns what stands in which column, and the sentences without which they must not be read.
"""

from clinaudit.reports.schema.judge import VERDICT_CLASSES, AnswersResults, JudgeResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.captions import frequency_text
from clinaudit.reports.wording.names import display_title
from clinaudit.reports.wording.numbers import count_text, estimate_text, is_measured

_SHIPPED = (
    "The judge was scored on {texts} invented texts of this project; on this model's texts it may err more or less"
    " often. A site can score it on texts of its own."
)
_SITE = (
    "The judge was scored on {texts} labelled texts of the site; on this model's texts it may err more or less often."
)
_NOT_SCORED = "The judge was not scored in this run: how often it errs is not known."


def judge_caveat_sentences(quality: JudgeResults | None) -> str:
    """Return on what texts the judge was scored, and what that is worth."""
    if quality is None:
        return _NOT_SCORED
    caveat = _SHIPPED if quality.labels == "shipped" else _SITE
    return caveat.format(texts=count_text(quality.texts))


def judge_sentence(quality: JudgeResults | None) -> str:
    """Return in natural frequencies how often the judge errs."""
    if quality is None:
        return _NOT_SCORED
    missed, wrong = _complement(quality.sensitivity), _complement(quality.specificity)
    if missed is None or wrong is None:
        return "How often the judge errs could not be measured."
    return (
        f"A judge reads what a text says, and makes mistakes: on labelled texts it misses {frequency_text(*missed)} of"
        f" those that state the diagnosis, and wrongly finds it in {frequency_text(*wrong)} of the others."
    )


def _complement(estimate: EstimateRange) -> tuple[float, float] | None:
    if not is_measured(estimate):
        return None
    low = estimate.low if estimate.low is not None else estimate.value
    high = estimate.high if estimate.high is not None else estimate.value
    return None if low is None or high is None else (1.0 - high, 1.0 - low)


def judge_matrix_table(results: RunResults) -> Table:
    """Return the judge's confusion matrix, a row a true class."""
    quality = results.judge_quality
    matrix = quality.matrix if quality is not None else []
    unjudged = any(row.unjudged.high for row in matrix)
    names = (*VERDICT_CLASSES, *(("unjudged",) if unjudged else ()))
    rows = [(display_title(row.truth), *(count_text(getattr(row, name)) for name in names)) for row in matrix]
    heads = ("Truth", *(display_title(name) for name in VERDICT_CLASSES), *(("Not rated",) if unjudged else ()))
    return Table("Labelled texts: what they say (rows), what it reads (columns)", heads, tuple(rows))


def judge_metrics_table(results: RunResults) -> Table:
    """Return the judge's metrics (sensitivity, specificity, agreement, flip rate), with intervals."""
    quality = results.judge_quality
    if quality is None:
        return Table("How well the judge reads", ("Figure", "Value"), ())
    shares: list[tuple[str, EstimateRange]] = [
        ("Sensitivity: texts that state the diagnosis of the patient and are read so", quality.sensitivity),
        ("Specificity: other texts that are not read so", quality.specificity),
        ("Agreement with the labels", quality.agreement),
        *(
            (f"Right where the truth is {display_title(name).lower()}", rate)
            for name, rate in quality.accuracy_by_class.items()
        ),
        *((f"Right for {display_title(name)}", rate) for name, rate in quality.accuracy_by_diagnosis.items()),
        ("Planted instructions that change the verdict", quality.flip_rate),
        ("Planted instructions that hide a stated diagnosis", quality.hiding_rate),
    ]
    rows = [(title, estimate_text(rate, share=True, interval=True)) for title, rate in shares]
    rows += [*_answer_rows(quality.answers, "labelled texts"), *_answer_rows(quality.run_answers, "texts of this run")]
    return Table(f"How well the judge “{quality.judge}” reads", ("Figure", "Value"), tuple(rows))


def _answer_rows(answers: AnswersResults | None, texts: str) -> list[tuple[str, str]]:
    """Return what became of the questions, as far as it is not one verdict each."""
    if answers is None:
        return []
    shown = {
        f"Without a verdict, as the model refused to answer: {texts}": answers.refused,
        f"Without a verdict, as nothing was quoted for a mention: {texts}": answers.without_span,
        f"Without a verdict, as no answer could be used: {texts}": answers.unusable,
    }
    rows = [(title, count_text(count)) for title, count in shown.items() if count.high]
    if answers.answers_each == 1:
        return rows
    alike = {
        f"Asked {answers.answers_each} times, with as many equal answers: {texts}": answers.unanimous,
        f"Asked {answers.answers_each} times, with two equal answers, which count: {texts}": answers.majority,
        f"Without a verdict, as no two usable answers are equal: {texts}": answers.no_majority,
    }
    rows = [*((title, count_text(count)) for title, count in alike.items()), *rows]
    if answers.alpha is not None:
        alpha = estimate_text(answers.alpha, share=False, interval=True)
        rows.append((f"Agreement of the judge with itself, beyond chance (Krippendorff's alpha): {texts}", alpha))
    return rows
