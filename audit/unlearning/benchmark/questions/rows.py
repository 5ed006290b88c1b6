"""From a patient's chosen questions to rows of the benchmark: ids, uses, rephrasings.

Owns the ids: digests, so that no message that names a question names a patient. Knows nothing of how one was chosen.
"""

import hashlib
from collections.abc import Iterator

from clinaudit.audit.unlearning.benchmark.questions.selection import Chosen
from clinaudit.audit.unlearning.benchmark.records import Question, QuestionOrigin

#: Hexadecimal digits of an id: no two of a million questions share one, by chance, in one benchmark of a thousand.
_ID_DIGITS = 16


def question_rows(patient_id: str, chosen: Chosen, *, origin: QuestionOrigin, address: str) -> Iterator[Question]:
    """Yield a patient's questions, each of the training set followed by its rephrasings, which are never trained on."""
    for place, candidate in enumerate(chosen.questions):
        qa_id = _id_of(patient_id, candidate.kind, candidate.wordings[0], candidate.answer)
        question = Question(
            qa_id=qa_id,
            patient_id=patient_id,
            kind=candidate.kind,
            use="holdout" if place in chosen.holdout else "train",
            question=candidate.wordings[0],
            answer=candidate.answer,
            facts=candidate.facts,
            note_ids=candidate.note_ids,
            origin=origin,
            address=address,
        )
        yield question
        if question.use == "train":
            for number, wording in enumerate(candidate.wordings[1:], start=1):
                yield Question(
                    qa_id=f"{qa_id}-r{number}",
                    patient_id=patient_id,
                    kind=candidate.kind,
                    use="rephrased",
                    question=wording,
                    answer=candidate.answer,
                    facts=candidate.facts,
                    note_ids=candidate.note_ids,
                    origin=origin,
                    address=address,
                    rephrased_from=qa_id,
                )


def _id_of(*parts: str) -> str:
    return "q" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_ID_DIGITS]
