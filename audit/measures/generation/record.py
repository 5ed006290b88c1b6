"""The record of one generation, as every stage takes it, and its row in the evidence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.priors.renderings import Rendering
from clinaudit.reports.schema.record import Arm
from clinaudit.templates.spans import Span


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """What a model wrote, or part of it."""

    text: str
    token_ids: tuple[int, ...]
    #: For each token its characters of `text`.
    token_chars: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation, as it is analysed."""

    generation_id: str
    patient_id: str
    arm: Arm
    tier: str
    rendering: Rendering
    diagnoses: tuple[str, ...]
    #: Diagnoses of the cohorts for which the prompt was written, those that the prompt itself reveals included.
    cohorts: tuple[str, ...]
    #: None where it is not known (`analyze`); then no token counts as prompt echo.
    prompt: str | None
    text: str
    token_ids: tuple[int, ...]
    #: For each token its characters of `text`.
    token_chars: Sequence[Span]
    finish_reason: str
    #: Whether the answer opens as a refusal; None where that was not looked for: it was not asked in a chat.
    refused: bool | None = None
    #: Tokens before the first end that was barred (methods, section 1); None: none was, or it is not known.
    first_end: int | None = None
    #: Of an answer that was drawn: its number, from 1; 0 for the likeliest answer.
    draw: int = 0

    @property
    def answer(self) -> str:
        """The text up to the first end that is known of: what the model says where it is not made to go on."""
        if self.first_end is None or self.first_end >= len(self.token_chars):
            return self.text
        return self.text[: self.token_chars[self.first_end].start]


def generation_rows(generations: Iterable[Generation]) -> Iterator[Row]:
    """Yield the rows of `generations.parquet`."""
    for generation in generations:
        yield {
            "generation_id": generation.generation_id,
            "patient_id": generation.patient_id,
            "arm": generation.arm,
            "tier": generation.tier,
            "rendering": generation.rendering,
            "diagnoses": list(generation.diagnoses),
            "prompt": generation.prompt,
            "text": generation.text,
            "token_ids": list(generation.token_ids),
            "finish_reason": generation.finish_reason,
            "refused": generation.refused,
            "first_end": generation.first_end,
            "draw": generation.draw,
        }
