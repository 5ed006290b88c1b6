"""Patient specificity K: in how many patients' notes a text stands verbatim (paper 3.2.1; docs/methods.md, section 2).

K is a document frequency with patients for documents. Owns the search for many texts at once by an automaton (Aho and
Corasick 1975; ahocorasick_rs), which takes the corpus in shards. Knows nothing of generations: it counts texts.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.priors.corpus.note_texts import PackedTexts, release_pages, split_patients

#: Characters of texts in one automaton, which takes up to 50 bytes for each while it is built; the notes are read once
#: for each of them.
_MOST_CHARS: Final = 5 << 20
#: Bytes of notes in a shard.
PART_BYTES: Final = 4 << 20
#: Bytes of a note that are searched at once: where a text repeats itself, each place of a ruled line is a hit of many.
_STEP_BYTES: Final = 1 << 14


def count_pairs(
    pairs: pl.DataFrame, notes: MatchedCorpus, *, progress: Progress, runner: ShardRunner = ALL_CORES
) -> pl.DataFrame:
    """Return pairs of a text as it stands and masked (`text`, `masked`), in their order, with K and masked K of each.

    `patient_count` are the train patients whose notes hold the one, `masked_patient_count` those whose masked notes
    hold the other.
    """
    if pairs.is_empty():
        return pairs.with_columns(pl.lit(0, pl.Int64).alias(name) for name in ("patient_count", "masked_patient_count"))
    for title, column in (("counting patients", "text"), ("counting patients in masked notes", "masked")):
        packed = notes.corpus.packed("train") if column == "text" else notes.masked("train", runner, progress)
        with progress.stage(title, total=packed.size, unit="bytes of notes") as advance:
            counts = count_patients(pairs[column], packed, runner=runner, advance=advance)
        prefix = "" if column == "text" else "masked_"
        counts = counts.select(pl.col("text").alias(column), pl.col("patient_count").name.prefix(prefix))
        pairs = pairs.join(counts, on=column, how="left", maintain_order="left")
    return pairs


def count_patients(
    texts: pl.Series,
    notes: PackedTexts,
    *,
    runner: ShardRunner = ALL_CORES,
    advance: Callable[[float], None] = lambda _bytes: None,
) -> pl.DataFrame:
    """Return K of each distinct text: `text`, and as `patient_count` the patients with a note that holds it verbatim.

    `texts` hold line feeds only. Occurrences never cross from one note into the next. `advance` is called with bytes of
    notes, `notes.size` of them in all. Raises `ValueError` for an empty text.
    """
    # Texts with one beginning share states: they come into one automaton.
    wanted = texts.unique().sort()
    if wanted.head(1).to_list() == [""]:
        raise ValueError("an empty text stands everywhere")
    groups = (wanted.str.len_chars().cast(pl.Int64).cum_sum() // _MOST_CHARS).rle().struct.field("len")
    parts = list(split_patients(notes, part_bytes=PART_BYTES))
    counts, begin = np.zeros(len(wanted), dtype=np.int64), 0
    for length in groups:
        group = slice(begin, begin := begin + length)
        shards = (copy_patients(notes, patients) for patients, _ in parts)
        searched = runner.map(count_in_shard, WantedTexts(wanted[group].to_list()), shards)
        for (_, size), found in zip(parts, searched, strict=True):
            counts[group] += found
            advance(size / len(groups))
    return pl.DataFrame({"text": wanted, "patient_count": counts})


class WantedTexts:
    """Distinct texts that all shards search for."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def __reduce__(self) -> tuple[type["WantedTexts"], tuple[Sequence[str]]]:
        # A forked process has the automaton already; any other makes its own, once.
        return WantedTexts, (self.texts,)

    @cached_property
    def longest(self) -> int:
        """Bytes of the longest text."""
        return max(len(text.encode()) for text in self.texts)

    @cached_property
    def automaton(self) -> Any:
        """Finds each text's index wherever the text stands, in UTF-8."""
        from ahocorasick_rs import BytesAhoCorasick, Implementation

        # Of few texts the library makes a table of all states, quadratic in a text that repeats itself.
        return BytesAhoCorasick([text.encode() for text in self.texts], implementation=Implementation.ContiguousNFA)


def count_in_shard(wanted: WantedTexts, notes: PackedTexts) -> npt.NDArray[np.int64]:
    """Return how many patients of a shard hold each wanted text, shape (texts,), wherever that is done."""
    counts: npt.NDArray[np.int64] = np.zeros(len(wanted.texts), dtype=np.int64)
    find, text = wanted.automaton.find_matches_as_indexes, notes.text
    # Long texts overlap steps: at most every byte is searched twice.
    step = max(_STEP_BYTES, wanted.longest)
    for first, end in zip(notes.first_notes[:-1], notes.first_notes[1:], strict=True):
        own = zip(notes.starts[first:end].tolist(), notes.ends[first:end].tolist(), strict=True)
        held: set[int] = set()
        for begin, stop in own:
            for at in range(begin, stop, step):
                part = text[at : min(stop, at + step + wanted.longest - 1)].tobytes()
                # Nested and overlapping texts must all be seen.
                held.update(index for index, _, _ in find(part, overlapping=True))
        counts[list(held)] += 1
    return counts


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
