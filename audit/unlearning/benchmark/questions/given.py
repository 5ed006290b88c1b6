"""Questions made elsewhere, read for `clinaudit unlearn build --qa FILE` (docs/unlearning.md).

Owns what each line must hold. A problem is named by file, line and field, never by what stands there. Whether a
question may be asked is checked as for any other, and counted.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clinaudit.audit.unlearning.benchmark.questions.candidates import Candidate, rephrase
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, Question
from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.files import JSONL_ENDINGS, find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, Record, is_encodable, iter_records

QUESTION_FIELDS: Final = ("patient_id", "kind", "holdout", "question", "answer", "facts", "keywords")
_ROLE: Final = "the questions"
_NO_TEXT: Final = "is missing, blank or not text"
_NO_TEXTS: Final = "is not a list of texts, none of them blank"


@dataclass(frozen=True, slots=True)
class GivenQuestion:
    """One line of the file."""

    candidate: Candidate
    is_holdout: bool
    #: Terms of the patient's disease; None: they are read from note, question and answer.
    keywords: tuple[str, ...] | None


def read_given_questions(path: Path, patients: Mapping[str, str]) -> dict[str, list[GivenQuestion]]:
    """Return the questions by patient id, both in file order; `patients` gives whom each id means.

    Raises `BadInputError` listing all problems: lines that are no question, patients whom the corpus does not have, and
    second lines of one question on a patient.
    """
    file = find_given_file(path, _ROLE, JSONL_ENDINGS)
    problems = Problems()
    found: dict[str, list[GivenQuestion]] = {}
    first_rows: dict[tuple[object, object], int] = {}
    for row, record in iter_records(file, header=Header(QUESTION_FIELDS), problems=problems):
        faults = _faults(record, patients)
        for column, what in faults.items():
            problems.add(file.name, what, row=row, column=column)
        if faults:
            continue
        patient_id = patients[str(record["patient_id"])]
        first = first_rows.setdefault((patient_id, str(record["question"]).strip()), row)
        if first != row:
            problems.add(file.name, f"asks the same patient the same as row {first}; keep one of them", row=row)
        found.setdefault(patient_id, []).append(_question(record))
    if not found and not len(problems):
        problems.add(file.name, "has no rows")
    problems.raise_any(_ROLE)
    return found


def given_keywords(
    questions: Iterable[Question], given: Mapping[str, Sequence[GivenQuestion]]
) -> dict[str, tuple[str, ...]]:
    """Return the terms that a file gives to questions, by question id, rephrasings included."""
    terms = {
        (patient_id, one.candidate.wordings[0]): one.keywords
        for patient_id, held in given.items()
        for one in held
        if one.keywords is not None
    }
    found: dict[str, tuple[str, ...]] = {}
    for question in questions:
        own = terms.get((question.patient_id, question.question))
        if own is None and question.rephrased_from is not None:
            own = found.get(question.rephrased_from)
        if own is not None:
            found[question.qa_id] = own
    return found


def _faults(record: Record, patients: Container[str]) -> dict[str, str]:
    """Return what is wrong with each field of a line."""
    faults = {column: _NO_TEXT for column in ("patient_id", "question", "answer") if not _is_text(record.get(column))}
    if "patient_id" not in faults and record["patient_id"] not in patients:
        faults["patient_id"] = "is no patient of the corpus who has notes"
    if record.get("kind") not in QUESTION_KINDS:
        faults["kind"] = f"is none of {', '.join(QUESTION_KINDS)}"
    if not isinstance(record.get("holdout"), bool):
        faults["holdout"] = "is neither true nor false"
    if not _are_texts(record.get("facts")):
        faults["facts"] = _NO_TEXTS
    if record.get("keywords") is not None and not _are_texts(record["keywords"]):
        faults["keywords"] = _NO_TEXTS
    texts = [record.get(column) for column in QUESTION_FIELDS]
    for column, value in zip(QUESTION_FIELDS, texts, strict=True):
        held = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and not is_encodable(text) for text in held):
            faults.setdefault(column, NOT_UNICODE)
    return faults


def _question(record: Record) -> GivenQuestion:
    values: Mapping[str, str] = {name: str(record[name]).strip() for name in ("question", "answer")}
    kind = next(kind for kind in QUESTION_KINDS if kind == record["kind"])
    keywords = _texts(record["keywords"]) if record.get("keywords") is not None else None
    candidate = Candidate(
        about="given",
        kind=kind,
        wordings=(values["question"], *rephrase(values["question"])),
        answer=values["answer"],
        facts=_texts(record.get("facts")),
        note_ids=(),
        is_unique=True,
    )
    return GivenQuestion(candidate, record["holdout"] is True, keywords)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_text, value)))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(text).strip() for text in value) if isinstance(value, list) else ()
