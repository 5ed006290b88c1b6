"""Generations made elsewhere, read and checked for `clinaudit analyze` (docs/corpus-format.md).

Owns the columns of that input, what each may hold, and the check that given `token_ids` decode to `text`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer, TokenSpans
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.cells import NOT_UNICODE, CellError, Kind, as_text
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.files import find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, Record, is_encodable, iter_records
from clinaudit.priors.renderings import Rendering
from clinaudit.priors.tiers import TIERS

Value = TypeVar("Value")
_REQUIRED = ("generation_id", "patient_id", "tier", "text")
COLUMNS = (*_REQUIRED, "prompt", "token_ids", "diagnoses")
#: The rendering assumed for a tier, an audit's first: a file of generations does not say which it was.
_RENDERINGS: Final[dict[str, Rendering]] = {tier.id: "opening" if tier.is_fragment else "text" for tier in TIERS}
#: Largest token id: they are kept as 32-bit integers.
_MAX_TOKEN_ID = 2**31 - 1
#: Enough for all processors.
_TEXTS_AT_A_TIME: Final = 1024


@dataclass(frozen=True, slots=True)
class GenerationInput:
    """One generation as given."""

    generation_id: str
    patient_id: str
    tier: str
    #: May be empty: a model may end at once.
    text: str
    #: None: not given, so that prompt echo is unknown.
    prompt: str | None
    #: The generated ids in the audited model's vocabulary; None: not given.
    token_ids: tuple[int, ...] | None
    #: Diagnoses the prompt was scrubbed for, in the order given.
    diagnoses: tuple[str, ...]


def read_given_generations(
    path: Path, *, known_patients: Mapping[str, str], tiers: Collection[str]
) -> Iterator[GenerationInput]:
    """Yield the generations of a `.jsonl` (also `.gz`, `.zst`) or `.parquet` file, in file order.

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

    def read(self, row: int, record: Record) -> GenerationInput:
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
        return GenerationInput(
            generation_id=generation_id,
            patient_id=self._known_patients.get(patient_id, patient_id),
            tier=tier,
            text=cell("text", _text),
            prompt=self._optional(row, record, "prompt", _text),
            token_ids=self._optional(row, record, "token_ids", _token_ids),
            diagnoses=self._optional(row, record, "diagnoses", _diagnoses) or (),
        )

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


def tokenize_generations(
    given: Iterable[GenerationInput], corpus: Corpus, tokenizer: ModelTokenizer, *, name: str
) -> Iterator[Generation]:
    """Yield generations with token ids and each token's characters; `name` is their file's, for errors.

    Raises `BadInputError` at the end where given ids do not decode to the text.
    """
    problems: list[str] = []
    for row, (item, laid_out) in enumerate(_lay_out_texts(given, tokenizer), start=1):
        if laid_out is not None:
            token_ids, spans = laid_out
        else:
            token_ids = item.token_ids or ()
            if token_ids and token_ids[-1] == tokenizer.eos_id:
                token_ids = token_ids[:-1]
            if any(token_id >= tokenizer.size for token_id in token_ids):
                problems.append(f"{name}: row {row}, column token_ids: an id beyond the tokenizer's vocabulary")
                continue
            text, spans = tokenizer.decode_with_spans(token_ids)
            if text.removeprefix(" ") == item.text and text != item.text:
                # Some tokenizers leave out the first blank when they decode.
                spans = TokenSpans(np.maximum(np.array(spans, dtype=np.int32) - 1, 0))
            elif text != item.text:
                problems.append(f"{name}: row {row}, column token_ids: the ids do not decode to the text")
                continue
        yield Generation(
            generation_id=item.generation_id,
            patient_id=item.patient_id,
            arm=corpus.patients[item.patient_id].split,
            tier=item.tier,
            rendering=_RENDERINGS[item.tier],
            diagnoses=item.diagnoses,
            cohorts=item.diagnoses,
            prompt=item.prompt,
            text=item.text,
            token_ids=tuple(token_ids),
            token_chars=spans,
            finish_reason="given",
        )
    if problems:
        raise BadInputError("the generations do not fit the tokenizer; give that of the model that made them", problems)


_LaidOut = tuple[tuple[int, ...], TokenSpans]


def _lay_out_texts(
    given: Iterable[GenerationInput], tokenizer: ModelTokenizer
) -> Iterator[tuple[GenerationInput, _LaidOut | None]]:
    """Yield each generation with the ids and spans of its text, with None where ids are given."""
    remaining = iter(given)
    while some := list(islice(remaining, _TEXTS_AT_A_TIME)):
        laid_out = iter(tokenizer.encode_many_with_spans([item.text for item in some if item.token_ids is None]))
        yield from ((item, next(laid_out) if item.token_ids is None else None) for item in some)
