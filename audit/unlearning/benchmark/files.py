"""An unlearning benchmark as rows and as files: patients, questions, splits, keywords and answers (AMNESIA, section 3).

Owns as well what a word of their texts is, and where a phrase stands. A benchmark is read whole or not at all: rows and
corpus must be those that it was made of. All rows are of patients (PHI): they stand under `evidence/`
(docs/unlearning.md).
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeVar

import polars as pl
from pydantic import AfterValidator, BaseModel, ValidationError

from clinaudit.audit.runtime.run.directory import RunDirectory, replacing_by_library, write_atomically
from clinaudit.errors import BadInputError, IntegrityError
from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.corpus.files import DataFile
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, is_encodable, iter_records
from clinaudit.reports.schema.unlearning import KINDS, BenchCounts, QuestionKind, QuestionUse

#: Recall of one finding, or inference from at least two (section 3.1).
QUESTION_KINDS: Final = KINDS
#: `paper`: without anything that names the patient. `addressed`: it opens with what an adversary knows of the
#: encounter, which is what one would really type; the certificate asks these.
QuestionForm = Literal["paper", "addressed"]
#: Where a question came from.
QuestionOrigin = Literal["templates", "served", "given"]
#: `request`: patients whom the user names.
SplitLevel = Literal["random", "category", "request"]
KeywordField = Literal["note", "question", "answer"]


_WORD: Final = re.compile(r"[^\W_]+")
Words = tuple[str, ...]


def words_of(text: str) -> Words:
    """Return the words of a text, in order: runs of letters and digits, in lower case: "CKD-3" is `("ckd", "3")`."""
    return tuple(_WORD.findall(text.lower()))


def count_occurrences(phrase: Sequence[str], words: Sequence[str]) -> int:
    """Return at how many places the words of a phrase stand one after the other; a phrase without words nowhere.

    The places may overlap: `a b a` stands twice in `a b a b a`.
    """
    size, wanted = len(phrase), tuple(phrase)
    starts = (start for start, word in enumerate(words) if phrase and word == phrase[0])
    return sum(tuple(words[start : start + size]) == wanted for start in starts)


def stands_in(phrase: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the words of a phrase stand one after the other somewhere among the words."""
    return count_occurrences(phrase, words) > 0


@dataclass(frozen=True, slots=True)
class BenchPatient:
    """One patient of the benchmark."""

    patient_id: str
    #: An id of the taxonomy of categories, or `other`.
    category: str
    #: What decided it, such as `assessment, code`; `served`, `given`, or `none` where no note names a disease.
    category_source: str
    #: One sentence that the category is read from: chief complaint and assessment of the latest note.
    title: str
    #: Whether the corpus says that the model was trained on the patient.
    is_trained: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One question on one patient, with the answer that the patient's notes give."""

    qa_id: str
    patient_id: str
    kind: QuestionKind
    use: QuestionUse
    question: str
    answer: str
    #: The values of the answer, each as it stands in one of the notes.
    facts: tuple[str, ...]
    note_ids: tuple[str, ...]
    origin: QuestionOrigin
    #: What an adversary knows of the encounter, to be put before the question in its addressed form.
    address: str

    def text(self, form: QuestionForm) -> str:
        """Return the question as it is asked in a form."""
        return self.question if form == "paper" else f"{self.address} {self.question}".lstrip()


