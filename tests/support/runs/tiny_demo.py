"""A small demo corpus and a model really trained on its train split: what the end-to-end tests audit.

The model is stored (a minute of a processor); `python tests/support/runs/tiny_demo.py` trains it anew, after the demo's
corpus or its training changed.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

#: The trained model, as `train_tiny_demo` leaves it.
STORED: Final = Path(__file__).parents[1] / "models" / "tiny_demo"


class TinyDemo(NamedTuple):
    """Where the two lie."""

    corpus: Path
    model: Path


def make_tiny_demo(tiny: TinyDemo) -> None:
    """Write the corpus, and the stored model that was trained on it; the model stands only once it is whole."""
    from clinaudit.audit.demo.corpus import write_demo_corpus
    from clinaudit.audit.runtime.run.directory import sha256_of

    write_demo_corpus(tiny.corpus, seed=3, patients_per_arm=24)
    recipe = json.loads((STORED / "training.json").read_text(encoding="utf-8"))["recipe"]
    of_now = {
        name: sha256_of(tiny.corpus / file) for name, file in (("notes", "notes.jsonl"), ("patients", "patients.csv"))
    }
    assert {name: recipe[name] for name in of_now} == of_now, "the demo's corpus changed: train the stored model anew"
    partial = tiny.model.with_name(f"{tiny.model.name}.partial")
    shutil.copytree(STORED, partial)
    partial.rename(tiny.model)


def train_tiny_demo(tiny: TinyDemo) -> None:
    """Write the corpus and train the model."""
    from clinaudit.audit.demo.corpus import write_demo_corpus
    from clinaudit.audit.demo.training import TrainingPlan, train_demo_model
    from clinaudit.audit.runtime.console import Progress

    plan = TrainingPlan(vocabulary=700, layers=2, width=96, heads=2, hidden=256, epochs=14, validation_notes=4)
    write_demo_corpus(tiny.corpus, seed=3, patients_per_arm=24)
    train_demo_model(tiny.corpus, tiny.model, seed=3, progress=Progress(quiet=True), plan=plan)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        trained = TinyDemo(Path(folder) / "corpus", Path(folder) / "model")
        train_tiny_demo(trained)
        shutil.rmtree(STORED)
        shutil.copytree(trained.model, STORED)
