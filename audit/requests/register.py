"""The register of deletion requests (PHI): who asked to be forgotten, when, and by which request.

Owns its one file, `evidence/requests.csv` in a folder of its own. A model that is trained later must leave out the
patients of all requests, and each certificate tests them again: the next training may bring back whom one forgot.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl
from filelock import FileLock, Timeout

from clinaudit.audit.runtime.run.durable_files import FILE_MODE, make_private_directory, write_atomically
from clinaudit.errors import BadInputError, StorageError, UsageError
from clinaudit.reports.schema.forgetting import Trigger

REGISTER_FILE: Final = "evidence/requests.csv"
#: Of the folder of a request: its number in the register, and whom it names.
REQUEST_FILE: Final = "evidence/request.json"
_COLUMNS: Final = ("request", "patient_id", "trigger", "entered")
#: Seconds to wait for another command that enters a request.
_PATIENCE: Final = 20


class Entered(NamedTuple):
    """A request as the register has it."""

    number: int
    #: Ids of the patients of all requests before, each once, without those of this one.
    earlier: Sequence[str]


def enter_request(
    folder: Path, ids: Sequence[str], register: Path, *, trigger: Trigger | None = None, today: date | None = None
) -> Entered:
    """Enter a request in the register, unless it stands there; `folder` is that of the request.

    Raises `UsageError` where `folder` holds a request of others, `BadInputError` where the register cannot be read, and
    `StorageError` where another command keeps it. Example: `enter_request(Path("forgot"), ["P7"], Path("register"))`.
    """
    make_private_directory(folder / "evidence")
    make_private_directory(register / "evidence")
    with _held(register):
        rows = read_register(register)
        number = _number_of(folder, ids)
        if number is None:
            number = int(rows["request"].max() or 0) + 1  # type: ignore[arg-type]
            # Before the register: whoever is stopped between the two finds the number again, and enters it.
            document = {"request": number, "patients": list(ids)}
            write_atomically(folder / REQUEST_FILE, json.dumps(document, indent=1) + "\n")
        if number not in rows["request"]:
            own = {
                "patient_id": list(ids),
                "trigger": trigger or "",
                "entered": str(today or datetime.now().astimezone().date()),
            }
            rows = pl.concat([rows, pl.DataFrame(own).select(pl.lit(number, pl.Int64).alias("request"), *_COLUMNS[1:])])
            write_atomically(register / REGISTER_FILE, rows.write_csv())
    earlier = rows.filter(pl.col("request") < number)["patient_id"].unique(maintain_order=True)
    return Entered(number, [one for one in earlier if one not in {*ids}])


def read_register(register: Path) -> pl.DataFrame:
    """Return the register: request (from 1), patient_id, trigger, entered; a row a patient and request.

    Raises `BadInputError` where it is damaged. One that is not there has no rows.
    """
    path = register / REGISTER_FILE
    if not path.is_file():
        return pl.DataFrame(schema={name: pl.Int64 if name == "request" else pl.String for name in _COLUMNS})
    try:
        rows = pl.read_csv(path, infer_schema=False)
        rows = rows.select(pl.col("request").cast(pl.Int64), pl.col(*_COLUMNS[1:]).fill_null(""))
    except (pl.exceptions.PolarsError, OSError):
        raise _damaged(register) from None
    if rows["request"].null_count() or (rows["patient_id"] == "").any():
        raise _damaged(register)
    return rows


def _damaged(register: Path) -> BadInputError:
    return BadInputError(
        f"the register of requests in {register.name} cannot be read: it is a CSV with the columns "
        f"{', '.join(_COLUMNS)}; mend it, or bring back a copy of it"
    )


def _number_of(folder: Path, ids: Sequence[str]) -> int | None:
    """Return the number of the request in this folder; None where none was begun here."""
    path = folder / REQUEST_FILE
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        number, patients = int(document["request"]), list(document["patients"])
    except (ValueError, KeyError, TypeError):
        raise BadInputError(f"{path.name} in {folder.name} is damaged; give another folder") from None
    if {*patients} != {*ids}:
        raise UsageError(f"{folder.name} holds the request of other patients; give another --out")
    return number


@contextmanager
def _held(register: Path) -> Iterator[None]:
    try:
        with FileLock(register / "evidence" / ".lock", timeout=_PATIENCE, mode=FILE_MODE):
            yield
    except Timeout:
        raise StorageError("another command keeps the register of requests; run the same command again") from None
