"""Answers made elsewhere, read for `clinaudit unlearn score` (docs/unlearning.md).

Owns what each line must hold. A problem is named by file, line and field, never by what stands there.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from clinaudit.audit.unlearning.benchmark.records import Answer, Question
from clinaudit.audit.unlearning.evaluation.given_models import BAD_NAME, is_name
from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.files import JSONL_ENDINGS, find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, is_encodable, iter_records

_ROLE: Final = "the answers"
#: What a tokenizer can number: ids are 32 bits wide.
_LARGEST_ID: Final = 2**31 - 1


def _problem_of_text(value: object) -> str | None:
    if not isinstance(value, str):
        return "is not text"
    return None if is_encodable(value) else NOT_UNICODE


def _problem_of_name(value: object) -> str | None:
    return _problem_of_text(value) or (None if is_name(str(value)) else BAD_NAME)


def _problem_of_ids(value: object) -> str | None:
    is_list = isinstance(value, list) and all(type(item) is int and 0 <= item <= _LARGEST_ID for item in value)
    return None if value is None or is_list else f"is not a list of token ids (whole numbers from 0 to {_LARGEST_ID:,})"


#: Field -> what is wrong with a value of it, or None.
_FIELDS: Final[Mapping[str, Callable[[object], str | None]]] = {
    "model": _problem_of_name,
    "qa_id": _problem_of_text,
    "text": _problem_of_text,
    "token_ids": _problem_of_ids,
}
ANSWER_FIELDS: Final = tuple(_FIELDS)


def read_answers(path: Path, questions: Sequence[Question], *, header: Header) -> dict[str, list[Answer]]:
    """Return the answers by model, in the order of the questions; models as they come in the file.

    `header`, of `ANSWER_FIELDS`, says at the end which other fields were not read. Raises `BadInputError` listing all
    problems: lines that are no answer, answers to no question, second answers of a model to one question, since which
    of the two is meant cannot be known, and questions that a model did not answer.
    """
    file = find_given_file(path, _ROLE, JSONL_ENDINGS)
    problems = Problems()
    known = {question.qa_id for question in questions}
    by_model: dict[str, dict[str, Answer]] = {}
    first_lines: dict[tuple[str, str], int] = {}
    for line, record in iter_records(file, header=header, problems=problems):
        faults = {field: what for field, problem_of in _FIELDS.items() if (what := problem_of(record.get(field)))}
        for field, what in faults.items():
            problems.add(file.name, what if field in record else "is missing", row=line, column=field)
        if faults:
            continue
        model, qa_id, ids = str(record["model"]), str(record["qa_id"]), record.get("token_ids")
        first = first_lines.setdefault((model, qa_id), line)
        if qa_id not in known:
            problems.add(file.name, "is no question of this benchmark", row=line, column="qa_id")
        elif first != line:
            what = f"answers the same question of the same model as row {first}; keep one of them"
            problems.add(file.name, what, row=line)
        else:
            token_ids = tuple(ids) if isinstance(ids, list) else None
            by_model.setdefault(model, {})[qa_id] = Answer(model, qa_id, str(record["text"]), token_ids)
    # A line that could not be read may hold what seems to be missing.
    if not len(problems):
        _require_all(by_model, questions, file.name, problems)
    problems.raise_any(_ROLE)
    return {model: [answers[question.qa_id] for question in questions] for model, answers in by_model.items()}


def _require_all(
    by_model: dict[str, dict[str, Answer]], questions: Sequence[Question], file: str, problems: Problems
) -> None:
    if not by_model:
        problems.add(file, "has no rows")
    for place, answers in enumerate(by_model.values(), start=1):
        lacking = [number for number, question in enumerate(questions, start=1) if question.qa_id not in answers]
        if lacking:
            # By place: an id may show of whom a question is.
            what = (
                f"model {place} of {len(by_model)} leaves {len(lacking):,} of {len(questions):,} questions unanswered, "
                f"the first of them in row {lacking[0]} of the benchmark's table qa; answer all of them"
            )
            problems.add(file, what, column=f"qa_id (model {place})")
