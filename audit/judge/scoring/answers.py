"""What a judge answered to a set of questions: verdicts, why there is none, and how alike several answers are.

Owns these counts. Knows nothing of what is true of the texts.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from clinaudit.audit.judge.ledger import Inquiry, Judgements
from clinaudit.audit.judge.verdict import Judgement, kind_of_reason
from clinaudit.audit.statistics.agreement import measure_alpha
from clinaudit.reports.exact.judge import AnswerCounts
from clinaudit.reports.schema.judge import ANSWER_CELLS, VERDICT_CLASSES


def count_answers(inquiries: Sequence[Inquiry], judgements: Judgements, *, seed: int) -> AnswerCounts:
    """Return what was answered to the inquiries; `seed` is that of the bootstrap of the agreement.

    A text that was judged without asking (an empty one) is unanimous, and in no agreement.
    """
    asked = [judgements[inquiry.key, inquiry.diagnosis.id] for inquiry in inquiries]
    cells = Counter(map(_cell_of, asked))
    several = [judgement.answers for judgement in asked if judgement.answers]
    ratings = np.array([[answers.count(verdict) for verdict in VERDICT_CLASSES] for answers in several])
    return AnswerCounts(
        answers_each=max(map(len, several), default=1),
        **{cell: cells[cell] for cell in ANSWER_CELLS},
        alpha=measure_alpha(ratings, seed=seed) if several else None,
    )


def _cell_of(judgement: Judgement) -> str:
    if judgement.verdict is None:
        return kind_of_reason(judgement.invalid_reason or "")
    return "unanimous" if len(set(judgement.answers)) <= 1 else "majority"
