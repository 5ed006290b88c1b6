"""A small demo corpus and a model really trained on its train split: what the end-to-end tests audit."""

from pathlib import Path
from typing import NamedTuple


class TinyDemo(NamedTuple):
    """Where the two lie."""

    corpus: Path
    model: Path


def train_tiny_demo(tiny: TinyDemo) -> None:
    """Write the corpus and train the model; the model stands only once it is whole."""
    from clinaudit.audit.console.progress import Progress
    from clinaudit.audit.demo.corpus import write_demo_corpus
    from clinaudit.audit.demo.fitting import TrainingPlan
    from clinaudit.audit.demo.training import train_demo_model

    plan = TrainingPlan(vocabulary=700, layers=2, width=96, heads=2, hidden=256, epochs=14, validation_notes=4)
    write_demo_corpus(tiny.corpus, seed=3, patients_per_arm=24)
    train_demo_model(tiny.corpus, tiny.model, seed=3, progress=Progress(quiet=True), plan=plan)
