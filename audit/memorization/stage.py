"""The memorization stage: generations to figures and evidence tables, for `audit` and `analyze` alike.

Owns the order analyse → measure → summarize → write. Knows nothing of where generations come from.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, get_args

from clinaudit.audit.cluster.shards import ShardRunner
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.generation.record import Generation
from clinaudit.audit.memorization.evidence_rows import near_verbatim_rows, region_rows, segment_rows
from clinaudit.audit.memorization.near_verbatim_summary import (
    NearFigures,
    measure_near_verbatim,
    summarize_near_verbatim,
)
from clinaudit.audit.memorization.patient_matching import match_generations
from clinaudit.audit.memorization.summary import GenerationFigures, measure_generation, summarize_memorization
from clinaudit.audit.memorization.verbatim import analyze_located
from clinaudit.audit.model.token_cache import TokenCache
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.evidence_tables import write_table
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.estimate import Arm
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import NoteProfile

ARMS: tuple[Arm, ...] = get_args(Arm)
MemorizationResults = dict[str, dict[Arm, Memorization]]


def measure_memorization(
    generations: Sequence[Generation],
    *,
    corpus: Corpus,
    cache: TokenCache,
    profile: NoteProfile,
    ngram: int,
    seed: int,
    run: RunDirectory,
    progress: Progress,
    runner: ShardRunner | None = None,
) -> MemorizationResults:
    """Analyse generations, write the four tables of what stands in the notes, and return the figures by tier."""
    figures: list[tuple[GenerationFigures, NearFigures]] = []
    regions: list[dict[str, Any]] = []
    segments: list[dict[str, Any]] = []
    near_verbatim: list[dict[str, Any]] = []
    matched = match_generations(
        generations, corpus, cache=cache, reader=NoteReader(profile), n=ngram, progress=progress, runner=runner
    )
    analyzed_generations = analyze_located((item.located for item in matched), corpus, progress=progress, runner=runner)
    for analyzed, near in zip(analyzed_generations, (item.near for item in matched), strict=True):
        measured = measure_generation(analyzed)
        figures.append((measured, measure_near_verbatim(near, measured.metrics)))
        regions.extend(region_rows(analyzed))
        segments.extend(segment_rows(analyzed))
        near_verbatim.extend(near_verbatim_rows(measured.metrics.generation_id, near))
    write_table(run.evidence, "generation_metrics", (asdict(item.metrics) for item, _ in figures))
    write_table(run.evidence, "regions", regions)
    write_table(run.evidence, "segments", segments)
    write_table(run.evidence, "near_verbatim", near_verbatim)
    groups: dict[tuple[str, Arm], list[tuple[GenerationFigures, NearFigures]]] = {}
    for row in figures:
        groups.setdefault((row[0].metrics.tier, row[0].metrics.arm), []).append(row)
    results: MemorizationResults = {}
    with progress.stage("memorization figures", total=len(groups), unit="tiers and arms") as advance:
        for tier in TIER_IDS:
            for arm in ARMS:
                if (tier, arm) in groups:
                    verbatim, near_verbatim_of = zip(*groups[tier, arm], strict=True)
                    summary = summarize_memorization(verbatim, n=ngram, seed=seed)
                    beside = summarize_near_verbatim(near_verbatim_of, n=ngram, seed=seed)
                    results.setdefault(tier, {})[arm] = summary.model_copy(update={"near_verbatim": beside})
                    advance(1)
    return results
