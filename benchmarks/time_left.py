"""How good the time left is that progress says: runs are recorded, and replayed.

    python benchmarks/time_left.py record RUN.json analyze GENERATIONS CORPUS --tokenizer DIR --out RUN
    python benchmarks/time_left.py show RUN.json...

`record` runs a command of clinaudit and keeps how far each stage was and when it ended, with what was expected: by the
clock, and by the processor time of all its processes, which other work on the machine does not lengthen. `show` says
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


def record(out: Path, command: list[str]) -> None:
    """Run a command; write what was expected, and rows of [second, second of processor, stage, share done]."""
    begin = time.monotonic()
    recorded: dict[str, Any] = {"expected": [], "rows": []}
    with subprocess.Popen([sys.executable, "-c", _PROGRAM, *command], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            clocks = [round(time.monotonic() - begin, 2), round(all_processor_seconds(process.pid), 2)]
            row = json.loads(line) if line.startswith("{") else {}
            if "expected" in row:
                recorded["expected"] = row["expected"]
                recorded["rows"].append([*clocks, "", 0.0])
            elif "stage" in row:
                share = 1.0 if row["ended"] else round(row["done"] / row["total"], 4)
                recorded["rows"].append([*clocks, row["stage"], share])
    recorded["rows"].append([round(time.monotonic() - begin, 2), max(clocks[1], _ended_children_s()), "", 1.0])
    out.write_text(json.dumps(recorded) + "\n", encoding="utf-8")


def _ended_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(used.ru_utime + used.ru_stime, 2)


def replay(recorded: dict[str, Any], clock: int) -> list[tuple[float, float]]:
    """Return moments of a run by one of its two clocks, and the time left that progress would have said then."""
    rows = [(row[clock], row[2], row[3]) for row in recorded["rows"]]
    first = next(place for place, (_, stage, _) in enumerate(rows) if not stage)
    last_end = begun = rows[first][0]
    left = TimeLeft([Expected(**stage) for stage in recorded["expected"]], begun)
    said = [(begun, left.left(begun))]
    current, is_expected = "", False
    for now, stage, share in rows[first + 1 : -1]:
        if stage != current:
            current, is_expected = stage, left.begin(stage)
        if share == 1:
            left.end(now) if is_expected else left.leave_out(now - last_end)
            current, last_end = "", now
        elif is_expected:
            left.reach(share, now)
        if is_expected:
            said.append((now, left.left(now)))
    return said


def factors_by_tenth(recorded: dict[str, Any], clock: int) -> list[float | None]:
    """Return at 10%, 20%, ... 90% of the time what was said last over what was left; None where nothing was."""
    whole, said = recorded["rows"][-1][clock], replay(recorded, clock)
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
    parser.add_argument("files", type=Path, nargs="+")
    given, command = parser.parse_known_args()
    if given.what == "record":
        record(given.files[0], [*map(str, given.files[1:]), *command])
        return
    print("| run | seconds |" + "".join(f" {tenth}0% |" for tenth in range(1, 10)))
    print("| --- | ---: |" + " ---: |" * 9)
    for path in given.files:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        for clock, name in enumerate(("clock", "processor")):
            factors = factors_by_tenth(recorded, clock)
            cells = "".join(" – |" if one is None else f" {one:.2f} |" for one in factors)
            print(f"| {path.stem}, {name} | {recorded['rows'][-1][clock]:.0f} |{cells}")


if __name__ == "__main__":
    main()
