"""What is counted of one generation: its row of `generation_metrics`, and what the figures of its tier and arm need.

A word is a run of signs without white space. Knows nothing of other generations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clinaudit.audit.measures.memorization.near_verbatim import NearVerbatimText
from clinaudit.audit.measures.memorization.other_patients.stage import OtherPatientsText
from clinaudit.audit.measures.memorization.verbatim import AnalyzedGeneration, TokenFlags
from clinaudit.priors.renderings import Rendering
from clinaudit.reports.schema.record import Arm


@dataclass(frozen=True, slots=True)
class GenerationMetrics:
    """One row of `generation_metrics.parquet`; counts of tokens, regions and notes of one generation."""

    generation_id: str
    patient_id: str
    arm: Arm
    tier: str
    rendering: Rendering
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

    @property
    def is_answer(self) -> bool:
        """Whether figures of memorization count it: it is no refusal, or repeats somebody's notes after all."""
        # Of either split: what is found in pools must not be left out of `chance` alone.
        found = (
            self.memorized_tokens,
            self.other_patient_tokens,
            self.other_patient_sampled_tokens,
            self.other_patient_chance_tokens,
        )
        return not self.refused or any(found)

    def share(self, tokens: int | None) -> float:
        """Return the share of the generation's tokens that so many are; 0 for an empty one."""
        return (tokens or 0) / self.tokens if self.tokens else 0.0


def memorized_part(row: GenerationMetrics) -> float:
    """Return the share of a generation's tokens that are memorized; 0 for an empty one."""
    return row.share(row.memorized_tokens)


def attributable_part(row: GenerationMetrics) -> float:
    """Return the share of a generation's tokens that are the patient's own; 0 for an empty one."""
    return row.share(row.attributable_tokens)


def has_match(row: GenerationMetrics) -> float:
    """Return 1 where a generation holds a match, else 0."""
    return float(row.memorized_tokens > 0)


class TextLength(NamedTuple):
    """The length of one stretch of generated text."""

    tokens: int
    characters: int
    words: int


def measure_length(text: str, tokens: int) -> TextLength:
    """Return the length of a text of so many tokens."""
    return TextLength(tokens, len(text), len(text.split()))


@dataclass(frozen=True, slots=True)
class MeasuredGeneration:
    """The counts of one generation from which a summary is made; small, so that those of a whole run fit in memory."""

    metrics: GenerationMetrics
    #: How many memorized tokens have each labels.
    flags: tuple[tuple[TokenFlags, int], ...]
    #: (K, copy-forward count, holds a revealing token) of each piece.
    pieces: tuple[tuple[int, int, bool], ...]
    region_lengths: tuple[TextLength, ...]
    dropped_tokens: int
    #: Of `pieces`.
    piece_lengths: tuple[TextLength, ...] = ()
    #: Tokens in near matches, those of a match among them: they need zero edits. And the longest region's.
    near_tokens: int = 0
    longest_near_region: int = 0
    #: Patients whose text is counted in `other_patient_tokens`.
    owners: frozenset[str] = frozenset()


def measure_generation(
    analyzed: AnalyzedGeneration, near: NearVerbatimText, others: OtherPatientsText
) -> MeasuredGeneration:
    """Reduce an analysed generation to its counts."""
    attributed = analyzed.attributed
    generation, pieces = attributed.generation, attributed.pieces
    notes_any, notes_min = count_source_notes([piece.piece.holders for piece in pieces])
    spans = [region.span_tokens for region in attributed.regions]
    places = [(generation.token_chars[own.start], generation.token_chars[own.end - 1]) for own in spans]
    texts = [generation.text[first.start : last.end] for first, last in places]
    metrics = GenerationMetrics(
        generation_id=generation.generation_id,
        patient_id=generation.patient_id,
        arm=generation.arm,
        tier=generation.tier,
        rendering=generation.rendering,
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
    chars = generation.token_chars
    return MeasuredGeneration(
        metrics,
        analyzed.flags,
        pieces=tuple(
            (count, piece.piece.copy_forward_count, not piece.labels[1].all())
            for piece, count in zip(pieces, analyzed.patient_counts, strict=True)
        ),
        region_lengths=tuple(
            measure_length(generation.text[chars[start].start : chars[end - 1].end], end - start)
            for start, end in (region.span_tokens for region in attributed.regions)
        ),
        dropped_tokens=sum(region.dropped_tokens for region in attributed.regions),
        piece_lengths=tuple(
            measure_length(generation.text[slice(*piece.span_chars)], piece.labels.shape[1]) for piece in pieces
        ),
        near_tokens=near.tokens,
        longest_near_region=max((len(range(*span)) for span, _ in near.longest), default=0),
        owners=others.owners,
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