@dataclass(frozen=True, slots=True)
class Split:
    """Who is forgotten and who is retained; together all patients trained on, each once."""

    level: SplitLevel
    #: An id of the taxonomy where the level is `category`, else None.
    category: str | None
    #: Of all patients trained on, in percent; of a request rounded, 1 at least.
    percent: int
    forget: tuple[str, ...]
    retain: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return what commands call it: `random:10`, `cancer:10` or `request:4`."""
        return f"{self.category or self.level}:{self.percent}"

    @property
    def public_name(self) -> str:
        """Return the name that may go where the weights go: that of a request does not say how many it names."""
        return self.level if self.level == "request" else self.name


@dataclass(frozen=True, slots=True)
class Keyword:
    """A term of the patient's disease in the note, the question or the answer (AMNESIA, appendix E)."""

    qa_id: str
    phrase: str
    #: Relevance (0.5 to 1) plus 0.05 for each time it stands in its field, up to five; of several fields the largest.
    weight: float
    fields: tuple[KeywordField, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote when asked a question, without the repetition guard: it would hide a collapse."""

    model: str
    qa_id: str
    text: str
    #: Without the end of sequence; None where a model was asked over a protocol that gives none.
    token_ids: tuple[int, ...] | None
    #: 0 for the greedy answer; 1, 2, ... for sampled ones.
    sample: int = 0


BENCH_FILE: Final = "bench.json"
#: Of `bench.json`; another number is another shape of the tables.
_FORMAT: Final = 3
_TEXT: Final = pl.String()
_TEXTS: Final = pl.List(pl.String())
_OF_SPLIT: Final = ("level", "category", "percent")
#: Table -> column -> type. `splits` has one row a patient and split, in the order of the split.
SCHEMAS: Final[Mapping[str, Mapping[str, pl.DataType]]] = {
    "patients": {
        **dict.fromkeys(("patient_id", "category", "category_source", "title"), _TEXT),
        "is_trained": pl.Boolean(),
    },
    "qa": {
        **dict.fromkeys(("qa_id", "patient_id", "kind", "use", "question", "answer"), _TEXT),
        **dict.fromkeys(("facts", "note_ids"), _TEXTS),
        **dict.fromkeys(("origin", "address"), _TEXT),
    },
    "splits": {"level": _TEXT, "category": _TEXT, "percent": pl.Int64(), "patient_id": _TEXT, "role": _TEXT},
    "keywords": {"qa_id": _TEXT, "phrase": _TEXT, "weight": pl.Float64(), "fields": _TEXTS},
}


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
        made = cls(
            patients=tuple(patients),
            questions=tuple(questions),
            splits=tuple(splits),
            keywords=tuple(keywords),
            notes={one.patient_id: tuple(note.text for note in corpus.notes_of(one.patient_id)) for one in patients},
            digest="",
            corpus_digest=corpus.digest,
            settings=settings or {},
            counts=counts,
        )
        return replace(made, digest=_digest(made.tables()))

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return each table, as `SCHEMAS` describes it."""
        of_splits = [
            {**{name: getattr(split, name) for name in _OF_SPLIT}, "patient_id": patient_id, "role": role}
            for split in self.splits
            for role in ("forget", "retain")
            for patient_id in getattr(split, role)
        ]
        rows: dict[str, list[dict[str, Any]]] = {
            "patients": [asdict(patient) for patient in self.patients],
            "qa": [asdict(question) for question in self.questions],
            "splits": of_splits,
            "keywords": [asdict(keyword) for keyword in self.keywords],
        }
        return {name: pl.DataFrame(own, schema=SCHEMAS[name]) for name, own in rows.items()}

    def split(self, name: str) -> Split:
        """Return a split by its name, such as `random:10`; raises `BadInputError` where there is none."""
        found = next((split for split in self.splits if name in (split.name, split.public_name)), None)
        if found is None:
            known = ", ".join(split.name for split in self.splits) or "none"
            raise BadInputError(f"this benchmark has no such split; it has: {known}")
        return found


def write_bench(directory: Path, bench: Bench, *, corpus_path: Path) -> None:
    """Write a benchmark's tables, then `bench.json`, without which it is none; the caller holds the lock."""
    run = RunDirectory(directory)
    run.create()
    (directory / BENCH_FILE).unlink(missing_ok=True)
    for name, table in bench.tables().items():
        write_frame(run.evidence / f"{name}.parquet", table)
    document = {
        "format": _FORMAT,
        "digest": bench.digest,
        "corpus": {"path": str(corpus_path.absolute()), "digest": bench.corpus_digest},
        "settings": bench.settings,
        "counts": {} if bench.counts is None else bench.counts.model_dump(exclude_unset=True),
    }
    write_atomically(directory / BENCH_FILE, json.dumps(document, indent=1, sort_keys=True) + "\n")


def read_bench(directory: Path, *, corpus: Path | None = None) -> Bench:
    """Return a benchmark; `corpus` is where the corpus lies now, if elsewhere than when the benchmark was built.

    Raises `BadInputError` where there is none or the corpus is another, `IntegrityError` where tables are damaged.
    """
    document = _read_document(directory)
    try:
        tables = {
            name: pl.read_parquet(directory / "evidence" / f"{name}.parquet", columns=list(columns))
            for name, columns in SCHEMAS.items()
        }
        counts = BenchCounts.model_validate(document["counts"]) if document["counts"] else None
    except (pl.exceptions.PolarsError, OSError, ValidationError):
        # polars and pydantic quote what they could not read.
        raise _damaged(directory) from None
    if _digest(tables) != document["digest"]:
        raise _damaged(directory)
    texts = read_corpus(corpus or Path(document["corpus"]["path"]))
    if texts.digest != document["corpus"]["digest"]:
        raise BadInputError(
            f"the corpus is not the one that the benchmark {directory.name} was made from; give that one, or build "
            "the benchmark again with `clinaudit unlearn build`"
        )
    roles = (
        tables["splits"]
        .group_by(_OF_SPLIT, maintain_order=True)
        .agg(pl.col("patient_id").filter(role=role).alias(role) for role in ("forget", "retain"))
    )
    return Bench.of(
        texts,
        patients=[BenchPatient(**row) for row in _rows(tables["patients"])],
        questions=[Question(**row) for row in _rows(tables["qa"])],
        splits=[Split(**row) for row in _rows(roles)],
        keywords=[Keyword(**row) for row in _rows(tables["keywords"])],
        settings=document["settings"],
        counts=counts,
    )


def _rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    return [
        {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
        for row in table.iter_rows(named=True)
    ]


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Write a frame as Parquet, mode 0600: equal rows give equal bytes."""
    with replacing_by_library(path) as temporary:
        frame.rechunk().write_parquet(temporary, statistics=False)


def _require_unicode(text: str) -> str:
    if not is_encodable(text):
        raise ValueError(NOT_UNICODE)
    return text


#: A text of a file made elsewhere.
GivenText = Annotated[str, AfterValidator(_require_unicode)]
Row = TypeVar("Row", bound=BaseModel)


def checked_rows(file: DataFile, kind: type[Row], *, header: Header, problems: Problems) -> Iterator[tuple[int, Row]]:
    """Yield each row of a file made elsewhere as a record of its `kind`; a faulty one is in `problems` instead."""
    for row, record in iter_records(file, header=header, problems=problems):
        try:
            yield row, kind.model_validate(record)
        except ValidationError as error:
            for fault in error.errors():
                # The rule that is broken, and never the value.
                what = fault["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
                problems.add(file.name, what, row=row, column=str(fault["loc"][0]))


def _read_document(directory: Path) -> Any:
    path = directory / BENCH_FILE
    advice = "build one with `clinaudit unlearn build`"
    if not path.is_file():
        raise BadInputError(f"{directory.name} holds no finished benchmark ({BENCH_FILE} is missing); {advice}")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != _FORMAT:
            raise BadInputError(f"{directory.name} was built by another version of clinaudit; {advice}")
        document["corpus"]["path"], document["digest"], document["settings"], document["counts"]
    except (ValueError, TypeError, KeyError):
        raise _damaged(directory) from None
    return document


def _damaged(directory: Path) -> IntegrityError:
    return IntegrityError(f"the benchmark {directory.name} is damaged; build it again with `clinaudit unlearn build`")


def _digest(tables: Mapping[str, pl.DataFrame]) -> str:
    """SHA-256 over the rows themselves: the bytes of a Parquet file also depend on the library that wrote it."""
    digest = hashlib.sha256()
    for name in SCHEMAS:
        digest.update(f"{name}\n".encode())
        for row in tables[name].iter_rows():
            digest.update(json.dumps(row).encode() + b"\n")
    return digest.hexdigest()
