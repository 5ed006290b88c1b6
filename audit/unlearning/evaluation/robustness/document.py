"""One model's robustness block as its readers take it, the page and the certificate (docs/unlearning-scores.md).

What no reader takes is left out; `block.py` writes the whole.
"""

from typing import Any

from pydantic import BaseModel, Field, field_validator

from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.unlearning import TrialName


class Figure(BaseModel):
    """A figure with its 95% interval."""

    value: float | None
    interval: tuple[float | None, float | None]
    reason: str | None = None

    def published(self) -> EstimateRange:
        """Return it as an exact number: a range of no width."""
        low, high = self.interval
        return EstimateRange(
            value=self.value,
            low=self.value,
            high=self.value,
            confidence_low=low,
            confidence_high=high,
            reason=self.reason,
        )


Figures = dict[str, Figure]


class TriedFigures(BaseModel):
    """What came of one trial, by metric; the `reason` alone where it could not be made."""

    reason: str | None = None
    before: Figures = Field(default_factory=dict)
    after: Figures = Field(default_factory=dict)
    recovery: Figures = Field(default_factory=dict)
    recovery_beyond_reference: Figures = Field(default_factory=dict)
    #: The same of never-trained patients, and what is above them; empty where they were not tried.
    never_trained: "TriedFigures | None" = None
    above_never_trained: Figures = Field(default_factory=dict)


class Rounded(TriedFigures):
    """4-bit weights: the never-trained patients stand beside the forgotten ones."""

    forget: TriedFigures = Field(default_factory=TriedFigures)


class Relearned(BaseModel):
    """Relearning, by what was trained on."""

    questions_1: TriedFigures | None = None
    questions_5: TriedFigures | None = None
    retained_notes: TriedFigures | None = None


class Rephrased(BaseModel):
    """Other words for the same question."""

    rephrased: TriedFigures | None = None
    other_form: TriedFigures | None = None


class Sampled(BaseModel):
    """leak@k: metric -> k -> figure."""

    forget: dict[str, Figures]
    never_trained: dict[str, Figures]
    above_never_trained: dict[str, Figures]

    @field_validator("*", mode="before")
    @classmethod
    def _figures_alone(cls, held: Any) -> Any:
        return {name: own for name, own in held.items() if name != "counts"} if isinstance(held, dict) else held


class Trait(BaseModel):
    """How far one trait distinguishes both groups."""

    auroc: Figure
    #: `forget` and `never_trained`.
    patients: dict[str, int] = Field(default_factory=dict)
    p_value: float | None
    told_apart: bool | None = None


class Detected(BaseModel):
    """Whether a reader of the model can tell who was forgotten."""

    told_apart: bool | None
    traits: dict[str, Trait]


class Options(BaseModel):
    """What the user chose."""

    leak_at: list[int] = Field(default=[1], min_length=1)


class RobustnessDocument(BaseModel):
    """One model on one split; tests that were not run are None."""

    model: str = ""
    options: Options = Field(default_factory=Options)
    sampling: Sampled | None = None
    quantization: Rounded | None = None
    relearning: Relearned = Field(default_factory=Relearned)
    paraphrase: Rephrased = Field(default_factory=Rephrased)
    detectability: Detected | None = None
    #: `forget` or `never_trained` -> patient -> metric -> the most that any trial gets.
    by_patient: dict[str, dict[str, dict[str, float]]] = Field(default_factory=dict)

    def trials(self) -> dict[TrialName, TriedFigures]:
        """Return what came of each trial of forgotten patients that was to be made."""
        found: dict[TrialName, TriedFigures] = {}
        if (rounded := self.quantization) is not None:
            beside = {name: getattr(rounded, name) for name in ("never_trained", "above_never_trained")}
            reason = rounded.forget.reason or rounded.reason
            found["quantization"] = rounded.forget.model_copy(update={**beside, "reason": reason})
        others: dict[TrialName, TriedFigures | None] = {
            "questions_1": self.relearning.questions_1,
            "questions_5": self.relearning.questions_5,
            "retained_notes": self.relearning.retained_notes,
            "rephrased": self.paraphrase.rephrased,
            "other_form": self.paraphrase.other_form,
        }
        return found | {name: trial for name, trial in others.items() if trial is not None}
