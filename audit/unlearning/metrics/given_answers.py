"""Answers made elsewhere, read for `clinaudit unlearn score` (docs/unlearning-scores.md).

Owns what each line must hold, and that every model answers every question once. A problem is named by file, line and
field, never by what stands there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from clinaudit.audit.unlearning.benchmark.records import Answer, Question
from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.files import FILE_ENDINGS, find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, Record, is_encodable, iter_records

ANSWER_FIELDS: Final = ("model", "qa_id", "text", "token_ids")
_ROLE: Final = "the answers"
_JSONL: Final = {ending: kind for ending, kind in FILE_ENDINGS.items() if kind[0] == "jsonl"}
#: Longest name of a model: it stands in tables.
_LONGEST_NAME_CHARS: Final = 200
#: What a tokenizer can number: ids are 32 bits wide.
_LARGEST_ID: Final = 2**31 - 1


def read_answers(path: Path, questions: Sequence[Question], *, header: Header) -> dict[str, list[Answer]]:
    """Return the answers by model, in the order of the questions; models as they come in the file.

    `header`, of `ANSWER_FIELDS`, says at the end which other fields were not read. Raises `BadInputError` listing all
    problems: lines that are no answer, answers to no question, second answers of a model to one question, since which
    of the two is meant cannot be known, and questions that a model did not answer.
    """
    file = find_given_file(path, _ROLE, _JSONL)
    problems = Problems()
    known = {question.qa_id for question in questions}
    by_model: dict[str, dict[str, Answer]] = {}
    first_lines: dict[tuple[str, str], int] = {}
    for line, record in iter_records(file, header=header, problems=problems):
        answer = _read_answer(record, file.name, line, problems)
        if answer is None:
            continue
        if answer.qa_id not in known:
            problems.add(file.name, "is no question of this benchmark", row=line, column="qa_id")
        elif first_lines.setdefault((answer.model, answer.qa_id), line) != line:
            first = first_lines[answer.model, answer.qa_id]
            what = f"answers the same question of the same model as row {first}; keep one of them"
            problems.add(file.name, what, row=line)
        else:
            by_model.setdefault(answer.model, {})[answer.qa_id] = answer
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
            # By place: an id may tell of whom a question is.
            what = (
                f"model {place} of {len(by_model)} leaves {len(lacking):,} of {len(questions):,} questions unanswered, "
                f"the first of them in row {lacking[0]} of the benchmark's table qa; answer all of them"
            )
            problems.add(file, what, column=f"qa_id (model {place})")


def _read_answer(record: Record, file: str, line: int, problems: Problems) -> Answer | None:
    """Return the answer of one line; None where a field is wrong, which is then a problem."""
    found = {
        field: what
        for field, what in (
            ("model", _problem_of_name(record.get("model"))),
            ("qa_id", _problem_of_text(record.get("qa_id"))),
            ("text", _problem_of_text(record.get("text"))),
            ("token_ids", _problem_of_ids(record.get("token_ids"))),
        )
        if what
    }
    for field, what in found.items():
        problems.add(file, what if field in record else "is missing", row=line, column=field)
    if found:
        return None
    ids = record.get("token_ids")
    return Answer(
        model=str(record["model"]),
        qa_id=str(record["qa_id"]),
        text=str(record["text"]),
        token_ids=tuple(ids) if isinstance(ids, list) else None,
    )


def _problem_of_text(value: object) -> str | None:
    if not isinstance(value, str):
        return "is not text"
    return None if is_encodable(value) else NOT_UNICODE


def _problem_of_name(value: object) -> str | None:
    if not isinstance(value, str) or not is_encodable(value):
        return "is not text"
    if not value.strip() or len(value) > _LONGEST_NAME_CHARS or not value.isprintable():
        return f"is blank, longer than {_LONGEST_NAME_CHARS} characters, or holds one that cannot be printed"
    return None


def _problem_of_ids(value: object) -> str | None:
    if value is None or (isinstance(value, list) and all(_is_id(item) for item in value)):
        return None
    return f"is not a list of token ids (whole numbers from 0 to {_LARGEST_ID:,})"


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST_ID
