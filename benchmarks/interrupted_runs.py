"""Interrupted runs of `clinaudit analyze`: killed at random moments, and with a full disk in each stage.

    python benchmarks/scale.py make FOLDER --patients 60 --generations 240
    python benchmarks/interrupted_runs.py FOLDER --tokenizer DEMO/model --times 200
    mount -t tmpfs -o size=32m none DIR      # as root; or any folder on a small file system
    python benchmarks/interrupted_runs.py FOLDER --tokenizer DEMO/model --disk DIR

An undisturbed run of the program is made first. Then a run is stopped at a random moment of each stage in turn, in each
of the ways of `WAYS`; after a few stops the same command runs to its end. With `--disk` a file takes all of that file
system but some bytes when a stage begins; without it the same command runs to its end. Every file of a finished run
must have the bytes of the undisturbed one; nothing may be left over in the run, in `TMPDIR` or as a process; what is
printed may hold no text of a note; the exit status must be the documented one. Exits with 1 where it is otherwise.

Runs but the first work in small shards, so that every stage has processes of its own.
"""

import argparse
import filecmp
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import cycle, product
from pathlib import Path

import psutil
from scale import read_rows

#: Who gets which signal, and the exit statuses that may follow; a negative one is the signal's own.
WAYS = {
    "kill the program": ("program", signal.SIGKILL, {-9}),
    "kill a child": ("child", signal.SIGKILL, {4}),
    "terminate the program": ("program", signal.SIGTERM, {130}),
    "kill all": ("all", signal.SIGKILL, {-9}),
    "interrupt the program": ("program", signal.SIGINT, {130}),
    "interrupt all": ("all", signal.SIGINT, {130}),
    # A child may end before the program is told to.
    "terminate all": ("all", signal.SIGTERM, {130, 4}),
}
STORAGE = 6
#: As many characters of a note in turn are its text.
GRAM_CHARS = 24
#: Bytes left free on the small disk before a run begins, and when a stage does.
LEFT_AT_FIRST = (0, 4 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20)
LEFT_IN_STAGE = (0, 20 << 10)
#: Sizes of shards in these runs, which change no result.
MEASURES = "clinaudit.audit.measures.memorization."
SHARDS = {
    (f"{MEASURES}stage", "SHARD_CHARS"): 1 << 13,
    (f"{MEASURES}other_patients", "OWNERS_AT_A_TIME"): 8,
    (f"{MEASURES}masked_notes", "PART_BYTES"): 1 << 13,
    ("clinaudit.audit.pii.owners", "_BATCH_CHARS"): 1 << 13,
}
#: A run that takes longer after it was told to end does not end.
PATIENCE_S = 120
RUN = f"""
import importlib, sys
from clinaudit.audit.commands.main import run
for (module, name), size in {SHARDS}.items():
    assert hasattr(importlib.import_module(module), name), name
    setattr(importlib.import_module(module), name, size)
sys.exit(run(sys.argv[1:]))
"""


class Program:
    """A run of the program, in a session of its own; its output goes to a file."""

    def __init__(self, arguments: Sequence[str], printed: Path) -> None:
        self.printed, self.begin = printed, time.monotonic()
        with printed.open("wb") as out:
            command = [sys.executable, "-c", RUN, *arguments]
            self.process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)

    def lines(self) -> int:
        """Return how many stages have ended, and one for the line before them."""
        return self.printed.read_bytes().count(b"\n")

    def is_running(self) -> bool:
        """Whether the program itself runs."""
        return self.process.poll() is None

    def processes(self) -> set[int]:
        """Return those of the session that are alive."""
        found = set()
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if os.getsid(process.pid) == self.process.pid and process.status() != psutil.STATUS_ZOMBIE:
                    found.add(process.pid)
        return found

    def reach(self, lines: int) -> None:
        """Wait until it has printed so many lines, or has ended."""
        while self.lines() < lines and self.is_running():
            time.sleep(0.002)

    def wait(self) -> tuple[int | None, str]:
        """Return the exit status and what was printed; None where it or a child does not end in time: it is killed."""
        end = time.monotonic() + PATIENCE_S
        while (self.is_running() or self.processes()) and time.monotonic() < end:
            time.sleep(0.01)
        left = self.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return None if left else self.process.poll(), self.printed.read_text()


