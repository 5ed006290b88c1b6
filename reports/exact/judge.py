"""Results records of the judge: its confusion matrix on labelled texts, and misclassification-corrected disclosure.

Owns the shape of `judge_quality` and of `disclosure.<diagnosis>.<tier>.corrected` (docs/results.md, "judge_quality").
Knows nothing of how a judge reads or how an estimate is computed.
"""

from typing import Literal

from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.schema.judge import LabelSource, VerdictClass
from clinaudit.reports.schema.record import Record


class ConfusionRow(Record):
    """The labelled texts of one true class, by the judge's verdict."""

    truth: VerdictClass
    positive: int
    negative: int
    ambiguous: int
    not_mentioned: int
    #: Without a usable verdict: counted apart, part of no estimate, never a negative.
    unjudged: int


class Agreement(Record):
    """How far two raters give the same class; `n` counts the texts that both rated."""

    #: Share of texts with the same class.
    agreement: Estimate
    #: Cohen's kappa.
    kappa: Estimate
    #: Krippendorff's alpha, nominal.
    alpha: Estimate


class AnswerCounts(Record):
    """What a judge answered to a set of questions: each is counted once, in one of the six counts."""

    #: Answers that each question was asked for.
    answers_each: int
    #: With a verdict; of several answers, all could be used and are alike.
    unanimous: int
    #: With a verdict that two of three answers share.
    majority: int
    #: Without one: no two usable answers are alike.
    no_majority: int
    #: Without one: the model, or a filter before it, refused to answer.
    refused: int
    #: Without one: a mention that nothing of the text is quoted for.
    without_span: int
    #: Without one: any other answer that could not be used.
    unusable: int
    #: Krippendorff's alpha (nominal) of the answers to one question; null where each was asked for one.
    alpha: Estimate | None


class JudgeAgreement(Agreement):
    """The judge and a second one on this run's verdicts; `evidence/disagreements.parquet` lists where they part."""

    second_judge: str
    #: Verdicts asked of both.
    verdicts: int
    disagreements: int
    #: Verdicts that one of the two, or both, could not give.
    unjudged: int
    #: What the second judge answered.
    answers: AnswerCounts | None = None


class JudgeQuality(Record):
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
    #: Null where no second judge was asked.
    second: JudgeAgreement | None = None
    #: What it answered about the labelled texts, and about this run's; null where it was asked nothing.
    answers: AnswerCounts | None = None
    run_answers: AnswerCounts | None = None


class CorrectedMetrics(Record):
    """Misclassification-corrected disclosure of one arm, or train minus nontrain: median and 95% range."""

    auroc_all: Estimate
    sensitivity: Estimate
    ppv: Estimate


class CorrectedPair(Record):
    """Both arms and their difference for one diagnosis and tier."""

    train: CorrectedMetrics
    nontrain: CorrectedMetrics | None
    delta: CorrectedMetrics | None


#: A verdict, or that there is none: what the metrics of disclosure count.
Outcome = Literal["negative", "not_mentioned", "ambiguous", "positive", "unjudged"]
