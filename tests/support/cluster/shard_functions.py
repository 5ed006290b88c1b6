"""What the workers of a cluster are given to do: they import it from here, and errors name this file."""

import os
import signal
import time
from pathlib import Path

from clinaudit.errors import BadInputError


def double_and_record(ledger: Path, number: int) -> int:
    """Append the shard and the worker to the ledger; the first time, the third shard waits to be killed."""
    with ledger.open("a", encoding="utf-8") as file:
        file.write(f"{number} {os.getpid()}\n")
    if number == 3 and len(workers_at(ledger, 3)) == 1:
        time.sleep(60)
    return 2 * number


def workers_at(ledger: Path, number: int) -> list[int]:
    lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
    return [int(line.split()[1]) for line in lines if line.split()[0] == str(number)]


def kill_once_at_work(ledger: Path, number: int) -> None:
    for _ in range(600):
        if pids := workers_at(ledger, number):
            os.kill(pids[0], signal.SIGKILL)
            return
        time.sleep(0.05)


def fail_as_told(_: None, kind: str) -> int:
    if kind == "ours":
        raise BadInputError("not this one", ["a problem"])
    if kind == "bug":
        raise ValueError("SECRET-OF-A-PATIENT")
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def gpus_seen(_: None, __: int) -> str | None:
    return os.environ.get("CUDA_VISIBLE_DEVICES")
