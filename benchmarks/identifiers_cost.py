"""What looking for identifiers costs, beside the memorization stage of the same generations.

    python benchmarks/identifiers_cost.py DEMO [--megabytes 50] [--processes 2]

DEMO holds `corpus`, `model` and an audited `run` (`clinaudit demo DEMO`). Its generations are searched once as they are
and, with --megabytes, repeated up to that size, the digits of each copy changed by chance, so that values differ as
they do in a large run. Printed are the speed of the rules alone, processor and wall seconds of the stage
(by one process, and by `--processes`), the peak of the process's memory before and after, and for the demo's own size
the seconds of the memorization stage.

Measured: docs/performance.md.
"""

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from clinaudit.audit.measures.generation.given_generations import read_given_generations, tokenize_generations
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.stage import measure_memorization
from clinaudit.audit.pii import stage
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.evidence_tables import write_table
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.templates.profile import load_profile

_MB = 1_000_000
#: Share of the digits of a copy that are drawn anew.
_CHANGED = 0.3


def _processor_seconds() -> float:
    """Return the processor time of this process and of those that it made and that have ended."""
    used = (resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure_rules(texts: Sequence[str]) -> None:
    """Print how fast the rules of HIPAA's identifiers read."""
    detector = RuleDetector(stage.hipaa_categories())
    begin = time.process_time()
    spans = sum(len(detector.detect(text)) for text in texts)
    size, seconds = sum(map(len, texts)) / _MB, time.process_time() - begin
    print(f"rules alone: {size / seconds:.1f} MB/s of one core, {spans:,} spans")


def measure(generations: pl.DataFrame, corpus: Corpus, processes: int) -> None:
    """Print seconds and memory of the stage, its evidence table included."""
    size = int(generations["text"].str.len_chars().sum()) / _MB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    wall, cpu = time.perf_counter(), _processor_seconds()
    with tempfile.TemporaryDirectory() as folder:
        tables, _ = stage.find_identifiers(
            generations,
            corpus=corpus,
            profile=load_profile(),
            seed=0,
            progress=Progress(quiet=True),
            runner=LocalRunner(processes),
        )
        write_table(Path(folder), "identifiers", tables["identifiers"])
    wall, cpu = time.perf_counter() - wall, _processor_seconds() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(
        f"{len(generations)} generations, {size:.1f} MB, {processes} processes: {cpu:.1f} s of processor time "
        f"({wall:.1f} s); "
        f"{len(tables['identifiers'])} places; memory {before:.0f} MB before, {peak:.0f} MB at the peak"
    )


def vary(generations: pl.DataFrame, megabytes: int, rng: random.Random) -> pl.DataFrame:
    """Return the generations, and copies of them with some digits drawn anew, up to a size."""
    texts = generations["text"].to_list()
    size, places, varied = sum(map(len, texts)), list(range(len(texts))), list(texts)
    while size < megabytes * _MB:
        places.append(rng.randrange(len(texts)))
        varied.append(
            "".join(
                rng.choice("0123456789") if char.isdigit() and rng.random() < _CHANGED else char
                for char in texts[places[-1]]
            )
        )
        size += len(varied[-1])
    ids = [f"{key}-{number}" for number, key in enumerate(generations["generation_id"].gather(places))]
    return generations[places].with_columns(generation_id=pl.Series(ids), text=pl.Series(varied))


def main() -> None:
    """Measure the demo, and what is made of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path)
    parser.add_argument("--megabytes", type=int)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    corpus, tokenizer = read_corpus(given.demo / "corpus"), ModelTokenizer(given.demo / "model")
    path = given.demo / "run" / "evidence" / "generations.parquet"
    rows = read_given_generations(path, known_patients=corpus.ids, tiers=TIER_IDS)
    generations = tokenize_generations(rows, corpus, tokenizer, name=path.name)
    if given.megabytes:
        varied = vary(generations, given.megabytes, random.Random(0))
        measure_rules(varied["text"].to_list())
        for processes in (1, given.processes):
            measure(varied, corpus, processes)
        return
    # Twice: the first time libraries are loaded.
    for _ in range(2):
        measure(generations, corpus, 1)
    wall, cpu = time.perf_counter(), time.process_time()
    notes, one = MatchedCorpus(corpus, tokenizer, load_profile()), LocalRunner(1)
    measure_memorization(generations, notes, match_tokens=30, seed=0, progress=Progress(quiet=True), runner=one)
    print(
        f"memorization stage: {time.process_time() - cpu:.1f} s of processor time ({time.perf_counter() - wall:.1f} s)"
    )


if __name__ == "__main__":
    main()
