"""What `clinaudit unlearn evaluate` found, as its page and its CSV files show it (docs/unlearning.md).

Owns the shape. Figures of groups alone: no id of a patient or question and no text stands here. Counts and means are
exact, so that whatever is made of these records is as private as the benchmark.
"""

from typing import Final, Literal, get_args

from pydantic import Field

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import Record

#: `baseline`: tuned on everybody; `retrained`: it never saw the forgotten ones; `filter`: a filter of names before a
#: baseline; `foreign`: made elsewhere.
ModelKind = Literal["baseline", "unlearned", "foreign", "retrained", "filter"]
MODEL_KINDS: Final[tuple[ModelKind, ...]] = get_args(ModelKind)
QuestionKind = Literal["factual", "reasoning"]
KINDS: Final[tuple[QuestionKind, ...]] = get_args(QuestionKind)
QuestionUse = Literal["train", "holdout", "rephrased"]
USES: Final[tuple[QuestionUse, ...]] = get_args(QuestionUse)
#: Whose answers: `same` are retained patients with the disease of a forgotten one, `others` all other retained ones.
AnswerGroup = Literal["forget", "retain", "never_trained", "same", "others"]
#: What is done to a model, or how it is asked, to see whether what it forgot comes back.
TrialName = Literal[
    "quantization", "questions_1", "questions_5", "retained_notes", "rephrased", "other_form",
]  # fmt: skip

#: `forgot` at no cost to others, or `forgot_at_cost`; `knows`: most of it is still there; `open`: it cannot be said.
Reading = Literal["forgot", "forgot_at_cost", "knows", "broken", "open"]


class EvaluatedModel(Record):
    """One model that was asked, or a filter before one."""

    name: str
    kind: ModelKind
    #: By whom it is measured; null: by every split, as what others are compared with.
    split: str | None
    method: str | None = None
    learning_rate: float | None = None
    #: Whether the rate was chosen by retained patients who were set aside for it.
    chose_rate: bool = False
    #: How it was trained, by the names of `unlearn.json`; empty where nobody says.
    training: dict[str, str] = Field(default_factory=dict)


class EvaluatedSplit(Record):
    """Who is forgotten, and who is retained."""

    name: str
    #: `Random`, `Request`, or the disease whose patients are forgotten.
    level: str
    #: Whether all forgotten patients have one disease.
    is_disease: bool
    percent: int
    forget_patients: int
    forget_questions: int
    retain_patients: int
    retain_questions: int
    #: Retained patients whom no mean counts, since a learning rate was chosen by them.
    set_aside: int = 0


class AnswerFigures(Record):
    """The means of one group's answers to one kind and use of questions."""

    patients: int
    answers: int
    #: Answers without an entropy, and without a leakage score.
    empty_or_single: int
    without_keywords: int
    #: Metric -> mean, with its 95% interval over patients. Entailment is `es`, by whatever it was measured.
    metrics: dict[str, EstimateRange]
    #: Harmonic mean -> the metrics it is made of.
    parts: dict[str, list[str]] = Field(default_factory=dict)


class TrialFigures(Record):
    """The same questions before and after something was done; empty with a `reason` where it could not be tried."""

    before: dict[str, EstimateRange] = Field(default_factory=dict)
    after: dict[str, EstimateRange] = Field(default_factory=dict)
    #: Share of what had been lost against the baseline that is back; less what the retrained reference gains.
    recovery: dict[str, EstimateRange] = Field(default_factory=dict)
    beyond_reference: dict[str, EstimateRange] = Field(default_factory=dict)
    #: After, less what never-trained patients give when they are tried likewise; empty where these were not.
    above: dict[str, EstimateRange] = Field(default_factory=dict)
    reason: str | None = None


class Sampling(Record):
    """leak@k: metric -> k -> the largest leakage expected among k sampled answers."""

    forget: dict[str, dict[str, EstimateRange]]
    never_trained: dict[str, dict[str, EstimateRange]]
    #: The first minus the second.
    above: dict[str, dict[str, EstimateRange]]


class Detection(Record):
    """Whether a reader of the model can tell who was forgotten from who was never there."""

    #: Null where a group is too small for a test.
    told_apart: bool | None
    auroc: dict[str, EstimateRange]


