"""The judge that settings choose, scored alone, outside an audit (`clinaudit judge-check`).

Owns the document that holds its metrics. Knows no policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.measures.judge.ledger import MemoryLedger
from clinaudit.audit.measures.judge.scoring.judge_score import score_judge
from clinaudit.audit.measures.judge.scoring.labelled_texts import LabelledSet, load_labelled_set
from clinaudit.audit.measures.judge.selection import cache_answers, make_judge, require_no_endpoint
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.served.answer_cache import open_cache_file, open_memory_cache
from clinaudit.audit.runtime.settings import AuditSettings
from clinaudit.priors.diagnoses import load_panel
from clinaudit.reports.schema.disclosure import Outcome
from clinaudit.reports.schema.judge import MeasuredJudge


@dataclass(frozen=True, slots=True)
class CheckedJudge:
    """A scored judge."""

    quality: MeasuredJudge
    labelled: LabelledSet
    #: The judge's verdict on each labelled text, in order.
    outcomes: Sequence[Outcome]
    #: What identifies this judge: kind, version, digests.
    identity: Mapping[str, str]


def check_chosen_judge(settings: AuditSettings, *, answers: Path | None, progress: Progress) -> CheckedJudge:
    """Score the judge of the settings; the answers of a served judge are cached in the file `answers`, if given."""
    panel = load_panel(settings.diagnoses)
    labelled = load_labelled_set(settings.judge_labels, panel)
    # The settings may be those of an audit with two judges.
    require_no_endpoint(settings)
    judge = make_judge(settings.judge, settings, panel=panel, seed=settings.seed)
    keep_in = open_memory_cache() if answers is None else open_cache_file(answers)
    with cache_answers([judge], progress, keep_in=keep_in):
        quality, outcomes = score_judge(judge, labelled, MemoryLedger(), progress, seed=settings.seed)
    return CheckedJudge(quality, labelled, outcomes, judge.identity())


def describe_check(checked: CheckedJudge, *, complaint: str | None) -> dict[str, object]:
    """Return what `judge-check --out` writes: metrics, and the label and verdict of each text, in order; no text.

    `complaint`: why the policy does not accept the judge; None where it does.
    """
    return {
        **checked.quality.model_dump(mode="json", exclude={"second"}),
        "identity": dict(checked.identity),
        "labels_digest": checked.labelled.digest,
        "accepted": complaint is None,
        "reason": complaint,
        "items": [
            {"diagnosis": text.diagnosis.id, "label": text.verdict, "verdict": outcome}
            for text, outcome in zip(checked.labelled.texts, checked.outcomes, strict=True)
        ],
    }
