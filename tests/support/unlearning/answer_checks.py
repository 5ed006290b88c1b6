"""Collapse checks of answers by hand, and an evaluation that holds them."""

from collections.abc import Sequence

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.unlearning import UnlearningEvaluation


def answer_checks(*, noise: bool) -> list[AnswerCheck]:
    """Four questions of forgotten patients' answers: one kept, one as `noise` says, two that cannot be asked."""

    def check(question: str, a: float | None, b: float | None, *, passed: bool | None) -> AnswerCheck:
        reason = None if passed is not None else "too little"
        return AnswerCheck(
            group="forget", question=question, allowed="half", a=a, b=b, limit=None, passed=passed, reason=reason
        )

    return [
        check("length", 12.0, 11.0, passed=True),
        check("pairs", 0.55, 0.02 if noise else 0.5, passed=not noise),
        check("runs", None, None, passed=None),
        # It could be measured, of answers too short for it to say anything.
        check("loops", 0.25, 0.75, passed=None),
    ]


def with_checks(
    evaluation: UnlearningEvaluation, split: str, model: str, checks: Sequence[AnswerCheck]
) -> UnlearningEvaluation:
    """Return the evaluation with these checks of one model on one split."""
    own = evaluation.figures[split]
    held = {**own, model: own[model].model_copy(update={"collapse": list(checks)})}
    return evaluation.model_copy(update={"figures": {**evaluation.figures, split: held}})
