"""What is asked of a benchmark: samples, systems and their options; and the table of the systems."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.benchmark.sample import Domain, Subset
from clinaudit.audit.pii.benchmark.systems.served_questions import STRATEGIES, Strategy
from clinaudit.audit.runtime.served.access import ServedOptions
from clinaudit.errors import UsageError
from clinaudit.reports.schema.pii_bench import BenchSystem

#: The one system that is trained here, the oracles of whom relevance by rules must beat the second, and any served
#: model, which is a system for each way of asking.
TRAINED, GOLD, MASK_ALL, SERVED = "bilstm_crf", "gold", "gold-mask-all", "served"
SYSTEMS: Final[tuple[BenchSystem, ...]] = (
    BenchSystem(
        id="rules", name="clinaudit rules", how="Patterns, check digits and word lists; no model.", kind="rules"
    ),
    BenchSystem(
        id="presidio",
        name="presidio, blank pipeline",
        how="Presidio's pattern recognizers; without a model it looks for no names, places and organizations.",
        kind="rules",
    ),
    BenchSystem(
        id="presidio_spacy",
        name="presidio + spaCy",
        how="Presidio's pattern recognizers, and its SpacyRecognizer over en_core_web_sm.",
        kind="model",
    ),
    BenchSystem(
        id="spacy",
        name="clinaudit rules + spaCy",
        how="The rules, and names, places and organizations by en_core_web_sm.",
        kind="model",
    ),
    BenchSystem(
        id=TRAINED,
        name="BiLSTM-CRF",
        how="The paper's traditional baseline, trained on samples of sentence templates held out for it.",
        kind="trained",
    ),
    BenchSystem(
        id=GOLD,
        name="relevance by rules",
        how="It is given the gold entities and says by rules which of them the question needs.",
        kind="oracle",
    ),
    BenchSystem(
        id=MASK_ALL,
        name="everything masked",
        how="It is given the gold entities and masks them all, whatever the question is.",
        kind="oracle",
    ),
)
#: What `--systems` takes; what is run where nothing is said: all that needs no server.
NAMES: Final = (*(row.id for row in SYSTEMS if row.id != MASK_ALL), SERVED)
DEFAULT_SYSTEMS: Final = NAMES[:-1]


@dataclass(frozen=True, slots=True)
class MeasuredModel(ServedOptions):
    """A served model to be measured."""

    strategies: tuple[Strategy, ...] = STRATEGIES
    #: Directory of an encoder that computes how alike two answers are; None: the packaged one.
    embeddings: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """One benchmark."""

    out: Path
    #: Of each subset and domain; None: as many as the paper has.
    samples: int | None
    domains: tuple[Domain, ...]
    subsets: tuple[Subset, ...]
    systems: tuple[str, ...]
    seed: int
    training_samples: int
    #: Passes of the trained system over its samples.
    epochs: int
    served: MeasuredModel | None

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
