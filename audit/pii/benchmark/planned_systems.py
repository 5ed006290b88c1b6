"""What a benchmark is asked to do, and its systems: each with what it is run with and how it is made ready.

Nothing is trained, loaded or sent before a system is made ready.
"""

import hashlib
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clinaudit.audit.pii.benchmark import systems
from clinaudit.audit.pii.benchmark.generator.generation import draw_training_samples
from clinaudit.audit.pii.benchmark.sample import Domain, Sample, Subset, comparable_text
from clinaudit.audit.pii.benchmark.systems.answers import Advance, SampleAnswers, answer_by_detector, answer_by_gold
from clinaudit.audit.pii.benchmark.systems.served_questions import Strategy
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.entity_span import Detector
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.served.access import ServedOptions, open_access
from clinaudit.audit.runtime.served.answer_cache import AnswerCache
from clinaudit.audit.runtime.served.question import AskingEstimate
from clinaudit.errors import BadInputError, UsageError
from clinaudit.reports.schema.pii_bench import BenchSystem

if TYPE_CHECKING:
    from clinaudit.audit.runtime.served.answering_model import AnsweringModel

#: The one system that is trained here, two oracles, and any served model, which is a system for each way of asking.
TRAINED, GOLD, MASK_ALL, SERVED = "bilstm_crf", "gold", "gold-mask-all", "served"
_TABLE: Final = files(systems).joinpath("systems.toml").read_text("utf-8")
_SYSTEMS: Final = tuple(BenchSystem(id=name, **row) for name, row in tomllib.loads(_TABLE).items())
#: What `--systems` takes; what is run where nothing is said: all that needs no server.
NAMES: Final = (*(row.id for row in _SYSTEMS if row.id != MASK_ALL), SERVED)
DEFAULT_SYSTEMS: Final = NAMES[:-1]


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
    #: A model to be measured, how it is asked, and the directory of an encoder that computes how alike two of its
    #: answers are (None: the packaged one).
    served: ServedOptions | None
    strategies: tuple[Strategy, ...]
    embeddings: Path | None

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


def require_installed(request: BenchRequest) -> None:
    """Raise `BadInputError` where the library of the conditional random field is asked for and missing."""
    if TRAINED in request.systems and find_spec("torchcrf") is None:
        raise BadInputError(
            f"{TRAINED} needs pytorch-crf, which is not installed: install clinaudit[pii], or leave it out of --systems"
        )


#: Answers samples; calls the function with how many are done.
Answer = Callable[[Sequence[Sample], Advance], Iterator[SampleAnswers]]
#: How a system is shown, and what makes it ready to answer: a trained one is trained there.
PlannedSystem = tuple[BenchSystem, Callable[[], Answer]]


class Plan:
    """What a benchmark's systems share: the training samples, and the cache of answers."""

    def __init__(self, request: BenchRequest, *, cache: AnswerCache, progress: Progress) -> None:
        self.request = request
        self._cache = cache
        self._progress = progress

    @cached_property
    def training_samples(self) -> list[Sample]:
        """The samples that a system is trained on, and that auto-cot's examples are taken from."""
        self._progress.say("drawing samples to train on")
        request = self.request
        return draw_training_samples(number=request.training_samples, domains=request.domains, seed=request.seed)

    def seen_texts(self) -> frozenset[str]:
        """Return the texts of the training samples, as scores compare them; none where no system is trained."""
        samples = self.training_samples if TRAINED in self.request.systems else []
        return frozenset(comparable_text(entity.text) for sample in samples for entity in sample.entities())

    def systems(self) -> Iterator[PlannedSystem]:
        """Yield every system that was asked for, in the order of the table."""
        for row in _SYSTEMS:
            if (GOLD if row.id == MASK_ALL else row.id) in self.request.systems:
                trained = {
                    "training samples": f"{self.request.training_samples}, of held-out sentence templates",
                    "training domains": ", ".join(self.request.domains),
                    "epochs": str(self.request.epochs),
                }
                shown = row.model_copy(update={"settings": trained if row.id == TRAINED else {}})
                yield shown, partial(self._ready, row)
        if self.request.served is not None:
            for strategy in self.request.strategies:
                yield self._served(self.request.served, strategy)

    def _ready(self, row: BenchSystem) -> Answer:
        if row.kind == "oracle":
            return partial(answer_by_gold, row.id, mask_all=row.id == MASK_ALL)
        return partial(answer_by_detector, row.id, self._detector(row.id))

    def _detector(self, system: str) -> Detector:
        if system == "rules":
            return RuleDetector()
        # Late: the others load torch, spaCy or presidio.
        if system == TRAINED:
            from clinaudit.audit.pii.benchmark.systems.bilstm_crf import train_bilstm_crf

            texts, epochs = self.training_samples, self.request.epochs
            with self._progress.stage(f"training {TRAINED}", total=len(texts) * epochs, unit="texts") as advance:
                return train_bilstm_crf(texts, epochs=epochs, seed=self.request.seed, advance=advance)
        if system == "spacy":
            from clinaudit.audit.pii.detectors.spacy_model import SpacyDetector

            return SpacyDetector()
        from clinaudit.audit.pii.detectors.presidio import PresidioDetector

        return PresidioDetector(over_model=system == "presidio_spacy")

    def served_system(self, options: ServedOptions) -> "AnsweringModel":
        """Return the served model, ready to be asked; sends nothing."""
        # Late: it loads the client of a served model.
        from clinaudit.audit.pii.benchmark.systems.served_model import measured_model

        return measured_model(*open_access(options), seed=self.request.seed, cache=self._cache)

    def announce(self, estimate: AskingEstimate) -> None:
        """Say how much a served model is about to be asked."""
        self._progress.say(f"served model: {estimate.describe()}")

    def _served(self, options: ServedOptions, strategy: Strategy) -> PlannedSystem:
        shown = BenchSystem(
            id=f"{SERVED}-{strategy}",
            name=f"{options.model} ({strategy})",
            how="A served model, asked for the entities, then for those that the question needs.",
            kind="oracle" if strategy == "with-choice" else "model",
            strategy=strategy,
            # The address may reveal the site's network.
            settings={
                "model": options.model,
                "endpoint": hashlib.sha256(options.url.encode()).hexdigest()[:12],
                "decoding": "temperature 0, one answer, asked once more where it cannot be read",
            },
        )

        def make_ready() -> Answer:
            # Late: it loads the client of a served model.
            from clinaudit.audit.pii.benchmark.systems.served_model import answer_by_model, draw_shots

            shots = draw_shots(self.training_samples) if strategy == "auto-cot" else []
            served = self.served_system(options)
            return partial(answer_by_model, shown.id, served, strategy=strategy, shots=shots, announce=self.announce)

        return shown, make_ready
