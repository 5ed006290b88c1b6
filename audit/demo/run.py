"""`clinaudit demo`: the corpus, the model and the settings of the audit that follows.

Owns the demo's folder. Knows nothing of how notes are invented or a model is trained.
"""

import json
from pathlib import Path

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.demo.training import train_demo_model
from clinaudit.audit.run.durable_files import write_atomically
from clinaudit.audit.run.library_confinement import take_libraries_offline
from clinaudit.audit.settings import AuditSettings
from clinaudit.errors import UsageError
from clinaudit.reports.schema.identity import INVENTED

_MARK = "demo.json"


def run_demo(directory: Path, *, seed: int, quiet: bool) -> AuditSettings:
    """Write the corpus and train the model, unless both stand already; return the settings to audit them with."""
    corpus, model = directory / "corpus", directory / "model"
    take_libraries_offline()
    _claim(directory, seed)
    write_demo_corpus(corpus, seed=seed)
    Progress(quiet=quiet).say("The patients of the demo and their notes are invented; the model learns half of them.")
    train_demo_model(corpus, model, seed=seed, progress=Progress(quiet=quiet))
    return AuditSettings(
        model=str(model),
        corpus=corpus,
        out=directory / "run",
        seed=seed,
        training_log=model / "training-log.jsonl",
        model_name="Demo model (invented patients)",
        institution="Demo hospital (invented)",
        date=INVENTED,
        quiet=quiet,
    )


def _claim(directory: Path, seed: int) -> None:
    """Mark the folder as this demo's; raises `UsageError` where it is another one's or holds other things."""
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory.name} is not a folder; give the demo another name")
    mark = directory / _MARK
    if mark.is_file():
        try:
            known = json.loads(mark.read_text(encoding="utf-8"))["seed"]
        except (ValueError, KeyError, TypeError):
            known = None
        if known != seed:
            raise UsageError(f"{directory.name} holds the demo of another seed; give another folder or that seed")
        return
    if directory.is_dir() and any(directory.iterdir()):
        raise UsageError(f"{directory.name} holds other things; give the demo an empty folder")
    directory.mkdir(parents=True, exist_ok=True)
    write_atomically(mark, json.dumps({"seed": seed}) + "\n")
