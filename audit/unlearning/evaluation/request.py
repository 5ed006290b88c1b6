"""What one `clinaudit unlearn evaluate` is asked to do. Owns the fields; reads nothing."""

from dataclasses import dataclass, field
from pathlib import Path

from clinaudit.audit.unlearning.benchmark.records import QuestionForm
from clinaudit.audit.unlearning.evaluation.given_models import ModelPlace
from clinaudit.audit.unlearning.evaluation.robustness.model_under_test import RobustnessOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """One evaluation."""

    models: tuple[ModelPlace, ...]
    bench: Path
    out: Path
    #: Of models made elsewhere.
    split_name: str | None = None
    form: QuestionForm = "addressed"
    #: Whether a filter of the forgotten patients' names stands before the baseline as a reference.
    has_prompt_filter: bool = False
    #: The model that the others are compared with; None: the baseline.
    before: str | None = None
    #: The model that adapters were trained on.
    base_model: Path | None = None
    #: The directory of an encoder; None: the installed package.
    embeddings: Path | None = None
    #: The directory of a model of inference; None: rules.
    nli: Path | None = None
    #: Where the benchmark's corpus lies now, if elsewhere than when it was built.
    corpus: Path | None = None
    #: Of samples and of the bootstrap.
    seed: int = 0
    #: Whether the robustness tests are run.
    has_robustness: bool = True
    robustness: RobustnessOptions = field(default_factory=RobustnessOptions)
