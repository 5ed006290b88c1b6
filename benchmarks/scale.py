"""What `analyze` and `check` cost by stage, at any size: seconds, processor seconds, cores busy, memory.

    python benchmarks/scale.py make FOLDER --patients 26000 --generations 78000
    python benchmarks/scale.py analyze FOLDER --tokenizer DEMO/model [--program OTHER/.venv/bin/clinaudit]

`make` writes the demo's charts of so many invented patients, half of them in each split, and invented generations of
`--chars` characters: parts of the patient's own notes, of others' and of nobody's, in turns. With `--note-chars` a
note has about so many characters at least, by a narrative of the charts' words, most of which the patient's next note
repeats; with `--asked` so many patients are asked, else all. `analyze` runs the program as a user does and watches it
from outside, so that any version can be measured beside another: each stage by the line that ends it, with the
processor time and the proportional memory (PSS) of all its processes. Pages of mapped files, which the system takes
back when it needs room, are in it; the last column leaves them out.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.priors.tiers import TIER_IDS

_COPIED_FORWARD = 0.7
_LOOK_S = 1.0
_STAGE = re.compile(r"^(?P<title>[a-z][^:]*): \d+/\d+ .* in .*$")
_TICKS = os.sysconf("SC_CLK_TCK")


def make(given: argparse.Namespace) -> None:
    """Write `corpus/` and `generations.jsonl`; a patient is asked at one tier after the other."""
    rng = random.Random(given.seed)
    notes_file = given.folder / "corpus" / "notes.jsonl"
    if not notes_file.exists():
        write_demo_corpus(given.folder / "corpus", seed=given.seed, patients_per_arm=given.patients // 2)
        if given.note_chars:
            lengthen(notes_file, given.note_chars, rng)
    own: dict[str, list[str]] = {}
    for note in read_rows(notes_file):
        own.setdefault(note["patient_id"], []).append(note["text"])
    ids = list(own)
    words = sorted({word for patient in ids[:200] for text in own[patient] for word in text.split()})
    of = ids if given.asked is None else rng.sample(ids, given.asked)
    with (given.folder / "generations.jsonl").open("w", encoding="utf-8") as file:
        for number in range(given.generations):
            patient = of[number % len(of)]
            parts: list[str] = []
            while sum(map(len, parts)) < given.chars:
                whose = rng.random()
                if whose < 0.25:
                    parts.append(" ".join(rng.choices(words, k=rng.randint(5, 60))))
                else:
                    text = rng.choice(own[patient if whose < 0.7 else rng.choice(ids)])
                    begin = rng.randrange(len(text))
                    parts.append(text[begin : begin + rng.randint(60, 700)])
            tier = TIER_IDS[number // len(of) % len(TIER_IDS)]
            row = {
                "generation_id": f"g{number}",
                "patient_id": patient,
                "tier": tier,
                "text": " ".join(parts)[: given.chars],
            }
            file.write(json.dumps(row) + "\n")


def lengthen(notes_file: Path, chars: int, rng: random.Random) -> None:
    """Add to each note a narrative, so that it has about `chars` characters at least."""
    words = sorted(
        {word for note in islice(read_rows(notes_file), 1_000) for word in note["text"].split() if word.islower()}
    )
    before = ("", "")  # the patient and narrative of the note before
    longer = notes_file.with_suffix(".longer")
    with longer.open("w", encoding="utf-8") as file:
        for note in read_rows(notes_file):
            copied = before[1] if before[0] == note["patient_id"] and rng.random() < _COPIED_FORWARD else ""
            missing = chars - len(note["text"])
            kept = copied[: int(missing * _COPIED_FORWARD)]
            new = " ".join(rng.choices(words, k=max(1, (missing - len(kept)) // 6)))
            before = note["patient_id"], f"{kept} {new}".strip()
            file.write(json.dumps({**note, "text": f"{note['text']}\n\n{before[1]}\n"}, ensure_ascii=False) + "\n")
    longer.replace(notes_file)


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a file, one JSON object a line."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


class Memory(NamedTuple):
    """Proportional memory of some processes, bytes; `own` is what no file holds."""

    whole: int = 0
    own: int = 0

    def least_above(self, other: "Memory") -> "Memory":
        """Return the larger of each."""
        return Memory(max(self.whole, other.whole), max(self.own, other.own))


@dataclass
class Watched:
    """What was seen of a run: the end of each stage with the processor seconds until then, and memory."""

    seconds: float = 0.0
    ends: list[tuple[str, float, float, Memory]] = field(default_factory=list)
    peak: Memory = field(default_factory=Memory)
    status: int | None = None


def watch(command: Sequence[str]) -> Watched:
    """Run a command to its end; its processes are looked at every second."""
    seen = Watched()
    begin = time.monotonic()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    spent = 0.0
    peak_of_stage = Memory()
    done = threading.Event()

    def look() -> None:
        nonlocal peak_of_stage, spent
        while not done.wait(_LOOK_S):
            memory = Memory(*map(sum, zip(*map(_memory, _tree(process.pid)), strict=True)))
            spent = max(spent, all_processor_seconds(process.pid))
            seen.peak, peak_of_stage = seen.peak.least_above(memory), peak_of_stage.least_above(memory)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    assert process.stderr is not None
    for line in process.stderr:
        matched = _STAGE.match(line)
        if matched:
            spent = max(spent, all_processor_seconds(process.pid))
            seen.ends.append((matched["title"], time.monotonic() - begin, spent, peak_of_stage))
            peak_of_stage = Memory()
    seen.status = process.wait()
    done.set()
    seen.seconds = time.monotonic() - begin
    seen.ends.append(("the rest", seen.seconds, spent, peak_of_stage))
    return seen


def _tree(root: int) -> Iterator[int]:
    yield root
    try:
        tasks = list(Path(f"/proc/{root}/task").iterdir())
        children = [pid for task in tasks for pid in (task / "children").read_text().split()]
    except OSError:
        return
    for pid in children:
        yield from _tree(int(pid))


def all_processor_seconds(root: int) -> float:
    """Return those of a process, of its children, and of the children that ended before."""
    return sum(map(_processor_seconds, _tree(root)))


def _processor_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def _memory(pid: int) -> Memory:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return Memory()
    sizes = {name: int(size.split()[0]) * 1024 for name, _, size in (line.partition(":") for line in lines[1:])}
    return Memory(sizes.get("Pss", 0), sizes.get("Pss", 0) - sizes.get("Pss_File", 0))


def show(seen: Watched, generations: int) -> None:
    """Print a row a stage and the totals; without generations none for each."""
    print("| stage | seconds | processor seconds | cores busy | memory, MB | without mapped files |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    before = (0.0, 0.0)
    for title, end, spent, peak in seen.ends:
        wall, used = end - before[0], spent - before[1]
        memory = f"{peak.whole / 1e6:.0f} | {peak.own / 1e6:.0f}"
        print(f"| {title} | {wall:.1f} | {used:.1f} | {used / max(wall, 1e-9):.1f} | {memory} |")
        before = (end, spent)
    spent = seen.ends[-1][2]
    each = f", {spent / generations * 1000:.2f} ms a generation" if generations else ""
    took = f"{seen.seconds:.0f} s, {spent:.0f} s of processor{each}"
    print(f"status {seen.status}: {took}, peak {seen.peak.whole / 1e6:.0f} MB ({seen.peak.own / 1e6:.0f})")


def main() -> None:
    """Make a corpus with generations, or measure a run over one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "analyze", "check"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--patients", type=int, default=26_000)
    parser.add_argument("--generations", type=int, default=78_000)
    parser.add_argument("--chars", type=int, default=1_400, help="of a generation")
    parser.add_argument("--asked", type=int, help="patients that the generations are of; else all")
    parser.add_argument("--note-chars", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--out", type=Path, help="keep the run here")
    parser.add_argument("--program", nargs="+", default=[sys.executable, "-m", "clinaudit"])
    given, more = parser.parse_known_args()
    if given.what == "make":
        given.folder.mkdir(parents=True, exist_ok=True)
        make(given)
        return
    with tempfile.TemporaryDirectory() as scratch:
        command = [*given.program, given.what]
        if given.what == "analyze":
            out = str(given.out or Path(scratch) / "run")
            command += [str(given.folder / "generations.jsonl"), str(given.folder / "corpus"), "--out", out]
            command += ["--tokenizer", str(given.tokenizer)]
        else:
            command += [str(given.folder / "corpus")]
        seen = watch([*command, *more])
    if given.what == "check":
        show(seen, 0)
        return
    with (given.folder / "generations.jsonl").open(encoding="utf-8") as file:
        show(seen, sum(1 for _ in file))


if __name__ == "__main__":
    main()
