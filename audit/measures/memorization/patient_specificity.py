"""Patient specificity K: in how many patients' notes a text stands verbatim, and in whose (paper 3.2.1).

K is a document frequency with patients for documents (docs/methods.md, section 2). Owns two searches for many texts at
once, both over the corpus in shards: an automaton (Aho and Corasick 1975; ahocorasick_rs), which counts all patients,
and anchors (`Texts`), which find the first two of either split. An automaton has a state for each byte of each text,
too many for a million overlapping texts: a window of 30 tokens has more than a hundred bytes, of which the next window
repeats all but four. Knows nothing of generations: it takes texts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus, lay_ranges
from clinaudit.audit.runtime.cluster import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.statistics.estimates import SPLITS, Pools
from clinaudit.priors.corpus.patient import PackedTexts, Split, release_pages, split_patients

#: Characters of texts in one automaton, which takes up to 50 bytes for each while it is built; the notes are read once
#: for each of them.
_MOST_CHARS: Final = 5 << 20
#: Bytes of notes in a shard.
PART_BYTES: Final = 4 << 20
#: Bytes of a note that are searched at once: where a text repeats itself, each place of a ruled line is a hit of many.
_COUNT_STEP_BYTES: Final = 1 << 14


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
    step = max(_COUNT_STEP_BYTES, wanted.longest)
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


Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
_U = np.uint64
#: Bytes of an anchor: each text has one of the longest that fits into it.
_WIDTHS: Final = (32, 8, 1)
#: Odd 64-bit constants whose bits look random, one for each eight bytes of an anchor (splitmix64 of 1 to 4 with the
#: lowest bit set), and a multiplier of wyhash.
_FACTORS: Final = (0x910A2DEC89025CC1, 0x975835DE1C9756CF, 0x1D0B14E4DB018FED, 0x6E73E372E2338ACB)
_MIX: Final = _U(0xA0761D6478BD642F)
#: Bits of a hash by which strings are counted, and how many places the filter has for each anchor.
_COUNTED_BITS: Final = 22
_FILTER_PLACES: Final = 32
#: Texts that are hashed in one step: a Python number takes four times the memory of an array's.
_TEXTS_AT_A_TIME: Final = 1 << 16
#: Bytes of notes that are looked at in one step, and in one shard.
_STEP_BYTES: Final = 1 << 18
SHARD_BYTES: Final = 4 << 20
#: Patients of either split who are asked first; each time after that, so many times more.
FIRST_PATIENTS: Final = 64
_GROWTH: Final = 8
SPLIT: Final = pl.Enum(SPLITS)


def _words_of(text: Bytes, width: int) -> Words | Bytes:
    """Return the eight bytes at each place as a number, or the one byte where anchors have no more."""
    return text if width < 8 else np.ndarray(max(0, len(text) - 7), dtype="<u8", buffer=text, strides=(1,))


def _hash_strings(text: Bytes, width: int, stride: int = 1) -> Words:
    """Return a hash of the `width` bytes at each place, or at each `stride`-th, that has so many after it."""
    words = _words_of(text, width).astype(np.uint64)
    count = max(0, len(text) - width + 1)
    values = words[:count:stride] * _U(_FACTORS[0])
    for number in range(1, width // 8):
        values += words[8 * number : 8 * number + count : stride] * _U(_FACTORS[number])
    values ^= values >> _U(29)
    values *= _MIX
    return values


def _find_same(text: Bytes, places: Places, other: Bytes, others: Places, lengths: Places, width: int) -> Places:
    """Return which stretches of a text equal those of another; each has `width` bytes at least."""
    words, other_words, size = _words_of(text, width), _words_of(other, width), min(width, 8)
    # The end first: texts that share an anchor mostly begin alike, too, and go on differently.
    last = lengths - size
    same = np.flatnonzero(words[places + last] == other_words[others + last])
    for at in range(0, int(lengths.max(initial=0)) - size, size):
        into = np.minimum(at, last[same])
        same = same[words[places[same] + into] == other_words[others[same] + into]]
    return same


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts to look for, each a stretch of the same bytes, with its anchor; all arrays have the shape (texts,).

    A text is looked for at its *anchor*: of its strings of so many bytes the one that is rarest among all texts. The
    bytes at each place of the notes are looked up among the anchors, by their hash, and what stands around a hit is
    compared with the text byte for byte: no result rests on a hash.
    """

    text: Bytes
    begins: Places
    lengths: Places
    #: Bytes of the anchor, its hash, and where it stands in the text.
    widths: npt.NDArray[np.uint8]
    anchors: Words
    offsets: Places

    def __len__(self) -> int:
        return len(self.begins)


