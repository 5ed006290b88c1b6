"""The memorization stage: generations to figures and evidence tables, for `audit` and `analyze` alike.

Owns the order analyse → measure → summarize → write. Knows nothing of where generations come from.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, get_args

from clinaudit.audit.composition import NoteReader
from clinaudit.audit.evidence import write_table
from clinaudit.audit.evidence_rows import region_rows, segment_rows
from clinaudit.audit.memorization import Generation, analyze_generations
from clinaudit.audit.memorization_figures import GenerationFigures, measure_generation, summarize_memorization
from clinaudit.audit.progress import Progress
from clinaudit.audit.store import RunDirectory
from clinaudit.audit.token_cache import TokenCache
from clinaudit.priors.corpus import Corpus
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.results import Arm, Memorization
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
) -> MemorizationResults:
    """Analyse generations, write `generation_metrics`, `regions` and `segments`, and return the figures by tier."""
    figures: list[GenerationFigures] = []
    regions: list[dict[str, Any]] = []
    segments: list[dict[str, Any]] = []
    for analyzed in analyze_generations(
        generations, corpus, cache=cache, reader=NoteReader(profile), n=ngram, progress=progress
    ):
        figures.append(measure_generation(analyzed))
        regions.extend(region_rows(analyzed))
        segments.extend(segment_rows(analyzed))
    write_table(run.evidence, "generation_metrics", (asdict(item.metrics) for item in figures))
    write_table(run.evidence, "regions", regions)
    write_table(run.evidence, "segments", segments)
    groups: dict[tuple[str, Arm], list[GenerationFigures]] = {}
    for item in figures:
        groups.setdefault((item.metrics.tier, item.metrics.arm), []).append(item)
    results: MemorizationResults = {}
    with progress.stage("memorization figures", total=len(groups), unit="tiers and arms") as advance:
        for tier in TIER_IDS:
            for arm in ARMS:
                if (tier, arm) in groups:
                    summary = summarize_memorization(groups[tier, arm], n=ngram, seed=seed)
                    results.setdefault(tier, {})[arm] = summary
                    advance(1)
    return results
