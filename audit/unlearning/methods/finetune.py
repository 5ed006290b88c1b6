"""Fine-tuning on the benchmark's notes and questions: the model that unlearning begins with (AMNESIA, section 4.1).

Owns who is trained on. Without the patients of a split, and begun with a model that never saw them, it is the second
half of the retrained reference (docs/unlearning.md).
"""

from dataclasses import asdict
from pathlib import Path

from clinaudit.audit.unlearning.benchmark.records import Split
from clinaudit.audit.unlearning.methods.examples import flatten, read_examples
from clinaudit.audit.unlearning.methods.job import Job
from clinaudit.audit.unlearning.methods.model_folder import ModelFolder
from clinaudit.audit.unlearning.methods.model_in_training import ModelInTraining, make_model
from clinaudit.audit.unlearning.methods.objective import Likelihood
from clinaudit.audit.unlearning.methods.training import Schedule
from clinaudit.audit.unlearning.methods.training_plan import TrainingPlan


def finetune(job: Job, plan: TrainingPlan, *, without: Split | None = None) -> Path:
    """Train on the texts of all patients trained on but those whom `without` forgets; return `job.out`.

    All parameters are trained. Raises `UsageError` where the directory holds something else or was begun with other
    settings, and `BadInputError` where the training diverges: then nothing is left there.
    """
    job.require_sound(plan)
    left_out = set() if without is None else set(without.forget)
    learned = [one.patient_id for one in job.bench.patients if one.is_trained and one.patient_id not in left_out]

    def make(folder: ModelFolder) -> None:
        texts = flatten(read_examples(job, learned, plan), learned)
        model = ModelInTraining(job, folder, layer=None, scope="all")
        schedule = Schedule.of(texts, (), plan, seed=job.seed, checkpoint_steps=job.checkpoint_steps)
        model.train(Likelihood(), schedule, plan)
        model.finish(plan.learning_rate, {"patients": {"learned": len(learned)}, "texts": {"learned": len(texts)}})

    shown = {"without": without.public_name if without else None, "training": asdict(plan)}
    return make_model(job, job.settings("finetune", shown, {"learned": learned}), make)
