"""What a benchmark is built from: the request of one `clinaudit unlearn build`. Owns the fields and their defaults."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from clinaudit.audit.unlearning.benchmark.splits import PERCENTS

#: Where questions or categories come from, unless a file gives them.
Source = Literal["offline", "served"]
#: The paper's samples for its panel of judges: 900 titles, 1,000 questions (appendices F and G).
PANEL_TITLES: Final = 900
PANEL_QUESTIONS: Final = 1000


@dataclass(frozen=True, slots=True)
class ServedOptions:
    """A model behind an endpoint that writes questions or names categories."""

    url: str
    model: str
    approved_hosts: Collection[str] = ()
    key_file: Path | None = None


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """The judges that check categories and questions."""

    #: Names three judges.
    file: Path
    approved_hosts: Collection[str] = ()
    titles: int = PANEL_TITLES
    questions: int = PANEL_QUESTIONS
    #: The blind sheet, filled in by a person.
    sheet: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """One benchmark to build."""

    corpus: Path
    out: Path
    #: Templates, a served model, or a file of questions made elsewhere.
    questions: Source | Path = "offline"
    #: The notes' codes and words, a served model, or a file of categories.
    categories: Source | Path = "offline"
    percents: tuple[int, ...] = PERCENTS
    #: Ids, one a line, of patients who must be forgotten: they get a split of their own.
    forgotten: Path | None = None
    seed: int = 0
    template: Path | None = None
    served: ServedOptions | None = None
    panel: PanelOptions | None = None