class Trial:
    """The runs over one folder of `scale.py make`, and what was found wrong."""

    def __init__(self, folder: Path, tokenizer: Path, work: Path, *, seed: int) -> None:
        """Make the undisturbed run, and one as the others are, for the moments at which its stages end."""
        self.folder, self.tokenizer, self.work, self.rng = folder, tokenizer, work, random.Random(seed)
        self.faults: list[str] = []
        self.seen: Counter[str] = Counter()
        #: What those runs left that were killed.
        self.left: set[str] = set()
        notes = list(read_rows(folder / "corpus" / "notes.jsonl"))
        texts = (note["text"] for note in notes)
        self.grams = {text[at : at + GRAM_CHARS] for text in texts for at in range(len(text) - GRAM_CHARS + 1)}
        self.ids = re.compile(r"\b(" + "|".join({re.escape(note["patient_id"]) for note in notes}) + r")\b")
        os.environ["TMPDIR"] = str(work / "tmp")
        (work / "tmp").mkdir()
        self.undisturbed = work / "undisturbed"
        subprocess.run([sys.executable, "-m", "clinaudit", *self.arguments(self.undisturbed)], check=True)
        begun, self.ends = self.begin(work / "measured"), [0.0]
        while begun.is_running():
            self.ends += [time.monotonic() - begun.begin] * (begun.lines() + 1 - len(self.ends))
            time.sleep(0.01)
        status, printed = begun.wait()
        self.stages = ["reading", *re.findall(r"^(.*?): \d+/\d+ ", printed, re.M), "tables and report"]
        self.ends = [*self.ends[: len(self.stages)], time.monotonic() - begun.begin]
        self.finish(work / "measured", status, printed, "nothing")
        shutil.rmtree(work / "measured")
        print(f"a run takes {self.ends[-1]:.1f} s and has {len(self.stages)} stages", flush=True)

    def stage(self, lines: int) -> str:
        """Return what a run does that has printed so many lines."""
        return self.stages[min(lines, len(self.stages) - 1)]

    def arguments(self, out: Path) -> list[str]:
        """Return those of a run."""
        given = (self.folder / "generations.jsonl", self.folder / "corpus", "--out", out, "--tokenizer", self.tokenizer)
        return ["analyze", *map(str, given), "--processes", "2"]

    def begin(self, out: Path) -> Program:
        """Begin a run."""
        return Program(self.arguments(out), self.work / "printed")

    def fault(self, what: str, printed: str = "") -> None:
        """Tell of a fault, with the end of what was printed."""
        self.faults.append(what)
        print(f"FAULT: {what}\n{printed[-3000:]}", flush=True)

    def look_at(self, run: Path, printed: str, what: str, *, killed: bool = False, full: bool = False) -> None:
        """Check what a run printed and left; one that was killed, or whose disk is full, may leave names of its own."""
        lines = printed.splitlines()
        grams = (line[at : at + GRAM_CHARS] for line in lines for at in range(len(line)))
        if not self.grams.isdisjoint(grams) or self.ids.search(printed):
            self.fault(f"{what}: text of a note, or a patient's id, was printed")
        if "Traceback" in printed or "error[BUG]" in printed:
            self.fault(f"{what}: a bug", printed)
        known, left = ({str(path.relative_to(of)) for path in of.rglob("*")} for of in (self.undisturbed, run))
        # SQLite's own journal, which it needs to go on; and files that the next run writes over.
        journal = r"/state\.sqlite-(wal|shm)$"
        own = rf"{journal}|(^|/)\.[^/]*\.partial$" if killed else journal if full else "^$"
        more = {name for name in left - known - self.left if not re.search(own, name)}
        self.left = left if killed else self.left & left
        if more or any((self.work / "tmp").iterdir()):
            self.fault(f"{what}: left over {sorted(more)} {list((self.work / 'tmp').iterdir())}")

    def finish(self, run: Path, status: int | None, printed: str, what: str) -> None:
        """Check a run that came to its end."""
        self.left = set()
        self.look_at(run, printed, what)
        if status != 0:
            self.fault(f"{what}: status {status} instead of 0", printed)
        for path in self.undisturbed.rglob("*"):
            name = path.relative_to(self.undisturbed)
            is_free = path.name == "state.sqlite"
            if path.is_file() and not ((run / name).is_file() and (is_free or filecmp.cmp(path, run / name, False))):
                self.fault(f"{what}: {name} differs")
        verified, _ = Program(["verify", str(run)], self.work / "verified").wait()
        if verified != 0:
            self.fault(f"{what}: verify gives {verified}")
        self.seen["run to its end, with the same bytes"] += 1

    def resume(self, run: Path, what: str) -> None:
        """Let a run come to its end."""
        self.finish(run, *self.begin(run).wait(), f"resumed after {what}")

    def kill(self, run: Path, way: str, lines: int) -> bool:
        """Stop a run at a random moment of a stage; whether it came in time."""
        who, number, expected = WAYS[way]
        begun = self.begin(run)
        begun.reach(lines)
        time.sleep(self.rng.uniform(0, 1.2 * (self.ends[lines + 1] - self.ends[lines])))
        others: set[int] = set()
        while who == "child" and not others and begun.is_running():
            others = begun.processes() - {begun.process.pid}
        came, what = begun.is_running(), f"{way} in {self.stage(begun.lines())}"
        with suppress(ProcessLookupError):
            if came and who == "all":
                os.killpg(begun.process.pid, number)
            elif came:
                os.kill(self.rng.choice(sorted(others)) if others else begun.process.pid, number)
        status, printed = begun.wait()
        # The report is said last; then the interpreter ends, which a signal may still overtake.
        if not came or status == 0 or (status == -number and "\nreport: " in printed):
            status = 0 if "\nreport: " in printed else status
            # A child may have done its work when it is killed; a program that is told to end must.
            if came and who != "child" and not what.endswith(self.stages[-1]):
                self.fault(f"{what}: it went on", printed)
            self.finish(run, status, printed, f"{what}, too late")
            return False
        self.look_at(run, printed, what, killed=number == signal.SIGKILL and who != "child")
        if status not in expected or (status > 0 and "error[" not in printed):
            self.fault(f"{what}: status {status}", printed)
        self.seen[what] += 1
        return True

    def kills(self, times: int) -> None:
        """Stop runs so often, a few times each, and let each then come to its end."""
        ways, moments = cycle(WAYS), cycle(self.rng.sample(range(len(self.stages)), len(self.stages)))
        run, done = self.work / "run", 0
        while done < times:
            for _ in range(min(self.rng.randint(1, 8), times - done)):
                done += self.kill(run, next(ways), next(moments))
            self.resume(run, f"{done} kills")
            print(f"{done} kills, {len(self.faults)} faults", flush=True)
            # The next one may begin where a finished run stands.
            if self.rng.random() < 0.5:
                shutil.rmtree(run)

    def disk(self, disk: Path) -> None:
        """Let the disk be full in each stage, and then have room."""
        plans = [(0, left) for left in LEFT_AT_FIRST]
        plans += product(range(1, len(self.stages)), LEFT_IN_STAGE)
        for lines, left in plans:
            run, what = disk / "run", f"{left >> 10} kB left from {self.stages[lines]} on"
            if lines == 0:
                _fill(disk / "ballast", left)
            begun = self.begin(run)
            begun.reach(lines)
            if lines:
                _fill(disk / "ballast", left)
            status, printed = begun.wait()
            before, _, error = printed.partition("error[")
            print(f"{what}: status {status} in {self.stage(before.count(chr(10)))}: {error}".strip(), flush=True)
            if status == 0:
                self.finish(run, status, printed, what)
            elif status != STORAGE or not error.startswith("STORAGE]: "):
                self.fault(f"{what}: status {status}", printed)
            self.look_at(run, printed, what, full=True)
            (disk / "ballast").unlink()
            self.resume(run, what)
            shutil.rmtree(run)


def _fill(ballast: Path, left: int) -> None:
    """Take all room of a file system but some bytes."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass
    os.truncate(ballast, max(0, ballast.stat().st_size - left))


def main() -> None:
    """Interrupt runs, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--disk", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1"}
    with tempfile.TemporaryDirectory() as scratch:
        trial = Trial(given.folder, given.tokenizer, Path(scratch), seed=given.seed)
        if given.disk is None:
            trial.kills(given.times)
        else:
            trial.disk(given.disk)
    for what, times in sorted(trial.seen.items()):
        print(f"{times:4d} {what}")
    print(f"{len(trial.faults)} faults", *trial.faults, sep="\n  ")
    sys.exit(bool(trial.faults))


if __name__ == "__main__":
    main()
