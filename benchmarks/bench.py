"""Speed and memory of the memorization analysis, beside the tools it could have been built on, in one run.

    make bench                       all of it: 10 to 15 minutes, 2.3 GB of disk, 9 GB of memory (the automata's)
    python benchmarks/bench.py --quick        a tenth of the sizes, in about two minutes

Every comparison checks that the contenders agree. The slow ones are timed on a slice of the corpus, since their cost is
linear in it; ratios are of bytes a second. Prints what docs/performance.md holds; `--write` puts it there.
"""

import argparse
import datetime
import os
import platform
import random
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from corpora import draw_regions, open_corpus, write_corpus
from measuring import AnonymousPeak, in_child, median_seconds, processor

from clinaudit.audit.measures.memorization.matching import find_matches
from clinaudit.audit.measures.memorization.near_verbatim import find_near_matches
from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences
from clinaudit.audit.measures.memorization.specificity.patient_count import PART_BYTES, count_patients

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


def scan_with_pyahocorasick(folder: str, regions: int, size: int) -> dict[str, Any]:
    """Build an automaton and scan a slice; the notes are text in memory before the clock starts."""
    import ahocorasick

    notes = open_corpus(Path(folder), size=size)
    texts = draw_regions(open_corpus(Path(folder)), regions, seed=regions)
    with AnonymousPeak() as memory:
        begin = time.perf_counter()
        automaton = ahocorasick.Automaton(ahocorasick.STORE_ANY)
        for index, text in enumerate(texts):
            automaton.add_word(text, index)
        automaton.make_automaton()
        build = time.perf_counter() - begin
    charts = [notes.notes_of(patient) for patient in range(notes.patient_count)]
    counts = np.zeros(regions, dtype=np.int64)
    begin = time.perf_counter()
    for chart in charts:
        held = {index for note in chart for _, index in automaton.iter(note)}
        counts[list(held)] += 1
    return {
        "build": build,
        "scan": time.perf_counter() - begin,
        "peak": memory.grown,
        "size": notes.size,
        "k": counts.tolist(),
    }


def scan_with_ahocorasick_rs(folder: str, regions: int, size: int) -> dict[str, Any]:
    """The same with the Rust library, on bytes and overlapping matches."""
    from ahocorasick_rs import BytesAhoCorasick, MatchKind

    notes = open_corpus(Path(folder), size=size)
    texts = [text.encode() for text in draw_regions(open_corpus(Path(folder)), regions, seed=regions)]
    with AnonymousPeak() as memory:
        begin = time.perf_counter()
        automaton = BytesAhoCorasick(texts, matchkind=MatchKind.Standard)
        build = time.perf_counter() - begin
    charts = [[note.encode() for note in notes.notes_of(patient)] for patient in range(notes.patient_count)]
    counts = np.zeros(regions, dtype=np.int64)
    begin = time.perf_counter()
    for chart in charts:
        held = {index for note in chart for index, _, _ in automaton.find_matches_as_indexes(note, overlapping=True)}
        counts[list(held)] += 1
    return {
        "build": build,
        "scan": time.perf_counter() - begin,
        "peak": memory.grown,
        "size": notes.size,
        "k": counts.tolist(),
    }


def scan_with_windows(folder: str, regions: int, size: int, slice_size: int, threads: int) -> dict[str, Any]:
    """Ours, over `size` bytes; K on a slice as well, to be compared."""
    from clinaudit.audit.measures.memorization.specificity.window_index import build_indexes, count_in_range
    from clinaudit.priors.corpus.note_texts import split_patients

    whole, part = open_corpus(Path(folder), size=size), open_corpus(Path(folder), size=slice_size)
    texts = draw_regions(open_corpus(Path(folder)), regions, seed=regions)
    on_slice = list(count_patients(texts, part, engine="windows", threads=threads).values())  # compiles, too
    with AnonymousPeak() as memory:
        seconds = median_seconds(
            {"end_to_end": lambda: count_patients(texts, whole, engine="windows", threads=threads)}, repetitions=5
        )
    indexes, _ = build_indexes([text.encode() for text in texts], whole)

    def scan() -> None:
        parts = split_patients(whole, part_bytes=PART_BYTES)
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(lambda part: count_in_range(indexes, whole, texts=regions, patients=part[0]), parts):
                pass

    seconds |= median_seconds(
        {"build": lambda: build_indexes([text.encode() for text in texts], whole), "scan": scan}, repetitions=5
    )
    return {**seconds, "peak": memory.grown, "size": whole.size, "k": on_slice}


