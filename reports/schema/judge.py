"""Results records of how well the judge reads (docs/results.md, "judge_quality").

On the texts that ship, which are invented, counts are exact; a site's own are classes.
"""

from typing import Final, Generic, Literal, TypeVar, get_args

from clinaudit.reports.schema.numbers import Count, Estimate, EstimateRange
from clinaudit.reports.schema.record import Record

#: What a text can say of a diagnosis; the order of every matrix's rows and columns.
VerdictClass = Literal["positive", "negative", "ambiguous", "not_mentioned"]
VERDICT_CLASSES: tuple[VerdictClass, ...] = get_args(VerdictClass)
LabelSource = Literal["shipped", "site"]
#: What becomes of a question: with a verdict, or without one for a reason.
ANSWER_CELLS: Final = ("unanimous", "majority", "no_majority", "refused", "without_span", "unusable")


#: A count as it was measured, or as it may be published.
Number = TypeVar("Number")


class _Confusion(Record, Generic[Number]):
    truth: VerdictClass
    positive: Number
    negative: Number
    ambiguous: Number
    not_mentioned: Number
    #: Without a usable verdict: counted apart, part of no estimate, never a negative.
    unjudged: Number


class ConfusionRow(_Confusion[int]):
    """The labelled texts of one true class, by the judge's verdict."""


class Agreement(Record):
    """How far two raters give the same class; `n` counts the texts that both rated."""

    #: Share of texts with the same class.
    agreement: Estimate
    #: Cohen's kappa.
    kappa: Estimate
    #: Krippendorff's alpha, nominal.
    alpha: Estimate


class _Answers(Record, Generic[Number]):
    #: Answers that each question was asked for.
    answers_each: int
    #: With a verdict; of several answers, all could be used and are alike.
    unanimous: Number
    #: With a verdict that two of three answers share.
    majority: Number
    #: Without one: no two usable answers are alike.
    no_majority: Number
    #: Without one: the model, or a filter before it, refused to answer.
    refused: Number
    #: Without one: a mention that nothing of the text is quoted for.
    without_span: Number
    #: Without one: any other answer that could not be used.
    unusable: Number


class AnswerCounts(_Answers[int]):
    """What a judge answered to a set of questions: each is counted once, in one of the six counts."""

    #: Krippendorff's alpha (nominal) of the answers to one question; null where each was asked for one.
    alpha: Estimate | None


class MeasuredJudge(Record):
    """How well the judge reads: its verdicts on labelled texts and on planted prompt injections."""

    judge: str
    #: `shipped`: the synthetic texts of this project; `site`: labelled texts that the site supplied.
    labels: LabelSource
    texts: int
    #: Rows are the truth.
    matrix: list[ConfusionRow]
    #: Of the texts that say that the patient has the diagnosis, those read as positive.
    sensitivity: Estimate
    #: Of the other texts, those not read as positive.
    specificity: Estimate
    #: With the labels.
    agreement: Agreement
    accuracy_by_class: dict[VerdictClass, Estimate]
    accuracy_by_diagnosis: dict[str, Estimate]
    #: Of the planted prompt injections (always the shipped ones), those that change the verdict.
    flip_rate: Estimate
    #: Of the positive texts with one, those no longer read as positive: what would hide a disclosure.
    hiding_rate: Estimate
    #: What it answered about the labelled texts, and about this run's; null where it was asked nothing.
    answers: AnswerCounts | None = None
    run_answers: AnswerCounts | None = None


class ConfusionResults(_Confusion[Count]):
    """The labelled texts of one true class, by the judge's verdict."""


class AnswersResults(_Answers[Count]):
    """What the judge answered to a set of questions, by what became of each."""

    #: As of `AnswerCounts`; null also of this run's texts.
    alpha: EstimateRange | None = None


class JudgeResults(Record):
    """How well the judge reads: its verdicts on labelled texts and on planted prompt injections."""

    judge: str
    #: `shipped`: the synthetic texts of this project; `site`: labelled texts that the site supplied.
    labels: LabelSource
    texts: Count
    #: Rows are the truth.
    matrix: list[ConfusionResults]
    #: Of the texts that say that the patient has the diagnosis, those read as positive.
    sensitivity: EstimateRange
    #: Of the other texts, those not read as positive.
    specificity: EstimateRange
    #: Share of texts with the same class as their label.
    agreement: EstimateRange
    accuracy_by_class: dict[VerdictClass, EstimateRange]
    #: Of the shipped texts alone; empty for a site's.
    accuracy_by_diagnosis: dict[str, EstimateRange]
    #: Of the planted prompt injections (always the shipped ones), those that change the verdict.
    flip_rate: EstimateRange
    #: Of the positive texts with one, those no longer read as positive: what would hide a disclosure.
    hiding_rate: EstimateRange
    #: About the shipped texts; null for a site's.
    answers: AnswersResults | None = None
    #: About this run's texts.
    run_answers: AnswersResults | None = None
    #: Null in what is published.
    evidence: MeasuredJudge | None = None
