"""Whether a model can be asked, and trained for a moment, in this machine's memory. Loads no weights.

Owns how often the weights are held at once. What memory there is, and what a model takes of it, is told by
`clinaudit.audit.model.engines.memory`.
"""

from typing import Final

from clinaudit.audit.model.engines.memory import GIB, Shortage, float32_shortage
from clinaudit.audit.model.files import ModelFiles
from clinaudit.audit.unlearning.evaluation.asked_model import ANSWERED_AT_ONCE, MOST_ANSWER_TOKENS
from clinaudit.errors import BadInputError

#: Of the weights while a model is trained for a moment: themselves, those to be put back, their gradients, and both of
#: AdamW's means (docs/unlearning-robustness.md, "Relearning"). 4-bit weights take less.
_HELD_IN_TRAINING: Final = 5


def require_memory(files: ModelFiles, *, is_tried: bool) -> None:
    """Raise `BadInputError`, with numbers, where the model does not fit.

    `is_tried`: it is also tried what its forgetting withstands. The prompts' part of the cache is not counted: a little
    more may be needed.
    """
    short = _shortage(files, is_tried=is_tried)
    if short is None:
        return
    how = f", where it is trained for a moment, too ({_HELD_IN_TRAINING} times its weights)" if is_tried else ""
    advice = "use a machine with more memory"
    if is_tried and _shortage(files, is_tried=False) is None:
        advice = "leave the trials out with --no-robustness, or use a machine with more memory"
    raise BadInputError(
        f"the model in {files.directory} does not fit into {short.free.what}: evaluated as float32 it needs about "
        f"{short.needed / GIB:.1f} GiB{how}, and {short.free.size / GIB:.1f} GiB are free; {advice}"
    )


def _shortage(files: ModelFiles, *, is_tried: bool) -> Shortage | None:
    return float32_shortage(
        files,
        copies=_HELD_IN_TRAINING if is_tried else 1,
        rows=ANSWERED_AT_ONCE,
        context_length=min(files.context_length, MOST_ANSWER_TOKENS),
    )
