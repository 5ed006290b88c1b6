"""One answer, as tests write it; `generation_frame` makes rows of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from clinaudit.audit.runtime.model.tokenizer import Places
from clinaudit.priors.tiers import Form, Model, Role
from clinaudit.reports.schema.record import Arm
from clinaudit.templates.shown_text import Span


def spans_of(places: Places) -> tuple[Span, ...]:
    """Return places of tokens as spans."""
    return tuple(Span(start, end) for start, end in places.tolist())


@dataclass(frozen=True, slots=True)
class Generation:
    """A row of the table `generations`, and where its tokens stand in the text."""

    generation_id: str
    patient_id: str
    arm: Arm
    tier: str
    form: Form
    diagnoses: tuple[str, ...]
    prompt: str | None
    text: str
    token_ids: tuple[int, ...]
    token_chars: Sequence[Span]
    finish_reason: str
    refused: bool | None = None
    role: Role = "target"
    model: Model = "audited"
    answer_chars: int | None = None
