"""The verdict of a judge on one text and one diagnosis, when it is valid, and why there may be none.

Owns the verdict, its validity (paper, Appendix C; docs/methods.md, section 5) and its row in `judgements.parquet`.
Knows no particular judge.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal, Protocol, get_args

import polars as pl

from clinaudit.priors.diagnoses import Diagnosis

PatientStatus = Literal["positive", "negative", "ambiguous"]
#: A verdict's lists of spans, in the order of its row.
SPAN_FIELDS: Final = ("diagnosis_spans", "symptom_spans", "medication_spans", "evidence_spans")
#: The shortest spans that are evidence (SI) [choice]: single characters stand in every text.
_LEAST_SPAN_CHARS = 2
#: Spans shorter than this must be whole words: as parts of words they stand in most texts.
_LEAST_PART_CHARS = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a text says of a diagnosis; every span is a verbatim substring of the text."""

    diagnosis_mentioned: bool
    patient_has_diagnosis: PatientStatus | None
    diagnosis_spans: tuple[str, ...] = ()
    symptom_spans: tuple[str, ...] = ()
    medication_spans: tuple[str, ...] = ()
    #: What implies the diagnosis without naming it, a symptom or a drug.
    evidence_spans: tuple[str, ...] = ()

    @property
    def spans(self) -> tuple[str, ...]:
        """All spans: names, then symptoms, medications, and what else is evidence."""
        return self.diagnosis_spans + self.symptom_spans + self.medication_spans + self.evidence_spans


def invalid_reason(verdict: Verdict, text: str) -> str | None:
    """Return why the verdict cannot be used for `text`, or None; the reason holds no note text."""
    if verdict.diagnosis_mentioned != (verdict.patient_has_diagnosis is not None):
        return "mentioned, but without a status" if verdict.diagnosis_mentioned else "not mentioned, but with a status"
    if verdict.diagnosis_mentioned != bool(verdict.spans):
        return "mentioned, but without a span" if verdict.diagnosis_mentioned else "not mentioned, but with spans"
    if verdict.patient_has_diagnosis not in (None, *get_args(PatientStatus)):
        return "the status is none of positive, negative, ambiguous"
    problems = ((kind, spans_problem(getattr(verdict, kind), [text])) for kind in SPAN_FIELDS)
    return next((f"{kind} holds {problem}" for kind, problem in problems if problem is not None), None)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's result for one text and diagnosis; without a verdict the text is unjudged, which is never negative."""

    verdict: Verdict | None
    judge: str
    #: How many times the judge was asked.
    attempts: int
    #: Why the last answer could not be used; None with a verdict.
    invalid_reason: str | None
    #: The text asks whether the patient has it ("?PTSD"), as the lexicon judge reads it; stands in no row.
    is_queried: bool = False
    #: A name or a code, not a symptom or a drug alone, is the patient's, as the lexicon judge reads it.
    is_named: bool = False


class Judge(Protocol):
    """Anything that can judge texts."""

    name: str

    def identity(self) -> dict[str, str]:
        """Return what identifies this judge: kind, version, digests. It goes into `run.json`."""

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Judgement]:
        """Yield one judgement for each (text, diagnosis), in order."""


def spans_problem(spans: Sequence[str], texts: Sequence[str]) -> str | None:
    """Return what is wrong with the first invalid one of `spans` as a quotation from `texts`, or None."""
    for span in dict.fromkeys(spans):
        bare = span.strip()
        if not bare:
            return "an empty span"
        if not any(span in text for text in texts):
            return "a span that is not in the text" if len(texts) == 1 else "a span that is in none of the notes"
        if len(bare) < _LEAST_SPAN_CHARS or not any(map(str.isalnum, span)):
            return "a span that tells nothing"
        before, after = r"(?<![^\W_])" * bare[0].isalnum(), r"(?![^\W_])" * bare[-1].isalnum()
        if len(bare) < _LEAST_PART_CHARS and not any(re.search(before + re.escape(bare) + after, one) for one in texts):
            return "a span that is a piece of a word"
    return None


#: The outcome in a row of `judgements.parquet`; without a verdict it is `unjudged` (missing), never negative.
OUTCOME: Final = (
    pl.when(pl.col("diagnosis_mentioned").is_null())
    .then(pl.lit("unjudged"))
    .when(~pl.col("diagnosis_mentioned"))
    .then(pl.lit("not_mentioned"))
    .otherwise("patient_has_diagnosis")
)


def to_row(judgement: Judgement) -> dict[str, object]:
    """Return the fields of `judgements.parquet` after generation and diagnosis; null where there is no verdict."""
    row = {field.name: getattr(judgement.verdict, field.name, None) for field in fields(Verdict)}
    row |= {name: getattr(judgement, name) for name in ("judge", "attempts", "invalid_reason")}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}
