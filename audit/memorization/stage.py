"""The memorization stage: from generations to summaries and rows of evidence, for `audit` and `analyze` alike.

Owns the order match → analyse → count → summarize. Knows nothing of where generations come from, or of files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from clinaudit.audit.cluster.shards import ShardRunner
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.generation.own_repeats import Recitations
from clinaudit.audit.generation.record import Generation, as_unguarded
from clinaudit.audit.memorization.evidence_rows import near_verbatim_rows, region_rows, segment_rows
from clinaudit.audit.memorization.guard_summary import GuardedText, summarize_guard
from clinaudit.audit.memorization.near_verbatim_summary import (
    NearVerbatimCounts,
    measure_near_verbatim,
    summarize_near_verbatim,
)
from clinaudit.audit.memorization.patient_matching import match_generations
from clinaudit.audit.memorization.patient_text import OwnNotes
from clinaudit.audit.memorization.refusal_summary import summarize_refusals
from clinaudit.audit.memorization.summary import (
    GenerationMetrics,
    MeasuredGeneration,
    measure_generation,
    summarize_memorization,
    summarize_no_answers,
)
from clinaudit.audit.memorization.verbatim import analyze_attributed
from clinaudit.audit.run.evidence_tables import Row
from clinaudit.priors.renderings import Rendering
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.exact.memorization import Memorization
from clinaudit.reports.schema.record import ARMS, Arm

MemorizationResults = dict[str, dict[Arm, Memorization]]


@dataclass(frozen=True, slots=True)
class MeasuredMemorization:
    """What the stage measured."""

    #: By rendering, the summary of each tier and arm.
    results: Mapping[Rendering, MemorizationResults]
    #: Counts of each generation, in the order in which they were matched.
    metrics: Sequence[GenerationMetrics]
    #: Rows of the evidence tables, by table.
    tables: Mapping[str, Sequence[Row]]


def measure_memorization(
    generations: Sequence[Generation],
    notes: OwnNotes,
    *,
    match_tokens: int,
    seed: int,
    progress: Progress,
    recitations: Recitations | None = None,
    runner: ShardRunner | None = None,
) -> MeasuredMemorization:
    """Measure what the generations repeat of their patients' own notes, in n-grams of `match_tokens` tokens.

    `seed` is that of the bootstrap over patients. Nothing is pooled over renderings. Without `recitations` the guard's
    cuts are not accounted for.
    """
    counts: list[tuple[MeasuredGeneration, NearVerbatimCounts]] = []
    regions: list[Row] = []
    segments: list[Row] = []
    near_verbatim: list[Row] = []
    matched = match_generations(generations, notes, match_tokens=match_tokens, progress=progress, runner=runner)
    longer = as_unguarded(generations)
    if longer:
        matched += match_generations(longer, notes, match_tokens=match_tokens, progress=progress, runner=runner)
    analyzed_generations = analyze_attributed(
        (item.attributed for item in matched),
        notes.corpus,
        notes.profile,
        progress=progress,
        runner=runner,
    )
    unguarded: dict[str, GenerationMetrics] = {}
    for analyzed, near in zip(analyzed_generations, (item.near for item in matched), strict=True):
        measured = measure_generation(analyzed)
        if len(counts) == len(generations):
            unguarded[measured.metrics.generation_id] = measured.metrics
            continue
        counts.append((measured, measure_near_verbatim(near, measured.metrics)))
        regions.extend(region_rows(analyzed))
        segments.extend(segment_rows(analyzed))
        near_verbatim.extend(near_verbatim_rows(measured.metrics.generation_id, near))
    metrics = [item.metrics for item, _ in counts]
    guarded = None if recitations is None else GuardedText.of(generations, unguarded, recitations)
    renderings: dict[Rendering, list[tuple[MeasuredGeneration, NearVerbatimCounts]]] = {}
    for row in counts:
        renderings.setdefault(row[0].metrics.rendering, []).append(row)
    results = {
        rendering: _summarize(rows, match_tokens=match_tokens, seed=seed, progress=progress)
        for rendering, rows in renderings.items()
    }
    if guarded is not None:
        for rendering, rows in renderings.items():
            _add_guard(results[rendering], [row.metrics for row, _ in rows], guarded, seed=seed)
    return MeasuredMemorization(
        results=results,
        metrics=metrics,
        tables={
            "generation_metrics": [asdict(row) for row in metrics],
            "regions": regions,
            "segments": segments,
            "near_verbatim": near_verbatim,
        },
    )


def _summarize(
    counts: Sequence[tuple[MeasuredGeneration, NearVerbatimCounts]], *, match_tokens: int, seed: int, progress: Progress
) -> MemorizationResults:
    groups: dict[tuple[str, Arm], list[tuple[MeasuredGeneration, NearVerbatimCounts]]] = {}
    for row in counts:
        groups.setdefault((row[0].metrics.tier, row[0].metrics.arm), []).append(row)
    results: MemorizationResults = {}
    with progress.stage("memorization figures", total=len(groups), unit="tiers and arms") as advance:
        for tier in TIER_IDS:
            for arm in ARMS:
                if (tier, arm) in groups:
                    summary = _summarize_group(groups[tier, arm], match_tokens=match_tokens, seed=seed)
                    results.setdefault(tier, {})[arm] = summary
                    advance(1)
    return results


def _summarize_group(
    counts: Sequence[tuple[MeasuredGeneration, NearVerbatimCounts]], *, match_tokens: int, seed: int
) -> Memorization:
    """Return the summary of the answers; a refusal is none, and is counted apart."""
    refusals = summarize_refusals([row.metrics for row, _ in counts])
    answers = [row for row in counts if row[0].metrics.is_answer]
    if not answers:
        return summarize_no_answers().model_copy(update={"refusals": refusals})
    verbatim, near_verbatim = zip(*answers, strict=True)
    summary = summarize_memorization(verbatim, match_tokens=match_tokens, seed=seed)
    beside = summarize_near_verbatim(near_verbatim, match_tokens=match_tokens, seed=seed)
    return summary.model_copy(update={"near_verbatim": beside, "refusals": refusals})


def _add_guard(
    results: MemorizationResults, metrics: Sequence[GenerationMetrics], guarded: GuardedText, *, seed: int
) -> None:
    for tier, arms in results.items():
        for arm, summary in arms.items():
            rows = [row for row in metrics if (row.tier, row.arm) == (tier, arm) and row.is_answer]
            if not rows:
                continue
            arms[arm] = summary.model_copy(update={"guard": summarize_guard(rows, guarded, seed=seed)})