class RobustnessFigures(Record):
    """What one model's forgetting withstands; what was not tried is null or left out."""

    sampling: Sampling | None = None
    trials: dict[TrialName, TrialFigures] = Field(default_factory=dict)
    detection: Detection | None = None


class ModelFigures(Record):
    """One model on one split."""

    answers: dict[AnswerGroup, dict[QuestionKind, dict[QuestionUse, AnswerFigures]]]
    #: Null where nothing was tried.
    robustness: RobustnessFigures | None = None
    #: Whether its answers still read as those of the model before; empty where there is none to compare with.
    collapse: list[AnswerCheck] = Field(default_factory=list)


class Change(Record):
    """One average before and after, and where it can be computed what it is without the forgotten patients."""

    before: float | None
    after: float | None
    target: float | None = None
    #: Of a harmonic mean: whether exact memorization is no part of it.
    is_without_em: bool = False

    @property
    def gain(self) -> float | None:
        """After minus before."""
        return None if self.before is None or self.after is None else self.after - self.before


class ModelReading(Record):
    """How a model reads that was to forget the patients of a split, averaged over the kinds of questions."""

    #: What its row is called.
    label: str
    model: str
    split: EvaluatedSplit
    reading: Reading
    #: Why it is `open`.
    reason: str | None
    afe: Change
    afe_withheld: Change
    mu: Change
    same: Change
    others: Change
    #: Share of the answers on forgotten patients that are empty or one token over and over.
    degenerate: Change


class CategoryCounts(Record):
    """The patients of one disease category (AMNESIA, Tables 1 and 4); lengths in words."""

    category: str
    patients: int
    share: float
    questions: int
    note_words_min: int
    note_words_mean: float | None
    note_words_max: int
    question_words: dict[QuestionKind, float | None]
    answer_words: dict[QuestionKind, float | None]


class PanelFigures(Record):
    """What the panel of judges said of one task (AMNESIA, Tables 8 to 10, 12 and 13)."""

    #: `title`: whether a title supports its category; `question`: whether a question is valid.
    task: Literal["title", "question"]
    items: int
    #: Judge -> verdict -> items, and the same of the majority.
    verdicts: dict[str, dict[str, int]]
    panel: dict[str, int]
    #: Of titles: category -> verdict of the majority -> items.
    by_category: dict[str, dict[str, int]] = Field(default_factory=dict)
    #: Two judges -> share of the items on which both give one verdict.
    pairs: dict[str, float]
    agreement: float | None
    kappa: float | None
    #: Both read together, in a sentence.
    reading: str


class JudgeBesideHuman(Record):
    """A judge, or the panel, against the person who checked (AMNESIA, Table 11)."""

    both_supported: int
    human_only: int
    judge_only: int
    neither: int
    #: Verdicts that are neither, such as ambiguous ones.
    left_out: int
    agreement: float | None
    kappa: float | None


class BenchCounts(Record):
    """What the benchmark holds that asked."""

    patients: int
    patients_trained_on: int
    questions: int
    holdout_questions: int
    rephrased_questions: int
    categories: list[CategoryCounts]
    #: All of its splits, evaluated or not.
    splits: list[EvaluatedSplit]
    #: Empty where no panel was asked.
    panel: list[PanelFigures] = Field(default_factory=list)
    #: Judge -> its verdicts beside a person's; empty where nobody checked.
    human: dict[str, JudgeBesideHuman] = Field(default_factory=dict)


class UnlearningEvaluation(Record):
    """Everything that the page of an evaluation shows."""

    clinaudit_version: str
    libraries: dict[str, str]
    device: str
    seed: int
    #: `addressed`: questions open with what is known of the encounter; `paper`: they name nobody.
    form: str
    #: Metric -> model, rules or library it was measured with.
    made_with: dict[str, str]
    #: The model that the others are compared with.
    before: str | None
    models: list[EvaluatedModel]
    #: Those evaluated, in the order of their levels and sizes.
    splits: list[EvaluatedSplit]
    #: Split's name -> model's name -> its figures.
    figures: dict[str, dict[str, ModelFigures]]
    bench: BenchCounts
    #: How each model reads that was to forget somebody, by split.
    readings: list[ModelReading] = Field(default_factory=list)
