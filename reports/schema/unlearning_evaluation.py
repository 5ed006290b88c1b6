"""What `clinaudit unlearn evaluate` writes beside the scores: `evaluate.json`, and what each model withstands.

One shape for who writes it, the page and the certificate (docs/unlearning.md). What is not set is not written.
PHI: counts are exact.
"""

from typing import Any, Final, Literal

from pydantic import Field

from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.unlearning_scores import Document, Figure, Figures, ModelKind

#: What is done to a model, or how it is asked, to see whether what it forgot comes back.
TrialName = Literal["questions_1", "questions_5", "retained_notes", "rephrased", "other_form"]
#: Of `evaluate.json` and of the files of robustness; another number is another shape.
EVALUATION_FORMAT: Final = 3


class TrialCounts(Record):
    """Who was tried, and how many questions were asked."""

    patients: int
    questions: int


class Trial(Record):
    """The same questions before and after something was done to a model; a `reason` alone where it was not tried."""

    reason: str | None = None
    #: Texts that were learned again.
    texts: int | None = None
    form: str | None = None
    counts: TrialCounts | None = None
    before: Figures = Field(default_factory=dict)
    after: Figures = Field(default_factory=dict)
    change: Figures = Field(default_factory=dict)
    #: Of rephrased questions: the largest leak over all wordings.
    largest: Figures = Field(default_factory=dict)
    #: The same of never-trained patients, and what is above them; not set where they were not tried.
    never_trained: "Trial | None" = None
    above_never_trained: Figures = Field(default_factory=dict)


class RelearningPatients(Record):
    """Whose texts were learned again, and who was asked about."""

    trained_on: int
    asked: int


class Relearning(Record):
    """A few steps of training on other texts, by what was trained on."""

    steps: int
    learning_rate: float
    texts_a_step: int
    patients: RelearningPatients
    questions_1: Trial
    questions_5: Trial
    retained_notes: Trial


class Paraphrase(Record):
    """The same question in other words, and in the other form."""

    rephrased: Trial
    other_form: Trial


#: What sampled answers are scored by, each from 0 to 1.
LEAK_METRICS: Final = ("ls", "ls_echo_free", "rouge_l")


class SampledGroup(Record):
    """leak@k of one group: metric -> k -> the largest leakage expected among k sampled answers."""

    #: Not set of the difference between two groups.
    counts: TrialCounts | None = None
    ls: Figures
    ls_echo_free: Figures
    rouge_l: Figures

    def at(self, metric: str) -> Figures:
        """Return k -> figure of a metric."""
        found: Figures = getattr(self, metric)
        return found


class Sampling(Record):
    """Answers that were sampled again and again."""

    samples: int
    forget: SampledGroup
    never_trained: SampledGroup
    #: The first minus the second.
    above_never_trained: SampledGroup


class GroupPatients(Record):
    """How many patients of both groups have something."""

    forget: int
    never_trained: int


class Trait(Record):
    """How far one trait of the model distinguishes forgotten from never-trained patients."""

    auroc: Figure
    patients: GroupPatients
    p_value: float | None
    told_apart: bool | None


class Detectability(Record):
    """Whether a reader of the model can tell who was forgotten from who was never there."""

    compared_with: str
    #: Null where a group is too small for a test.
    told_apart: bool | None
    traits: dict[str, Trait]


class RelearningOptions(Record):
    """How a model is trained again for a few steps."""

    steps: int
    learning_rate: float
    texts: int


class RobustnessChoices(Record):
    """What the user chose of the tests."""

    samples: int
    leak_at: list[int] = Field(min_length=1)
    relearning: RelearningOptions


class SplitSizes(Record):
    """How many a split forgets and retains."""

    forget: int
    retain: int


class RobustnessDocument(Record):
    """What one model's forgetting withstands on one split."""

    sampling: Sampling
    relearning: Relearning
    paraphrase: Paraphrase
    detectability: Detectability

    def trials(self) -> dict[TrialName, Trial]:
        """Return what came of each trial of forgotten patients."""
        return {
            "questions_1": self.relearning.questions_1,
            "questions_5": self.relearning.questions_5,
            "retained_notes": self.relearning.retained_notes,
            "rephrased": self.paraphrase.rephrased,
            "other_form": self.paraphrase.other_form,
        }


class RobustnessFile(Document):
    """What the forgetting of a split's models withstands."""

    format: Literal[3]
    bench: str
    split: str
    form: str
    seed: int
    options: RobustnessChoices
    patients: SplitSizes
    models: dict[str, RobustnessDocument]


class EvaluatedModel(Record):
    """One model that was asked."""

    name: str
    kind: ModelKind
    #: By whom it is measured; null: by every split, as what others are compared with.
    split: str | None
    digest: str
    #: Digest of the model that it was made from.
    made_from: str | None = None
    method: str | None = None
    learning_rate: float | None = None
    #: Whether the rate was chosen by retained patients who were set aside for it.
    chose_rate: bool = False
    trained_form: str | None = None
    #: How it was trained, as its own record says; null where nobody knows.
    training: dict[str, Any] | None = None

    def training_text(self) -> dict[str, str]:
        """Return how it was trained, in words; empty where nobody knows."""
        plan = self.training or {}
        return {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in plan.items()}


class DocumentNames(Record):
    """The files of one split under `evidence/`."""

    scores: str
    #: Null where nothing was tried.
    robustness: str | None


class EvaluationSettings(Document):
    """What every model's answers and scores depend on."""

    format: Literal[3] = EVALUATION_FORMAT
    clinaudit_version: str = ""
    bench_digest: str = ""
    corpus_digest: str
    form: str = ""
    most_answer_tokens: int = 0
    seed: int = 0
    #: Metric -> model, rules or library it was measured with.
    made_with: dict[str, str] = Field(default_factory=dict)
    robustness: RobustnessChoices
    device: str = ""
    libraries: dict[str, str] = Field(default_factory=dict)


class EvaluationRecord(EvaluationSettings):
    """`evaluate.json`: an evaluation that is finished."""

    #: The model that the others are compared with.
    before: str | None
    models: list[EvaluatedModel]
    documents: dict[str, DocumentNames]
