"""Samples and predictions read from files for `clinaudit pii score` (docs/pii-scores.md).

Owns what each row must hold. Of a sample no more is read than what scores compare: its entities' texts and types, and
the texts that its question needs. A problem is named by file, row and field, never by what stands there. Both files
are read a row at a time; a prediction is scored and let go.
"""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final, TypeVar

from clinaudit.audit.pii.benchmark.samples.sample import PredictedEntity, PredictedSubject, Prediction
from clinaudit.audit.pii.benchmark.scoring.gold_answers import GoldAnswers, gold_answers
from clinaudit.audit.pii.benchmark.scoring.matching import comparable_text
from clinaudit.audit.pii.taxonomy import PII_TYPES
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.cells import NOT_UNICODE, CellError
from clinaudit.priors.corpus.files import FILE_ENDINGS, DataFile, find_file, printable
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.problems import Problems
from clinaudit.priors.corpus.records import Record, is_encodable, iter_records

Value = TypeVar("Value")
_SAMPLES: Final = "the samples"
_PREDICTIONS: Final = "the predictions"
_SAMPLE_FIELDS: Final = ("id", "subset", "subjects", "query_related")
PREDICTION_FIELDS: Final = ("sample", "system", "subjects", "query_related", "masked")
_JSONL: Final = {ending: kind for ending, kind in FILE_ENDINGS.items() if kind[0] == "jsonl"}
#: Longest name of a system or sample: it stands in tables.
_LONGEST_NAME_CHARS: Final = 200


def read_gold_answers(path: Path) -> list[GoldAnswers]:
    """Return what the samples of a file expect, in file order; raises `BadInputError` listing all problems."""
    file = _find(path, _SAMPLES)
    problems = Problems()
    answers: list[GoldAnswers] = []
    first_rows: dict[str, int] = {}
    for row, record in iter_records(file, header=Header(_SAMPLE_FIELDS), problems=problems):
        cells = _Cells(file.name, row, record, problems)
        sample = cells.read("id", _name)
        subset = None if record.get("subset") is None else cells.read("subset", _name)
        subjects = cells.read("subjects", _gold_subjects)
        needed = cells.read("query_related", _needed_texts)
        if sample is not None and first_rows.setdefault(sample, row) != row:
            problems.add(file.name, f"stood in row {first_rows[sample]} already", row=row, column="id")
        elif sample is not None and subjects is not None and needed is not None:
            entities = [subject.entities for subject in subjects]
            answers.append(gold_answers(sample, subset=subset, subjects=entities, needed=needed))
    if not answers and not len(problems):
        problems.add(file.name, "has no rows")
    problems.raise_any(_SAMPLES)
    return answers


def iter_predictions(path: Path, *, samples: Collection[str], header: Header) -> Iterator[Prediction]:
    """Yield the predictions of a file, in file order, one a system and sample.

    `header`, of `PREDICTION_FIELDS`, says at the end how many other fields were not read. At its end raises
    `BadInputError` listing all problems: rows that are no prediction, unknown samples (`samples` are those known), and
    second rows of one system and sample, since which of them is meant cannot be known.
    """
    file = _find(path, _PREDICTIONS)
    problems = Problems()
    first_rows: dict[tuple[str, str], int] = {}
    for row, record in iter_records(file, header=header, problems=problems):
        cells = _Cells(file.name, row, record, problems)
        sample = cells.read("sample", _name)
        system = cells.read("system", _name)
        subjects = cells.optional("subjects", _subjects)
        needed, masked = cells.optional("query_related", _texts), cells.optional("masked", _texts)
        if sample is None or system is None:
            continue
        if sample not in samples:
            problems.add(file.name, "is not the id of any sample", row=row, column="sample")
        elif first_rows.setdefault((system, sample), row) != row:
            what = f"is of the same system and sample as row {first_rows[system, sample]}; keep one of them"
            problems.add(file.name, what, row=row)
        # Of a file with a problem nothing is scored: the rest is read for its other problems.
        if not len(problems):
            yield Prediction(sample=sample, system=system, subjects=subjects, query_related=needed, masked=masked)
    if not first_rows and not len(problems):
        problems.add(file.name, "has no rows")
    problems.raise_any(_PREDICTIONS)


def _find(path: Path, role: str) -> DataFile:
    name = printable(path.name)
    try:
        return find_file(path, name, _JSONL)
    except BadInputError as error:
        raise BadInputError(f"{role} {name} cannot be read", [f"{name}: {error.message}"]) from None


class _Cells:
    """The fields of one row; one that is wrong becomes a problem and reads as None."""

    def __init__(self, file: str, row: int, record: Record, problems: Problems) -> None:
        self._place = (file, row)
        self._record = record
        self._problems = problems

    def read(self, field: str, parse: Callable[[object], Value]) -> Value | None:
        file, row = self._place
        if field not in self._record:
            self._problems.add(file, "is missing", row=row, column=field)
            return None
        try:
            return parse(self._record[field])
        except CellError as error:
            self._problems.add(file, str(error), row=row, column=field)
            return None

    def optional(self, field: str, parse: Callable[[object], Value]) -> Value | None:
        return None if self._record.get(field) is None else self.read(field, parse)


def _name(value: object) -> str:
    name = str(value) if type(value) is int else _text(value)
    if not name.strip() or len(name) > _LONGEST_NAME_CHARS or not name.isprintable():
        raise CellError(f"is blank, longer than {_LONGEST_NAME_CHARS} characters, or holds one that cannot be printed")
    return name


def _text(value: object, at: str = "") -> str:
    if not isinstance(value, str):
        raise CellError(f"{at}is not text")
    if not is_encodable(value):
        raise CellError(f"{at}{NOT_UNICODE}")
    return value


def _texts(value: object) -> list[str]:
    return [_text(item, f"item {number} ") for number, item in enumerate(_list(value), start=1)]


def _subjects(value: object) -> list[PredictedSubject]:
    """Return subjects; whatever else than texts and types stands in them is not read."""
    subjects = []
    for number, item in enumerate(_list(value), start=1):
        where = f"subject {number}"
        entities = _list(_field(item, "entities", where), f"{where}: entities ")
        subjects.append(
            PredictedSubject(
                entities=[_entity(entity, f"{where}, entity {place}") for place, entity in enumerate(entities, 1)]
            )
        )
    return subjects


def _entity(value: object, where: str) -> PredictedEntity:
    text = _text(_field(value, "text", where), f"{where}: text ")
    kind = _field(value, "type", where)
    for known in PII_TYPES:
        if kind == known:
            return PredictedEntity(text=text, type=known)
    raise CellError(f"{where}: type is none of {', '.join(PII_TYPES)}")


def _gold_subjects(value: object) -> list[PredictedSubject]:
    subjects = _subjects(value)
    if any(not comparable_text(entity.text) for subject in subjects for entity in subject.entities):
        raise CellError("holds an entity with a blank text")
    return subjects


def _needed_texts(value: object) -> list[str]:
    return [
        _text(_field(item, "text", f"item {number}"), f"item {number}: text ")
        for number, item in enumerate(_list(value), start=1)
    ]


def _list(value: object, at: str = "") -> list[object]:
    if not isinstance(value, list):
        raise CellError(f"{at}is not a list")
    return value


def _field(value: object, name: str, where: str) -> object:
    if not isinstance(value, dict) or name not in value:
        raise CellError(f"{where} has no {name}")
    return value[name]
