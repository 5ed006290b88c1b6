"""A judge that settings choose, scored by itself, outside an audit (`clinaudit judge-check`).

Owns what is made of the judge's settings, and the document that holds the scores. Knows no policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.judge.ledger import MemoryLedger
from clinaudit.audit.judge.scoring.judge_score import score_judge
from clinaudit.audit.judge.scoring.labelled_texts import LabelledSet, load_labelled_set
from clinaudit.audit.judge.selection import make_judge, remember_answers, require_no_endpoint
from clinaudit.audit.served.answer_cache import open_cache_file, open_memory_cache
from clinaudit.audit.settings import AuditSettings
from clinaudit.priors.diagnoses import load_panel
from clinaudit.reports.schema.judge import JudgeQuality, Outcome


@dataclass(frozen=True, slots=True)
class CheckedJudge:
    """What scoring a judge came to."""

    quality: JudgeQuality
    labelled: LabelledSet
    #: The judge's verdict on each labelled text, in order.
    outcomes: Sequence[Outcome]
    #: What tells this judge from another.
    identity: Mapping[str, str]


def check_chosen_judge(settings: AuditSettings, *, answers: Path | None, progress: Progress) -> CheckedJudge:
    """Score the judge of the settings; what a served one answers is kept in the file `answers`, where one is given."""
    panel = load_panel(settings.diagnoses)
    labelled = load_labelled_set(settings.judge_labels, panel)
    endpoint = settings.judge_endpoint
    # The settings may be those of an audit whose second judge is the served one.
    if "openai" not in (settings.judge, settings.second_judge):
        require_no_endpoint(endpoint)
    judge = make_judge(settings.judge, endpoint, panel=panel, approved_hosts=settings.phi_approved, seed=settings.seed)
    keep_in = open_memory_cache() if answers is None else open_cache_file(answers)
    with remember_answers([judge], progress, price=settings.judge_price, keep_in=keep_in):
        quality, outcomes = score_judge(judge, labelled, MemoryLedger(), progress, seed=settings.seed)
    return CheckedJudge(quality, labelled, outcomes, judge.identity())


def describe_check(checked: CheckedJudge, *, complaint: str | None) -> dict[str, object]:
    """Return what `judge-check --out` writes: figures, and the label and verdict of each text, in order; no text."""
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