def read_bandwidth(folder: Path) -> float:
    """Bytes a second that one thread reads of a file that the system has in memory: the bound on any scan."""
    buffer = bytearray(1 << 22)
    best = 0.0
    for _ in range(3):
        with (folder / "text.bin").open("rb", buffering=0) as file:
            begin, size = time.perf_counter(), 0
            while read := file.readinto(buffer):
                size += read
            best = max(best, size / (time.perf_counter() - begin))
    return best


def count_with_both(folder: str, regions: int, size: int) -> int:
    """K of every region by both engines of the product; returns how many regions there were."""
    notes = open_corpus(Path(folder), size=size)
    texts = draw_regions(notes, regions, seed=size, least=10, most=400)
    agree(
        count_patients(texts, notes, engine="windows") == count_patients(texts, notes, engine="aho-corasick"),
        "the two engines",
    )
    return len(texts)


def agree(equal: bool, what: str) -> None:
    """Stop where contenders disagree: times of different results are not comparable."""
    if not equal:
        raise SystemExit(f"bench: {what} do not agree")


# The run -------------------------------------------------------------------------------------------------------------


def compare_specificity(folder: Path, *, size: int, slice_size: int, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Run every contender at each number of regions, each in a process of its own."""
    rows = []
    for regions in numbers:
        given = {"folder": str(folder), "regions": regions}
        ours = in_child("scan_with_windows", **given, size=size, slice_size=slice_size, threads=1)
        all_threads = in_child("scan_with_windows", **given, size=size, slice_size=slice_size, threads=os.cpu_count())
        python = in_child("scan_with_pyahocorasick", **given, size=slice_size)
        rust = in_child("scan_with_ahocorasick_rs", **given, size=slice_size) if regions <= 100_000 else None
        agree(ours["k"] == python["k"] == all_threads["k"], f"ours and pyahocorasick at {regions} regions")
        agree(rust is None or rust["k"] == ours["k"], f"ours and ahocorasick_rs at {regions} regions")
        rows.append({"regions": regions, "ours": ours, "threads": all_threads, "python": python, "rust": rust})
    return rows


def write_report(args: argparse.Namespace, folder: Path) -> list[str]:
    """Measure everything; return the lines of the page."""
    scale = 0.1 if args.quick else 1.0
    size, slice_size = int(2_000 * MB * scale), int(100 * MB * scale)
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
    bandwidth = read_bandwidth(folder)
    rows = compare_specificity(folder, size=size, slice_size=slice_size, numbers=args.regions)
    lines += [
        "",
        f"### K over {size / MB:,.0f} MB (the automata on {slice_size / MB:,.0f} MB of it)",
        "",
        f"Reading the file alone: {bandwidth / 1e9:.1f} GB/s, one thread.",
        "",
        "| regions | engine | build | scan | of reading | end to end | memory | scan ratio | end to end ratio |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        base = row["python"]
        base_speed = base["size"] / base["scan"]
        total = row["ours"]["size"]
        base_total = base["build"] + total / base_speed
        for name, one in (
            ("windows, 1 thread", row["ours"]),
            (f"windows, {os.cpu_count()} threads", row["threads"]),
            ("pyahocorasick", base),
            ("ahocorasick_rs", row["rust"]),
        ):
            if one is None:
                continue
            speed = one["size"] / one["scan"]
            end_to_end = one.get("end_to_end", one["build"] + total / speed)
            lines.append(
                f"| {row['regions']:,} | {name} | {one['build']:.2f} s | {speed / 1e6:,.0f} MB/s | "
                f"{speed / bandwidth:.1%} | {end_to_end:,.1f} s | {one['peak'] / MB:,.0f} MB | "
                f"{speed / base_speed:,.0f}× | {base_total / end_to_end:,.0f}× |"
            )
    lines += [
        "",
        "### Cost and memory against the corpus: 10,000 regions, one thread",
        "",
        "| corpus | end to end | scan, a GB | memory |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for part in (50, 500, 2_000):
        one = in_child(
            "scan_with_windows",
            folder=str(folder),
            regions=10_000,
            size=int(part * MB * scale),
            slice_size=int(MB * scale),
            threads=1,
        )
        lines.append(
            f"| {one['size'] / MB:,.0f} MB | {one['end_to_end']:.3f} s | {one['scan'] / one['size'] * 1e9:.3f} s | "
            f"{one['peak'] / MB:,.0f} MB |"
        )
    regions = in_child("count_with_both", folder=str(folder), regions=5_000, size=int(500 * MB * scale))
    lines += ["", f"Both engines gave the same K for {regions:,} regions on {500 * scale:,.0f} MB."]
    return lines


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--regions", type=int, nargs="+", default=[10_000, 100_000, 500_000])
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
