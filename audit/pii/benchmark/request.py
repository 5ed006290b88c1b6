"""What is asked of a benchmark: samples, systems and their options. Knows nothing of how any of it is done."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.benchmark.drawn_samples import DOMAINS, SUBSETS, TRAINING_SAMPLES
from clinaudit.audit.pii.benchmark.samples.sample import Domain, Subset
from clinaudit.audit.pii.systems.served_wording import STRATEGIES, Strategy
from clinaudit.audit.pii.systems.table import ROWS
from clinaudit.audit.pii.systems.training import DEFAULT_EPOCHS
from clinaudit.errors import UsageError

#: Relevance by rules that is told every entity.
GOLD: Final = "gold"
SERVED: Final = "served"
#: What `--systems` takes.
NAMES: Final = (*(row.id for row in ROWS), GOLD, SERVED)
#: What is run where nothing is said: all that needs no server.
DEFAULT_SYSTEMS: Final = tuple(name for name in NAMES if name != SERVED)
#: Samples of each subset and domain, where nothing is said.
DEFAULT_SAMPLES: Final = 200


@dataclass(frozen=True, slots=True)
class ServedOptions:
    """A served model to be measured."""

    url: str
    model: str
    approved_hosts: Collection[str] = ()
    key_file: Path | None = None
    strategies: tuple[Strategy, ...] = STRATEGIES
    #: Directory of an encoder that tells how alike two answers are; None: the packaged one.
    embeddings: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """One benchmark."""

    out: Path
    #: Of each subset and domain; None: as many as the paper has.
    samples: int | None = DEFAULT_SAMPLES
    domains: tuple[Domain, ...] = DOMAINS
    subsets: tuple[Subset, ...] = SUBSETS
    systems: tuple[str, ...] = DEFAULT_SYSTEMS
    seed: int = 0
    training_samples: int = TRAINING_SAMPLES
    #: Passes of the trained system over its samples.
    epochs: int = DEFAULT_EPOCHS
    served: ServedOptions | None = None
    #: A site's own corpus, and the layout of its notes.
    corpus: Path | None = None
    template: Path | None = None

    def __post_init__(self) -> None:
        """Raise `UsageError` for options that do not go together."""
        unknown = [name for name in self.systems if name not in NAMES]
        if unknown:
            raise UsageError(f"no such system: {unknown[0][:40]}; there are {', '.join(NAMES)}")
        if not self.systems:
            raise UsageError("no system is named; leave --systems out for all that need no server")
        if SERVED in self.systems and self.served is None:
            raise UsageError("the system served needs --served-url and --served-model")
        if self.served is not None and SERVED not in self.systems:
            raise UsageError("--served-url and --served-model name a model that --systems leaves out; add served to it")
