"""What `clinaudit unlearn evaluate` found, as its page and its CSV files show it (docs/unlearning.md).

Made of the documents' own figures. Figures of groups alone: no id of a patient or question and no text stands here.
Counts and means are exact, so that whatever is made of these records is as private as the benchmark.
"""

from typing import Literal

from pydantic import Field

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.unlearning_bench import BenchCounts
from clinaudit.reports.schema.unlearning_evaluation import EvaluatedModel, RobustnessDocument
from clinaudit.reports.schema.unlearning_scores import AnswerFigures, AnswerGroup, QuestionKind, QuestionUse

#: `forgot` at no cost to others, or `forgot_at_cost`; `knows`: most of it is still there; `open`: it cannot be said.
Reading = Literal["forgot", "forgot_at_cost", "knows", "broken", "open"]


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


class ModelFigures(Record):
    """One model on one split."""

    answers: dict[AnswerGroup, dict[QuestionKind, dict[QuestionUse, AnswerFigures]]]
    #: Without what it says of single patients. Null where nothing was tried.
    robustness: RobustnessDocument | None = None
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
    #: With the categories' names.
    bench: BenchCounts
    #: All splits of the benchmark, evaluated or not.
    bench_splits: list[EvaluatedSplit]
    #: How each model reads that was to forget somebody, by split.
    readings: list[ModelReading] = Field(default_factory=list)
