"""What the search for other patients' text costs, beside the rest of the memorization stage, in one run.

    python benchmarks/other_patients_cost.py DEMO [--rounds 5]
    python benchmarks/other_patients_cost.py --corpus-mb 1000 --generations-mb 5

DEMO holds `corpus`, `model` and an audited `run` (`clinaudit demo DEMO`). Its generations are measured again and again
in one process; the seconds of the search are taken inside the stage, so that both share whatever else the machine does.
Processor seconds count, of all threads. The first round, in which kernels are compiled or read from their cache, is
told apart.

With --corpus-mb nothing is audited: an invented corpus of that size (boilerplate that all notes share, and drawn
words) is searched for generations that repeat parts of it, and processor seconds and peak memory are printed.
"""

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.packed_notes import pack_notes

from clinaudit.audit.measures.generation.given_generations import read_given_generations, tokenize_generations
from clinaudit.audit.measures.memorization import stage
from clinaudit.audit.measures.memorization.other_patients.holders import GeneratedWindows, find_holders
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.statistics.pools import draw_pools
from clinaudit.priors.corpus.corpus import read_corpus
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.templates.profile import load_profile

_MB = 1_000_000
#: Tokens of a window, and bytes of a token, in the invented corpus.
_WINDOW_TOKENS, _TOKEN_BYTES = 30, 4


def measure_demo(demo: Path, rounds: int) -> None:
    """Print processor seconds of the search and of the rest of the stage, round by round, and the median ratio."""
    corpus, tokenizer = read_corpus(demo / "corpus"), ModelTokenizer(demo / "model")
    path = demo / "run" / "evidence" / "generations.parquet"
    rows = read_given_generations(path, known_patients=corpus.patients.keys(), tiers=TIER_IDS)
    generations = list(tokenize_generations(rows, corpus, tokenizer, name=path.name))
    spent = 0.0
    search: Callable[..., Any] = stage.find_other_patients_text

    def timed(*args: Any, **kwargs: Any) -> Any:
        nonlocal spent
        begin = time.process_time()
        found = search(*args, **kwargs)
        spent += time.process_time() - begin
        return found

    stage.find_other_patients_text = timed
    ratios: list[float] = []
    for turn in range(rounds + 1):
        spent, begin = 0.0, time.process_time()
        notes, one = MatchedCorpus(corpus, tokenizer, load_profile()), LocalRunner(1)
        stage.measure_memorization(
            generations, notes, match_tokens=30, seed=0, progress=Progress(quiet=True), runner=one
        )
        rest = time.process_time() - begin - spent
        print(f"{'first' if turn == 0 else turn}: search {spent:.2f} s, rest of the stage {rest:.2f} s")
        ratios += [spent / rest] if turn else []
    print(f"{len(generations)} generations, {corpus.note_count} notes; median ratio {np.median(ratios):.3f}")


def _notes(size: int, rng: random.Random) -> Iterator[list[str]]:
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 11))) for _ in range(20_000)]
    shared = [" ".join(rng.choices(words, k=40)) for _ in range(50)]
    drawn = 0
    while drawn < size:
        own = []
        for _ in range(5):
            # Half of a note is boilerplate, cut by a word of its own now and then.
            lines = [
                rng.choice(shared) if rng.random() < 0.5 else " ".join(rng.choices(words, k=40)) for _ in range(12)
            ]
            own.append("\n".join(f"{line} {rng.choice(words)}." for line in lines))
            drawn += len(own[-1])
        yield own


def measure_large(corpus_mb: int, generations_mb: int) -> None:
    """Print processor seconds and peak memory of the search for invented windows in an invented corpus."""
    rng = random.Random(0)
    notes = {
        "train": pack_notes(_notes(corpus_mb * _MB * 4 // 5, rng)),
        "nontrain": pack_notes(_notes(corpus_mb * _MB // 5, rng)),
    }
    size = generations_mb * _MB
    # A third is copied from notes, the rest is text that stands nowhere, with boilerplate in it.
    copied = bytes(notes["train"].text[: size // 3])
    made = "\n".join(note for own in _notes(size - len(copied), rng) for note in own).encode()
    text = np.frombuffer(copied + made, dtype=np.uint8)
    begins = np.arange(0, len(text) - _WINDOW_TOKENS * _TOKEN_BYTES, _TOKEN_BYTES, dtype=np.int64)
    # Windows differ in length, as those of a real tokenizer do.
    ends = begins + _WINDOW_TOKENS * _TOKEN_BYTES - np.random.default_rng(0).integers(0, 40, len(begins))
    generations = begins // 2000
    windows = GeneratedWindows(text, generations, begins, begins, ends)
    patients = {split: packed.patient_count for split, packed in notes.items()}
    targets = [("train", number % patients["train"]) for number in range(int(generations[-1]) + 1)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Twice: the first time kernels are compiled, or read from their cache.
    for _ in range(2):
        begin = time.process_time()
        found = find_holders(windows, targets, notes, draw_pools(patients, seed=0), advance=lambda _: None)
        seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{len(windows)} windows of {generations_mb} MB, corpus {corpus_mb} MB: {seconds:.1f} s of processor time, "
        f"{corpus_mb / seconds:.0f} MB/s; {len(found['all'].windows)} windows of one owner; "
        f"memory {before / 1000:.0f} MB before, {peak / 1000:.0f} MB at the peak"
    )


def main() -> None:
    """Measure the demo, or an invented corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--corpus-mb", type=int)
    parser.add_argument("--generations-mb", type=int, default=5)
    given = parser.parse_args()
    if given.corpus_mb:
        measure_large(given.corpus_mb, given.generations_mb)
    elif given.demo:
        measure_demo(given.demo, given.rounds)
    else:
        parser.error("give a demo's directory, or --corpus-mb")


if __name__ == "__main__":
    main()
