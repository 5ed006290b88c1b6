"""The record of one generation, as every stage takes it, and its row in the evidence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

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
    #: The text without the repetition guard's cut at what the patient's own note repeats; None where there is none.
    unguarded: GeneratedText | None = None
    #: Whether the answer opens as a refusal; None where that was not looked for: it was not asked in a chat.
    refused: bool | None = None
    #: Tokens before the first end that was barred (methods, section 1); None: none was, or it is not known.
    first_end: int | None = None

    @property
    def answer(self) -> str:
        """The text up to the first end that is known of: what the model says where it is not made to go on."""
        if self.first_end is None or self.first_end >= len(self.token_chars):
            return self.text
        return self.text[: self.token_chars[self.first_end].start]


def as_unguarded(generations: Iterable[Generation]) -> list[Generation]:
    """Return the generations that go on beyond the guard's cut, each as if that cut had not been made."""
    return [
        replace(
            generation,
            text=generation.unguarded.text,
            token_ids=generation.unguarded.token_ids,
            token_chars=generation.unguarded.token_chars,
            unguarded=None,
        )
        for generation in generations
        if generation.unguarded is not None
    ]


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
            "unguarded_token_ids": None if generation.unguarded is None else list(generation.unguarded.token_ids),
            "refused": generation.refused,
            "first_end": generation.first_end,
        }
