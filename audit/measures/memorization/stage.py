"""The memorization stage: from generations to summaries and rows of evidence, for `audit` and `analyze` alike.

Owns the order match → analyse → count → summarize. Knows nothing of where generations come from, or of files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product

from clinaudit.audit.measures.generation.own_repeats import Recitations
from clinaudit.audit.measures.generation.record import Generation, as_unguarded
from clinaudit.audit.measures.memorization.beside_summary import (
    GuardedText,
    summarize_guard,
    summarize_near_verbatim,
    summarize_other_patients,
    summarize_refusals,
)
from clinaudit.audit.measures.memorization.generation_metrics import (
    GenerationMetrics,
    MeasuredGeneration,
    measure_generation,
)
from clinaudit.audit.measures.memorization.near_verbatim import NearVerbatimText
from clinaudit.audit.measures.memorization.other_patients.stage import find_other_patients_text
from clinaudit.audit.measures.memorization.patient_matching import match_generations
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.summary import summarize_memorization
from clinaudit.audit.measures.memorization.verbatim import AnalyzedGeneration, AttributedPiece, analyze_attributed
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.priors.renderings import Rendering
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.tally.tally import MemorizationTally


def region_rows(analyzed: AnalyzedGeneration) -> Iterator[Row]:
    """Yield the rows of `regions.parquet` of one generation, one for each piece."""
    generation = analyzed.attributed.generation
    numbered = zip(_numbered(analyzed), analyzed.patient_counts, analyzed.masked_patient_counts, strict=True)
    for (number, attributed), count, masked_count in numbered:
        start, end = attributed.piece.span_tokens
        yield {
            "generation_id": generation.generation_id,
            "region_id": attributed.region_id,
            "piece": number,
            "token_start": start,
            "token_end": end,
            "char_start": attributed.span_chars.start,
            "char_end": attributed.span_chars.end,
            "text": generation.text[slice(*attributed.span_chars)],
            "stitched": attributed.stitched,
            "source_note_id": attributed.note_id,
            "copy_forward_count": attributed.piece.copy_forward_count,
            "patient_count": count,
            "masked_patient_count": masked_count,
        }


def segment_rows(analyzed: AnalyzedGeneration) -> Iterator[Row]:
    """Yield the rows of `segments.parquet` of one generation."""
    attributed_generation = analyzed.attributed
    for number, attributed in _numbered(analyzed):
        first = attributed.piece.span_tokens.start
        for segment in attributed.segments:
            yield {
                "generation_id": attributed_generation.generation.generation_id,
                "region_id": attributed.region_id,
                "piece": number,
                "section": segment.section,
                "char_start": segment.span_chars.start,
                "char_end": segment.span_chars.end,
                "tokens": len(segment.tokens),
                "templated_tokens": sum(attributed.labels[token - first].templated for token in segment.tokens),
                "echo_tokens": sum(attributed_generation.echo[token] for token in segment.tokens),
            }


def near_verbatim_rows(generation_id: str, text: NearVerbatimText) -> Iterator[Row]:
    """Yield the rows of `near_verbatim.parquet` of one generation, one for each of its longest regions."""
    for (start, end), note_id in text.longest:
        yield {
            "generation_id": generation_id,
            "token_start": start,
            "token_end": end,
            "source_note_id": note_id,
        }


def _numbered(analyzed: AnalyzedGeneration) -> Iterator[tuple[int, AttributedPiece]]:
    """Yield each piece with its number in its region."""
    region, number = -1, 0
    for attributed in analyzed.attributed.pieces:
        region, number = attributed.region_id, number + 1 if attributed.region_id == region else 0
        yield number, attributed


TalliesByTier = dict[str, dict[Arm, MemorizationTally]]


@dataclass(frozen=True, slots=True)
class MeasuredMemorization:
    """What the stage measured."""

    #: By rendering, the summary of each tier and arm.
    results: Mapping[Rendering, TalliesByTier]
    #: Counts of each generation, in the order in which they were matched.
    metrics: Sequence[GenerationMetrics]
    #: Rows of the evidence tables, by table.
    tables: Mapping[str, Sequence[Row]]


def measure_memorization(
    generations: Sequence[Generation],
    notes: MatchedCorpus,
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
    matched = match_generations(generations, notes, match_tokens=match_tokens, progress=progress, runner=runner)
    others = find_other_patients_text(
        [item.attributed for item in matched], notes, match_tokens=match_tokens, seed=seed, progress=progress
    )
    longer = as_unguarded(generations)
    if longer:
        matched += match_generations(longer, notes, match_tokens=match_tokens, progress=progress, runner=runner)
    analyzed_generations = analyze_attributed(
        (item.attributed for item in matched),
        # No figure of the longer generations is made of near matches.
        (item.passages if index < len(generations) else None for index, item in enumerate(matched)),
        notes.corpus,
        notes.profile,
        progress=progress,
        runner=runner,
    )
    counts: list[MeasuredGeneration] = []
    unguarded: dict[str, GenerationMetrics] = {}
    tables: dict[str, list[Row]] = {"regions": [], "segments": [], "near_verbatim": []}
    for analyzed, item in zip(analyzed_generations, matched, strict=True):
        if len(counts) == len(generations):
            metrics = measure_generation(analyzed, item.near).metrics
            unguarded[metrics.generation_id] = metrics
            continue
        counts.append(measure_generation(analyzed, item.near, others[len(counts)]))
        tables["regions"].extend(region_rows(analyzed))
        tables["segments"].extend(segment_rows(analyzed))
        tables["near_verbatim"].extend(near_verbatim_rows(counts[-1].metrics.generation_id, item.near))
    guarded = None if recitations is None else GuardedText.of(generations, unguarded, recitations)
    groups: dict[tuple[Rendering, str, Arm], list[MeasuredGeneration]] = {}
    for measured in counts:
        row = measured.metrics
        groups.setdefault((row.rendering, row.tier, row.arm), []).append(measured)
    # Renderings as they come, tiers and arms in their order.
    renderings = list(dict.fromkeys(rendering for rendering, _, _ in groups))
    results: dict[Rendering, TalliesByTier] = {}
    with progress.stage("memorization figures", total=len(groups), unit="tiers and arms") as advance:
        for key in product(renderings, TIER_IDS, ARMS):
            if key in groups:
                rendering, tier, arm = key
                summary = _summarize(groups[key], guarded, match_tokens=match_tokens, seed=seed)
                results.setdefault(rendering, {}).setdefault(tier, {})[arm] = summary
                advance(1)
    return MeasuredMemorization(
        results=results,
        metrics=[measured.metrics for measured in counts],
        tables={
            "generation_metrics": [asdict(measured.metrics) for measured in counts],
            **tables,
            "other_patients": [row for other in others for row in other.rows],
        },
    )


def _summarize(
    counts: Sequence[MeasuredGeneration], guarded: GuardedText | None, *, match_tokens: int, seed: int
) -> MemorizationTally:
    """Return the tally of the answers; a refusal is none, and is counted apart."""
    refusals = summarize_refusals([row.metrics for row in counts])
    answers = [row for row in counts if row.metrics.is_answer]
    summary = summarize_memorization(answers, match_tokens=match_tokens, seed=seed)
    if not answers:
        return replace(summary, refusals=refusals)
    memorized = summary.fractions["memorized_fraction"]
    return replace(
        summary,
        near_verbatim=summarize_near_verbatim(answers, memorized=memorized, match_tokens=match_tokens, seed=seed),
        other_patients=summarize_other_patients(answers, seed=seed),
        guard=None if guarded is None else summarize_guard(answers, guarded, seed=seed),
        refusals=refusals,
    )
