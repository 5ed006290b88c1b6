"""One question of the collapse check of answers, as documents and pages hold it (docs/unlearning.md).

Figures of groups alone: no text and no id.
"""

from clinaudit.reports.schema.record import Record


class AnswerCheck(Record):
    """Whether a group's answers still read as those of the model before (A), by one measure."""

    #: `forget`, `retain` or `never_trained`.
    group: str
    question: str
    #: What the model after (B) may be at most, or must be at least, in words.
    allowed: str
    #: Null where there is too little text for it.
    a: float | None
    b: float | None
    limit: float | None
    #: Null: it could not be asked, which is no pass.
    passed: bool | None
    reason: str | None = None
