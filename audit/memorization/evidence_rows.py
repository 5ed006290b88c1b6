"""The rows of memorization's evidence tables (docs/results.md, "Evidence tables").

Owns which field goes in which column. Knows nothing of files.
"""

from collections.abc import Iterator

from clinaudit.audit.memorization.near_verbatim import NearVerbatimText
from clinaudit.audit.memorization.verbatim import AnalyzedGeneration, AttributedPiece
from clinaudit.audit.run.evidence_tables import Row


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
