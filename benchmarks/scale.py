"""What `analyze` and `check` cost by stage, at any size: seconds, processor seconds, cores busy, memory.

    python benchmarks/scale.py make FOLDER --patients 26000 --generations 78000
    python benchmarks/scale.py analyze FOLDER --tokenizer DEMO/model [--program OTHER/.venv/bin/clinaudit]

`make` writes the demo's charts of so many invented patients, half of them in each split, and invented generations of
`--chars` characters: parts of the patient's own notes, of others' and of nobody's, in turns. With `--note-chars` a
note has about so many characters at least, by a narrative of the charts' words, most of which the patient's next note
repeats; with `--asked` so many patients are asked, else all. `analyze` runs the program as a user does and watches it
from outside, so that any version can be measured beside another: each stage by the line that ends it, with the
processor time and the proportional memory (PSS) of all its processes, pages of mapped files included.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import psutil

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.priors.tiers import TIER_IDS

COPIED_FORWARD = 0.7
LOOK_S = 1.0
STAGE = re.compile(r"^(?P<title>[a-z][^:]*): \d+/\d+ .* in .*$")


def write_corpus(folder: Path, *, patients: int, note_chars: int, rng: random.Random, seed: int) -> None:
    """Write the charts; one that is there stays."""
    notes_file = folder / "notes.jsonl"
    if not notes_file.exists():
        write_demo_corpus(folder, seed=seed, patients_per_arm=patients // 2)
        if note_chars:
            lengthen(notes_file, note_chars, rng)


def lengthen(notes_file: Path, chars: int, rng: random.Random) -> None:
    """Add to each note a narrative, so that it has about `chars` characters at least."""
    words = sorted(
        {word for note in islice(read_rows(notes_file), 1_000) for word in note["text"].split() if word.islower()}
    )
    before = ("", "")  # the patient and narrative of the note before
    longer = notes_file.with_suffix(".longer")
    with longer.open("w", encoding="utf-8") as file:
        for note in read_rows(notes_file):
            copied = before[1] if before[0] == note["patient_id"] and rng.random() < COPIED_FORWARD else ""
            missing = chars - len(note["text"])
            kept = copied[: int(missing * COPIED_FORWARD)]
            new = " ".join(rng.choices(words, k=max(1, (missing - len(kept)) // 6)))
            before = note["patient_id"], f"{kept} {new}".strip()
            file.write(json.dumps({**note, "text": f"{note['text']}\n\n{before[1]}\n"}, ensure_ascii=False) + "\n")
    longer.replace(notes_file)


def write_generations(given: argparse.Namespace, rng: random.Random) -> None:
    """Write `generations.jsonl`; a patient is asked at one tier after the other."""
    own: dict[str, list[str]] = {}
    for note in read_rows(given.folder / "corpus" / "notes.jsonl"):
        own.setdefault(note["patient_id"], []).append(note["text"])
    ids = list(own)
    words = sorted({word for patient in ids[:200] for text in own[patient] for word in text.split()})
    asked = ids if given.asked is None else rng.sample(ids, given.asked)
    with (given.folder / "generations.jsonl").open("w", encoding="utf-8") as file:
        for number in range(given.generations):
            patient = asked[number % len(asked)]
            parts: list[str] = []
            while sum(map(len, parts)) < given.chars:
                whose = rng.random()
                if whose < 0.25:
                    parts.append(" ".join(rng.choices(words, k=rng.randint(5, 60))))
                else:
                    text = rng.choice(own[patient if whose < 0.7 else rng.choice(ids)])
                    begin = rng.randrange(len(text))
                    parts.append(text[begin : begin + rng.randint(60, 700)])
            row = {
                "generation_id": f"g{number}",
                "patient_id": patient,
                "tier": TIER_IDS[number // len(asked) % len(TIER_IDS)],
                "text": " ".join(parts)[: given.chars],
            }
            file.write(json.dumps(row) + "\n")


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a file, one JSON object a line."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def look_at(root: psutil.Process) -> tuple[float, int]:
    """Return processor seconds and bytes of proportional memory of a process and of all that it began."""
    spent, memory = 0.0, 0
    with suppress(psutil.Error):
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                # With those of the children that have ended.
                spent += sum(process.cpu_times()[:4])
                memory += process.memory_full_info().pss
    return spent, memory


def watch(command: Sequence[str]) -> tuple[list[tuple[str, float, float, int]], int]:
    """Run a command; return of each stage its title, the seconds of the clock and of processors at its end, and peak.

    The last is the rest of the run; beside the stages stands the exit status.
    """
    begin, ends = time.monotonic(), list[tuple[str, float, float, int]]()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    root, done = psutil.Process(process.pid), threading.Event()
    spent, peak = 0.0, 0

    def look() -> None:
        nonlocal spent, peak
        seconds, memory = look_at(root)
        spent, peak = max(spent, seconds), max(peak, memory)

    def look_often() -> None:
        while not done.wait(LOOK_S):
            look()

    thread = threading.Thread(target=look_often, daemon=True)
    thread.start()
    assert process.stderr is not None
    for line in process.stderr:
        if matched := STAGE.match(line):
            look()
            ends.append((matched["title"], time.monotonic() - begin, spent, peak))
            peak = 0
        elif line.startswith("error["):
            sys.stderr.write(line)
    status = process.wait()
    done.set()
    return [*ends, ("the rest", time.monotonic() - begin, spent, peak)], status


def show(ends: Sequence[tuple[str, float, float, int]], status: int, generations: int) -> None:
    """Print a row a stage and the totals; without generations none for each."""
    print("| stage | seconds | processor seconds | cores busy | memory, MB |")
    print("| --- | ---: | ---: | ---: | ---: |")
    before = (0.0, 0.0)
    for title, end, spent, peak in ends:
        wall, used = end - before[0], spent - before[1]
        print(f"| {title} | {wall:.1f} | {used:.1f} | {used / max(wall, 1e-9):.1f} | {peak / 1e6:.0f} |")
        before = end, spent
    each = f", {before[1] / generations * 1000:.2f} ms a generation" if generations else ""
    most = max(peak for *_, peak in ends) / 1e6
    print(f"status {status}: {before[0]:.0f} s, {before[1]:.0f} s of processor{each}, peak {most:.0f} MB")


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
        rng = random.Random(given.seed)
        corpus = given.folder / "corpus"
        write_corpus(corpus, patients=given.patients, note_chars=given.note_chars, rng=rng, seed=given.seed)
        write_generations(given, rng)
        return
    generations = given.folder / "generations.jsonl"
    with tempfile.TemporaryDirectory() as scratch:
        command = [*given.program, given.what, *([str(generations)] if given.what == "analyze" else [])]
        command.append(str(given.folder / "corpus"))
        if given.what == "analyze":
            command += ["--tokenizer", str(given.tokenizer), "--out", str(given.out or Path(scratch) / "run")]
        show(*watch([*command, *more]), sum(1 for _ in read_rows(generations)) if given.what == "analyze" else 0)


if __name__ == "__main__":
    main()
