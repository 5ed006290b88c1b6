"""From samples to `review.html`, the page on which a person checks them.

Owns which samples are shown and where the page lies: a folder of mode 0700, since samples may be made from patients'
notes. Knows nothing of the page's layout.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.runtime.run.durable_files import making_folder, write_atomically
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable
from clinaudit.reports.pages.pii_review import DraftEntity, DraftSample, ReviewCategory, ReviewPage, render_review

REVIEW_PAGE: Final = "review.html"


def write_review_page(
    samples: Sequence[Sample], out: Path, *, digest: str, draw: int | None = None, seed: int = 0
) -> ReviewPage:
    """Write `out`/review.html of all samples, or of `draw` of them; return what it shows.

    Raises `BadInputError` unless `out` is new or an empty folder.
    """
    require_new_place(out)
    shown = samples if draw is None else draw_samples(samples, draw, seed=seed)
    page = ReviewPage(
        samples=[_draft(sample) for sample in shown],
        categories=[ReviewCategory(each.id, each.name, each.type, each.tag) for each in categories().values()],
        digest=digest,
        found=len(samples),
    )
    with making_folder(out) as folder:
        write_atomically(folder / REVIEW_PAGE, render_review(page))
    return page


def draw_samples(samples: Sequence[Sample], count: int, *, seed: int) -> list[Sample]:
    """Return `count` samples drawn without replacement, in the order of the file; all where there are fewer."""
    chosen = np.random.default_rng(seed).choice(len(samples), size=min(count, len(samples)), replace=False)
    return [samples[at] for at in sorted(chosen)]


def require_new_place(out: Path) -> None:
    """Raise `BadInputError` unless nothing is at `out`, or an empty folder; call it before the work.

    An older page may be open in a reviewer's browser, and samples may have been mended by hand.
    """
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise BadInputError(f"{printable(out.name)} exists, and is not overwritten; give --out a new name")
    if out.is_dir() and any(out.iterdir()):
        raise BadInputError(f"{printable(out.name)} holds files, and none is overwritten; give --out a new folder")


def _draft(sample: Sample) -> DraftSample:
    needed = {(entity.subject, entity.text) for entity in sample.query_related}
    entities = [
        DraftEntity(
            start=entity.start,
            end=entity.end,
            category=entity.category,
            subject=subject.id,
            needed=(subject.id, entity.text) in needed,
        )
        for subject in sample.subjects
        for entity in subject.entities
    ]
    return DraftSample(
        id=sample.id,
        subset=sample.subset,
        description=sample.description,
        query=sample.query,
        entities=tuple(sorted(entities, key=lambda entity: entity.start)),
    )
