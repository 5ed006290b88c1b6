"""The document of scores, as who writes, prints and reads it has it (docs/unlearning.md).

A field that was never set is not written, such as a metric that no answer has. PHI: it holds ids of patients.
"""

import json
from typing import Any, Final, Literal, Self, TypeVar, get_args

from pydantic import Field, model_serializer, model_validator

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.numbers import Estimate, PatientEstimate
from clinaudit.reports.schema.record import Record

#: `baseline`: trained on everybody, which unlearning begins with; `retrained`: it never saw the forgotten ones;
#: `foreign`: made elsewhere.
ModelKind = Literal["baseline", "unlearned", "foreign", "retrained"]
MODEL_KINDS: Final[tuple[ModelKind, ...]] = get_args(ModelKind)
QuestionKind = Literal["factual", "reasoning"]
KINDS: Final[tuple[QuestionKind, ...]] = get_args(QuestionKind)
QuestionUse = Literal["train", "holdout", "rephrased"]
USES: Final[tuple[QuestionUse, ...]] = get_args(QuestionUse)
#: Whose answers: `same` are retained patients with the disease of a forgotten one, `others` all other retained ones.
AnswerGroup = Literal["forget", "retain", "never_trained", "same", "others"]
#: `set_aside`: retained patients by whom a learning rate was chosen. No mean counts them.
PatientRole = Literal["forget", "retain", "never_trained", "set_aside"]
#: How an interval was made (docs/unlearning.md, "Intervals"): `bootstrap` over patients alone; `beta_bounds`:
#: united with Beta bounds; `delong`, of an AUROC.
IntervalMethod = Literal["bootstrap", "beta_bounds", "delong"]
Held = TypeVar("Held")
#: Group -> kind -> use of the questions.
ByGroup = dict[str, dict[QuestionKind, dict[QuestionUse, Held]]]


def plain_name(metric: str) -> str:
    """Return what pages and tables call a metric of a document: entailment `es`, by whatever it was measured."""
    return "es" if metric == "es_rules" else metric


