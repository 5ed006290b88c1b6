"""Patient specificity K: in how many patients' notes a text stands verbatim (paper 3.2.1; docs/methods.md, section 2).

Owns the choice of engine and the threads. Two engines give the same counts: the automaton of note_texts.py, and the
sampled index of window_index.py, some hundred times faster on a large corpus.
"""

import os
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.priors.corpus.note_texts import PackedTexts, count_patients_by_automaton, release_pages, split_patients

if TYPE_CHECKING:
    from clinaudit.audit.measures.memorization.specificity.window_index import WindowIndex

SpecificityEngine = Literal["auto", "aho-corasick", "windows"]
Advance = Callable[[int], None]
#: Up to these sizes the automaton finishes within seconds, and nothing has to be compiled.
_FEW_TEXTS = 2_000
_SMALL_CORPUS_BYTES = 16 << 20
#: Bytes of corpus that one thread takes at a time.
PART_BYTES = 32 << 20


def count_patients(
    texts: Collection[str],
    notes: PackedTexts,
    *,
    engine: SpecificityEngine = "auto",
    threads: int | None = None,
    runner: ShardRunner | None = None,
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
        engine = "aho-corasick" if _is_small(wanted, notes) else "windows"
    if engine == "aho-corasick":
        return dict(count_patients_by_automaton(wanted, notes, advance=advance))
    if runner is not None:
        return _count_in_shards(wanted, notes, runner, advance)
    return _count_by_windows(wanted, notes, threads=threads or os.cpu_count() or 1, advance=advance)


def _is_small(texts: Collection[str], notes: PackedTexts) -> bool:
    return len(texts) <= _FEW_TEXTS and notes.size <= _SMALL_CORPUS_BYTES


def _count_by_windows(texts: list[str], notes: PackedTexts, *, threads: int, advance: Advance) -> dict[str, int]:
    from clinaudit.audit.measures.memorization.specificity.window_index import (
        LEAST_BYTES,
        build_indexes,
        count_in_range,
    )

    encoded = [text.encode("utf-8") for text in texts]
    long = [index for index, text in enumerate(encoded) if len(text) >= LEAST_BYTES]
    short = [texts[index] for index, text in enumerate(encoded) if len(text) < LEAST_BYTES]
    indexes, crowded = build_indexes([encoded[index] for index in long], notes)
    del encoded
    short += [texts[long[place]] for place in crowded]
    counts = dict.fromkeys(texts, 0)
    # Each engine reads the whole corpus; progress counts both.
    share = 2 if indexes and short else 1
    if indexes:
        totals: npt.NDArray[np.uint64] = np.zeros(len(long), dtype=np.uint64)
        parts = list(split_patients(notes, part_bytes=PART_BYTES))

        def scan(part: tuple[range, int]) -> npt.NDArray[np.uint32]:
            return count_in_range(indexes, notes, texts=len(long), patients=part[0])

        with ThreadPoolExecutor(threads) as pool:
            for at in range(0, len(parts), threads):
                group = parts[at : at + threads]
                for (_, size), found in zip(group, pool.map(scan, group), strict=True):
                    totals += found
                    advance(size // share)
        counts.update((texts[index], int(total)) for index, total in zip(long, totals, strict=True))
    if short:
        counts.update(count_patients_by_automaton(short, notes, advance=lambda size: advance(size // share)))
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class WantedTexts:
    """The texts that all shards search for: the indexed ones, and the short ones."""

    indexes: "list[WindowIndex]"
    long: int
    short: list[str]


def index_texts(
    texts: Collection[str], notes: PackedTexts, *, engine: SpecificityEngine = "auto"
) -> tuple[WantedTexts, list[str]]:
    """Return what a shard searches for, and which text each of a shard's counts is of.

    A text of two counts has its true one in the later. `notes` show which windows of a text are boilerplate.
    """
    if engine == "aho-corasick" or (engine == "auto" and _is_small(texts, notes)):
        return WantedTexts([], 0, list(texts)), list(texts)
    from clinaudit.audit.measures.memorization.specificity.window_index import LEAST_BYTES, build_indexes

    long = [text for text in texts if len(text.encode("utf-8")) >= LEAST_BYTES]
    short = [text for text in texts if len(text.encode("utf-8")) < LEAST_BYTES]
    indexes, crowded = build_indexes([text.encode("utf-8") for text in long], notes)
    # A text in no index stands among the long ones, where it is not searched for, and again among the short ones.
    short += [long[place] for place in crowded]
    return WantedTexts(indexes, len(long), short), long + short


def _count_in_shards(texts: list[str], notes: PackedTexts, runner: ShardRunner, advance: Advance) -> dict[str, int]:
    wanted, order = index_texts(texts, notes, engine="windows")
    parts = list(split_patients(notes, part_bytes=PART_BYTES))
    totals: npt.NDArray[np.int64] = np.zeros(len(order), dtype=np.int64)
    shards = (copy_patients(notes, patients) for patients, _ in parts)
    for index, found in runner.map(count_in_shard, wanted, shards):
        totals += found
        advance(parts[index][1])
    return dict.fromkeys(texts, 0) | dict(zip(order, totals.tolist(), strict=True))


def count_in_shard(wanted: WantedTexts, notes: PackedTexts) -> npt.NDArray[np.int64]:
    """Return how many patients of a shard hold each wanted text, in the order of `index_texts`; runs in a worker."""
    long: npt.NDArray[np.int64] = np.zeros(wanted.long, dtype=np.int64)
    if wanted.indexes:
        from clinaudit.audit.measures.memorization.specificity.window_index import count_in_range

        long += count_in_range(wanted.indexes, notes, texts=wanted.long, patients=range(notes.patient_count))
    short = count_patients_by_automaton(wanted.short, notes, advance=lambda _: None) if wanted.short else {}
    return np.concatenate([long, np.array([short[text] for text in wanted.short], dtype=np.int64)])


def copy_patients(notes: PackedTexts, patients: range) -> PackedTexts:
    """Return a copy of the notes of a range of patients, for a worker."""
    own = slice(notes.first_notes[patients.start], notes.first_notes[patients.stop])
    begins, ends = notes.starts[own].tolist(), notes.ends[own].tolist()
    text = np.concatenate(
        [np.empty(0, dtype=np.uint8), *(notes.text[begin:end] for begin, end in zip(begins, ends, strict=True))]
    )
    release_pages(notes, patients)
    bounds = np.concatenate([[0], np.cumsum(notes.ends[own] - notes.starts[own])]).astype(np.int64)
    first_notes = notes.first_notes[patients.start : patients.stop + 1] - notes.first_notes[patients.start]
    return PackedTexts(text, bounds[:-1], bounds[1:], first_notes)
