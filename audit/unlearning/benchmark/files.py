"""The files of an unlearning benchmark: its tables, and `bench.json` with what they were made from.

Owns their shape, and that a benchmark is read whole or not at all: rows and corpus must be those that it was made of.
The directory is PHI, as private as the corpus (docs/unlearning.md).
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from pydantic import ValidationError

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import replacing_by_library, write_atomically
from clinaudit.audit.unlearning.benchmark.records import BenchPatient, Keyword, Question, Role, Split, SplitLevel
from clinaudit.errors import BadInputError, IntegrityError
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.reports.schema.unlearning_bench import BenchCounts

BENCH_FILE: Final = "bench.json"
#: Of `bench.json`; another number is another shape of the tables.
_FORMAT: Final = 1
#: Table -> column -> type. `splits` has one row a patient and split, in the order of the split.
SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    "patients": {
        "patient_id": "text",
        "category": "text",
        "categories": "texts",
        "category_source": "text",
        "title": "text",
        "is_trained": "bool",
    },
    "qa": {
        "qa_id": "text",
        "patient_id": "text",
        "kind": "text",
        "use": "text",
        "question": "text",
        "answer": "text",
        "facts": "texts",
        "note_ids": "texts",
        "origin": "text",
        "address": "text",
        "rephrased_from": "text",
    },
    "splits": {"level": "text", "category": "text", "percent": "int", "patient_id": "text", "role": "text"},
    "keywords": {"qa_id": "text", "phrase": "text", "weight": "float", "fields": "texts"},
}
_OF_SPLIT: Final = ("level", "category", "percent")
Row = Mapping[str, Any]
Record = TypeVar("Record", BenchPatient, Question, Keyword)


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark: who, what is asked, who is to be forgotten, and the notes that it was made from."""

    patients: tuple[BenchPatient, ...]
    questions: tuple[Question, ...]
    splits: tuple[Split, ...]
    #: Empty where no category of the benchmark has seed terms.
    keywords: tuple[Keyword, ...]
    #: By patient id, of the patients of the benchmark: their notes' texts in order of time.
    notes: Mapping[str, tuple[str, ...]]
    #: SHA-256 over the rows of the tables; the corpus has its own.
    digest: str
    corpus_digest: str
    #: What it was made with, and what was counted, as `bench.json` holds them.
    settings: Mapping[str, Any]
    counts: BenchCounts | None

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        *,
        patients: Sequence[BenchPatient],
        questions: Sequence[Question],
        splits: Sequence[Split],
        keywords: Sequence[Keyword] = (),
        settings: Mapping[str, Any] | None = None,
        counts: BenchCounts | None = None,
    ) -> Self:
        """Return the benchmark that these rows make of a corpus; `settings` and `counts` are kept as they are."""
        return cls(
            patients=tuple(patients),
            questions=tuple(questions),
            splits=tuple(splits),
            keywords=tuple(keywords),
            notes=notes_of(corpus, patients),
            digest=_digest(_rows(patients, questions, splits, keywords)),
            corpus_digest=corpus.digest,
            settings={} if settings is None else settings,
            counts=counts,
        )

    def split(self, name: str) -> Split:
        """Return a split by its name, such as `random:10`; raises `BadInputError` where there is none."""
        found = next((split for split in self.splits if name in (split.name, split.public_name)), None)
        if found is None:
            known = ", ".join(split.name for split in self.splits) or "none"
            raise BadInputError(f"this benchmark has no such split; it has: {known}")
        return found


def _rows(
    patients: Iterable[BenchPatient],
    questions: Iterable[Question],
    splits: Iterable[Split],
    keywords: Iterable[Keyword],
) -> dict[str, list[Row]]:
    """Return the rows of each table, as `SCHEMAS` describes them."""
    return {
        "patients": [asdict(patient) for patient in patients],
        "qa": [asdict(question) for question in questions],
        "splits": [
            {**{name: getattr(split, name) for name in _OF_SPLIT}, "patient_id": patient_id, "role": role}
            for split in splits
            for role in ("forget", "retain")
            for patient_id in getattr(split, role)
        ],
        "keywords": [asdict(keyword) for keyword in keywords],
    }


def write_bench(directory: Path, bench: Bench, *, corpus_path: Path) -> None:
    """Write a benchmark's tables, then `bench.json`; equal rows give equal bytes.

    The caller holds the directory's lock. Without `bench.json` it is no benchmark, so that a stopped write is none.
    """
    run = RunDirectory(directory)
    run.create()
    (directory / BENCH_FILE).unlink(missing_ok=True)
    for name, rows in _rows(bench.patients, bench.questions, bench.splits, bench.keywords).items():
        write_table(run.evidence / f"{name}.parquet", SCHEMAS[name], rows)
    document = {
        "format": _FORMAT,
        "digest": bench.digest,
        "corpus": {"path": str(corpus_path.absolute()), "digest": bench.corpus_digest},
        "settings": bench.settings,
        "counts": {} if bench.counts is None else bench.counts.model_dump(exclude_unset=True),
    }
    write_atomically(directory / BENCH_FILE, json.dumps(document, indent=1, sort_keys=True) + "\n")


