"""Audits and an evaluation of the models of `trained_to_forget`, in this process, and certificates made of them."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from support.unlearning.trained_to_forget import NAMED, TrainedToForget

from clinaudit.audit.cohorts import stage
from clinaudit.audit.commands.main import run as command
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.pipeline import run_audit
from clinaudit.audit.settings import AuditSettings
from clinaudit.audit.unlearning.evaluation import asked_model, evaluate
from clinaudit.audit.unlearning.evaluation.evaluate import EvaluationRequest
from clinaudit.audit.unlearning.evaluation.given_models import ModelPlace
from clinaudit.audit.unlearning.evaluation.robustness.changed_weights import RelearningPlan
from clinaudit.audit.unlearning.evaluation.robustness.parts import RobustnessOptions

#: Of each split so many targets at most; up to 9 fewer, by a secret of the corpus.
SAMPLE = 32


class Certified(NamedTuple):
    """What a certificate says."""

    status: int
    certificate: dict[str, Any]
    page: str

    @property
    def verdicts(self) -> set[str]:
        """The verdicts on the named patients."""
        return {one["verdict"] for one in self.certificate["patients"]}

    @property
    def reasons(self) -> set[str]:
        """Why, of all named patients together."""
        return {reason for one in self.certificate["patients"] for reason in one["reasons"]}


class SharedWords:
    """Similarity without a model of sentences."""

    name = "shared words"

    def similarity(self, first: str, second: str) -> float:
        one, other = set(first.lower().split()), set(second.lower().split())
        return len(one & other) / max(1, len(one | other))


def audit(made: TrainedToForget, model: str, run: Path, **options: Any) -> Path:
    """Audit a model with the named patients beside a sample; return the run."""
    listed = run.with_suffix(".txt")
    listed.write_text("\n".join(NAMED), encoding="utf-8")
    settings = {"engine": "transformers", "fragment": "opening", "diagnosis": ("hiv",), "drift_check": False, **options}
    with mock.patch.dict(os.environ), pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "SAMPLE_SIZE", SAMPLE)
        run_audit(
            AuditSettings(
                model=model,
                corpus=made.corpus,
                out=run,
                ngram=20,
                max_new_tokens=60,
                include_patients=listed,
                quiet=True,
                **settings,
            )
        )
    tempfile.tempdir = None
    return run


def evaluate_models(made: TrainedToForget, out: Path) -> Path:
    """Evaluate the model before, a filter of the names before it, and the retrained one; return the result."""
    request = EvaluationRequest(
        models=(ModelPlace("before", made.before), ModelPlace("retrained", made.retrained)),
        bench=made.bench,
        out=out,
        has_prompt_filter=True,
        robustness=RobustnessOptions(samples=2, leak_at=(1, 2), relearning=RelearningPlan(steps=1)),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "load_embedder", lambda _directory: SharedWords())
        patch.setattr(asked_model, "MOST_ANSWER_TOKENS", 12)
        evaluate.evaluate(request, Progress(quiet=True))
    return out


def certify(before: Path, after: Path, out: Path, *options: str) -> Certified:
    """Certify the named patients by the command."""
    listed = out.with_suffix(".txt")
    listed.write_text("\n".join(NAMED), encoding="utf-8")
    status = command(
        ["compare", str(before), str(after), "--forgotten", str(listed), "--out", str(out), "--exact", *options]
    )
    evidence = out / "evidence"
    return Certified(
        status,
        json.loads((evidence / "certificate.json").read_text(encoding="utf-8")),
        (evidence / "certificate.html").read_text(encoding="utf-8"),
    )
