"""Times and memory of the benchmarks: medians of interleaved repetitions, and a process's own peak of memory."""

import json
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def median_seconds(
    contenders: Mapping[str, Callable[[], object]], *, repetitions: int, calls: int = 1
) -> dict[str, float]:
    """Run the contenders in turn, `repetitions` times over, so that all meet the same machine; return medians.

    Each turn is the mean of `calls` calls: a first call of microseconds measures what was left in the caches before it.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repetitions):
        for name, contender in contenders.items():
            begin = time.perf_counter()
            for _ in range(calls):
                contender()
            seconds[name].append((time.perf_counter() - begin) / calls)
    return {name: statistics.median(values) for name, values in seconds.items()}


class AnonymousPeak:
    """The most anonymous memory this process held within the block, looked at every five milliseconds."""

    @property
    def grown(self) -> int:
        """Bytes by which it exceeded what was held before."""
        return self.bytes - self.before

    def __enter__(self) -> "AnonymousPeak":
        self.bytes = self.before = _anonymous_bytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        # A library that holds the interpreter's lock while it works keeps the other thread from looking.
        self.bytes = max(self.bytes, _anonymous_bytes())

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self.bytes = max(self.bytes, _anonymous_bytes())


def _anonymous_bytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon"))


def in_child(function: str, **arguments: Any) -> Any:
    """Run `bench.<function>(**arguments)` in a process of its own, so that its memory is its own; return its answer."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import bench; "
        "print('answer ' + json.dumps(getattr(bench, sys.argv[2])(**json.loads(sys.argv[3]))))"
    )
    here = str(Path(__file__).resolve().parent)
    run = subprocess.run(
        [sys.executable, "-c", code, here, function, json.dumps(arguments)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(run.stdout.rpartition("answer ")[2])


def processor() -> str:
    """Return the processor's own name for itself."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
