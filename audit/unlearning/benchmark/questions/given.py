"""Questions made elsewhere, read for `clinaudit unlearn build --qa FILE` (docs/unlearning.md).

Owns what each line must hold. A problem is named by file, line and field, never by what stands there. Whether a
question may be asked is checked as for any other, and counted.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.unlearning.benchmark.questions.selection import Candidate
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS
from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.files import JSONL_ENDINGS, find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, is_encodable, iter_records

_ROLE: Final = "the questions"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_text, value)))


_TEXT: Final = (_is_text, "is missing, blank or not text")
_TEXTS: Final = (_are_texts, "is not a list of texts, none of them blank")
#: Field -> what its value must be, and what is said of one that is not.
_FIELDS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "patient_id": _TEXT,
    "kind": (lambda value: value in QUESTION_KINDS, f"is none of {', '.join(QUESTION_KINDS)}"),
    "holdout": (lambda value: isinstance(value, bool), "is neither true nor false"),
    "question": _TEXT,
    "answer": _TEXT,
    "facts": _TEXTS,
    "keywords": _TEXTS,
}


def read_given_questions(path: Path, patients: Mapping[str, str]) -> dict[str, list[Candidate]]:
    """Return the questions by patient id, both in file order; `patients` gives whom each id means.

    Raises `BadInputError` listing all problems: lines that are no question, patients whom the corpus does not have, and
    second lines of one question on a patient.
    """
    file = find_given_file(path, _ROLE, JSONL_ENDINGS)
    problems = Problems()
    found: dict[str, list[Candidate]] = {}
    first_rows: dict[tuple[str, str], int] = {}
    for row, record in iter_records(file, header=Header(tuple(_FIELDS)), problems=problems):
        faults = {field: what for field, (fits, what) in _FIELDS.items() if not fits(record.get(field))}
        for field in _FIELDS.keys() - faults.keys():
            value = record.get(field)
            texts = value if isinstance(value, list) else [value]
            if any(isinstance(text, str) and not is_encodable(text) for text in texts):
                faults[field] = NOT_UNICODE
        if "patient_id" not in faults and record["patient_id"] not in patients:
            faults["patient_id"] = "is no patient of the corpus who has notes"
        for field in _FIELDS:
            if field in faults:
                problems.add(file.name, faults[field], row=row, column=field)
        if faults:
            continue
        patient_id, question = patients[str(record["patient_id"])], str(record["question"]).strip()
        first = first_rows.setdefault((patient_id, question), row)
        if first != row:
            problems.add(file.name, f"asks the same patient the same as row {first}; keep one of them", row=row)
        facts, keywords = record.get("facts"), record.get("keywords")
        candidate = Candidate(
            about="given",
            kind="factual" if record["kind"] == "factual" else "reasoning",
            question=question,
            answer=str(record["answer"]).strip(),
            facts=_stripped(facts),
            is_holdout=record["holdout"] is True,
            keywords=None if keywords is None else _stripped(keywords),
        )
        found.setdefault(patient_id, []).append(candidate)
    if not found and not len(problems):
        problems.add(file.name, "has no rows")
    problems.raise_any(_ROLE)
    return found


def _stripped(texts: object) -> tuple[str, ...]:
    return tuple(str(text).strip() for text in texts) if isinstance(texts, list) else ()
