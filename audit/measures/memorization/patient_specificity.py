"""Patient specificity K: in how many patients' notes a text stands verbatim, and in whose (paper 3.2.1).

K is a document frequency with patients for documents (docs/methods.md, section 2). Owns one search for many texts at
once, over the corpus in shards: for all patients who hold a text, or for the first two of either split. It takes texts,
and knows nothing of generations.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.cluster import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.statistics.estimates import SPLITS, Pools
from clinaudit.priors.corpus.patient import PackedTexts, Split, release_pages, split_patients

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
#: Bytes of an anchor: each text has one of the longest that fits into it.
_WIDTHS: Final = (32, 8, 1)
#: Characters of texts that are looked for at once; the notes are read once for each so many.
_MOST_CHARS: Final = 8 << 20
#: Bytes of notes in a shard.
SHARD_BYTES: Final = 4 << 20
#: Patients of either split who are asked first; each time after that, so many times more.
FIRST_PATIENTS: Final = 64
_GROWTH: Final = 8
SPLIT: Final = pl.Enum(SPLITS)
#: A text's number with who holds it: there are millions of rows.
_HELD: Final[dict[str, Any]] = {"text": pl.UInt32, "split": SPLIT, "rank": pl.UInt32}


class Texts(NamedTuple):
    """Texts to look for, each a stretch of the same bytes, with its anchor; all other arrays have the shape (texts,).

    A text is looked for at its *anchor*: of its strings of so many bytes the one that is rarest among all texts. The
    string at each place of the notes is looked up among the anchors, by its hash, and what stands around a hit is
    compared with the text byte for byte. An automaton (Aho and Corasick 1975) has a state for each byte of each text,
    took seven times as long, and has no room for the windows of a generation, which overlap.
    """

    text: Bytes
    begins: Places
    ends: Places
    #: Bytes of the anchor, its hash, and where it stands in the text; the hash of the text.
    widths: npt.NDArray[np.uint8]
    anchors: npt.NDArray[np.uint64]
    offsets: Places
    hashes: npt.NDArray[np.uint64]


class _Search(NamedTuple):
    """What all shards share: the texts, by the width of their anchors these anchors by hash, and when it is enough."""

    texts: Texts
    chains: dict[int, tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]
    #: A text that so many patients of a shard hold is looked for no more.
    most: int

    @classmethod
    def of(cls, texts: Texts, wanted: Places, *, most: int) -> "_Search":
        # Compiled code, loaded where it is first needed: `--help` must not wait for it.
        from clinaudit.audit.measures.memorization.matching_kernels import chain_anchors

        widths = texts.widths[wanted]
        chains = {width: chain_anchors(texts.anchors, wanted[widths == width]) for width in np.unique(widths).tolist()}
        return cls(texts, chains, most)

    def find(self, notes: PackedTexts) -> tuple[Places, Places, Places]:
        """Return how many patients hold each text, and the places of the first and last of them, shape (texts,)."""
        from clinaudit.audit.measures.memorization.matching_kernels import find_texts

        counts, firsts, lasts = (np.full(len(self.texts.begins), value) for value in (0, -1, -1))
        text, begins, ends, _, anchors, offsets, hashes = self.texts
        packed = notes.text, notes.starts, notes.ends, notes.first_notes
        for width, chains in self.chains.items():
            own = text, begins, ends, anchors, offsets, hashes, *chains, width
            find_texts(*own, *packed, self.most, counts, firsts, lasts)
        return counts, firsts, lasts


def _anchor(text: Bytes, begins: Places, ends: Places) -> Texts:
    from clinaudit.audit.measures.memorization.matching_kernels import choose_anchors

    return Texts(text, begins, ends, *choose_anchors(text, begins, ends, _WIDTHS))


def number_texts(text: Bytes, begins: Places, ends: Places) -> tuple[Texts, Places]:
    """Return the distinct ones of some texts, none of them empty, and of each its number among these.

    The texts lie in the bytes from `begins` to `ends`.
    """
    from clinaudit.audit.measures.memorization.matching_kernels import number_stretches

    # Of one type of array the kernels are compiled once.
    begins, ends = np.array([begins, ends], dtype=np.int64)
    firsts, numbers = number_stretches(text, begins, ends)
    return _anchor(text, begins[firsts], ends[firsts]), numbers


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
    # Texts with one beginning mostly share an anchor: they are looked for together.
    wanted = texts.unique().sort()
    if wanted.head(1).to_list() == [""]:
        raise ValueError("an empty text stands everywhere")
    groups = (wanted.str.len_chars().cast(pl.Int64).cum_sum() // _MOST_CHARS).rle().struct.field("len")
    parts = list(split_patients(notes, part_bytes=SHARD_BYTES))
    counts, begin = np.zeros(len(wanted), dtype=np.int64), 0
    for length in groups:
        group = slice(begin, begin := begin + length)
        ends = np.cumsum(wanted[group].str.len_bytes(), dtype=np.int64)
        text = np.frombuffer("".join(wanted[group]).encode("utf-8"), dtype=np.uint8)
        search = _Search.of(_anchor(text, np.append(0, ends[:-1]), ends), np.arange(length), most=notes.patient_count)
        shards = (copy_patients(notes, patients) for patients, _ in parts)
        for (_, size), found in zip(parts, runner.map(count_in_shard, search, shards), strict=True):
            counts[group] += found
            advance(size / len(groups))
    return pl.DataFrame({"text": wanted, "patient_count": counts})


def count_in_shard(search: _Search, notes: PackedTexts) -> Places:
    """Return how many patients of a shard hold each text, shape (texts,), wherever that is done."""
    return search.find(notes)[0]


def copy_patients(notes: PackedTexts, patients: Sequence[int] | Places) -> PackedTexts:
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


def order_patients(pools: Pools, patients: Mapping[Split, int]) -> dict[Split, Places]:
    """Return the places of each split's patients by rank: first those drawn for pools, in their order."""
    return {
        split: np.append(pools.drawn[split], np.setdiff1d(np.arange(count), pools.drawn[split]))
        for split, count in patients.items()
    }


