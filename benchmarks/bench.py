"""Speed and memory of the memorization analysis, beside the tools it could have been built on, in one run.

    make bench                       all of it: some minutes
    python benchmarks/bench.py --quick        over a tenth of the corpus

Every comparison checks that the contenders agree. Prints what docs/performance.md holds; `--write` puts it there.
"""

import argparse
import datetime
import multiprocessing
import os
import platform
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
from scale import write_corpus

from clinaudit.audit.measures.memorization.near_verbatim import find_near_matches
from clinaudit.audit.measures.memorization.patient_specificity import count_patients
from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences
from clinaudit.audit.measures.memorization.verbatim import find_matches
from clinaudit.audit.runtime.cluster import LocalRunner
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.corpus.patient import PackedTexts

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
MB = 1_000_000
NOTE_TOKENS = 2_700
NOTE_CHARS = 9_000
#: Patients of either split whose notes have 100 MB.
PATIENTS = 3_500
NGRAM = 30
REPETITIONS, CALLS = 9, 5


# Matching ------------------------------------------------------------------------------------------------------------


def match_naively(generations: Sequence[Sequence[int]], notes: Sequence[Sequence[int]]) -> list[list[bool]]:
    """The naive way: the set of all windows of the notes, as tuples."""
    windows = {tuple(note[at : at + NGRAM]) for note in notes for at in range(len(note) - NGRAM + 1)}
    return [[tuple(ids[at : at + NGRAM]) in windows for at in range(len(ids))] for ids in generations]


