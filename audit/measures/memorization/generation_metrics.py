"""What is counted of one generation: its row of `generation_metrics`. Knows nothing of other generations."""

from collections.abc import Sequence
from dataclasses import dataclass

from clinaudit.audit.measures.memorization.other_patients.stage import OtherPatientsText
from clinaudit.audit.measures.memorization.verbatim import AnalyzedGeneration
from clinaudit.priors.renderings import Form, Model, Role
from clinaudit.reports.schema.record import Arm


@dataclass(frozen=True, slots=True)
class GenerationMetrics:
    """One row of `generation_metrics.parquet`; counts of tokens, regions and notes of one generation."""

    generation_id: str
    patient_id: str
    arm: Arm
    role: Role
    model: Model
    form: Form
    tier: str
    tokens: int
    memorized_tokens: int
    echo_tokens: int
    attributable_tokens: int
    regions: int
    stitched_regions: int
    source_notes: int
    #: By K as it stands and verbatim echo alone, whatever facts the prompt holds.
    attributable_tokens_unmasked: int
    #: Of the patient's notes those that hold some piece, and how many hold every piece between them (greedily).
    source_notes_any: int
    source_notes_min: int
    #: The attributable tokens, and those of no match that are attributable through a near match.
    near_verbatim_attributable_tokens: int
    #: In exactly one other train patient's text; then in pools of as many patients of either split, and there with the
    #: splits exchanged, both None where there are no pools.
    other_patient_tokens: int
    other_patient_sampled_tokens: int | None = None
    other_patient_chance_tokens: int | None = None
    #: None where refusals were not looked for.
    refused: bool | None = None
    #: In all regions together.
    region_characters: int = 0
    region_words: int = 0


def measure_generation(analyzed: AnalyzedGeneration, others: OtherPatientsText) -> GenerationMetrics:
    """Reduce an analysed generation to its counts."""
    attributed = analyzed.attributed
    generation, pieces = attributed.generation, attributed.pieces
    notes_any, notes_min = count_source_notes([piece.piece.holders for piece in pieces])
    spans = [region.span_tokens for region in attributed.regions]
    places = [(generation.token_chars[own.start], generation.token_chars[own.end - 1]) for own in spans]
    texts = [generation.text[first.start : last.end] for first, last in places]
    return GenerationMetrics(
        generation_id=generation.generation_id,
        patient_id=generation.patient_id,
        arm=generation.arm,
        role=generation.role,
        model=generation.model,
        form=generation.form,
        tier=generation.tier,
        tokens=len(generation.token_ids),
        memorized_tokens=int(attributed.memorized.sum()),
        echo_tokens=int(attributed.echo.sum()),
        attributable_tokens=analyzed.attributable_tokens,
        regions=len(attributed.regions),
        stitched_regions=sum(region.stitched for region in attributed.regions),
        source_notes=len({piece.note_id for piece in pieces}),
        attributable_tokens_unmasked=analyzed.attributable_tokens_unmasked,
        other_patient_tokens=others.tokens,
        other_patient_sampled_tokens=others.sampled_tokens,
        other_patient_chance_tokens=others.chance_tokens,
        refused=generation.refused,
        source_notes_any=notes_any,
        source_notes_min=notes_min,
        near_verbatim_attributable_tokens=analyzed.attributable_tokens + analyzed.near_tokens,
        region_characters=sum(map(len, texts)),
        region_words=sum(len(text.split()) for text in texts),
    )


def count_source_notes(holders: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Return how many notes hold any piece, and how few cover all of them; `holders` are the notes of each piece.

    The cover is greedy: the note that holds most of the pieces left, and of several the latest. The least cover may be
    smaller, but by a factor of 1 + ln(pieces) at most (Chvatal, 1979).
    """
    left = set(range(len(holders)))
    fewest = 0
    while left:
        held: dict[int, set[int]] = {}
        for piece in left:
            for note in holders[piece]:
                held.setdefault(note, set()).add(piece)
        if not held:
            raise ValueError("a piece without a note that holds it")
        left -= held[max(held, key=lambda note: (len(held[note]), note))]
        fewest += 1
    return len({note for own in holders for note in own}), fewest
