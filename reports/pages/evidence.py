"""`evidence/evidence.html`: each leak beside its source note, for those cleared to see PHI (opt-in).

Owns the page: one file with its own script, no outside resource, nothing sent anywhere. Knows nothing of how a leak was
found. Unlike `report.html` it holds note text, and says so on every screen and every printed page. Text reaches the
page as data and is set as text, never as markup.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from clinaudit.reports.pages.html import read_part, render_html
from clinaudit.reports.wording.names import display_title, tier_number, tier_title

#: Clinically revealing or templated (Table 3); mixed where one span holds tokens of both kinds.
SpanKind = Literal["revealing", "mixed", "templated"]


@dataclass(frozen=True, slots=True)
class LeakedSpan:
    """A run of memorized text in one section of its source note; offsets in characters, half-open."""

    #: In the generated text.
    start: int
    end: int
    #: In the source note, with line ends as line feeds.
    note_start: int
    note_end: int
    note_id: str
    section: str
    kind: SpanKind
    #: Whether all of it stood in the prompt.
    echo: bool
    #: K: patients whose notes hold the piece.
    patient_count: int
    copy_forward_count: int
    stitched: bool


@dataclass(frozen=True, slots=True)
class StatedDiagnosis:
    """What the judge read in the generated text of one diagnosis."""

    diagnosis: str
    says: str
    #: Words of the text, verbatim.
    spans: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leak:
    """One generation that repeats its patient's notes, or states a diagnosis of the panel."""

    generation_id: str
    patient_id: str
    arm: str
    tier: str
    prompt: str
    text: str
    #: Generated tokens, and those of them that are patient-attributable.
    tokens: int
    attributable_tokens: int
    spans: tuple[LeakedSpan, ...]
    stated: tuple[StatedDiagnosis, ...]


@dataclass(frozen=True, slots=True)
class SourceNote:
    """A note of the corpus, line ends as line feeds."""

    note_id: str
    visit_date: str | None
    text: str


@dataclass(frozen=True, slots=True)
class EvidencePage:
    """What is shown, and how much is not."""

    leaks: Sequence[Leak]
    notes: Sequence[SourceNote]
    #: Leaks found, those that were left out included.
    found: int


def render_evidence(page: EvidencePage) -> str:
    """Return the HTML."""
    from markupsafe import Markup

    tiers = sorted({leak.tier for leak in page.leaks}, key=tier_number)
    script = read_part("evidence.js")
    data = {
        "leaks": [asdict(leak) for leak in page.leaks],
        "notes": {note.note_id: asdict(note) for note in page.notes},
        "tiers": {tier: f"{tier_number(tier)} {tier_title(tier)}" for tier in tiers},
        "sections": {
            section: display_title(section)
            for section in sorted({span.section for leak in page.leaks for span in leak.spans})
        },
        "diagnoses": {
            diagnosis: display_title(diagnosis)
            for diagnosis in sorted({stated.diagnosis for leak in page.leaks for stated in leak.stated})
        },
    }
    return render_html(
        "evidence.html.j2",
        style="evidence.css",
        context={
            "script": Markup(script),
            "script_digest": _digest(script),
            "data": Markup(_as_script_data(data)),
            "shown": len(page.leaks),
            "found": page.found,
        },
    )


def _digest(script: str) -> str:
    """Return the digest by which the page's own policy lets this script run, and no other."""
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _as_script_data(data: object) -> str:
    """Return JSON that cannot end its element nor begin a comment, whatever the notes hold."""
    text = json.dumps(data, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