def number_texts(text: Bytes, begins: Places, ends: Places) -> tuple[Texts, Places]:
    """Return the distinct ones of some texts, none of them empty, and of each its number among these.

    The texts lie in the bytes from `begins` to `ends`.
    """
    whole, lengths = text.tobytes(), ends - begins
    hashes = np.zeros(len(begins), dtype=np.int64)
    for at in range(0, len(begins), _TEXTS_AT_A_TIME):
        some = slice(at, at + _TEXTS_AT_A_TIME)
        stretches = zip(begins[some].tolist(), ends[some].tolist(), strict=True)
        hashes[some] = [hash(whole[begin:end]) for begin, end in stretches]
    _, firsts, numbers = np.unique(hashes, return_index=True, return_inverse=True)
    # Texts of one hash that differ, which nobody will ever see, are texts of their own.
    first = firsts[numbers]
    differs = first != np.arange(len(first))
    for is_long in (True, False):
        own = np.flatnonzero(differs & (lengths == lengths[first]) & ((lengths >= 8) == is_long))
        same = _find_same(text, begins[own], text, begins[first[own]], lengths[own], 8 if is_long else 1)
        differs[own[same]] = False
    numbers[differs] = len(firsts) + np.arange(np.count_nonzero(differs))
    firsts = np.append(firsts, np.flatnonzero(differs))
    return _anchor(text, begins[firsts], lengths[firsts]), numbers


