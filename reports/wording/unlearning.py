"""An unlearning evaluation as its page reads it, and its words: a method is one row over all splits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import polars as pl

from clinaudit.reports.schema.unlearning import (
    KINDS,
    MODEL_KINDS,
    EvaluatedModel,
    EvaluationRecord,
    Figure,
    ModelKind,
    QuestionKind,
    SplitCounts,
)
from clinaudit.reports.wording.figures import figure_text

METHODS: Final[Mapping[str, str]] = {"grad_diff": "GradDiff", "kl_min": "KL-Min", "rmu": "RMU", "sim_npo": "SimNPO"}
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
    "ds": "DS",
}
#: What a question is for, and the trials by their use of the questions.
USES: Final[Mapping[str, str]] = {"train": "trained on", "holdout": "withheld"}
TRIALS: Final[Mapping[str, str]] = {
    "questions_1": "Learning one question again",
    "questions_5": "Learning five questions again",
    "retained_notes": "Learning notes of others",
}
#: Where there is no figure; below the table stands why.
NONE: Final = "–"
#: Nobody of a group was asked about, or nobody was asked.
NO_ANSWERS: Final = "no such answers"
_NOT_MEASURED: Final = "not measured"
_FIXED_LABELS: Final[Mapping[ModelKind, str]] = {"baseline": "Before unlearning", "retrained": "Retrained without them"}


class System(NamedTuple):
    """What one row of a table and one trace of a figure is."""

    label: str
    kind: ModelKind
    #: Split's name -> the model that was measured on it.
    models: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Everything that an evaluation found about groups: `FIGURES`, `CHECKS`, and what was done."""

    record: EvaluationRecord
    figures: pl.DataFrame
    checks: pl.DataFrame

    @cached_property
    def _by_place(self) -> dict[tuple[str, ...], Figure]:
        return {row[:6]: Figure(*row[6:]) for row in self.figures.iter_rows()}

    def find(self, split: str, model: str, metric: str, group: str, kind: str, use: str) -> Figure | None:
        """Return a figure, or None where the model was not asked or nobody is there to be asked about."""
        return self._by_place.get((split, model, group, kind, use, metric))

    def of_system(
        self, split: str, system: System | None, metric: str, group: str, kind: str, use: str
    ) -> Figure | None:
        """Return a figure of the model that a system is on a split."""
        return self.find(split, system.models.get(split, "") if system else "", metric, group, kind, use)

    @cached_property
    def systems(self) -> list[System]:
        """What others are compared with first, then those that were to forget, then references."""
        splits = [split.split for split in self.record.splits]
        groups: dict[tuple[ModelKind, str], list[EvaluatedModel]] = {}
        for model in self.record.models:
            groups.setdefault((model.kind, model.method or ""), []).append(model)
        found: list[System] = []
        for (kind, method), models in groups.items():
            measured = {model.name: [split for split in splits if model.split in (None, split)] for model in models}
            places = [split for own in measured.values() for split in own]
            label = _FIXED_LABELS.get(kind, METHODS.get(method, method))
            if kind != "foreign" and len(places) == len(set(places)):
                found.append(System(label, kind, {place: name for name, own in measured.items() for place in own}))
                continue
            # A second model of a method and split is another choice of its parameters: each gets a row of its own.
            for name, own in measured.items():
                found.append(System(f"{label} ({name})" if label else name, kind, dict.fromkeys(own, name)))
        before = self.record.before
        return sorted(found, key=lambda it: (before not in it.models.values(), MODEL_KINDS.index(it.kind), it.label))

    @cached_property
    def before(self) -> System | None:
        """What the others are compared with; None where nothing is."""
        return next((one for one in self.systems if self.record.before in one.models.values()), None)

    def levels(self) -> dict[str, list[SplitCounts]]:
        """Return the splits by their level, in order of size."""
        found: dict[str, list[SplitCounts]] = {}
        for split in self.record.splits:
            found.setdefault(split.level, []).append(split)
        return found

    @cached_property
    def kinds(self) -> list[QuestionKind]:
        """The kinds of questions that anything was asked of."""
        asked = set(self.figures["kind"])
        return [kind for kind in KINDS if kind in asked]

    def measured(self, splits: Sequence[SplitCounts]) -> Iterator[System]:
        """Yield the systems that were measured by any of some splits."""
        return (system for system in self.systems if any(split.split in system.models for split in splits))


class FigureCells:
    """The cells of one table: figures as text, and why some are none, which stands below the table."""

    def __init__(self) -> None:
        self._reasons: dict[str, None] = {}

    def text(self, figure: Figure | None, *, interval: bool = True, share: bool = False, signed: bool = False) -> str:
        """Return a figure, or a dash whose reason is kept."""
        if figure is None or figure.value is None:
            self._reasons[(NO_ANSWERS if figure is None else figure.reason) or _NOT_MEASURED] = None
            return NONE
        if figure.reason:
            self._reasons[figure.reason] = None
        return figure_text(figure, interval=interval, share=share, signed=signed)

    def note(self, first: str = "") -> str:
        """Return the sentences below the table."""
        reasons = f"{NONE} no figure: {'; '.join(self._reasons)}." if self._reasons else ""
        return " ".join(part for part in (first, reasons) if part)
