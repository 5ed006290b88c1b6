"""A tiny model and a benchmark of a few invented patients, to be trained on in a moment."""

from pathlib import Path
from typing import Any

from support.hand_made_bench import bench_of, question
from support.models.tiny_models import save_llama

from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.benchmark.files import Bench, BenchPatient, Split
from clinaudit.audit.unlearning.methods.texts import TrainingPlan
from clinaudit.audit.unlearning.methods.unlearn import Job

PATIENTS = tuple(f"patient-{number:02}" for number in range(1, 15))
SPLIT = Split("random", None, 15, PATIENTS[:2], PATIENTS[2:])
#: Of the two patients to be forgotten, four micro-batches a pass: three steps in all, the last of two.
QUICK = TrainingPlan(epochs=2, learning_rate=1e-3, micro_batch=1, micro_batches=3)


def make_bench() -> Bench:
    """Return a benchmark with a note and two questions of each patient, one of them never trained on."""
    plan = {"origin": "templates", "address": "cc: cough."}
    return bench_of(
        [BenchPatient(patient, "other", "given", "cough", is_trained=True) for patient in PATIENTS],
        [
            question(f"{patient}-{use}", patient, "What was the plan?", f"rest {int(patient[-2:])}", use=use, **plan)
            for patient in PATIENTS
            for use in ("train", "holdout")
        ],
        [SPLIT],
        {patient: (f"cc: cough {place}\nhpi: fluids\n",) for place, patient in enumerate(PATIENTS)},
    )


def make_job(place: Path, **fields: Any) -> Job:
    """Return the job of training a tiny model to `place/out`; the model to begin with lies beside."""
    model = place / "model"
    if not model.exists():
        model.mkdir(parents=True)
        save_llama(model)
    made = {"files": inspect_model(model), "bench": make_bench(), "out": place / "out", "seed": 1, **fields}
    return Job(**made, progress=Progress(quiet=True))
