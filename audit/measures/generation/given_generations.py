"""Generations made elsewhere, read and checked for `clinaudit analyze` (docs/corpus-format.md).

Owns the columns of that input, what each may hold, and the check that given `token_ids` decode to `text`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import polars as pl

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import Row, as_table
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.cells import NOT_UNICODE, CellError, Kind, as_text
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.files import find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, Record, is_encodable, iter_records

Value = TypeVar("Value")
_REQUIRED = ("generation_id", "patient_id", "tier", "text")
COLUMNS = (*_REQUIRED, "prompt", "token_ids", "diagnoses")
#: Largest token id: they are kept as 32-bit integers.
_MAX_TOKEN_ID = 2**31 - 1
#: Enough for all processors.
_TEXTS_AT_A_TIME: Final = 1024


def read_given_generations(path: Path, *, known_patients: Mapping[str, str], tiers: Collection[str]) -> Iterator[Row]:
    """Yield the generations of a `.jsonl` (also `.gz`, `.zst`) or `.parquet` file, in file order, by `COLUMNS`.

    The `text` may be empty: a model may end at once. `prompt` and `token_ids` are None where they are not given, and
    `diagnoses` are those that the prompt was scrubbed for, in the order given.

    `known_patients` gives the patient of the corpus whom each id means. Raises at the end `BadInputError` that lists
    all problems, by row and column and without content (after the first one nothing is yielded), and `StorageError`
    where the system refuses the file.
    """
    problems = Problems()
    file = find_given_file(path, "the generations")
    if file.format == "csv":
        problems.add(file.name, "generations are read from .jsonl or .parquet: CSV has no lists")
        problems.raise_any("the generations")
    columns: set[str] = set()
    row = 0
    reader = _GenerationReader(file.name, problems, known_patients, frozenset(tiers))
    for row, record in iter_records(file, header=Header(COLUMNS), problems=problems):
        columns.update(record)
        generation = reader.read(row, record)
        if not len(problems) and not reader.absent:
            yield generation
    if not row and not len(problems):
        problems.add(file.name, "has no rows")
    for name, of_rows in reader.absent.items():
        if name in columns:
            problems.overrule(of_rows)
        else:
            problems.add(file.name, "is missing", column=name)
    problems.raise_any("the generations")


class _GenerationReader:
    """Reads records one by one, with the ids seen so far; an invalid cell becomes a problem and is read as empty."""

    def __init__(self, file: str, problems: Problems, known_patients: Mapping[str, str], tiers: frozenset[str]) -> None:
        self._file = file
        self._problems = problems
        self._known_patients = known_patients
        self._tiers = tiers
        self._first_rows: dict[str, int] = {}
        #: By required column, the rows that lack it: the file may lack it altogether.
        self.absent: dict[str, Problems] = {}

    def read(self, row: int, record: Record) -> Row:
        """Return the generation of one record."""

        def cell(name: str, read: Callable[[object], str]) -> str:
            problems = self._problems if name in record else self.absent.setdefault(name, Problems())
            return self._cell(row, record, name, read, problems) or ""

        generation_id = cell("generation_id", _identifier)
        if generation_id and self._first_rows.setdefault(generation_id, row) != row:
            what = f"stood in row {self._first_rows[generation_id]} already"
            self._problems.add(self._file, what, row=row, column="generation_id")
        patient_id = cell("patient_id", _identifier)
        if patient_id and patient_id not in self._known_patients:
            self._problems.add(self._file, "has no notes in the corpus", row=row, column="patient_id")
        tier = cell("tier", _identifier)
        if tier and tier not in self._tiers:
            what = f"is not one of {', '.join(sorted(self._tiers))}"
            self._problems.add(self._file, what, row=row, column="tier")
        return {
            "generation_id": generation_id,
            "patient_id": self._known_patients.get(patient_id, patient_id),
            "tier": tier,
            "text": cell("text", _text),
            "prompt": self._optional(row, record, "prompt", _text),
            "token_ids": self._optional(row, record, "token_ids", _token_ids),
            "diagnoses": self._optional(row, record, "diagnoses", _diagnoses) or (),
        }

    def _cell(
        self, row: int, record: Record, name: str, read: Callable[[object], Value], problems: Problems
    ) -> Value | None:
        try:
            return read(record.get(name))
        except CellError as error:
            problems.add(self._file, str(error), row=row, column=name)
            return None

    def _optional(self, row: int, record: Record, name: str, read: Callable[[object], Value]) -> Value | None:
        return None if record.get(name) is None else self._cell(row, record, name, read, self._problems)


def _identifier(value: object) -> str:
    text = as_text(value, Kind.ID)
    if text is None or not text.strip():
        raise CellError("is blank")
    if text != text.strip():
        raise CellError("has blanks around it")
    return text


def _text(value: object) -> str:
    """Return generated text as it stands; unlike a note, it may hold a NUL."""
    if not isinstance(value, str):
        raise CellError("is not text")
    if not is_encodable(value):
        raise CellError(NOT_UNICODE)
    return value


def _token_ids(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(item) is int and 0 <= item <= _MAX_TOKEN_ID for item in value):
        raise CellError(f"is not a list of whole numbers from 0 to {_MAX_TOKEN_ID}")
    return tuple(value)


def _diagnoses(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise CellError("is not a list of diagnoses")
    names = tuple(_identifier(item) for item in value)
    if len(set(names)) != len(names):
        raise CellError("names one diagnosis twice")
    return names


def tokenize_generations(given: Iterable[Row], corpus: Corpus, tokenizer: ModelTokenizer, *, name: str) -> pl.DataFrame:
    """Return the table `generations`, with token ids where none are given; `name` is their file's, for errors.

    Raises `BadInputError` where given ids do not decode to the text.
    """
    problems: list[str] = []

    def rows() -> Iterator[Row]:
        for number, (item, token_ids) in enumerate(_with_ids(given, tokenizer), start=1):
            if item["token_ids"] is not None and (wrong := _misfit(token_ids, item["text"], tokenizer)) is not None:
                problems.append(f"{name}: row {number}, column token_ids: {wrong}")
                continue
            yield item | {
                "arm": corpus.patients[item["patient_id"]].split,
                "role": "target",
                "model": "audited",
                "form": "text",
                "draw": 0,
                "token_ids": token_ids,
                "finish_reason": "given",
            }

    table = as_table("generations", rows())
    if problems:
        raise BadInputError("the generations do not fit the tokenizer; give that of the model that made them", problems)
    return table


def _misfit(token_ids: Sequence[int], text: str, tokenizer: ModelTokenizer) -> str | None:
    """Return why given ids are not those of a text; None where they are."""
    if any(token_id >= tokenizer.size for token_id in token_ids):
        return "an id beyond the tokenizer's vocabulary"
    # Some tokenizers leave out the first blank when they decode.
    decoded, _ = tokenizer.decode_with_spans(token_ids)
    return None if text in (decoded, decoded.removeprefix(" ")) else "the ids do not decode to the text"


def _with_ids(given: Iterable[Row], tokenizer: ModelTokenizer) -> Iterator[tuple[Row, Sequence[int]]]:
    """Yield each generation with its ids: those of its text where none are given, else without a last end."""
    remaining = iter(given)
    while some := list(islice(remaining, _TEXTS_AT_A_TIME)):
        encoded = iter(tokenizer.encode_many([item["text"] for item in some if item["token_ids"] is None]))
        for item in some:
            ids = item["token_ids"]
            if ids is None:
                yield item, next(encoded).tolist()
            else:
                yield item, ids[:-1] if ids[-1:] == (tokenizer.eos_id,) else ids
