"""A tiny model and a benchmark of a few invented patients, to be trained on in a moment."""

from pathlib import Path
from typing import Any

from support.models.tiny_models import save_llama

from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.records import BenchPatient, Question, Split
from clinaudit.audit.unlearning.methods.batches import TrainingPlan
from clinaudit.audit.unlearning.methods.model_in_training import Job
from clinaudit.reports.schema.unlearning_scores import QuestionUse

PATIENTS = tuple(f"patient-{number:02}" for number in range(1, 15))
SPLIT = Split("random", None, 15, PATIENTS[:2], PATIENTS[2:])
#: Of the two patients to be forgotten, two steps a pass: one of three micro-batches, one of a single one.
QUICK = TrainingPlan(epochs=2, learning_rate=1e-3, micro_batch=1, micro_batches=3)


def make_bench() -> Bench:
    """Return a benchmark with a note and two questions of each patient, one of them never trained on."""
    return Bench(
        patients=tuple(_patient(patient) for patient in PATIENTS),
        questions=tuple(_question(patient, use) for patient in PATIENTS for use in ("train", "holdout")),
        splits=(SPLIT,),
        keywords=(),
        notes={patient: (f"cc: cough {place}\nhpi: fluids\n",) for place, patient in enumerate(PATIENTS)},
        digest="b" * 64,
        corpus_digest="c" * 64,
        settings={},
        counts=None,
    )


def make_job(place: Path, **fields: Any) -> Job:
    """Return the job of training a tiny model to `place/out`; the model to begin with lies beside."""
    model = place / "model"
    if not model.exists():
        model.mkdir(parents=True)
        save_llama(model)
    made = {"files": inspect_model(model), "bench": make_bench(), "out": place / "out", "seed": 1, **fields}
    return Job(**made, progress=Progress(quiet=True))


def _patient(patient: str) -> BenchPatient:
    return BenchPatient(patient, "other", ("other",), "given", "cough", is_trained=True)


def _question(patient: str, use: QuestionUse) -> Question:
    return Question(
        qa_id=f"{patient}-{use}",
        patient_id=patient,
        kind="factual",
        use=use,
        question="What was the plan?",
        answer=f"rest {int(patient[-2:])}",
        facts=(),
        note_ids=(),
        origin="templates",
        address="cc: cough.",
    )
