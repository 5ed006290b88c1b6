"""The directory of a model that is being made: there all at once or not at all, and its two records.

A training keeps its state beside the directory until the model takes its place by one rename. The record with exact
numbers of patients lies under `evidence/` (PHI). The directory is as private as the corpus.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Self

from filelock import FileLock, Timeout
from pydantic import BaseModel, ValidationError, model_validator

from clinaudit.audit.runtime.run.directory import (
    FILE_MODE,
    flush,
    make_private_directory,
    partial_of,
    put_in_place,
    sha256_of,
    write_atomically,
)
from clinaudit.errors import BadInputError, IntegrityError, StorageError, UsageError

RECORD_FILE: Final = "unlearn.json"
#: PHI: how many texts there were, and the curve, whose steps give that away too.
EXACT_RECORD_FILE: Final = f"evidence/{RECORD_FILE}"
#: PHI: whom a model was trained on, as `clinaudit compare --training-record` reads it.
TRAINING_RECORD_FILE: Final = "evidence/training-record.json"
CURVE_FILE: Final = "evidence/loss-curve.jsonl"
_SETTINGS: Final = "settings.json"


class ModelPlan(BaseModel):
    """How a model was made, of its record: what readers ask for."""

    #: Whom it was to forget, and how; of one that unlearned.
    split: str | None = None
    method: str | None = None
    #: Whose patients were left out; of one that was fine-tuned.
    without: str | None = None
    training: dict[str, Any]


class ModelSettings(BaseModel):
    """What the weights depend on, as far as readers ask for it."""

    #: `retrain`: on notes alone, without a benchmark.
    task: Literal["unlearn", "finetune", "retrain"]
    model_digest: str
    bench_digest: str | None = None
    plan: ModelPlan

    @model_validator(mode="after")
    def _names_whom(self) -> Self:
        if self.task == "unlearn" and (self.plan.split is None or self.plan.method is None):
            raise ValueError("a model that unlearned has a split and a method")
        return self


class ModelRecord(BaseModel):
    """`unlearn.json`."""

    settings: ModelSettings
    #: Name -> SHA-256.
    files: dict[str, str]


class ModelFolder:
    """The directory of one model, and what lies beside it as long as it is not finished."""

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        """`settings` is everything that the weights depend on."""
        self.out = out
        self.work = partial_of(out)
        # As they are read back.
        self._settings: dict[str, Any] = json.loads(json.dumps(settings))

    def claim(self) -> bool:
        """Take the directory; return whether the model stands there already, finished.

        Raises `UsageError` where it holds anything else, and `IntegrityError` where a finished model has changed since.
        """
        if self.out.exists() and not self.out.is_dir():
            raise UsageError(f"{self.out.name} is not a directory; name a new one with --out")
        if (self.out / RECORD_FILE).is_file():
            self._require_same(_read(self.out / RECORD_FILE).get("settings"))
            read_record(self.out)
            self.abandon()
            return True
        if self.out.is_dir() and any(self.out.iterdir()):
            raise UsageError(f"{self.out.name} holds other things; name a new directory with --out")
        if (self.work / _SETTINGS).is_file():
            self._require_same(_read(self.work / _SETTINGS))
            return False
        make_private_directory(self.work)
        write_atomically(self.work / _SETTINGS, json.dumps(self._settings, indent=1, sort_keys=True) + "\n")
        return False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock of what lies beside; raises `StorageError` where another process does."""
        with ExitStack() as held:
            try:
                held.enter_context(FileLock(self.work / "lock", mode=FILE_MODE, blocking=False))
            except Timeout:
                raise StorageError("another command is making this model; wait for it, or use another --out") from None
            yield

    def finish(
        self,
        write: Callable[[Path], None],
        *,
        outcome: Mapping[str, Any],
        exact: Mapping[str, Any],
        curve: Sequence[Mapping[str, Any]],
        trained_on: Sequence[str] | None,
    ) -> None:
        """Let the model that is written take its place, with its records; `exact`, `curve` and `trained_on` are PHI."""
        draft = self.work / "model"
        shutil.rmtree(draft, ignore_errors=True)
        make_private_directory(draft)
        write(draft)
        files = sorted(draft.iterdir())
        digests = {path.name: sha256_of(path) for path in files}
        documents = {
            RECORD_FILE: {"settings": self._settings, **outcome, "files": digests},
            EXACT_RECORD_FILE: exact,
        }
        if trained_on is not None:
            started_from = self._settings["model_digest"]
            record = {"files": digests, "trained_on": sorted(trained_on), "started_from": started_from}
            documents[TRAINING_RECORD_FILE] = record
        make_private_directory((draft / EXACT_RECORD_FILE).parent)
        for path in files:
            # The library left it in memory, and readable by others.
            put_in_place(path, path)
        for name, document in documents.items():
            write_atomically(draft / name, json.dumps(document, indent=1, sort_keys=True) + "\n")
        write_atomically(draft / CURVE_FILE, "".join(json.dumps(row) + "\n" for row in curve))
        draft.replace(self.out)
        flush(self.out.parent)
        self.abandon()

    def abandon(self) -> None:
        """Remove what lies beside: nothing of it is a result, and other settings may then be tried here."""
        shutil.rmtree(self.work, ignore_errors=True)

    def _require_same(self, held: Any) -> None:
        known = held if isinstance(held, dict) else {}
        names = {*known, *self._settings}
        changed = sorted(name for name in names if known.get(name) != self._settings.get(name))
        if changed:
            raise UsageError(
                f"the model in {self.out.name} was begun with other settings ({', '.join(changed)}); give the same "
                f"ones, or another --out, or remove {self.out.name} and {self.work.name} beside it"
            )


def read_record(directory: Path) -> ModelRecord | None:
    """Return what `unlearn.json` says of the model in a directory; None where others made it.

    Raises `BadInputError` where it is not finished, `IntegrityError` where the record or a file has changed since.
    """
    path = directory / RECORD_FILE
    if not path.is_file():
        if (partial_of(directory) / _SETTINGS).is_file():
            raise BadInputError(f"the model in {directory.name} is not finished; run the command that makes it again")
        return None
    try:
        record = ModelRecord.model_validate(_read(path))
    except ValidationError:
        raise _damaged(f"{path.name} in {directory.name} is damaged") from None
    for name, digest in record.files.items():
        if not (directory / name).is_file() or sha256_of(directory / name) != digest:
            raise _damaged(f"{name} in {directory.name} is not as it was written")
    return record


def _read(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        held = None
    if not isinstance(held, dict):
        raise _damaged(f"{path.name} in {path.parent.name} is damaged")
    return held


def _damaged(what: str) -> IntegrityError:
    return IntegrityError(f"{what}; make the model again in another --out")
