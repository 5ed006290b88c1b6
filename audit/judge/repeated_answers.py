"""One result of several answers to the same question: what two of the usable ones share (docs/methods.md, section 5).

Owns this rule, for verdicts and for annotations. Knows nothing of how the answers came about, nor how many of all
questions were answered alike.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Final, TypeVar

from clinaudit.audit.choices import JudgeDecoding
from clinaudit.audit.judge.annotation import Annotation
from clinaudit.audit.judge.annotation_prompt import unknown_annotations
from clinaudit.audit.judge.verdict import NO_MAJORITY, Judgement, kind_of_reason
from clinaudit.priors.diagnoses import Diagnosis

#: How many answers each question is asked for. Two of three may be alike by chance, three hardly all differ [choice].
ANSWERS_EACH: Final[dict[JudgeDecoding, int]] = {"deterministic": 1, "provider-default": 3}
_MAJORITY: Final = 2
_TOO_FEW: Final = "of three answers at most one could be used"
Class = TypeVar("Class", bound=Hashable)


def join_judgements(answers: Sequence[Judgement]) -> Judgement:
    """Return the judgement of several answers: the first one of those two that share a class.

    Otherwise there is none. Where at most one answer can be used, the reason is what the others have in common. A
    question that was asked once has the one judgement.
    """
    if len(answers) == 1:
        return answers[0]
    outcomes = tuple(answer.outcome for answer in answers)
    attempts = sum(answer.attempts for answer in answers)
    shared = _shared([outcome for outcome in outcomes if outcome != "unjudged"])
    for answer in answers:
        if answer.verdict is not None and answer.outcome == shared:
            return Judgement(answer.verdict, answer.judge, attempts, None, outcomes)
    reasons = [answer.invalid_reason or "" for answer in answers if answer.verdict is None]
    reason = NO_MAJORITY
    if len(answers) - len(reasons) < _MAJORITY:
        kind = _shared([kind_of_reason(reason) for reason in reasons])
        reason = next((reason for reason in reasons if kind_of_reason(reason) == kind), _TOO_FEW)
    return Judgement(None, answers[0].judge, attempts, reason, outcomes)


def join_annotations(answers: Sequence[list[Annotation] | None], panel: Sequence[Diagnosis]) -> list[Annotation]:
    """Return the annotations of one patient from several answers, None being one that cannot be used.

    Of each diagnosis by itself: the first of those two that agree on whether it is present, absent or unknown.
    """
    usable = [answer for answer in answers if answer is not None]
    if len(answers) == len(usable) == 1:
        return usable[0]
    return [
        _join([answer[place] for answer in usable]) or unknown
        for place, unknown in enumerate(unknown_annotations(panel))
    ]


def _join(rows: Sequence[Annotation]) -> Annotation | None:
    # In words: unknown is a class, too.
    shared = _shared([str(row.present) for row in rows])
    return next((row for row in rows if str(row.present) == shared), None)


def _shared(classes: Sequence[Class]) -> Class | None:
    """Return the class that two share; of three there is at most one."""
    return next((value for value, count in Counter(classes).items() if count >= _MAJORITY), None)