def read_bench(directory: Path, *, corpus: Path | None = None) -> Bench:
    """Return a benchmark. `corpus` is where the corpus lies now, if elsewhere than when the benchmark was built.

    Raises `BadInputError` where the directory is no benchmark or the corpus is another, and `IntegrityError` where the
    tables are damaged.
    """
    document = _read_document(directory)
    rows = {
        name: _read_table(directory / "evidence" / f"{name}.parquet", columns, directory.name)
        for name, columns in SCHEMAS.items()
    }
    if _digest(rows) != document["digest"]:
        raise _damaged(directory.name)
    held = document["corpus"]
    texts = read_corpus(corpus_place(directory, corpus=corpus))
    if texts.digest != held["digest"]:
        raise BadInputError(
            f"the corpus is not the one that the benchmark {directory.name} was made from; give that one, or build "
            "the benchmark again with `clinaudit unlearn build`"
        )
    return Bench.of(
        texts,
        patients=tuple(_records(BenchPatient, rows["patients"])),
        questions=tuple(_records(Question, rows["qa"])),
        splits=tuple(_splits(rows["splits"])),
        keywords=tuple(_records(Keyword, rows["keywords"])),
        settings=document["settings"],
        counts=_read_counts(document["counts"], directory.name),
    )


def _read_counts(held: Any, bench: str) -> BenchCounts | None:
    try:
        return BenchCounts.model_validate(held) if held else None
    except ValidationError:
        raise _damaged(bench) from None


def corpus_place(directory: Path, *, corpus: Path | None = None) -> Path:
    """Return where `read_bench` will read the corpus of a benchmark."""
    return Path(_read_document(directory)["corpus"]["path"]) if corpus is None else corpus


def notes_of(corpus: Corpus, patients: Iterable[BenchPatient]) -> dict[str, tuple[str, ...]]:
    """Return the texts of the notes of each patient, in order of time."""
    return {one.patient_id: tuple(note.text for note in corpus.notes_of(one.patient_id)) for one in patients}


def write_table(path: Path, columns: Mapping[str, str], rows: Sequence[Row]) -> None:
    """Write rows as Parquet, mode 0600: equal rows give equal bytes."""
    import polars as pl

    types: Mapping[str, Any] = {
        "text": pl.String,
        "texts": pl.List(pl.String),
        "bool": pl.Boolean,
        "int": pl.Int64,
        "ints": pl.List(pl.Int64),
        "float": pl.Float64,
    }
    schema = {name: types[kind] for name, kind in columns.items()}
    values = {name: [row[name] for row in rows] for name in columns}
    with replacing_by_library(path) as temporary:
        pl.DataFrame(values, schema=schema).write_parquet(temporary, statistics=False)


def _read_document(directory: Path) -> Any:
    path = directory / BENCH_FILE
    advice = "build one with `clinaudit unlearn build`"
    if not path.is_file():
        raise BadInputError(f"{directory.name} holds no finished benchmark ({BENCH_FILE} is missing); {advice}")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != _FORMAT:
            raise BadInputError(f"{directory.name} was built by another version of clinaudit; {advice}")
    except (ValueError, TypeError, KeyError):
        raise _damaged(directory.name) from None
    return document


def _read_table(path: Path, columns: Mapping[str, str], bench: str) -> list[dict[str, Any]]:
    import polars as pl

    try:
        return pl.read_parquet(path, columns=list(columns)).to_dicts()
    except (pl.exceptions.PolarsError, OSError):
        # polars quotes what it could not read.
        raise _damaged(bench) from None


def _damaged(bench: str) -> IntegrityError:
    return IntegrityError(f"the benchmark {bench} is damaged; build it again with `clinaudit unlearn build`")


def _digest(rows: Mapping[str, Sequence[Row]]) -> str:
    """SHA-256 over the rows themselves: the bytes of a Parquet file also depend on the library that wrote it."""
    digest = hashlib.sha256()
    for name, columns in SCHEMAS.items():
        digest.update(f"{name}\n".encode())
        for row in rows[name]:
            digest.update(json.dumps([row[column] for column in columns]).encode() + b"\n")
    return digest.hexdigest()


def _records(kind: Callable[..., Record], rows: Iterable[Row]) -> Iterator[Record]:
    for row in rows:
        yield kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()})


def _splits(rows: Iterable[Row]) -> Iterator[Split]:
    found: dict[tuple[SplitLevel, str | None, int], dict[Role, list[str]]] = {}
    for row in rows:
        roles = found.setdefault((row["level"], row["category"], row["percent"]), {"forget": [], "retain": []})
        roles[row["role"]].append(row["patient_id"])
    for (level, category, percent), roles in found.items():
        yield Split(level, category, percent, tuple(roles["forget"]), tuple(roles["retain"]))
