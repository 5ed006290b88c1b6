"""Speed and memory of the memorization analysis, beside the tools it could have been built on, in one run.

    make bench                       all of it: some minutes
    python benchmarks/bench.py --quick        over a tenth of the corpus

Every comparison checks that the contenders agree. Prints what docs/performance.md holds; `--write` puts it there.
"""

import argparse
import datetime
import os
import platform
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from corpora import draw_regions, open_corpus, write_corpus
from measuring import AnonymousPeak, in_child, median_seconds, processor

from clinaudit.audit.measures.memorization.near_verbatim import find_near_matches
from clinaudit.audit.measures.memorization.patient_count import count_patients
from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences
from clinaudit.audit.measures.memorization.verbatim import find_matches
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
MB = 1_000_000
NOTE_TOKENS = 2_700
NGRAM = 30


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


def compare_matching(tokens: int) -> dict[str, float]:
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
    find_near_matches(laid, laid_notes, match_tokens=NGRAM)
    seconds = median_seconds(
        {
            "ours": lambda: find_matches(laid, laid_notes, match_tokens=NGRAM),
            "naive": lambda: match_naively(generations, notes),
            "near": lambda: find_near_matches(laid, laid_notes, match_tokens=NGRAM),
        },
        repetitions=9,
        calls=5,
    )
    return {"tokens": tokens, **seconds}


# Patient specificity -------------------------------------------------------------------------------------------------


def count_with_ahocorasick_rs(folder: str, regions: int) -> dict[str, Any]:
    """K of regions over a corpus, as the product counts it, in one process; seconds are of the processor."""
    notes = open_corpus(Path(folder))
    texts = pl.Series(sorted(draw_regions(notes, regions, seed=regions)))
    with AnonymousPeak() as memory:
        begin = time.process_time()
        counts = count_patients(texts, notes, runner=LocalRunner(1))
        seconds = time.process_time() - begin
    return {"seconds": seconds, "peak": memory.grown, "k": counts["patient_count"].to_list()}


def count_with_pyahocorasick(folder: str, regions: int) -> dict[str, Any]:
    """The same with the library in C, on text; `iter` sees nested and overlapping matches."""
    import ahocorasick

    notes = open_corpus(Path(folder))
    texts = sorted(draw_regions(notes, regions, seed=regions))
    counts = np.zeros(regions, dtype=np.int64)
    with AnonymousPeak() as memory:
        begin = time.process_time()
        automaton = ahocorasick.Automaton(ahocorasick.STORE_ANY)
        for index, text in enumerate(texts):
            automaton.add_word(text, index)
        automaton.make_automaton()
        for patient in range(notes.patient_count):
            held = {index for note in notes.notes_of(patient) for _, index in automaton.iter(note)}
            counts[list(held)] += 1
        seconds = time.process_time() - begin
    return {"seconds": seconds, "peak": memory.grown, "k": counts.tolist()}


def agree(equal: bool, what: str) -> None:
    """Stop where contenders disagree: times of different results are not comparable."""
    if not equal:
        raise SystemExit(f"bench: {what} do not agree")


# The run -------------------------------------------------------------------------------------------------------------


def write_report(args: argparse.Namespace, folder: Path) -> list[str]:
    """Measure everything; return the lines of the page."""
    size = int(100 * MB * (0.1 if args.quick else 1.0))
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
    write_corpus(folder, size=size)
    lines += [
        "",
        f"### K over {size / MB:,.0f} MB",
        "",
        "| regions | | processor | | memory |",
        "| ---: | --- | ---: | ---: | ---: |",
    ]
    for regions in args.regions:
        given = {"folder": str(folder), "regions": regions}
        contenders = {name: in_child(f"count_with_{name}", **given) for name in ("ahocorasick_rs", "pyahocorasick")}
        agree(contenders["pyahocorasick"]["k"] == contenders["ahocorasick_rs"]["k"], f"counts of {regions} regions")
        lines += [
            f"| {regions:,} | {name} | {one['seconds']:,.1f} s | {size / MB / one['seconds']:,.0f} MB/s | "
            f"{one['peak'] / MB:,.0f} MB |"
            for name, one in contenders.items()
        ]
    return lines


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
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(
            f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{rest.partition(END)[2]}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
