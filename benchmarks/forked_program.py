"""The program in a process that is forked, in small shards, so that a run takes no time to load its libraries."""

import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

#: Sizes of shards in forked runs, which change no result.
MEASURES = "clinaudit.audit.measures.memorization."
SHARDS = {
    (f"{MEASURES}patient_matching", "SHARD_CHARS"): 1 << 13,
    (f"{MEASURES}other_patients.stage", "_OWNERS_AT_A_TIME"): 8,
    (f"{MEASURES}masked_notes", "PART_BYTES"): 1 << 13,
    ("clinaudit.audit.pii.owners", "_BATCH_CHARS"): 1 << 13,
}
#: A run that takes longer after it was told to end does not end.
PATIENCE_S = 120


class Program:
    """A run of the program, in a session of its own."""

    def __init__(self, arguments: Sequence[str], printed: Path) -> None:
        """Fork it; its output goes to a file, and beside it the names of the modules that it loaded."""
        self.printed, self.begin, self.status = printed, time.monotonic(), None
        out = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        self.pid = os.fork()
        if self.pid == 0:
            _become(arguments, out, printed.with_suffix(".modules"))
        os.close(out)

    def lines(self) -> int:
        """Return how many stages have ended, and one for the line before them."""
        return self.printed.read_bytes().count(b"\n")

    def processes(self) -> set[int]:
        """Return those of the session that are alive."""
        found = set()
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
                if int(session) == self.pid and state != "Z":
                    found.add(int(stat.parent.name))
        return found

    def ended(self) -> bool:
        """Whether it has ended; then `status` is its own."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status is not None

    def reach(self, lines: int) -> None:
        """Wait until it has printed so many lines, or has ended."""
        while self.lines() < lines and not self.ended():
            time.sleep(0.002)

    def wait(self) -> tuple[int | None, str]:
        """Return the exit status and what was printed; None where it or a child does not end in time: it is killed."""
        end = time.monotonic() + PATIENCE_S
        while (not self.ended() or self.processes()) and time.monotonic() < end:
            time.sleep(0.01)
        left = self.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return None if left else self.status, self.printed.read_text()


def _become(arguments: Sequence[str], out: int, modules: Path) -> None:
    status = 99
    try:
        os.setsid()
        for stream in (1, 2):
            os.dup2(out, stream)
        for (module, name), size in SHARDS.items():
            setattr(importlib.import_module(module), name, size)
        status = importlib.import_module("clinaudit.audit.commands.main").run(arguments)
        sys.stdout.flush()
        modules.write_text("\n".join(sys.modules))
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        os._exit(status)
