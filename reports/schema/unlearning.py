"""What the commands of unlearning write beside tables of patients: figures, checks, counts, and how models were made.

Exact, and so as private as the benchmark; no id of a patient or question and no text stands here (docs/unlearning.md).
"""

import json
from typing import Any, Final, Literal, NamedTuple, get_args

import polars as pl
from pydantic import Field

from clinaudit.reports.schema.record import Record

#: `baseline`: trained on everybody, which unlearning begins with; `retrained`: it never saw the forgotten ones;
#: `foreign`: made elsewhere.
ModelKind = Literal["baseline", "unlearned", "foreign", "retrained"]
MODEL_KINDS: Final[tuple[ModelKind, ...]] = get_args(ModelKind)
QuestionKind = Literal["factual", "reasoning"]
KINDS: Final[tuple[QuestionKind, ...]] = get_args(QuestionKind)
QuestionUse = Literal["train", "holdout"]
USES: Final[tuple[QuestionUse, ...]] = get_args(QuestionUse)
#: Whose answers: `same` are retained patients with the disease of a forgotten one, `others` all other retained ones.
AnswerGroup = Literal["forget", "retain", "never_trained", "same", "others"]
PatientRole = Literal["forget", "retain", "never_trained"]

#: `figures`, a row a figure: the 95% interval, how many patients it rests on, and why there is no value, or of what it
#: is made. A `group` such as `forget-never_trained` is a difference, a metric such as `mu_change` one to the model
#: before. `use` is that of the questions, or a trial.
FIGURES: Final = {
    **dict.fromkeys(("split", "model", "group", "kind", "use", "metric"), pl.String()),
    **dict.fromkeys(("value", "low", "high"), pl.Float64()),
    "n": pl.Int64(),
    "reason": pl.String(),
}


class Figure(NamedTuple):
    """A row of `FIGURES`, without its place."""

    value: float | None
    low: float | None
    high: float | None
    #: Patients.
    n: int
    reason: str | None


#: `collapse`, a row a split, model, group and question: whether answers still read as those of the model before.
CHECKS: Final = {
    **dict.fromkeys(("split", "model", "group", "question", "allowed"), pl.String()),
    **dict.fromkeys(("a", "b", "limit"), pl.Float64()),
    "passed": pl.Boolean(),
    "reason": pl.String(),
}


class CategoryCounts(Record):
    """The patients of one disease category (AMNESIA, Table 1)."""

    category: str
    patients: int
    questions: int


class SplitCounts(Record):
    """Who is forgotten and retained by a split (Table 5); questions trained on."""

    split: str
    #: `Random`, `Request`, or the name of the disease whose patients are forgotten.
    level: str
    is_disease: bool
    percent: int
    forget_patients: int
    forget_questions: int
    retain_patients: int
    retain_questions: int

    @property
    def title(self) -> str:
        """Return "Random, 10%"."""
        return f"{self.level}, {self.percent}%"


class PanelFigures(Record):
    """What the panel of judges said of one task (AMNESIA, Tables 8, 10, 12 and 13)."""

    #: `title`: whether a title supports its category; `question`: whether a question is valid.
    task: Literal["title", "question"]
    items: int
    #: Judge, or `Majority` -> verdict -> items.
    verdicts: dict[str, dict[str, int]]
    #: Two judges -> share of the items on which both give one verdict.
    pairs: dict[str, float]
    agreement: float | None
    kappa: float | None


class BenchCounts(Record):
    """What a benchmark holds, and what was left out of it."""

    patients: int
    patients_trained_on: int
    questions: int
    holdout_questions: int
    categories: list[CategoryCounts]
    splits: list[SplitCounts]
    #: Reason -> patients, and questions, left out for it.
    patients_dropped: dict[str, int] = Field(default_factory=dict)
    questions_refused: dict[str, int] = Field(default_factory=dict)
    #: Category and reason -> percentages of which there is no split.
    splits_unavailable: dict[str, list[int]] = Field(default_factory=dict)
    questions_that_fit_others: int = 0
    holdout_questions_told_in_training: int = 0
    category_sources: dict[str, int] = Field(default_factory=dict)
    keywords: int = 0
    questions_without_keyword: int = 0
    #: Empty where no panel was asked.
    panel: list[PanelFigures] = Field(default_factory=list)


class EvaluatedModel(Record):
    """One model whose answers were scored."""

    name: str
    kind: ModelKind
    #: By whom it is measured; null: by every split, as what others are compared with.
    split: str | None
    #: Null of answers made elsewhere.
    digest: str | None = None
    #: Digest of the model that it was made from.
    made_from: str | None = None
    method: str | None = None
    trained_form: str | None = None


class EvaluationSettings(Record):
    """What every model's answers and scores depend on: it does not change when an evaluation goes on."""

    clinaudit_version: str
    bench_digest: str
    corpus_digest: str
    #: `addressed`: questions open with what is known of the encounter; `paper`: they name nobody.
    form: str
    seed: int
    #: Metric -> model, rules or library it was measured with.
    made_with: dict[str, str]
    #: Of answers made elsewhere, their file.
    answers_digest: str | None = None
    most_answer_tokens: int | None = None
    #: What the user chose of the trials.
    trials: dict[str, Any] | None = None
    device: str | None = None
    libraries: dict[str, str] = Field(default_factory=dict)


class EvaluationRecord(EvaluationSettings):
    """`evaluate.json`: an evaluation that is finished."""

    #: The model that the others are compared with.
    before: str | None
    models: list[EvaluatedModel]
    #: Those evaluated, in the order of their levels and sizes.
    splits: list[SplitCounts]
    bench: BenchCounts | None = None

    def text(self) -> str:
        """Return the text of the file."""
        return json.dumps(self.model_dump(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