def draw_notes(rng: random.Random, number: int) -> list[tuple[int, ...]]:
    """Notes of one patient in ids: a third boilerplate, a third copied forward from the note before, a third new."""
    blocks = [[rng.randrange(32_000) for _ in range(60)] for _ in range(40)]
    notes: list[tuple[int, ...]] = []
    part = NOTE_TOKENS // 3
    for _ in range(number):
        boilerplate = [token for _ in range(part // 60) for token in rng.choice(blocks)]
        before = notes[-1][-2 * part :] if notes else ()
        copied = before[:part] if rng.random() < 0.7 else ()
        new = [rng.randrange(32_000) for _ in range(NOTE_TOKENS - len(boilerplate) - len(copied))]
        notes.append((*boilerplate, *copied, *new))
    return notes


def compare_matching(tokens: int) -> Mapping[str, float]:
    """One patient with so many tokens, six generations of 1,000 tokens each, about half of them from the notes."""
    rng = random.Random(tokens)
    notes = draw_notes(rng, tokens // NOTE_TOKENS)
    generations = []
    for _ in range(6):
        ids: list[int] = []
        while len(ids) < 1_000:
            note = rng.choice(notes)
            begin = rng.randrange(len(note))
            ids += note[begin : begin + rng.randrange(20, 300)]
            ids += (rng.randrange(32_000) for _ in range(rng.randrange(200)))
        generations.append(tuple(ids[:1_000]))
    laid, laid_notes = concatenate_sequences(generations), concatenate_sequences(notes)
    ours = [begins.tolist() for begins in find_matches(laid, laid_notes, match_tokens=NGRAM)]
    agree(ours == match_naively(generations, notes), "matching")
    return median_seconds(
        {
            "ours": lambda: find_matches(laid, laid_notes, match_tokens=NGRAM),
            "naive": lambda: match_naively(generations, notes),
            "near": lambda: find_near_matches(laid, laid_notes, match_tokens=NGRAM),
        }
    )


def median_seconds(contenders: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Run the contenders in turn, many times over, so that all meet the same machine; return medians.

    Each turn is the mean of some calls: a first call of microseconds measures what was left in the caches before it.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for contender in contenders.values():
        # What is compiled on first use is compiled now.
        contender()
    for _ in range(REPETITIONS):
        for name, contender in contenders.items():
            begin = time.perf_counter()
            for _ in range(CALLS):
                contender()
            seconds[name].append((time.perf_counter() - begin) / CALLS)
    return {name: statistics.median(values) for name, values in seconds.items()}


# Patient specificity -------------------------------------------------------------------------------------------------


def draw_regions(notes: PackedTexts, number: int, *, least: int = 120, most: int = 600) -> list[str]:
    """Draw distinct texts of `least` to `most` bytes from the notes; a fifth of them end in words no note has."""
    rng = np.random.default_rng(number)
    regions: set[str] = set()
    while len(regions) < number:
        note, length = int(rng.integers(len(notes.starts))), int(rng.integers(least, most))
        start, end = int(notes.starts[note]), int(notes.ends[note])
        begin = start + int(rng.integers(0, max(1, end - start - length)))
        text = bytes(notes.text[begin : min(begin + length, end)])
        if rng.random() < 0.2:
            text = text[:-20] + b" QX %d" % rng.integers(10**9)
        if len(text) >= least:
            regions.add(text.decode("utf-8", errors="ignore"))
    return sorted(regions)


def with_anchors(texts: Sequence[str], notes: PackedTexts) -> list[int]:
    """K as the product counts it, in one process."""
    return count_patients(pl.Series(texts), notes, runner=LocalRunner(1))["patient_count"].to_list()


def with_pyahocorasick(texts: Sequence[str], notes: PackedTexts) -> list[int]:
    """The same by a library's automaton in C; `iter` sees nested and overlapping matches."""
    import ahocorasick

    counts = np.zeros(len(texts), dtype=np.int64)
    automaton = ahocorasick.Automaton(ahocorasick.STORE_ANY)
    for index, text in enumerate(texts):
        automaton.add_word(text, index)
    automaton.make_automaton()
    for patient in range(notes.patient_count):
        held = {index for note in notes.notes_of(patient) for _, index in automaton.iter(note)}
        counts[list(held)] += 1
    return counts.tolist()


CONTENDERS = {"pyahocorasick": with_pyahocorasick, "ours": with_anchors}


def measure_count(contender: str, corpus: Path, regions: int) -> dict[str, Any]:
    """Return K, processor seconds, bytes of the notes, and the anonymous memory that was grown by; in its own process.

    Memory is looked at every five milliseconds, and once more in the end: a library that holds the interpreter's lock
    keeps the other thread from looking.
    """
    notes = read_corpus(corpus).packed("train")
    texts, done = draw_regions(notes, regions), threading.Event()
    process = psutil.Process()

    def anonymous() -> int:
        memory = process.memory_info()
        return memory.rss - memory.shared

    before = peak = anonymous()

    def look() -> None:
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, anonymous())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    begin = time.process_time()
    counts = CONTENDERS[contender](texts, notes)
    seconds = time.process_time() - begin
    done.set()
    return {"k": counts, "seconds": seconds, "size": notes.size, "grown": max(peak, anonymous()) - before}


def agree(equal: bool, what: str) -> None:
    """Stop where contenders disagree: times of different results are not comparable."""
    if not equal:
        raise SystemExit(f"bench: {what} do not agree")


# The run -------------------------------------------------------------------------------------------------------------


def processor() -> str:
    """Return the processor's own name for itself."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def write_report(args: argparse.Namespace, folder: Path) -> list[str]:
    """Measure everything; return the lines of the page."""
    lines = [
        f"Measured on {datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}, {processor()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}; `{'make bench' if not args.quick else 'benchmarks/bench.py --quick'}`.",
        "",
        "### Matching: one patient, six generations of 1,000 tokens",
        "",
        "| tokens of notes | ours | set of tuples | ratio | near-verbatim |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for tokens in (37_000, 400_000):
        row = compare_matching(tokens)
        lines.append(
            f"| {tokens:,} | {row['ours'] * 1e3:.3f} ms | {row['naive'] * 1e3:.0f} ms | "
            f"{row['naive'] / row['ours']:,.0f}× | {row['near'] * 1e3:.1f} ms |"
        )
    patients = 2 * PATIENTS // (10 if args.quick else 1)
    write_corpus(folder, patients=patients, note_chars=NOTE_CHARS, rng=random.Random(0), seed=0)
    counted = []
    for regions in args.regions:
        rows = {}
        for name in CONTENDERS:
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
                rows[name] = pool.submit(measure_count, name, folder, regions).result()
        agree(len({tuple(row["k"]) for row in rows.values()}) == 1, f"counts of {regions} regions")
        counted += [
            f"| {regions:,} | {name} | {row['seconds']:,.1f} s | {row['size'] / MB / row['seconds']:,.0f} MB/s | "
            f"{row['grown'] / MB:,.0f} MB |"
            for name, row in rows.items()
        ]
    head = ["| regions | | processor | | memory |", "| ---: | --- | ---: | ---: | ---: |"]
    return [*lines, "", f"### K over {rows[name]['size'] / MB:,.0f} MB", "", *head, *counted]


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--regions", type=int, nargs="+", default=[1_000, 10_000, 40_000])
    parser.add_argument("--folder", type=Path, default=Path(), help="where the corpus is written, and removed again")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.folder) as folder:
        lines = write_report(args, Path(folder))
    print("\n".join(lines))
    if args.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        measured = "\n".join([BEGIN, "", *lines, "", END])
        PAGE.write_text(before + measured + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
