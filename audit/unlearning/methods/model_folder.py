"""The directory of a model that is being made: claimed, resumed, and finished all at once or not at all.

Owns what may stand there, and the two records: one beside the weights, which goes where they go, and one of exact
numbers of patients under `evidence/`. Whoever holds the weights holds what they remember: the directory is as private
as the corpus.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar

from filelock import FileLock, Timeout
from pydantic import BaseModel, Field, ValidationError, model_validator

from clinaudit.audit.runtime.run.durable_files import (
    FILE_MODE,
    make_private_directory,
    put_in_place,
    sha256_of,
    write_atomically,
)
from clinaudit.errors import BadInputError, IntegrityError, StorageError, UsageError

RECORD_FILE: Final = "unlearn.json"
#: PHI: how many texts there were, and the curve, whose steps give that away too.
EXACT_RECORD_FILE: Final = f"evidence/{RECORD_FILE}"
#: PHI: whom a model was fine-tuned on, as `clinaudit compare --training-record` reads it.
TRAINING_RECORD_FILE: Final = "evidence/training-record.json"
CURVE_FILE: Final = "evidence/loss-curve.jsonl"
_WORK: Final = "work"
_SETTINGS: Final = "settings.json"
#: Without it, a directory is no model: so it comes last.
_CONFIG: Final = "config.json"


class ModelPlan(BaseModel):
    """How a model was made, of its record: what readers ask for."""

    #: Whom it was to forget, and how; of one that unlearned.
    split: str | None = None
    method: str | None = None
    #: Learning rates it was chosen from.
    rates: list[float] = Field(default_factory=list)
    #: Whose patients were left out; of one that was fine-tuned.
    without: str | None = None
    training: dict[str, Any]


class ModelSettings(BaseModel):
    """What the weights depend on, as far as readers ask for it."""

    task: Literal["unlearn", "finetune"]
    model_digest: str
    bench_digest: str
    plan: ModelPlan

    @model_validator(mode="after")
    def _names_whom(self) -> Self:
        if self.task == "unlearn" and (self.plan.split is None or self.plan.method is None):
            raise ValueError("a model that unlearned has a split and a method")
        return self


class ModelRecord(BaseModel):
    """`unlearn.json`."""

    settings: ModelSettings
    learning_rate: float
    #: Name -> SHA-256.
    files: dict[str, str]


class TriedRate(BaseModel):
    """What became of one learning rate: mean losses a token, in nats; None where the training diverged."""

    learning_rate: float
    #: On the patients set aside.
    tuning_loss: float | None
    #: On what was to be forgotten.
    forget_loss: float | None


class RateChoice(BaseModel):
    """How a learning rate was chosen."""

    #: The loss on the patients set aside before any training, and how far it may rise.
    tuning_loss_before: float
    most_rise: float
    tried: list[TriedRate]


class ExactRecord(BaseModel):
    """`evidence/unlearn.json` (PHI), as far as readers ask for it."""

    rate_choice: RateChoice | None = None


Read = TypeVar("Read", bound=BaseModel)


class ModelFolder:
    """The directory of one model, and its `work` folder as long as it is not finished."""

    def __init__(self, root: Path, settings: Mapping[str, Any]) -> None:
        """`settings` is everything that the weights depend on, as JSON holds it."""
        self.root = root
        self.work = root / _WORK
        # As they are read back.
        self._settings: dict[str, Any] = json.loads(json.dumps(settings))

    def claim(self) -> bool:
        """Take the directory; return whether the model stands there already, finished.

        Raises `UsageError` where it holds something else, or a model made with other settings, and `IntegrityError`
        where a finished model has changed since.
        """
        if self.root.exists() and not self.root.is_dir():
            raise UsageError(f"{self.root.name} is not a directory; name a new one with --out")
        if (self.root / RECORD_FILE).is_file():
            record = _read(self.root / RECORD_FILE)
            self._require_same(record.get("settings"))
            _require_unchanged(self.root, record.get("files"))
            shutil.rmtree(self.work, ignore_errors=True)
            return True
        if (self.work / _SETTINGS).is_file():
            self._require_same(_read(self.work / _SETTINGS))
            return False
        if self.root.is_dir() and not self._is_empty():
            raise UsageError(f"{self.root.name} holds other things; name a new directory with --out")
        make_private_directory(self.root)
        make_private_directory(self.work)
        write_atomically(self.work / _SETTINGS, json.dumps(self._settings, indent=1, sort_keys=True) + "\n")
        return False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the directory's lock; raises `StorageError` where another process does."""
        lock = FileLock(self.work / "lock", mode=FILE_MODE)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise StorageError("another command is making this model; wait for it, or use another --out") from None
        try:
            yield
        finally:
            lock.release()

    def finish(
        self,
        draft: Path,
        curve: Sequence[Mapping[str, Any]],
        outcome: Mapping[str, Any],
        exact: Mapping[str, Any],
        trained_on: Sequence[str] | None = None,
    ) -> None:
        """Move the drafted model to its place, and write its record last; `exact` and the curve are PHI.

        `trained_on` are the ids of all patients that a fine-tuning learned, for its training record (PHI).
        """
        make_private_directory(self.root / EXACT_RECORD_FILE.partition("/")[0])
        write_atomically(self.root / CURVE_FILE, "".join(json.dumps(row) + "\n" for row in curve))
        write_atomically(self.root / EXACT_RECORD_FILE, json.dumps(exact, indent=1, sort_keys=True) + "\n")
        names = sorted((path.name for path in draft.iterdir()), key=lambda name: (name == _CONFIG, name))
        digests = {name: sha256_of(draft / name) for name in sorted(names)}
        if trained_on is not None:
            learned = {
                "files": digests,
                "trained_on": sorted(trained_on),
                "started_from": self._settings["model_digest"],
            }
            write_atomically(self.root / TRAINING_RECORD_FILE, json.dumps(learned, indent=1, sort_keys=True) + "\n")
        for name in names:
            put_in_place(draft / name, self.root / name)
        record = {"settings": self._settings, **outcome, "files": digests}
        write_atomically(self.root / RECORD_FILE, json.dumps(record, indent=1, sort_keys=True) + "\n")

    def abandon(self) -> None:
        """Remove what is half made: nothing of it is a result, and other settings may then be tried here."""
        shutil.rmtree(self.work, ignore_errors=True)
        with suppress(OSError):
            self.root.rmdir()

    def _is_empty(self) -> bool:
        """Whether nothing stands in the directory but what a kill left before the settings were written."""
        begun = self.work.iterdir() if self.work.is_dir() else ()
        return {*self.root.iterdir()} <= {self.work} and all(path.name.startswith(f".{_SETTINGS}") for path in begun)

    def _require_same(self, held: Any) -> None:
        known = held if isinstance(held, dict) else {}
        names = {*known, *self._settings}
        changed = sorted(name for name in names if known.get(name) != self._settings.get(name))
        if changed:
            raise UsageError(
                f"the model in {self.root.name} was begun with other settings ({', '.join(changed)}); give the same "
                "ones, or another --out"
            )


