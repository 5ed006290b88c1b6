"""Whether a model can be trained in this machine's memory. Loads no weights.

Owns how often the weights are held at once. What memory there is, and what a model takes of it, is told by
`clinaudit.audit.model.engines.memory`.
"""

from clinaudit.audit.model.engines.memory import GIB, float32_shortage
from clinaudit.audit.model.engines.options import count_gpus
from clinaudit.audit.model.files import ModelFiles
from clinaudit.audit.unlearning.methods.trained_network import Scope
from clinaudit.audit.unlearning.methods.training import WORKERS
from clinaudit.errors import BadInputError


def require_training_memory(files: ModelFiles, scope: Scope) -> None:
    """Raise `BadInputError`, with numbers, where the model is certain not to fit.

    Of a single layer only what is common to all layers is counted, and no activations: more than that may be needed.
    """
    copies = _copies_held(scope)
    short = float32_shortage(files, copies=copies, rows=0, context_length=0)
    if short is None:
        return
    advice = "use a machine with more memory"
    if scope == "all" and float32_shortage(files, copies=_copies_held("layer"), rows=0, context_length=0) is None:
        advice = "train one layer alone, where the method can (--train layer), or use a machine with more memory"
    raise BadInputError(
        f"the model in {files.directory} does not fit into {short.free.what}: trained as float32 it needs "
        f"{short.needed / GIB:.1f} GiB at least ({copies} times its weights), and {short.free.size / GIB:.1f} GiB are "
        f"free; {advice}"
    )


def _copies_held(scope: Scope) -> int:
    """Of the weights: a copy a worker; of what is trained a gradient a worker, AdamW's two means, the values before."""
    workers = 1 if count_gpus() else WORKERS
    return workers if scope == "layer" else 2 * workers + 3
