"""The page on which a person checks samples of identifying text (PII-Bench, G): one file with its own script.

Samples may be made from patients' notes, so it says PHI on every screen; nothing is sent anywhere, and what the browser
keeps are places and categories, never words.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from clinaudit.reports.pages.html import own_script, render_html, script_data


@dataclass(frozen=True, slots=True)
class ReviewCategory:
    """A category that a place may be marked as."""

    id: str
    name: str
    type: str
    #: What stands in a masked text, without brackets.
    tag: str


@dataclass(frozen=True, slots=True)
class DraftEntity:
    """A place as the sample marks it; offsets in characters, half-open."""

    start: int
    end: int
    category: str
    subject: str
    needed: bool


@dataclass(frozen=True, slots=True)
class DraftSample:
    """A sample to be checked."""

    id: str
    subset: str
    description: str
    query: str
    entities: tuple[DraftEntity, ...]


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """What is checked; `digest` binds a review to the file of samples."""

    samples: Sequence[DraftSample]
    categories: Sequence[ReviewCategory]
    digest: str
    #: Samples of the file, those left out included.
    found: int


def render_review(page: ReviewPage) -> str:
    """Return the HTML."""
    script, script_digest = own_script("pii_review_steps.js", "pii_review.js")
    data = {
        "samples": [asdict(sample) for sample in page.samples],
        "categories": [asdict(category) for category in page.categories],
        "digest": page.digest,
    }
    return render_html(
        "pii_review.html.j2",
        style=("phi_page.css", "pii_review.css"),
        context={
            "script": script,
            "script_digest": script_digest,
            "data": script_data(data),
            "shown": len(page.samples),
            "found": page.found,
        },
    )
