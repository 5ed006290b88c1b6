"""What two or more reviews give: how far they agree, the corrected samples, and those that stay open.

Owns the files and what they hold. `samples.jsonl` and `unresolved.jsonl` together hold every sample.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.benchmark.samples.sample import Sample
from clinaudit.audit.pii.review.agreement import AgreementReport, group_reviews
from clinaudit.audit.pii.review.majority import resolve_sample
from clinaudit.audit.pii.review.page import require_new_place
from clinaudit.audit.pii.review.review_file import Review
from clinaudit.audit.pii.review.sample_file import SampleFile, samples_text
from clinaudit.audit.run.durable_files import making_folder, write_atomically
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.results import round_floats

AGREEMENT: Final = "agreement.json"
CORRECTED: Final = "samples.jsonl"
UNRESOLVED: Final = "unresolved.jsonl"


class OpenSample(Record):
    """A sample without a majority in everything, and why, by place."""

    id: str
    reasons: list[str]


class Outcome(Record):
    """What became of every sample."""

    #: Of them some as they were, some corrected; together `samples.jsonl`.
    as_they_were: int
    corrected: list[str]
    #: In `unresolved.jsonl`, as they were before the review.
    unresolved: list[OpenSample]


def write_agreement(report: AgreementReport, path: Path) -> None:
    """Write the agreement alone to the new file `path`, mode 0600."""
    require_new_place(path)
    write_atomically(path, _json({"agreement": report.model_dump(mode="json")}))


def write_outcome(
    file: SampleFile,
    reviews: Sequence[Review],
    report: AgreementReport,
    out: Path,
    *,
    check: Callable[[Sample], list[str]],
) -> Outcome:
    """Write agreement.json, samples.jsonl and unresolved.jsonl to the new or empty folder `out`, mode 0700."""
    require_new_place(out)
    by_sample = group_reviews(reviews)
    resolved = {
        key: resolve_sample(sample, by_sample.get(key, ()), check=check) for key, sample in file.samples.items()
    }
    settled = {key: each for key, each in resolved.items() if not each.open}
    outcome = Outcome(
        as_they_were=sum(not each.is_changed for each in settled.values()),
        corrected=[key for key, each in settled.items() if each.is_changed],
        unresolved=[OpenSample(id=key, reasons=list(each.open)) for key, each in resolved.items() if each.open],
    )
    document = {"agreement": report.model_dump(mode="json"), "outcome": outcome.model_dump(mode="json")}
    with making_folder(out) as folder:
        write_atomically(folder / CORRECTED, samples_text([each.sample for each in settled.values()]))
        write_atomically(folder / UNRESOLVED, samples_text([each.sample for each in resolved.values() if each.open]))
        write_atomically(folder / AGREEMENT, _json(document))
    return outcome


def _json(document: object) -> str:
    return json.dumps(round_floats(document), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
