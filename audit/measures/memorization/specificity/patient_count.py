"""Patient specificity K: in how many patients' notes a text stands verbatim (paper 3.2.1; docs/methods.md, section 2).

Owns the choice of engine and the threads. Two engines give the same counts: the automaton of note_texts.py, and the
sampled index of window_index.py, some hundred times faster on a large corpus.
"""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.priors.corpus.note_texts import PackedTexts, count_patients_by_automaton, release_pages, split_patients

if TYPE_CHECKING:
    from clinaudit.audit.measures.memorization.specificity.window_index import WindowIndex

SpecificityEngine = Literal["auto", "aho-corasick", "windows"]
Advance = Callable[[int], None]
#: Up to these sizes the automaton finishes within seconds, and nothing has to be compiled.
_FEW_CHARS = 1 << 20
_SMALL_CORPUS_BYTES = 16 << 20
#: Bytes of corpus that one thread takes at a time.
PART_BYTES = 32 << 20


def count_patients(
    texts: Collection[str],
    notes: PackedTexts,
    *,
    engine: SpecificityEngine = "auto",
    threads: int | None = None,
    runner: ShardRunner = ALL_CORES,
    advance: Advance = lambda _bytes: None,
) -> dict[str, int]:
    r"""Return K for each text: the number of patients with at least one note that holds it verbatim.

    `texts` hold line feeds only and are not empty. Occurrences never cross from one note into the next. `advance` is
    called with bytes of corpus, about `notes.size` of them in all. `threads` are those of the window engine; without
    it, one for each processor. With a `runner` that engine's work is cut into shards. Raises `ValueError` for an empty
    text.
    """
    wanted = list(dict.fromkeys(texts))
    if not wanted:
        return {}
    if "" in wanted:
        raise ValueError("an empty text stands everywhere")
    if engine == "auto":
        is_small = notes.size <= _SMALL_CORPUS_BYTES and sum(map(len, wanted)) <= _FEW_CHARS
        engine = "aho-corasick" if is_small else "windows"
    if engine == "aho-corasick":
        return dict(count_patients_by_automaton(wanted, notes, advance=advance))
    return _count_by_windows(wanted, notes, threads=threads, runner=runner, advance=advance)


def _count_by_windows(
    wanted: Sequence[str], notes: PackedTexts, *, threads: int | None, runner: ShardRunner, advance: Advance
) -> dict[str, int]:
    searched, order = index_texts(wanted, notes)
    parts = list(split_patients(notes, part_bytes=PART_BYTES))
    # In the order of the texts.
    counts = dict.fromkeys(wanted, 0)
    if not runner.is_here:
        shards = (copy_patients(notes, patients) for patients, _ in parts)
        return counts | add_shards(runner.map(count_in_shard, searched, shards), order, parts, advance)
    # Each engine reads the whole corpus; progress counts both.
    share = 2 if searched.indexes and searched.short else 1
    if searched.indexes:
        from clinaudit.audit.measures.memorization.specificity.window_index import count_in_range

        totals: npt.NDArray[np.int64] = np.zeros(searched.long, dtype=np.int64)

        def scan(part: tuple[range, int]) -> npt.NDArray[np.uint32]:
            return count_in_range(searched.indexes, notes, texts=searched.long, patients=part[0])

        workers = threads or os.cpu_count() or 1
        with ThreadPoolExecutor(workers) as pool:
            for at in range(0, len(parts), workers):
                group = parts[at : at + workers]
                for (_, size), found in zip(group, pool.map(scan, group), strict=True):
                    totals += found
                    advance(size // share)
        counts.update(zip(order, totals.tolist(), strict=False))
    if searched.short:
        counts.update(count_patients_by_automaton(searched.short, notes, advance=lambda size: advance(size // share)))
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class WantedTexts:
    """The texts that all shards search for: the indexed ones, and the short ones."""

    indexes: "list[WindowIndex]"
    long: int
    short: list[str]


def index_texts(texts: Sequence[str], notes: PackedTexts) -> tuple[WantedTexts, list[str]]:
    """Return what a shard searches for, and which text each of a shard's counts is of.

    A text of two counts has its true one in the later. `notes` show which windows of a text are boilerplate.
    """
    from clinaudit.audit.measures.memorization.specificity.window_index import LEAST_BYTES, build_indexes

    long: list[str] = []
    short: list[str] = []
    encoded: list[bytes] = []
    for text in texts:
        if len(own := text.encode("utf-8")) >= LEAST_BYTES:
            long.append(text)
            encoded.append(own)
        else:
            short.append(text)
    indexes, crowded = build_indexes(encoded, notes)
    # A text in no index stands among the long ones, where it is not searched for, and again among the short ones.
    short += [long[place] for place in crowded]
    return WantedTexts(indexes, len(long), short), long + short


def add_shards(
    found: Iterable[tuple[int, npt.NDArray[np.int64]]],
    order: Sequence[str],
    parts: Sequence[tuple[range, int]],
    advance: Advance,
) -> dict[str, int]:
    """Add up the counts of the shards, by text in the order of `index_texts`; `parts` are (patients, bytes) of each."""
    totals: npt.NDArray[np.int64] = np.zeros(len(order), dtype=np.int64)
    for index, counts in found:
        totals += counts
        advance(parts[index][1])
    return dict(zip(order, totals.tolist(), strict=True))


def count_in_shard(wanted: WantedTexts, notes: PackedTexts) -> npt.NDArray[np.int64]:
    """Return how many patients of a shard hold each wanted text, in the order of `index_texts`; runs in a worker."""
    long: npt.NDArray[np.int64] = np.zeros(wanted.long, dtype=np.int64)
    if wanted.indexes:
        from clinaudit.audit.measures.memorization.specificity.window_index import count_in_range

        long += count_in_range(wanted.indexes, notes, texts=wanted.long, patients=range(notes.patient_count))
    short = count_patients_by_automaton(wanted.short, notes, advance=lambda _: None) if wanted.short else {}
    return np.concatenate([long, np.array([short[text] for text in wanted.short], dtype=np.int64)])


def copy_patients(notes: PackedTexts, patients: Sequence[int] | npt.NDArray[np.int64]) -> PackedTexts:
    """Return a copy of the notes of some patients, by their places, for a worker."""
    places = np.array(patients)
    numbers = np.concatenate([np.arange(*notes.first_notes[place : place + 2]) for place in places])
    starts, ends = notes.starts[numbers], notes.ends[numbers]
    parts = (notes.text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
    text = np.concatenate([np.empty(0, dtype=np.uint8), *parts])
    release_pages(notes, range(places.min(), places.max() + 1))
    bounds, first_notes = (
        np.append(0, np.cumsum(sizes)) for sizes in (ends - starts, np.diff(notes.first_notes)[places])
    )
    return PackedTexts(text, bounds[:-1], bounds[1:], first_notes)
