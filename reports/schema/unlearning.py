"""What `clinaudit unlearn evaluate` found, as its page and its CSV files show it (docs/unlearning.md).

Made of the documents' own figures. Figures of groups alone: no id of a patient or question and no text stands here.
Counts and means are exact, so that whatever is made of these records is as private as the benchmark.
"""

from pydantic import Field

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.unlearning_bench import BenchCounts
from clinaudit.reports.schema.unlearning_evaluation import EvaluatedModel, RobustnessDocument
from clinaudit.reports.schema.unlearning_scores import AnswerFigures, AnswerGroup, QuestionKind, QuestionUse


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
    #: Null where nothing was tried.
    robustness: RobustnessDocument | None = None
    #: Whether its answers still read as those of the model before; empty where there is none to compare with.
    collapse: list[AnswerCheck] = Field(default_factory=list)


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
