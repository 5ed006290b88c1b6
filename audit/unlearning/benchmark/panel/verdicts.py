"""What the judges of a panel say, and what they say together (AMNESIA, appendices F.1 and G.2).

Owns the verdicts of both tasks and the majority. Knows nothing of how a judge is asked.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

#: Whether a title supports its category (appendix F), and whether a question is valid (appendix G).
PanelTask = Literal["title", "question"]
PANEL_TASKS: Final[tuple[PanelTask, ...]] = get_args(PanelTask)
#: Of a judge who gave no usable answer.
UNKNOWN: Final = "unknown"
#: The verdicts of each task; the first is the one that all others are merged against for kappa.
VERDICTS: Final[Mapping[PanelTask, tuple[str, ...]]] = {
    "title": ("supported", "unsupported", "ambiguous", UNKNOWN),
    "question": ("valid", "invalid", UNKNOWN),
}
#: What three judges say together who say three things (Tables 8 and 12).
NO_MAJORITY: Final[Mapping[PanelTask, str]] = {"title": "disagree", "question": "split"}
JUDGES: Final = 3
#: What figures call the majority; no judge has this name.
PANEL: Final = "panel"


@dataclass(frozen=True, slots=True)
class PanelVerdict:
    """What one judge says of one item."""

    item_id: str
    task: PanelTask
    judge: str
    verdict: str
    #: In the judge's words: it may quote the notes. PHI.
    reason: str


def majority(task: PanelTask, verdicts: Sequence[str]) -> str:
    """Return the verdict of at least two of three judges, else what the paper calls it when there is none."""
    if len(verdicts) != JUDGES:
        raise ValueError("a panel has three judges")
    verdict, votes = Counter(verdicts).most_common(1)[0]
    return verdict if votes > 1 else NO_MAJORITY[task]


def by_item(verdicts: Iterable[PanelVerdict], task: PanelTask, judges: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the verdicts of each item of a task, in the order of the judges."""
    found: dict[str, dict[str, str]] = {}
    for one in verdicts:
        if one.task == task:
            found.setdefault(one.item_id, {})[one.judge] = one.verdict
    return {item_id: tuple(held[judge] for judge in judges) for item_id, held in found.items()}