def read_record(directory: Path) -> ModelRecord | None:
    """Return what `unlearn.json` says of the model in a directory; None where there is none, since others made it.

    Raises `BadInputError` where the model is not finished, and `IntegrityError` where the record is damaged or a file
    has changed since.
    """
    if (directory / RECORD_FILE).is_file():
        record = _parse(ModelRecord, directory / RECORD_FILE)
        _require_unchanged(directory, record.files)
        return record
    if (directory / _WORK / _SETTINGS).is_file():
        raise BadInputError(f"the model in {directory.name} is not finished; run the command that makes it again")
    return None


def read_exact_record(directory: Path) -> ExactRecord | None:
    """Return the exact numbers of a finished model (PHI); None where somebody removed them.

    Raises `IntegrityError` where they are damaged.
    """
    path = directory / EXACT_RECORD_FILE
    return _parse(ExactRecord, path) if path.is_file() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        held = None
    if not isinstance(held, dict):
        raise _damaged(path)
    return held


def _parse(kind: type[Read], path: Path) -> Read:
    try:
        return kind.model_validate(_read(path))
    except ValidationError:
        raise _damaged(path) from None


def _damaged(path: Path) -> IntegrityError:
    return IntegrityError(f"{path.name} in {path.parent.name} is damaged; make the model again in another --out")


def _require_unchanged(root: Path, digests: Any) -> None:
    for name, digest in (digests if isinstance(digests, dict) else {_CONFIG: ""}).items():
        path = root / name
        if not path.is_file() or sha256_of(path) != digest:
            raise IntegrityError(
                f"{name} in {root.name} is not as it was written; make the model again in another --out"
            )
