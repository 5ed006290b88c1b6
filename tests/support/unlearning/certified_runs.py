"""Audits and an evaluation of the models of `trained_to_forget`, in this process, and certificates made of them."""

import os
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from support.unlearning.shared_words import SharedWords
from support.unlearning.trained_to_forget import NAMED, TrainedToForget

from clinaudit.audit.assembly.pipeline import run_audit
from clinaudit.audit.measures.cohorts import stage
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.audit.unlearning.evaluation import asked_model, evaluate
from clinaudit.audit.unlearning.evaluation.evaluate import EvaluationRequest
from clinaudit.audit.unlearning.evaluation.given_models import ModelPlace

#: Of each split so many targets at most, which are all of them: 95 patients never seen decide of five named ones.
SAMPLE = 150


def audit(made: TrainedToForget, model: Path, run: Path) -> Path:
    """Audit a model with the named patients beside a sample; return the run."""
    listed = run.with_suffix(".txt")
    listed.write_text("\n".join(NAMED), encoding="utf-8")
    with mock.patch.dict(os.environ), pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "SAMPLE_SIZE", SAMPLE)
        run_audit(
            AuditSettings(
                model=str(model),
                corpus=made.corpus,
                out=run,
                ngram=20,
                max_new_tokens=60,
                include_patients=listed,
                quiet=True,
                ordinary=False,
                engine="transformers",
                diagnosis=("hiv",),
            )
        )
    tempfile.tempdir = None
    return run


def evaluate_models(made: TrainedToForget, out: Path) -> Path:
    """Evaluate the model before and the retrained one; return the result."""
    request = EvaluationRequest(
        models=(ModelPlace("before", made.before), ModelPlace("retrained", made.retrained)),
        bench=made.bench,
        out=out,
        has_robustness=False,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "load_embedder", lambda _directory: SharedWords())
        patch.setattr(asked_model, "MOST_ANSWER_TOKENS", 12)
        evaluate.evaluate(request, Progress(quiet=True))
    return out
