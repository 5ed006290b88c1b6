"""The systems of one benchmark, each with what it is run with and how it answers.

Owns the plan: which systems there are in which order, their settings, and how each is made ready. Nothing is trained,
loaded or sent before `answer` is called.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Any

from clinaudit.audit.pii.benchmark.generator.generation import draw_training_samples
from clinaudit.audit.pii.benchmark.request import (
    GOLD,
    GOLD_SYSTEM,
    MASK_ALL,
    PRESIDIO_SPACY,
    ROWS,
    SERVED,
    TRAINED,
    BenchRequest,
    MeasuredModel,
)
from clinaudit.audit.pii.benchmark.sample import Sample, comparable_text
from clinaudit.audit.pii.benchmark.systems.answers import Advance, SampleAnswers, answer_by_detector, answer_by_gold
from clinaudit.audit.pii.benchmark.systems.served_questions import Strategy
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.served.answer_cache import AnswerCache
from clinaudit.audit.runtime.served.question import AskingEstimate
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.pii_bench import BenchSystem

if TYPE_CHECKING:
    from clinaudit.audit.runtime.served.answering_model import AnsweringModel


def require_installed() -> None:
    """Raise `BadInputError` where the library of the conditional random field is missing."""
    if find_spec("torchcrf") is None:
        raise BadInputError(
            f"{TRAINED} needs pytorch-crf, which is not installed: install clinaudit[pii], or leave it out of --systems"
        )


def train(samples: Sequence[Sample], *, epochs: int, seed: int, progress: Progress) -> Detector:
    """Return the system that is trained, trained on samples; the same ones and an equal seed give an equal system."""
    # Late: it loads torch.
    from clinaudit.audit.pii.benchmark.systems.bilstm_crf import train_bilstm_crf

    texts = [(sample.description, list(_apart(sample))) for sample in samples]
    with progress.stage(f"training {TRAINED}", total=len(texts) * epochs, unit="texts") as advance:
        return train_bilstm_crf(texts, epochs=epochs, seed=seed, advance=advance)


def _apart(sample: Sample) -> Iterator[EntitySpan]:
    end = 0
    for span in sample.gold_spans():
        if span.start >= end:
            end = span.end
            yield span


Answer = Callable[[Sequence[Sample], Advance], Iterator[SampleAnswers]]


@dataclass(frozen=True, slots=True)
class PlannedSystem:
    """One system: how it is shown, and how it answers."""

    shown: BenchSystem
    answer: Answer
    #: Filled while it answers: seconds of training, and when it was ready.
    noted: dict[str, Any] = field(default_factory=dict)


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
        for row in ROWS:
            if row.id in self.request.systems:
                yield self._detecting(row)
        if GOLD in self.request.systems:
            yield PlannedSystem(GOLD_SYSTEM, partial(answer_by_gold, GOLD))
            yield PlannedSystem(MASK_ALL, partial(answer_by_gold, MASK_ALL.id, mask_all=True))
        if SERVED in self.request.systems and self.request.served is not None:
            for strategy in self.request.served.strategies:
                yield self._served(self.request.served, strategy)

    def _detector(self, system: str, noted: dict[str, Any]) -> Detector:
        """Return a system, ready to read; a trained one is trained now.

        Raises `BadInputError` where it lacks what it needs.
        """
        if system == TRAINED:
            samples, request, begin = self.training_samples, self.request, monotonic()
            detector = train(samples, epochs=request.epochs, seed=request.seed, progress=self._progress)
            noted["train_seconds"] = round(monotonic() - begin, 1)
            return detector
        if system in ("presidio", PRESIDIO_SPACY):
            from clinaudit.audit.pii.detectors.presidio import PresidioDetector

            return PresidioDetector(over_model=system == PRESIDIO_SPACY)
        if system == "spacy":
            from clinaudit.audit.pii.detectors.spacy_model import SpacyDetector

            return SpacyDetector()
        return RuleDetector()

    def served_system(self, options: MeasuredModel) -> "AnsweringModel":
        """Return the served model, ready to be asked; sends nothing."""
        # Late: it loads the client of a served model.
        from clinaudit.audit.pii.benchmark.systems.served_model import measured_model
        from clinaudit.audit.runtime.served.access import open_access

        return measured_model(*open_access(options), seed=self.request.seed, cache=self._cache)

    def announce(self, estimate: AskingEstimate) -> None:
        """Say how much a served model is about to be asked."""
        self._progress.say(f"served model: {estimate.describe()}")

    def _detecting(self, row: BenchSystem) -> PlannedSystem:
        request = self.request
        settings = {
            "training samples": f"{request.training_samples}, of held-out sentence templates",
            "training domains": ", ".join(request.domains),
            "epochs": str(request.epochs),
        }
        noted: dict[str, Any] = {}

        def answer(samples: Sequence[Sample], advance: Advance) -> Iterator[SampleAnswers]:
            detector = self._detector(row.id, noted)
            noted["ready_at"] = monotonic()
            return answer_by_detector(row.id, detector, samples, advance)

        shown = row.model_copy(update={"settings": settings}) if row.id == TRAINED else row
        return PlannedSystem(shown, answer, noted)

    def _served(self, options: MeasuredModel, strategy: Strategy) -> PlannedSystem:
        name = f"{SERVED}-{strategy}"

        def answer(samples: Sequence[Sample], advance: Advance) -> Iterator[SampleAnswers]:
            # Late: it loads the client of a served model.
            from clinaudit.audit.pii.benchmark.systems.served_model import answer_by_model, draw_shots

            shots = draw_shots(self.training_samples) if strategy == "auto-cot" else []
            return answer_by_model(
                name,
                self.served_system(options),
                samples,
                strategy=strategy,
                shots=shots,
                announce=self.announce,
                advance=advance,
            )

        shown = BenchSystem(
            id=name,
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
        return PlannedSystem(shown, answer)
