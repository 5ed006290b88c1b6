"""The systems of one benchmark, each with what it is run with and how it is made ready.

Nothing is trained, loaded or sent before a system is made ready.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from clinaudit.audit.pii.benchmark.generator.generation import draw_training_samples
from clinaudit.audit.pii.benchmark.request import (
    GOLD,
    MASK_ALL,
    SERVED,
    SYSTEMS,
    TRAINED,
    BenchRequest,
    MeasuredModel,
)
from clinaudit.audit.pii.benchmark.sample import Sample, comparable_text
from clinaudit.audit.pii.benchmark.systems.answers import Advance, SampleAnswers, answer_by_detector, answer_by_gold
from clinaudit.audit.pii.benchmark.systems.served_questions import Strategy
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.entity_span import Detector
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.served.answer_cache import AnswerCache
from clinaudit.audit.runtime.served.question import AskingEstimate
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.pii_bench import BenchSystem

if TYPE_CHECKING:
    from clinaudit.audit.runtime.served.answering_model import AnsweringModel

Answer = Callable[[Sequence[Sample], Advance], Iterator[SampleAnswers]]


def require_installed() -> None:
    """Raise `BadInputError` where the library of the conditional random field is missing."""
    if find_spec("torchcrf") is None:
        raise BadInputError(
            f"{TRAINED} needs pytorch-crf, which is not installed: install clinaudit[pii], or leave it out of --systems"
        )


@dataclass(frozen=True, slots=True)
class PlannedSystem:
    """One system: how it is shown, and what makes it ready to answer."""

    shown: BenchSystem
    #: A trained system is trained here. Raises `BadInputError` where it lacks what it needs.
    make_ready: Callable[[], Answer]


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
        for row in SYSTEMS:
            if (GOLD if row.id == MASK_ALL else row.id) in self.request.systems:
                yield PlannedSystem(
                    row.model_copy(update={"settings": self._settings(row.id)}), partial(self._ready, row)
                )
        if self.request.served is not None:
            for strategy in self.request.served.strategies:
                yield self._served(self.request.served, strategy)

    def _settings(self, system: str) -> dict[str, str]:
        if system != TRAINED:
            return {}
        return {
            "training samples": f"{self.request.training_samples}, of held-out sentence templates",
            "training domains": ", ".join(self.request.domains),
            "epochs": str(self.request.epochs),
        }

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

    def served_system(self, options: MeasuredModel) -> "AnsweringModel":
        """Return the served model, ready to be asked; sends nothing."""
        # Late: it loads the client of a served model.
        from clinaudit.audit.pii.benchmark.systems.served_model import measured_model
        from clinaudit.audit.runtime.served.access import open_access

        return measured_model(*open_access(options), seed=self.request.seed, cache=self._cache)

    def announce(self, estimate: AskingEstimate) -> None:
        """Say how much a served model is about to be asked."""
        self._progress.say(f"served model: {estimate.describe()}")

    def _served(self, options: MeasuredModel, strategy: Strategy) -> PlannedSystem:
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
            return partial(
                answer_by_model,
                shown.id,
                self.served_system(options),
                strategy=strategy,
                shots=shots,
                announce=self.announce,
            )

        return PlannedSystem(shown, make_ready)