def _anchor(text: Bytes, begins: Places, lengths: Places) -> Texts:
    """Choose the anchor of each text: of the strings at every eighth of their width the one that is rarest in all."""
    widths = np.zeros(len(begins), dtype=np.uint8)
    anchors = np.zeros(len(begins), dtype=np.uint64)
    offsets = np.zeros(len(begins), dtype=np.int64)
    for width in _WIDTHS:
        stride = max(1, width // 8)
        own = np.flatnonzero((widths == 0) & (lengths >= width + stride - 1))
        if not len(own):
            continue
        hashes = _hash_strings(text, width, stride)
        crowd = (hashes >> _U(64 - _COUNTED_BITS)).view(np.int64)
        # Of those that are equally rare the same one for all texts that hold it.
        rank = np.bincount(crowd)[crowd].view(np.uint64)
        rank <<= _U(40)
        rank |= hashes >> _U(24)
        first, last = begins[own], begins[own] + lengths[own] - width
        at = _find_least(rank, -(-first // stride), last // stride)
        widths[own], anchors[own], offsets[own] = width, hashes[at], at * stride - first
    return Texts(text, begins, lengths, widths, anchors, offsets)


def _find_least(values: Words, firsts: Places, lasts: Places) -> Places:
    """Return the place of the least value from each of `firsts` to `lasts` (included), of several the first."""
    found = np.zeros(len(firsts), dtype=np.int64)
    counts = lasts - firsts + 1
    least = np.arange(len(values), dtype=np.int32)
    span = 1
    while True:
        # `least` is that of `span` values from each place on; two such spans cover a stretch of less than two.
        own = np.flatnonzero((span <= counts) & (counts < 2 * span))
        one, other = least[firsts[own]], least[lasts[own] + 1 - span]
        found[own] = np.where(values[other] < values[one], other, one)
        if span * 2 > counts.max(initial=0):
            return found
        one, other = least[:-span], least[span:]
        least = np.where(values[other] < values[one], other, one)
        span *= 2


class _Index(NamedTuple):
    """Texts by their anchors, all of one width."""

    width: int
    #: The distinct anchors, ascending, and where the texts of each begin in `numbers`, shape (anchors + 1,).
    anchors: Words
    firsts: Places
    #: The numbers of the texts.
    numbers: Places
    #: For each value of the highest bits of a hash whether an anchor has it, and how many bits the others are.
    filter: npt.NDArray[np.bool_]
    shift: int

    @classmethod
    def of(cls, texts: Texts, wanted: Places, width: int) -> "_Index":
        own = wanted[texts.widths[wanted] == width]
        own = own[np.argsort(texts.anchors[own], kind="stable")]
        anchors, firsts = np.unique(texts.anchors[own], return_index=True)
        bits = max(16, int(_FILTER_PLACES * len(anchors)).bit_length())
        seen = np.zeros(1 << bits, dtype=np.bool_)
        seen[(anchors >> _U(64 - bits)).view(np.int64)] = True
        return cls(width, anchors, np.append(firsts, len(own)), own, seen, 64 - bits)

    def find(self, texts: Texts, notes: PackedTexts) -> Iterator[tuple[Places, Places]]:
        """Yield which texts stand in which notes, by number and index, some at a time."""
        for begin in range(0, len(notes.text), _STEP_BYTES):
            hashes = _hash_strings(notes.text[begin : begin + _STEP_BYTES + self.width - 1], self.width)
            places = np.flatnonzero(self.filter[(hashes >> _U(self.shift)).view(np.int64)])
            hashes = hashes[places]
            of = np.minimum(np.searchsorted(self.anchors, hashes), len(self.anchors) - 1)
            hit = np.flatnonzero(self.anchors[of] == hashes)
            places, of = places[hit] + begin, of[hit]
            # Each hit once for each text of its anchor.
            hits, rows = lay_ranges(self.firsts[of], self.firsts[of + 1] - self.firsts[of])
            numbers = self.numbers[rows]
            at, lengths = places[hits] - texts.offsets[numbers], texts.lengths[numbers]
            # The bytes of the next note follow those of a note.
            note = np.searchsorted(notes.ends, places[hits], side="right")
            within = np.flatnonzero((at >= notes.starts[note]) & (at + lengths <= notes.ends[note]))
            numbers, at, note, lengths = numbers[within], at[within], note[within], lengths[within]
            same = _find_same(texts.text, texts.begins[numbers], notes.text, at, lengths, self.width)
            yield numbers[same], note[same]


def search_shard(searched: tuple[Texts, Sequence[_Index]], notes: PackedTexts) -> tuple[Places, Places]:
    """Return which texts the notes of which patients hold, by number and place, wherever that is done.

    Of each text the first two of these patients are returned.
    """
    texts, indexes = searched
    nothing = np.zeros(0, dtype=np.int64)
    found = [(nothing, nothing), *(some for index in indexes for some in index.find(texts, notes))]
    numbers, in_notes = map(np.concatenate, zip(*found, strict=True))
    patients = np.searchsorted(notes.first_notes, in_notes, side="right") - 1
    pairs = np.unique(numbers * notes.patient_count + patients)
    numbers, patients = np.divmod(pairs, max(1, notes.patient_count))
    is_third = np.append([False, False], numbers[2:] == numbers[:-2])[: len(numbers)]
    return numbers[~is_third], patients[~is_third]


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
    most, drawn = max(map(len, orders.values())), max(map(len, pools.drawn.values()))
    rounds = [FIRST_PATIENTS * _GROWTH**number for number in range(20)]
    held = pl.DataFrame(schema={"text": pl.Int64, "split": SPLIT, "rank": pl.Int64})
    wanted = np.arange(len(texts))
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
        indexes = [_Index.of(texts, wanted, width) for width in np.unique(texts.widths[wanted]).tolist()]
        found = [held]
        searched = runner.map(search_shard, (texts, indexes), shards)
        for (split, first, own), (numbers, patients) in zip(parts, searched, strict=True):
            ranks = pl.DataFrame({"text": numbers, "rank": patients + begin + first})
            found.append(ranks.select("text", pl.lit(split, SPLIT).alias("split"), "rank"))
            advance(len(own))
        held = pl.concat(found).sort("text", "split", "rank").filter(pl.int_range(pl.len()).over("text", "split") < 2)
        crowded = _held_twice(held.filter(pl.col("rank") < min(pools.size.values())), len(texts))
        held = held.filter(~pl.lit(pl.Series(crowded)).gather(pl.col("text")))
        # Once all who are in pools are asked, a second holder decides, whoever it is.
        is_done = crowded | _held_twice(held, len(texts)) if end >= drawn else crowded
        wanted = wanted[~is_done[wanted]]
    return held


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