def find_holders(
    texts: Texts,
    notes: Mapping[Split, PackedTexts],
    pools: Pools,
    *,
    advance: Callable[[int], None],
    runner: ShardRunner = ALL_CORES,
) -> pl.DataFrame:
    """Return who holds the texts: text (its number), split, rank (place in `order_patients`), unique and sorted.

    Of either split there are the two holders of least rank at most. A text with two holders, of one split or both, in
    the pools of every target is nobody's alone: it has no rows. Boilerplate, which most patients hold, is settled by
    the first few of them; the notes of the others are not asked for it. `advance` is called with numbers of patients.
    """
    orders = order_patients(pools, {split: own.patient_count for split, own in notes.items()})
    count = len(texts.begins)
    most, drawn = max(map(len, orders.values())), max(map(len, pools.drawn.values()))
    rounds = [FIRST_PATIENTS * _GROWTH**number for number in range(20)]
    held = pl.DataFrame(schema=_HELD)
    wanted = np.arange(count)
    for begin, end in pairwise([0, *sorted({drawn, most, *(own for own in rounds if own < most)} - {0})]):
        if not len(wanted):
            advance(sum(len(order[begin:end]) for order in orders.values()))
            continue
        parts = [
            (split, first, own)
            for split, order in orders.items()
            for first, own in _cut(notes[split], order[begin:end])
        ]
        shards = (copy_patients(notes[split], own) for split, _, own in parts)
        found = [held]
        searched = runner.map(search_shard, _Search.of(texts, wanted, most=2), shards)
        for (split, first, own), (numbers, patients) in zip(parts, searched, strict=True):
            columns = {"text": numbers, "split": split, "rank": patients + begin + first}
            found.append(pl.DataFrame(columns, schema=_HELD))
            advance(len(own))
        held = pl.concat(found).sort("text", "split", "rank").filter(pl.int_range(pl.len()).over("text", "split") < 2)
        crowded = _held_twice(held.filter(pl.col("rank") < min(pools.size.values())), count)
        held = held.filter(~pl.lit(pl.Series(crowded)).gather(pl.col("text")))
        # Once all who are in pools are asked, a second holder decides, whoever it is.
        is_done = crowded | _held_twice(held, count) if end >= drawn else crowded
        wanted = wanted[~is_done[wanted]]
    return held


def search_shard(search: _Search, notes: PackedTexts) -> tuple[Places, Places]:
    """Return which texts the notes of which patients hold, by number and place, wherever that is done.

    Of each text the first two of these patients are returned.
    """
    counts, firsts, lasts = search.find(notes)
    one, two = np.flatnonzero(counts), np.flatnonzero(counts > 1)
    return np.append(one, two), np.append(firsts[one], lasts[two])


def _held_twice(held: pl.DataFrame, texts: int) -> npt.NDArray[np.bool_]:
    twice: npt.NDArray[np.bool_] = np.bincount(held["text"], minlength=texts) >= 2
    return twice


def _cut(notes: PackedTexts, patients: Places) -> Iterator[tuple[int, Places]]:
    """Cut some patients into shards of about `SHARD_BYTES`; yield how many come before each, and their places."""
    sizes = np.diff(np.append(0, np.cumsum(notes.ends - notes.starts))[notes.first_notes])
    shards = np.cumsum(sizes[patients]) // SHARD_BYTES
    bounds = np.flatnonzero(np.diff(shards, prepend=-1, append=-1))
    for first, end in pairwise(bounds.tolist()):
        yield first, patients[first:end]
