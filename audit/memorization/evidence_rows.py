"""The rows of the evidence tables, from the records of the stages (docs/results.md, "Evidence tables").

Owns which field goes in which column. Knows nothing of files.
"""

from collections.abc import Iterator

from clinaudit.audit.memorization.near_verbatim import NearVerbatimText
from clinaudit.audit.memorization.verbatim import AnalyzedGeneration, AttributedPiece
from clinaudit.audit.run.evidence_tables import Row


def region_rows(analyzed: AnalyzedGeneration) -> Iterator[Row]:
    """Yield the rows of `regions.parquet` of one generation, one a piece."""
    generation = analyzed.located.generation
    for number, located, count in _numbered(analyzed):
        start, end = located.piece.span_tokens
        yield {
            "generation_id": generation.generation_id,
            "region_id": located.region_id,
            "piece": number,
            "token_start": start,
            "token_end": end,
            "char_start": located.span_chars.start,
            "char_end": located.span_chars.end,
            "text": generation.text[slice(*located.span_chars)],
            "stitched": located.stitched,
            "source_note_id": located.note_id,
            "copy_forward_count": located.piece.copy_forward_count,
            "patient_count": count,
        }


def segment_rows(analyzed: AnalyzedGeneration) -> Iterator[Row]:
    """Yield the rows of `segments.parquet` of one generation."""
    located_generation = analyzed.located
    for number, located, _ in _numbered(analyzed):
        first = located.piece.span_tokens.start
        for segment in located.segments:
            yield {
                "generation_id": located_generation.generation.generation_id,
                "region_id": located.region_id,
                "piece": number,
                "section": segment.section,
                "char_start": segment.span_chars.start,
                "char_end": segment.span_chars.end,
                "tokens": len(segment.tokens),
                "templated_tokens": sum(located.labels[token - first].templated for token in segment.tokens),
                "echo_tokens": sum(located_generation.echo[token] for token in segment.tokens),
            }


def near_verbatim_rows(generation_id: str, text: NearVerbatimText) -> Iterator[Row]:
    """Yield the rows of `near_verbatim.parquet` of one generation, one a region of the greatest length."""
    for (start, end), note_id in text.longest:
        yield {
            "generation_id": generation_id,
            "token_start": start,
            "token_end": end,
            "source_note_id": note_id,
        }


def _numbered(analyzed: AnalyzedGeneration) -> Iterator[tuple[int, AttributedPiece, int]]:
    """Yield each piece with its number in its region and its K."""
    region, number = -1, 0
    for located, count in zip(analyzed.located.pieces, analyzed.patient_counts, strict=True):
        region, number = located.region_id, number + 1 if located.region_id == region else 0
        yield number, located, count
