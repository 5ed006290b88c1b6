"""Whether a model can be asked, and its relearning be tried, in this machine's memory. Loads no weights.

Owns how often the weights are held at once. What memory there is, and what a model takes of it, is told by
`clinaudit.audit.model.engines.memory`.
"""

from typing import Final

from clinaudit.audit.model.engines.memory import GIB, Shortage, float32_shortage
from clinaudit.audit.model.files import ModelFiles
from clinaudit.audit.unlearning.evaluation.asked_model import ANSWERED_AT_ONCE, MOST_ANSWER_TOKENS
from clinaudit.errors import BadInputError

#: How often relearning holds the weights: themselves, those to be put back, their gradients, and both of AdamW's means
#: (docs/unlearning-scores.md, "Relearning"). 4-bit weights take less.
_HELD_IN_TRAINING: Final = 5


def require_memory(files: ModelFiles, *, has_robustness: bool) -> None:
    """Raise `BadInputError`, with numbers, where the model does not fit.

    `has_robustness`: the robustness tests are run as well. The prompts' part of the cache is not counted: a little
    more may be needed.
    """
    short = _shortage(files, has_robustness=has_robustness)
    if short is None:
        return
    how = f" (relearning holds its weights {_HELD_IN_TRAINING} times)" if has_robustness else ""
    advice = "use a machine with more memory"
    if has_robustness and _shortage(files, has_robustness=False) is None:
        advice = "leave the trials out with --no-robustness, or use a machine with more memory"
    raise BadInputError(
        f"the model in {files.directory} does not fit into {short.free.what}: evaluated as float32 it needs about "
        f"{short.needed / GIB:.1f} GiB{how}, and {short.free.size / GIB:.1f} GiB are free; {advice}"
    )


def _shortage(files: ModelFiles, *, has_robustness: bool) -> Shortage | None:
    return float32_shortage(
        files,
        copies=_HELD_IN_TRAINING if has_robustness else 1,
        rows=ANSWERED_AT_ONCE,
        context_length=min(files.context_length, MOST_ANSWER_TOKENS),
    )
