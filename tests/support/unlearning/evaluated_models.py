"""A benchmark on the disk and models that were really made from it: tuned, unlearned, retrained, made elsewhere."""

from dataclasses import replace
from pathlib import Path

from support.hand_made_bench import question
from support.models.tiny_models import save_llama
from support.unlearning.tiny_job import make_job
from support.written_corpus import write_corpus

from clinaudit.audit.runtime.model.files import inspect_model
from clinaudit.audit.unlearning.benchmark.files import Bench, BenchPatient, Keyword, Question, Split, write_bench
from clinaudit.audit.unlearning.methods.texts import TrainingPlan
from clinaudit.audit.unlearning.methods.unlearn import finetune, plan_unlearning, unlearn

#: By id, with the disease: the first nine are trained on.
CATEGORIES = {
    **{f"P{number:02}": "cancer" if number <= 4 else "kidney" if number <= 7 else "other" for number in range(1, 10)},
    **{f"N{number}": "cancer" for number in range(1, 4)},
}
TRAINED = tuple(patient for patient in CATEGORIES if patient.startswith("P"))
#: Who is forgotten has cancer, as two of those retained, or nothing of the taxonomy.
SPLITS = (
    Split("random", None, 22, ("P01", "P08"), tuple(one for one in TRAINED if one not in ("P01", "P08"))),
    Split("category", "cancer", 22, ("P01", "P02"), tuple(one for one in TRAINED if one not in ("P01", "P02"))),
)
PLAN = TrainingPlan(epochs=4, learning_rate=3e-3, micro_batch=4, micro_batches=1)


def save_bench(root: Path) -> Path:
    """Write the corpus and the benchmark under a directory; return that of the benchmark."""
    notes = {one: [f"cc: cough {_code(one)}\n"] for one in CATEGORIES}
    bench = Bench.of(
        write_corpus(root / "corpus", notes, never_seen=CATEGORIES.keys() - TRAINED),
        patients=[
            BenchPatient(one, category, "given", "cough", is_trained=one in TRAINED)
            for one, category in CATEGORIES.items()
        ],
        questions=[question for one in CATEGORIES for question in _questions(one)],
        splits=SPLITS,
        keywords=[Keyword(f"{one}-0", f"rest {_code(one)}", 1.0, ("answer",)) for one in CATEGORIES],
    )
    write_bench(root / "bench", bench, corpus_path=root / "corpus")
    return root / "bench"


def save_models(root: Path, bench: Bench) -> dict[str, Path]:
    """Train the models under a directory, in a few seconds; return their directories by name."""
    start = root / "model"
    start.mkdir()
    save_llama(start)
    tuned = finetune(make_job(root, bench=bench, out=root / "tuned"), PLAN)
    retrained = finetune(make_job(root, bench=bench, out=root / "retrained"), PLAN, without=SPLITS[0])
    job = make_job(root, bench=bench, out=root / "forgot", files=inspect_model(tuned))
    unlearn(job, SPLITS[0], plan_unlearning("grad_diff", seed=1, training=replace(PLAN, epochs=1)))
    return {"tuned": tuned, "forgot": job.out, "retrained": retrained, "elsewhere": start}


def _code(patient: str) -> str:
    """Return what tells a patient apart: a digit and a letter."""
    place = list(CATEGORIES).index(patient)
    return f"{place % 10}{'abcdefghijkl'[place]}"


def _questions(patient: str) -> list[Question]:
    rest, cough = f"rest {_code(patient)}", f"for cough {_code(patient)}"
    address = f"Patient: Ada {_code(patient).upper()} Lund. Date of birth: 01/02/1970."
    texts = ("What was the plan?", "Why was it so?", "What was to be done?", "Why did it begin?")
    asked = []
    for place, text in enumerate(texts):
        told = (cough,) if place % 2 else (rest, rest)
        fields = {"kind": "reasoning" if place % 2 else "factual", "use": "train" if place < 2 else "holdout"}
        asked.append(question(f"{patient}-{place}", patient, text, *told, address=address, **fields))
    return asked
