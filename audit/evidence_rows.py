"""The rows of the evidence tables, from the records of the stages (contract, section 6).

Owns which field goes in which column. Knows nothing of files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from clinaudit.audit.cohorts import Cohort
from clinaudit.audit.judge.annotation import Annotation
from clinaudit.audit.judge.verdict import Judgement, to_row
from clinaudit.audit.memorization import AnalyzedGeneration, Generation, LocatedPiece
from clinaudit.audit.near_verbatim import NearVerbatimText
from clinaudit.priors.prompts import Prior

Row = dict[str, Any]


def prior_rows(priors: Iterable[Prior]) -> Iterator[Row]:
    """Yield the rows of `priors.parquet`."""
    for prior in priors:
        yield {**asdict(prior), "diagnoses": list(prior.diagnoses)}


def annotation_rows(annotations: Mapping[str, Sequence[Annotation]]) -> Iterator[Row]:
    """Yield the rows of `annotations.parquet`, by patient."""
    for patient_id in sorted(annotations):
        for annotation in annotations[patient_id]:
            yield {
                "patient_id": patient_id,
                "diagnosis": annotation.diagnosis,
                "present": annotation.present,
                "in_note_start": annotation.in_note_start,
                "in_hpi": annotation.in_hpi,
                "diagnosis_spans": list(annotation.diagnosis_spans),
                "icd10_spans": list(annotation.icd10_spans),
                "symptom_spans": list(annotation.symptom_spans),
                "medication_spans": list(annotation.medication_spans),
                "medications_to_remove": [asdict(removal) for removal in annotation.medications_to_remove],
            }


def generation_rows(generations: Iterable[Generation]) -> Iterator[Row]:
    """Yield the rows of `generations.parquet`."""
    for generation in generations:
        yield {
            "generation_id": generation.generation_id,
            "patient_id": generation.patient_id,
            "arm": generation.arm,
            "tier": generation.tier,
            "diagnoses": list(generation.diagnoses),
            "prompt": generation.prompt,
            "text": generation.text,
            "token_ids": list(generation.token_ids),
            "finish_reason": generation.finish_reason,
        }


def cohort_rows(cohorts: Iterable[Cohort]) -> Iterator[Row]:
    """Yield the rows of `cohorts.parquet`."""
    for cohort in cohorts:
        for member in cohort.members:
            yield {"diagnosis": cohort.diagnosis, **asdict(member)}


def judgement_rows(generations: Iterable[Generation], judgements: Mapping[tuple[str, str], Judgement]) -> Iterator[Row]:
    """Yield the rows of `judgements.parquet`, in the order of the generations."""
    for generation in generations:
        for diagnosis in generation.diagnoses:
            judgement = judgements[generation.generation_id, diagnosis]
            yield {"generation_id": generation.generation_id, "diagnosis": diagnosis, **to_row(judgement)}


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


def _numbered(analyzed: AnalyzedGeneration) -> Iterator[tuple[int, LocatedPiece, int]]:
    """Yield each piece with its number in its region and its K."""
    region, number = -1, 0
    for located, count in zip(analyzed.located.pieces, analyzed.patient_counts, strict=True):
        region, number = located.region_id, number + 1 if located.region_id == region else 0
        yield number, located, count
