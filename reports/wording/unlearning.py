"""Words of the page of an unlearning evaluation: names, what a row is, and missing figures.

A method is one row over all splits, although each of its models was made for one of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from clinaudit.reports.schema.unlearning import EvaluatedSplit, UnlearningEvaluation
from clinaudit.reports.schema.unlearning_evaluation import EvaluatedModel, TrialName
from clinaudit.reports.schema.unlearning_scores import (
    KINDS,
    MODEL_KINDS,
    AnswerFigures,
    AnswerGroup,
    ModelKind,
    QuestionKind,
    QuestionUse,
)
from clinaudit.reports.wording.figures import HasInterval, figure_text

#: Of several methods on one split: which has the lowest and which the highest figure.
Mark = Literal["", "lowest", "highest"]
METHODS: Final[Mapping[str, str]] = {"grad_diff": "GradDiff", "kl_min": "KL-Min", "rmu": "RMU", "sim_npo": "SimNPO"}
USES: Final[Mapping[QuestionUse, str]] = {"train": "trained on", "holdout": "withheld", "rephrased": "rephrased"}
METRICS: Final[Mapping[str, str]] = {
    "mu": "MU",
    "afe": "AFE",
    "rouge_l": "ROUGE-L",
    "em": "EM",
    "cs": "CS",
    "te": "TE",
    "es": "ES",
    "ls": "LS",
    "ls_echo_free": "LS without echo",
    "ls_reference": "LS of the reference",
    "ds": "DS",
}
TRIALS: Final[Mapping[TrialName, str]] = {
    "questions_1": "learning one question again",
    "questions_5": "learning five questions again",
    "retained_notes": "learning notes of others",
    "rephrased": "rephrasing",
    "other_form": "asking in the other form",
}
TRAITS: Final[Mapping[str, str]] = {
    "answer_loss": "loss on answers",
    "answer_entropy": "entropy on answers",
    "note_loss": "loss on notes",
    "note_entropy": "entropy on notes",
    "te": "entropy of what is answered",
}
#: Where there is no figure; below the table stands why.
NONE: Final = "–"
#: Nobody of a group was asked about, or nobody was asked.
NO_ANSWERS: Final = "no such answers"
#: Without a reason of its own.
_NOT_MEASURED: Final = "not measured"
_FIXED_LABELS: Final[Mapping[ModelKind, str]] = {
    "baseline": "Before unlearning",
    "retrained": "Retrained without them",
}


@dataclass(frozen=True, slots=True)
class System:
    """What one row of a table and one trace of a figure is."""

    label: str
    kind: ModelKind
    #: Split's name -> the model that was measured on it.
    models: Mapping[str, str]

    @property
    def was_to_forget(self) -> bool:
        """Whether it is to have forgotten somebody: no reference, and nothing that is compared with."""
        return self.kind in ("unlearned", "foreign")


def list_systems(evaluation: UnlearningEvaluation) -> list[System]:
    """Return the systems: what others are compared with first, then those that were to forget, then references."""
    splits = [split.name for split in evaluation.splits]
    groups: dict[tuple[ModelKind, str], list[EvaluatedModel]] = {}
    for model in evaluation.models:
        groups.setdefault((model.kind, model.method or ""), []).append(model)
    found: list[System] = []
    for (kind, method), models in groups.items():
        # A second model of a method and split is another choice of its parameters: each gets a row of its own.
        places = [place for model in models for place in (splits if model.split is None else [model.split])]
        label = _FIXED_LABELS.get(kind, METHODS.get(method, method))
        if kind != "foreign" and len(places) == len(set(places)):
            found.append(System(label, kind, {place: model.name for model in models for place in _of(model, splits)}))
            continue
        for model in models:
            name = f"{label} ({model.name})" if label else model.name
            found.append(System(name, kind, dict.fromkeys(_of(model, splits), model.name)))
    return sorted(found, key=lambda system: (*_rank(system, evaluation.before), system.label))


def _of(model: EvaluatedModel, splits: Sequence[str]) -> list[str]:
    return [split for split in splits if model.split in (None, split)]


def _rank(system: System, before: str | None) -> tuple[bool, int]:
    return before not in system.models.values(), MODEL_KINDS.index(system.kind)


def find_before(evaluation: UnlearningEvaluation) -> System | None:
    """Return what the others are compared with, or None where nothing is."""
    return next((one for one in list_systems(evaluation) if evaluation.before in one.models.values()), None)


def find_answers(
    evaluation: UnlearningEvaluation,
    split: str,
    system: System | None,
    group: AnswerGroup,
    kind: QuestionKind,
    use: QuestionUse = "train",
) -> AnswerFigures | None:
    """Return what a system answered on a split, or None where it was not asked or nobody is there to be asked about."""
    model = None if system is None else system.models.get(split)
    figures = None if model is None else evaluation.figures.get(split, {}).get(model)
    return None if figures is None else figures.answers.get(group, {}).get(kind, {}).get(use)


def leakage_marks(evaluation: UnlearningEvaluation, split: str, kind: QuestionKind) -> dict[str, Mark]:
    """Return which methods have the lowest and the highest LS on a split, by model; none where all are alike."""
    values: dict[str, float] = {}
    for system in list_systems(evaluation):
        answers = find_answers(evaluation, split, system, "forget", kind)
        value = None if answers is None else answers.metrics["ls"].value
        if system.was_to_forget and value is not None and system.models[split] != evaluation.before:
            values[system.models[split]] = value
    low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
    if low == high:
        return {}
    marks: dict[float, Mark] = {low: "lowest", high: "highest"}
    return {model: marks[value] for model, value in values.items() if value in marks}


def split_title(split: EvaluatedSplit) -> str:
    """Return "Random, 10%"."""
    return f"{split.level}, {split.percent}%"


def levels_of(evaluation: UnlearningEvaluation) -> dict[str, list[EvaluatedSplit]]:
    """Return the evaluated splits by their level, in order of size."""
    found: dict[str, list[EvaluatedSplit]] = {}
    for split in evaluation.splits:
        found.setdefault(split.level, []).append(split)
    return found


def kinds_asked(evaluation: UnlearningEvaluation) -> list[QuestionKind]:
    """Return the kinds of questions that anything was asked of."""
    asked = {
        kind
        for models in evaluation.figures.values()
        for model in models.values()
        for kinds in model.answers.values()
        for kind in kinds
    }
    return [kind for kind in KINDS if kind in asked]


class FigureCells:
    """The cells of one table: figures as text, and why some are none, which stands below the table."""

    def __init__(self) -> None:
        self._reasons: dict[str, None] = {}

    def text(self, estimate: HasInterval | None, *, interval: bool = True, share: bool = False) -> str:
        """Return a figure, or a dash whose reason is kept."""
        if estimate is None or estimate.value is None:
            return self.none(_NOT_MEASURED if estimate is None else estimate.reason)
        return figure_text(estimate, interval=interval, share=share)

    def none(self, reason: str | None) -> str:
        """Return a dash, and keep its reason."""
        self._reasons[reason or _NOT_MEASURED] = None
        return NONE

    def mean(self, answers: AnswerFigures | None, metric: str) -> str:
        """Return a metric of some answers."""
        return self.none(NO_ANSWERS) if answers is None else self.text(answers.metrics.get(metric))

    def note(self, first: str = "") -> str:
        """Return the sentences below the table."""
        reasons = f"{NONE} no figure: {'; '.join(self._reasons)}." if self._reasons else ""
        return " ".join(part for part in (first, reasons) if part)