class Document(Record):
    """Base of what is a file of its own."""

    def text(self) -> str:
        """Return the text of the file."""
        held = self.model_dump(exclude_unset=True)
        return json.dumps(held, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


class Figure(Record):
    """An exact figure; in JSON its `value`, the 95% `interval`, what it is a mean over, and why it is null."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    #: How the interval was made; null without one.
    method: IntervalMethod | None = None
    #: What it is a mean over: one of the two.
    answers: int | None = None
    patients: int | None = None

    @classmethod
    def of(
        cls,
        estimate: Estimate,
        *,
        counted: Literal["answers", "patients"] = "answers",
        method: IntervalMethod = "beta_bounds",
    ) -> Self:
        """Return an estimate over so many answers, or patients; `method` is that of its `low` and `high`."""
        held: dict[str, Any] = {counted: estimate.n}
        if estimate.low is not None and estimate.high is not None:
            held["method"] = method
            if isinstance(estimate, PatientEstimate) and estimate.bootstrap is not None:
                held["method"] = "bootstrap"
                low, high = estimate.bootstrap
                estimate = estimate.model_copy(update={"low": low, "high": high})
        return cls(value=estimate.value, low=estimate.low, high=estimate.high, reason=estimate.reason, **held)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, held: Any) -> Any:
        if not isinstance(held, dict) or "interval" not in held:
            return held
        rest = {name: value for name, value in held.items() if name != "interval"}
        low, high = held["interval"]
        return {**rest, "low": low, "high": high}

    @model_serializer
    def _write(self) -> dict[str, Any]:
        counted = "patients" if "patients" in self.model_fields_set else "answers"
        interval = [self.low, self.high]
        written: dict[str, Any] = {"value": self.value, "interval": interval}
        written |= {} if self.method is None else {"method": self.method}
        written[counted] = getattr(self, counted)
        return written if self.reason is None else {**written, "reason": self.reason}


Figures = dict[str, Figure]


class GroupCounts(Record):
    """Whose answers a mean is of, and how many of them lack something."""

    patients: int
    answers: int
    #: Answers of fewer than two tokens (words, where there are no token ids): their entropy is undefined.
    empty_or_single: int
    #: Answers to questions without keywords: they have no leakage score.
    without_keywords: int


class AnswerFigures(GroupCounts):
    """The means of one group's answers to one kind and use of questions."""

    #: Metric -> mean, with its 95% interval over patients. Entailment is `es`, by whatever it was measured.
    metrics: dict[str, Figure]
    #: Harmonic mean -> the metrics it is made of.
    parts: dict[str, list[str]] = Field(default_factory=dict)


class GroupScores(Record):
    """The means of a model's answers, metric by metric; a metric that the model has of no group is not set."""

    rouge_l: ByGroup[Figure] = Field(default_factory=dict)
    em: ByGroup[Figure] = Field(default_factory=dict)
    cs: ByGroup[Figure] = Field(default_factory=dict)
    es: ByGroup[Figure] = Field(default_factory=dict)
    es_rules: ByGroup[Figure] = Field(default_factory=dict)
    te: ByGroup[Figure] = Field(default_factory=dict)
    te_words: ByGroup[Figure] = Field(default_factory=dict)
    ls: ByGroup[Figure] = Field(default_factory=dict)
    ls_echo_free: ByGroup[Figure] = Field(default_factory=dict)
    #: LS of the reference answers: what LS can reach where an answer says all and no more.
    ls_reference: ByGroup[Figure] = Field(default_factory=dict)
    ds: ByGroup[Figure] = Field(default_factory=dict)
    mu: ByGroup[Figure] = Field(default_factory=dict)
    afe: ByGroup[Figure] = Field(default_factory=dict)
    mu_without_em: ByGroup[Figure] = Field(default_factory=dict)
    afe_without_em: ByGroup[Figure] = Field(default_factory=dict)
    #: Harmonic mean -> the metrics it is made of.
    parts: dict[str, ByGroup[list[str]]] = Field(default_factory=dict)
    counts: ByGroup[GroupCounts] = Field(default_factory=dict)

    def find(self, metric: str, group: str, kind: QuestionKind, use: QuestionUse) -> Figure | None:
        """Return a mean; None where the model has none of the group."""
        held: ByGroup[Figure] = getattr(self, metric)
        return _at(held, group, kind, use)

    def answers(self) -> dict[str, dict[QuestionKind, dict[QuestionUse, AnswerFigures]]]:
        """Return all figures of each group."""
        return {
            group: {kind: {use: self._answers(group, kind, use) for use in uses} for kind, uses in kinds.items()}
            for group, kinds in self.counts.items()
        }

    def _answers(self, group: str, kind: QuestionKind, use: QuestionUse) -> AnswerFigures:
        metrics = {name: self.find(name, group, kind, use) for name in GroupScores.model_fields if name in _METRICS}
        parts = {name: _at(held, group, kind, use) for name, held in self.parts.items()}
        return AnswerFigures(
            **self.counts[group][kind][use].model_dump(),
            metrics={plain_name(name): figure for name, figure in metrics.items() if figure is not None},
            parts={name: [plain_name(part) for part in own] for name, own in parts.items() if own is not None},
        )


_METRICS: Final = frozenset(GroupScores.model_fields) - {"parts", "counts"}


def _at(held: ByGroup[Held], group: str, kind: QuestionKind, use: QuestionUse) -> Held | None:
    return held.get(group, {}).get(kind, {}).get(use)


class Collapse(Record):
    """Whether a model's answers still read as those of the model before."""

    #: Null where that could not be asked throughout.
    collapsed: bool | None = None
    checks: list[AnswerCheck]


class ModelScores(GroupScores):
    """The means of one model's answers on one split."""

    #: Of retained patients, `same` and `others`.
    same_category: GroupScores = Field(default_factory=GroupScores)
    #: Each mean less that of the model before, over the same questions; of all groups. Not set of the model before.
    change: GroupScores = Field(default_factory=GroupScores)
    #: Null of the model before, and where there is none.
    collapse: Collapse | None = None

    def side(self, group: str) -> GroupScores:
        """Return where a group's means stand."""
        return self.same_category if group in ("same", "others") else self

    def health(self) -> list[AnswerCheck]:
        """Return the questions of collapse; empty where the answers were compared with nothing."""
        return [] if self.collapse is None else self.collapse.checks


class RolePatient(Record):
    """A patient of the benchmark in a split (PHI: the key is its id)."""

    role: PatientRole
    category: str


class ScoredAnswer(Record):
    """The metrics of one answer (PHI)."""

    model: str
    qa_id: str
    patient_id: str
    role: PatientRole
    kind: QuestionKind
    use: QuestionUse
    rouge_l: float
    em: float | None = None
    cs: float | None = None
    es: float | None = None
    es_rules: float | None = None
    te: float | None = None
    te_words: float | None = None
    ls: float | None = None
    ls_echo_free: float | None = None
    ls_reference: float | None = None
    #: Metric -> why it is null.
    reasons: dict[str, str] = Field(default_factory=dict)

    def value(self, metric: str) -> float | None:
        """Return a metric's value; entailment by whatever it was measured.

        Entropy without token ids is that of words, and that of an empty answer is 0, as in MU.
        """
        if metric == "es":
            return self.es_rules if self.es is None else self.es
        if metric == "te":
            return next((value for value in (self.te, self.te_words) if value is not None), 0.0)
        value: float | None = getattr(self, metric)
        return value


class ScoresDocument(Document):
    """The scores of some models on one split: what `unlearn score` writes, and `unlearn evaluate` for each split."""

    format: Literal[1]
    #: Digest of the benchmark.
    bench: str
    split: str
    form: str
    #: Of the bootstrap.
    seed: int
    resamples: int
    #: Metric -> model, rules or library, in words.
    made_with: dict[str, str]
    question_count: int
    set_aside_patients: int
    models: dict[str, ModelScores]
    patients: dict[str, RolePatient]
    items: list[ScoredAnswer]

    def answers_of(self, model: str | None) -> tuple[ScoredAnswer, ...]:
        """Return a model's answers; empty where there is no such model."""
        return tuple(one for one in self.items if one.model == model)
