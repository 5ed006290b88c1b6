"""Generations made elsewhere, read and checked for `clinaudit analyze` (docs/corpus-format.md).

Owns the columns of that input, what each may hold, and the check that given `token_ids` decode to `text`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import Row, as_table
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.cells import NOT_UNICODE, CellError, Kind, as_text
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.files import find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, is_encodable, iter_records

_REQUIRED = ("generation_id", "patient_id", "tier", "text")
COLUMNS = (*_REQUIRED, "prompt", "token_ids", "diagnoses")
#: Largest token id: they are kept as 32-bit integers.
_MAX_TOKEN_ID = 2**31 - 1


def read_given_generations(path: Path, *, known_patients: Mapping[str, str], tiers: Collection[str]) -> Iterator[Row]:
    """Yield the generations of a `.jsonl` (also `.gz`, `.zst`) or `.parquet` file, in file order, by `COLUMNS`.

    `prompt` and `token_ids` are None where they are not given. `known_patients` gives the patient of the corpus whom
    each id means. Raises at the end `BadInputError` that lists all problems, by row and column and without content
    (after the first one nothing is yielded), and `StorageError` where the system refuses the file.
    """
    problems = Problems()
    file = find_given_file(path, "the generations")
    if file.format == "csv":
        problems.add(file.name, "generations are read from .jsonl or .parquet: CSV has no lists")
        problems.raise_any("the generations")
    columns, row, first_rows = set[str](), 0, dict[str, int]()
    #: By required column, the rows that lack it: the file may lack it altogether.
    absent: dict[str, Problems] = {}
    for row, record in iter_records(file, header=Header(COLUMNS), problems=problems):
        columns.update(record)
        cells: dict[str, Any] = {}
        for name, (read, empty) in _CELLS.items():
            value, cells[name] = record.get(name), empty
            if value is None and name not in _REQUIRED:
                continue
            try:
                cells[name] = read(value)
            except CellError as error:
                is_absent = name in _REQUIRED and name not in record
                of_cell = absent.setdefault(name, Problems()) if is_absent else problems
                of_cell.add(file.name, str(error), row=row, column=name)
        first = first_rows.setdefault(cells["generation_id"], row)
        for name, is_wrong, why in (
            ("generation_id", first != row, f"stood in row {first} already"),
            ("patient_id", cells["patient_id"] not in known_patients, "has no notes in the corpus"),
            ("tier", cells["tier"] not in tiers, f"is not one of {', '.join(sorted(tiers))}"),
        ):
            # An empty cell was not valid.
            if cells[name] and is_wrong:
                problems.add(file.name, why, row=row, column=name)
        if not len(problems) and not absent:
            yield cells | {"patient_id": known_patients[cells["patient_id"]]}
    if not row and not len(problems):
        problems.add(file.name, "has no rows")
    for name, of_rows in absent.items():
        if name in columns:
            problems.overrule(of_rows)
        else:
            problems.add(file.name, "is missing", column=name)
    problems.raise_any("the generations")


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
    names = tuple(map(_identifier, value))
    if len(set(names)) != len(names):
        raise CellError("names one diagnosis twice")
    return names


#: How each column is read, and what an empty cell is read as.
_CELLS: Final[Mapping[str, tuple[Callable[[object], Any], Any]]] = {
    **dict.fromkeys(("generation_id", "patient_id", "tier"), (_identifier, "")),
    "text": (_text, ""),
    "prompt": (_text, None),
    "token_ids": (_token_ids, None),
    "diagnoses": (_diagnoses, ()),
}


def tokenize_generations(given: Iterable[Row], corpus: Corpus, tokenizer: ModelTokenizer, *, name: str) -> pl.DataFrame:
    """Return the table `generations`, with token ids where none are given; `name` is their file's, for errors.

    Those of one patient stand together, patients in the order of their first.

    Raises `BadInputError` where given ids do not decode to the text.
    """
    problems: list[str] = []

    def rows() -> Iterator[Row]:
        for number, (item, token_ids) in enumerate(_with_ids(given, tokenizer), start=1):
            if item["token_ids"] is not None and (wrong := _misfit(token_ids, item["text"], tokenizer)):
                problems.append(f"{name}: row {number}, column token_ids: {wrong}")
                continue
            arm = corpus.patients[item["patient_id"]].split
            asked = {"arm": arm, "role": "target", "model": "audited", "form": "text", "draw": 0}
            yield item | asked | {"token_ids": token_ids, "finish_reason": "given"}

    table = as_table("generations", rows())
    if problems:
        raise BadInputError("the generations do not fit the tokenizer; give that of the model that made them", problems)
    return table.sort(pl.int_range(pl.len()).min().over("patient_id"), maintain_order=True)


def _misfit(token_ids: Sequence[int], text: str, tokenizer: ModelTokenizer) -> str | None:
    """Return why given ids are not those of a text; None where they are."""
    if any(token_id >= tokenizer.size for token_id in token_ids):
        return "an id beyond the tokenizer's vocabulary"
    # Some tokenizers leave out the first blank when they decode.
    decoded, _ = tokenizer.decode_with_spans(token_ids)
    return None if text in (decoded, decoded.removeprefix(" ")) else "the ids do not decode to the text"


def _with_ids(given: Iterable[Row], tokenizer: ModelTokenizer) -> Iterator[tuple[Row, Sequence[int]]]:
    """Yield each generation with its ids, those of its text where none are given; without control tokens at its ends.

    A batch pads its answers to one length: padding is nothing that a model wrote.
    """
    named = tokenizer.settings.roles
    around = [named[role] for role in ("bos_token", "eos_token", "pad_token") if role in named]
    ids_around = {tokenizer.id_of(token) for token in around}
    spelled = f"(?:{'|'.join(map(re.escape, around))})+" if around else r"(?!)"
    ends = re.compile(rf"\A{spelled}|{spelled}\Z")
    remaining = iter(given)
    # Enough for all processors.
    while some := list(islice(remaining, 1024)):
        some = [item | {"text": ends.sub("", item["text"])} for item in some]
        encoded = iter(tokenizer.encode_many([item["text"] for item in some if item["token_ids"] is None]))
        for item in some:
            ids = item["token_ids"]
            if ids is None:
                yield item, next(encoded).tolist()
                continue
            written = [place for place, token_id in enumerate(ids) if token_id not in ids_around]
            yield item, ids[written[0] : written[-1] + 1] if written else ()
