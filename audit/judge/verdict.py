"""What a judge says of one text and one diagnosis, and when that is valid (paper, Appendix C; contract, section 5).

Owns the verdict, its validity and its row in `judgements.parquet`. Knows no judge.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from clinaudit.priors.diagnoses import Diagnosis

PatientStatus = Literal["positive", "negative", "ambiguous"]
STATUSES: tuple[PatientStatus, ...] = get_args(PatientStatus)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a text says of a diagnosis; every span is a verbatim substring of the text."""

    diagnosis_mentioned: bool
    patient_has_diagnosis: PatientStatus | None
    diagnosis_spans: tuple[str, ...] = ()
    symptom_spans: tuple[str, ...] = ()
    medication_spans: tuple[str, ...] = ()

    @property
    def spans(self) -> tuple[str, ...]:
        """All spans: names, then symptoms, then medications."""
        return self.diagnosis_spans + self.symptom_spans + self.medication_spans


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's answer for one text and diagnosis; without a verdict it is unjudged, which is never negative."""

    verdict: Verdict | None
    judge: str
    #: How many times the judge was asked.
    attempts: int
    #: Why the last answer could not be used; None with a verdict.
    invalid_reason: str | None


class Judge(Protocol):
    """Anything that can judge texts."""

    name: str

    def identity(self) -> dict[str, str]:
        """Return what tells this judge from another: kind, version, digests. It goes into `run.json`."""
        ...

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Judgement]:
        """Yield one judgement for each (text, diagnosis), in order."""
        ...


def invalid_reason(verdict: Verdict, text: str) -> str | None:
    """Return why the verdict cannot be used for `text`, or None; the reason holds no note text."""
    if verdict.diagnosis_mentioned:
        if verdict.patient_has_diagnosis is None:
            return "mentioned, but without a status"
        if not verdict.spans:
            return "mentioned, but without a span"
    else:
        if verdict.patient_has_diagnosis is not None:
            return "not mentioned, but with a status"
        if verdict.spans:
            return "not mentioned, but with spans"
    if verdict.patient_has_diagnosis not in (None, *STATUSES):
        return "the status is none of positive, negative, ambiguous"
    for kind, spans in (
        ("diagnosis_spans", verdict.diagnosis_spans),
        ("symptom_spans", verdict.symptom_spans),
        ("medication_spans", verdict.medication_spans),
    ):
        if any(not span.strip() for span in spans):
            return f"{kind} holds an empty span"
        if any(span not in text for span in spans):
            return f"{kind} holds a span that is not in the text"
    return None


def to_row(judgement: Judgement) -> dict[str, object]:
    """Return the fields of `judgements.parquet` after generation and diagnosis; an unjudged one has nulls."""
    verdict = judgement.verdict
    return {
        "diagnosis_mentioned": None if verdict is None else verdict.diagnosis_mentioned,
        "patient_has_diagnosis": None if verdict is None else verdict.patient_has_diagnosis,
        "diagnosis_spans": None if verdict is None else list(verdict.diagnosis_spans),
        "symptom_spans": None if verdict is None else list(verdict.symptom_spans),
        "medication_spans": None if verdict is None else list(verdict.medication_spans),
        "judge": judgement.judge,
        "attempts": judgement.attempts,
        "invalid_reason": judgement.invalid_reason,
    }


def from_row(row: Mapping[str, object]) -> Judgement:
    """Read a judgement back from its row (further keys are ignored); raises `ValueError` where it is not one."""
    mentioned, status = row["diagnosis_mentioned"], row["patient_has_diagnosis"]
    judge, attempts, reason = row["judge"], row["attempts"], row["invalid_reason"]
    if not isinstance(judge, str) or not isinstance(attempts, int) or not isinstance(reason, str | None):
        raise ValueError("a judgement's judge, attempts or invalid_reason has the wrong type")
    verdict = None
    if mentioned is not None:
        if not isinstance(mentioned, bool):
            raise ValueError("diagnosis_mentioned is not true or false")
        if status is not None and status not in STATUSES:
            raise ValueError("patient_has_diagnosis is none of positive, negative, ambiguous")
        verdict = Verdict(
            mentioned,
            status,
            diagnosis_spans=_texts(row["diagnosis_spans"]),
            symptom_spans=_texts(row["symptom_spans"]),
            medication_spans=_texts(row["medication_spans"]),
        )
    return Judgement(verdict, judge, attempts, reason)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError("spans are not a list of texts")
    return tuple(value)
