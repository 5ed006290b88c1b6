"""The register of deletion requests (PHI): who asked to be forgotten, when, and by which request.

Owns its one file, `evidence/requests.csv` in a folder of its own. A model that is trained later must leave out the
patients of all requests, and each certificate tests them again: the next training may bring back whom one forgot. So a
register that lost a row is refused, and never taken for a shorter one.
"""

import json
import secrets
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
#: Of the folder of a request: its key in the register, and whom it names.
REQUEST_FILE: Final = "evidence/request.json"
#: `key` is of one request alone, whatever its number; `entered` a day.
_COLUMNS: Final = ("request", "key", "patient_id", "trigger", "entered")
#: Seconds to wait for another command that enters a request.
_PATIENCE: Final = 20


class Entered(NamedTuple):
    """A request as the register has it."""

    number: int
    #: Ids of the patients of all other requests, each once, without those of this one.
    others: Sequence[str]
    #: Whether it is the first of the register.
    is_new_register: bool


def enter_request(
    folder: Path, ids: Sequence[str], register: Path, *, trigger: Trigger | None = None, today: date | None = None
) -> Entered:
    """Enter a request in the register, unless it stands there; `folder` is that of the request.

    Raises `UsageError` where `folder` holds a request of others, `BadInputError` where the register cannot be read or
    lost a request, and `StorageError` where another command keeps it. Example:
    `enter_request(Path("forgot"), ["P7"], Path("register"))`.
    """
    make_private_directory(folder / "evidence")
    make_private_directory(register / "evidence")
    with _held(register):
        rows = read_register(register)
        key = _key_of(folder, ids)
        is_new_register = rows.is_empty() and key is None
        if key is None:
            key = secrets.token_hex(8)
            # The register first: whoever is stopped between the two stands there twice, and never not at all.
            own = {"patient_id": list(ids), "trigger": trigger or "", "entered": str(today or _today())}
            number = pl.lit(int(rows["request"].max() or 0) + 1, pl.Int64)  # type: ignore[arg-type]
            added = pl.DataFrame(own).select(number.alias("request"), pl.lit(key).alias("key"), *_COLUMNS[2:])
            rows = pl.concat([rows, added])
            write_atomically(register / REGISTER_FILE, rows.write_csv())
            document = {"key": key, "patients": list(ids)}
            write_atomically(folder / REQUEST_FILE, json.dumps(document, indent=1) + "\n")
    known = rows.filter(key=key)
    if {*known["patient_id"]} != {*ids}:
        raise BadInputError(
            f"the register in {register.name} does not hold this request, which was entered before: it was lost, or is "
            "an older copy or another register; bring back the newest copy, or name it with --register"
        )
    others = rows.filter(pl.col("key") != key)["patient_id"].unique(maintain_order=True)
    return Entered(known["request"][0], [one for one in others if one not in {*ids}], is_new_register)


def read_register(register: Path) -> pl.DataFrame:
    """Return the register: request (from 1), key, patient_id, trigger, entered; a row a patient and request.

    Raises `BadInputError` where it is damaged. One that is not there has no rows.
    """
    path = register / REGISTER_FILE
    if not path.is_file() and not path.is_symlink():
        return pl.DataFrame(schema={name: pl.Int64 if name == "request" else pl.String for name in _COLUMNS})
    try:
        rows = pl.read_csv(path, infer_schema=False)
        rows = rows.select(pl.col("request").cast(pl.Int64), pl.col("key", "patient_id"), *_COLUMNS[3:])
        rows = rows.with_columns(pl.col("trigger").fill_null(""))
        # A row that was cut has no day; numbers with a gap lost a request.
        is_whole = not rows.is_empty() and rows["entered"].str.contains(r"^\d{4}-\d\d-\d\d$").fill_null(False).all()
    except (pl.exceptions.PolarsError, OSError):
        raise _damaged(register) from None
    numbers = rows["request"].unique().sort().to_list()
    if (
        not is_whole
        or numbers != [*range(1, len(numbers) + 1)]
        or rows.select("key", "patient_id").null_count().row(0) != (0, 0)
    ):
        raise _damaged(register)
    return rows


def _damaged(register: Path) -> BadInputError:
    return BadInputError(
        f"the register of requests in {register.name} is damaged: it is a CSV with the columns {', '.join(_COLUMNS)}, "
        "numbers from 1 without a gap, and a day in each row; bring back the newest copy of it"
    )


def _key_of(folder: Path, ids: Sequence[str]) -> str | None:
    """Return the key of the request in this folder; None where none was begun here."""
    path = folder / REQUEST_FILE
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        key, patients = str(document["key"]), {*document["patients"]}
    except (ValueError, KeyError, TypeError):
        raise BadInputError(f"{path.name} in {folder.name} is damaged; give another --out") from None
    if patients != {*ids}:
        raise UsageError(f"{folder.name} holds the request of other patients; give another --out")
    return key


def _today() -> date:
    return datetime.now().astimezone().date()


@contextmanager
def _held(register: Path) -> Iterator[None]:
    try:
        with FileLock(register / "evidence" / ".lock", timeout=_PATIENCE, mode=FILE_MODE):
            yield
    except Timeout:
        raise StorageError("another command keeps the register of requests; run the same command again") from None
