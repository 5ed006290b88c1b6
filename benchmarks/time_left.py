"""How good the time left is that progress says: runs are recorded, and replayed.

    python benchmarks/time_left.py record [--processor] RUN.json analyze GENERATIONS CORPUS --tokenizer DIR --out RUN
    python benchmarks/time_left.py show RUN.json...

`record` runs a command of clinaudit and keeps how far each stage was and when it ended, with what was expected: by the
clock or, with `--processor`, by the processor time of all its processes, which other work on the machine does not
lengthen: that is for one process. `show` says
for each tenth of the whole time, start of Python included, by which factor the time left that would have been said then
differs from what was left. A tenth in which nothing was said yet is a dash.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from scale import all_processor_seconds

from clinaudit.audit.runtime.console.progress import Expected, TimeLeft

#: Exit statuses of a run that went to its end (docs/policy.md).
_VERDICTS: Final = (0, 1, 4, 8)
#: A line each half second, and what is expected as a line of its own.
_PROGRAM: Final = """
import json, sys
from dataclasses import asdict
import clinaudit.audit.runtime.console.progress as progress
from clinaudit.audit.commands.main import run
progress._LINE_INTERVAL_S = 0.5
usual = progress.Progress.expect
def expect(self, stages):
    usual(self, stages)
    print(json.dumps({"expected": [asdict(stage) for stage in stages]}), file=sys.stderr, flush=True)
progress.Progress.expect = expect
sys.exit(run([*sys.argv[1:], "--progress", "json"]))
"""


def record(out: Path, command: list[str], *, by_processor: bool) -> None:
    """Run a command; write what was expected, and rows of [seconds, stage, share done]."""
    begin = time.monotonic()
    expected: list[dict[str, Any]] = []
    rows: list[tuple[float, str, float]] = []
    with subprocess.Popen([sys.executable, "-c", _PROGRAM, *command], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            now = all_processor_seconds(process.pid) if by_processor else time.monotonic() - begin
            if not line.startswith("{"):
                sys.stderr.write(line)
                continue
            row = json.loads(line)
            if "expected" in row:
                expected = row["expected"]
                rows.append((round(now, 2), "", 0.0))
            elif "stage" in row:
                share = 1.0 if row["ended"] else round(row["done"] / row["total"], 4)
                rows.append((round(now, 2), row["stage"], share))
    if process.returncode not in _VERDICTS:
        sys.exit(process.returncode)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    now = used.ru_utime + used.ru_stime if by_processor else time.monotonic() - begin
    rows.append((round(now, 2), "", 1.0))
    out.write_text(f'{{"expected": {json.dumps(expected)},\n"rows": {json.dumps(rows)}}}\n', encoding="utf-8")


def replay(recorded: dict[str, Any]) -> list[tuple[float, float]]:
    """Return moments of a run, and the time left that progress would have said then."""
    rows = recorded["rows"]
    first = next(place for place, (_, stage, _) in enumerate(rows) if not stage)
    last_end = begun = rows[first][0]
    left = TimeLeft([Expected(**stage) for stage in recorded["expected"]], begun)
    said = [(begun, left.left(begun))]
    current = ""
    for now, stage, share in rows[first + 1 : -1]:
        if stage != current:
            current = stage
            left.begin(stage, last_end)
        left.reach(share, now)
        if share == 1:
            left.end(now)
            current, last_end = "", now
        said.append((now, left.left(now)))
    return [(now, seconds) for now, seconds in said if seconds is not None]


def factors_by_tenth(recorded: dict[str, Any]) -> list[float | None]:
    """Return at 10%, 20%, ... 90% of the time what was said last over what was left; None where nothing was."""
    whole, said = recorded["rows"][-1][0], replay(recorded)
    found: list[float | None] = []
    for now in (whole * tenth / 10 for tenth in range(1, 10)):
        before = [(at, left) for at, left in said if at <= now]
        # Time goes on since it was said.
        found.append(max(0.0, before[-1][1] - (now - before[-1][0])) / (whole - now) if before else None)
    return found


def main() -> None:
    """Record a run, or show what was said in recorded ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "show"))
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("files", nargs="+", metavar="RUN.json or COMMAND")
    given, options = parser.parse_known_args()
    if given.what == "record":
        record(Path(given.files[0]), [*given.files[1:], *options], by_processor=given.processor)
        return
    print("| run | seconds |" + "".join(f" {tenth}0% |" for tenth in range(1, 10)))
    print("| --- | ---: |" + " ---: |" * 9)
    for path in map(Path, given.files):
        recorded = json.loads(path.read_text(encoding="utf-8"))
        cells = "".join(" – |" if one is None else f" {one:.2f} |" for one in factors_by_tenth(recorded))
        print(f"| {path.stem} | {recorded['rows'][-1][0]:.0f} |{cells}")


if __name__ == "__main__":
    main()
