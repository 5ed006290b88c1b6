"""The verdict of a judge on one text and one diagnosis, when it is valid, and why there may be none.

Owns the verdict, its validity (paper, Appendix C; docs/methods.md, section 5) and its row in `judgements.parquet`.
Knows no particular judge.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    """What a judge reads of a diagnosis in a text, or why it reads nothing; every span is a verbatim substring.

    Examples: `Verdict(True, "negative", ("depression",))`, `Verdict(None, attempts=2, invalid_reason="no answer")`.
    """

    #: None: the text is unjudged, which is never negative.
    diagnosis_mentioned: bool | None
    patient_has_diagnosis: PatientStatus | None = None
    diagnosis_spans: tuple[str, ...] = ()
    symptom_spans: tuple[str, ...] = ()
    medication_spans: tuple[str, ...] = ()
    #: What implies the diagnosis without naming it, a symptom or a drug.
    evidence_spans: tuple[str, ...] = ()
    #: How many times the judge was asked.
    attempts: int = 1
    #: Why the last answer could not be used; None where one was.
    invalid_reason: str | None = None
    #: As the lexicon judge reads it, and in no row: the text asks whether the patient has it ("?PTSD"); a name or a
    #: code of it, not a symptom or a drug alone, is the patient's.
    is_queried: bool = False
    is_named: bool = False

    @property
    def spans(self) -> tuple[str, ...]:
        """All spans: names, then symptoms, medications, and what else is evidence."""
        return self.diagnosis_spans + self.symptom_spans + self.medication_spans + self.evidence_spans


def verdict_problem(verdict: Verdict, text: str) -> str | None:
    """Return why a judged text's verdict cannot be used for `text`, or None; the reason holds no note text."""
    if verdict.diagnosis_mentioned != (verdict.patient_has_diagnosis is not None):
        return "mentioned, but without a status" if verdict.diagnosis_mentioned else "not mentioned, but with a status"
    if verdict.diagnosis_mentioned != bool(verdict.spans):
        return "mentioned, but without a span" if verdict.diagnosis_mentioned else "not mentioned, but with spans"
    if verdict.patient_has_diagnosis not in (None, *get_args(PatientStatus)):
        return "the status is none of positive, negative, ambiguous"
    return spans_problem({kind: getattr(verdict, kind) for kind in SPAN_FIELDS}, [text])


class Judge(Protocol):
    """Anything that can judge texts."""

    name: str

    def identity(self) -> dict[str, str]:
        """Return what identifies this judge: kind, version, digests. It goes into `run.json`."""

    def judge_many(self, items: Sequence[tuple[str, Diagnosis]]) -> Iterator[Verdict]:
        """Yield one verdict for each (text, diagnosis), in order."""


def spans_problem(spans: Mapping[str, Sequence[str]], texts: Sequence[str]) -> str | None:
    """Return what is wrong with the first of the spans, by kind, that is no valid quotation from `texts`, or None."""
    for kind, span in ((kind, span) for kind, of_kind in spans.items() for span in dict.fromkeys(of_kind)):
        bare = span.strip()
        if not bare:
            return f"{kind} holds an empty span"
        if not any(span in text for text in texts):
            return f"{kind} holds a span that is {'not in the text' if len(texts) == 1 else 'in none of the notes'}"
        if len(bare) < _LEAST_SPAN_CHARS or not any(map(str.isalnum, span)):
            return f"{kind} holds a span that tells nothing"
        before, after = r"(?<![^\W_])" * bare[0].isalnum(), r"(?![^\W_])" * bare[-1].isalnum()
        if len(bare) < _LEAST_PART_CHARS and not any(re.search(before + re.escape(bare) + after, one) for one in texts):
            return f"{kind} holds a span that is a piece of a word"
    return None


#: The outcome in a row of `judgements.parquet`; without a verdict it is `unjudged` (missing), never negative.
OUTCOME: Final = pl.coalesce(
    "patient_has_diagnosis",
    pl.when(pl.col("diagnosis_mentioned").is_null()).then(pl.lit("unjudged")).otherwise(pl.lit("not_mentioned")),
)


def to_row(verdict: Verdict, judge: str) -> dict[str, object]:
    """Return the fields of `judgements.parquet` after generation and diagnosis; an unjudged text's spans are null."""
    stated = ("diagnosis_mentioned", "patient_has_diagnosis", "attempts", "invalid_reason")
    is_judged = verdict.diagnosis_mentioned is not None
    spans = {kind: list(getattr(verdict, kind)) if is_judged else None for kind in SPAN_FIELDS}
    return {name: getattr(verdict, name) for name in stated} | spans | {"judge": judge}
