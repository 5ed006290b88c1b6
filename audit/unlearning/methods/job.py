"""One model to be made from another and a benchmark, with what its weights depend on.

Owns what the record says of where the weights come from: of whom, nothing but a keyed digest. Loads no network.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.model.files import ModelFiles
from clinaudit.audit.run.library_confinement import library_versions
from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.methods.training_plan import TrainingPlan
from clinaudit.errors import UsageError
from clinaudit.priors.corpus.corpus import draw_secret, keyed_digest
from clinaudit.version import VERSION

_PURPOSE: Final = b"clinaudit: digests of who is forgotten and retained"
#: Of all libraries, those that change weights, and what a network says.
_LIBRARIES: Final = ("numpy", "tokenizers", "torch", "transformers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What every training of this room is given."""

    #: The model to begin with; an adapter is merged into its base.
    files: ModelFiles
    bench: Bench
    out: Path
    seed: int
    progress: Progress
    #: Steps between two checkpoints; None: at the end of each epoch alone. It changes no result.
    checkpoint_steps: int | None = None

    def settings(self, task: str, plan: Mapping[str, Any], patients: Mapping[str, Collection[str]]) -> dict[str, Any]:
        """Return everything that the weights depend on; `patients` says by role who is trained on.

        Without how many: with the percentage of a split, a class of the retained would give few forgotten exactly.
        """
        # Who knows the ids of a hospital must not find out whom a request named: only who has the notes has this key.
        notes = (text for own in sorted(self.bench.notes) for text in self.bench.notes[own])
        key = draw_secret(notes, purpose=_PURPOSE)
        return {
            "clinaudit_version": VERSION,
            "task": task,
            "model_digest": self.files.digest,
            "base_model_digest": self.files.base_digest,
            "bench_digest": self.bench.digest,
            "corpus_digest": self.bench.corpus_digest,
            "patients": {role: keyed_digest(key, "\n".join(sorted(ids)).encode()) for role, ids in patients.items()},
            "plan": dict(plan),
            "seed": self.seed,
            **describe_machine(),
        }

    def require_sound(self, plan: TrainingPlan) -> None:
        """Raise `UsageError` for a plan that nothing can be trained by."""
        positive = (plan.epochs, plan.micro_batch, plan.micro_batches, plan.learning_rate, plan.max_tokens - 1)
        if min(positive) <= 0:
            raise UsageError(
                "epochs, texts a step and the learning rate are above 0, and a piece of a note has two tokens or more"
            )


def describe_machine() -> dict[str, Any]:
    """Return what beside its settings a computation of a network depends on: `device` and `libraries`."""
    import torch

    libraries = library_versions()
    return {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "libraries": {name: libraries[name] for name in _LIBRARIES if name in libraries},
    }
