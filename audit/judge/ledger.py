"""Putting questions to a judge, each answer remembered as it comes and none taken at its word.

Owns which questions are still open, and the check of each answer. Knows nothing of where answers are kept, nor of what
the texts are: generations, labelled texts and planted injections are asked about in the same way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.judge.verdict import Judge, Judgement, invalid_reason
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.reports.schema.judge import Outcome

Judgements = Mapping[tuple[str, str], Judgement]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What does this text say of the diagnosis? `key` and the diagnosis's id tell questions apart."""

    key: str
    text: str
    diagnosis: Diagnosis


class Ledger(Protocol):
    """Where answers are kept; a run's store is one."""

    def judgements(self) -> dict[tuple[str, str], Judgement]:
        """Return all answers by key and diagnosis."""
        ...

    def add_judgement(self, generation_id: str, diagnosis: str, judgement: Judgement) -> None:
        """Keep one answer."""
        ...


class MemoryLedger:
    """A ledger that ends with the process."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str], Judgement] = {}

    def judgements(self) -> dict[tuple[str, str], Judgement]:
        """Return all answers by key and diagnosis."""
        return dict(self._answers)

    def add_judgement(self, generation_id: str, diagnosis: str, judgement: Judgement) -> None:
        """Keep one answer."""
        self._answers[generation_id, diagnosis] = judgement


def ask_judge(
    judge: Judge, questions: Sequence[Inquiry], ledger: Ledger, progress: Progress, *, stage: str
) -> Judgements:
    """Put the open questions to the judge, keep each answer as it comes, and return every answer kept."""
    finished = ledger.judgements()
    pending = [question for question in questions if (question.key, question.diagnosis.id) not in finished]
    items = [(question.text, question.diagnosis) for question in pending]
    done = len(questions) - len(pending)
    with progress.stage(stage, total=len(questions), unit="verdicts", done=done) as advance:
        for question, judgement in zip(pending, judge.judge_many(items), strict=True):
            ledger.add_judgement(question.key, question.diagnosis.id, _checked(judgement, question.text))
            advance(1)
    return ledger.judgements()


def outcome_of(judgement: Judgement) -> Outcome:
    """Return what a judgement says of the patient; without a verdict it is `unjudged`, never negative."""
    if judgement.verdict is None:
        return "unjudged"
    return judgement.verdict.patient_has_diagnosis or "not_mentioned"


def _checked(judgement: Judgement, text: str) -> Judgement:
    """Return the judgement, without its verdict where that cannot be used: no judge is taken at its word."""
    reason = invalid_reason(judgement.verdict, text) if judgement.verdict is not None else None
    return judgement if reason is None else replace(judgement, verdict=None, invalid_reason=reason)
