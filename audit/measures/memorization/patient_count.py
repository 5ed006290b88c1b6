"""Patient specificity K: in how many patients' notes a text stands verbatim (paper 3.2.1; docs/methods.md, section 2).

K is a document frequency with patients for documents. Owns the search for many texts at once by an automaton (Aho and
Corasick 1975; pyahocorasick), which takes the corpus in shards. Knows nothing of generations: it counts texts.
"""

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.audit.runtime.run.spill import Items, Made
from clinaudit.priors.corpus.note_texts import PackedTexts, release_pages, split_patients

#: A text as it stands, and masked.
Texts = tuple[str, str]
#: How many train patients have a note that holds each text, and a masked note that holds the masked one.
TextCounts = Mapping[Texts, tuple[int, int]]

#: Texts that are looked for at a time, about 1 kB each.
_MOST_TEXTS: Final = 100_000
#: Characters of texts in one automaton, which takes up to 50 bytes for each; the notes are read once for each of them.
#: A larger one is no faster: it leaves the processor's cache.
_MOST_CHARS: Final = 8 << 20
#: Bytes of notes in a shard.
PART_BYTES: Final = 4 << 20


def count_texts(
    texts: Items[Sequence[Texts]], notes: MatchedCorpus, *, progress: Progress, runner: ShardRunner = ALL_CORES
) -> Items[TextCounts]:
    """Count the train patients whose notes hold some texts, list by list; a list is never divided."""
    readings = sum(1 for _ in batches(map(len, texts), int, _MOST_TEXTS))

    def count(title: str, which: int, packed: PackedTexts) -> list[Sequence[int]]:
        counts: list[Sequence[int]] = []
        with progress.stage(title, total=readings * packed.size, unit="bytes of notes") as advance:
            for some in batches(texts, len, _MOST_TEXTS):
                wanted = {pair[which] for own in some for pair in own}
                found = count_patients(wanted, packed, runner=runner, advance=advance)
                counts += (array("I", (found[pair[which]] for pair in own)) for own in some)
        return counts

    if not any(texts):
        return Made(len(texts), lambda _: {})
    plain = count("counting patients", 0, notes.corpus.packed("train"))
    masked = count("counting patients in masked notes", 1, notes.masked("train", runner, progress))
    return Made(len(texts), lambda at: dict(zip(texts[at], zip(plain[at], masked[at], strict=True), strict=True)))


def count_patients(
    texts: Collection[str],
    notes: PackedTexts,
    *,
    runner: ShardRunner = ALL_CORES,
    advance: Callable[[int], None] = lambda _bytes: None,
) -> dict[str, int]:
    """Return K for each text: the number of patients with at least one note that holds it verbatim.

    `texts` hold line feeds only. Occurrences never cross from one note into the next. `advance` is called with bytes of
    notes, about `notes.size` of them in all. Raises `ValueError` for an empty text.
    """
    counts = dict.fromkeys(texts, 0)
    if "" in counts:
        raise ValueError("an empty text stands everywhere")
    groups = list(batches(counts, len, _MOST_CHARS))
    parts = list(split_patients(notes, part_bytes=PART_BYTES))
    for group in groups:
        shards = (copy_patients(notes, patients) for patients, _ in parts)
        total: npt.NDArray[np.int64] = np.zeros(len(group), dtype=np.int64)
        for (_, size), found in zip(parts, runner.map(count_in_shard, WantedTexts(group), shards), strict=True):
            total += found
            advance(size // len(groups))
        counts.update(zip(group, total.tolist(), strict=True))
    return counts


class WantedTexts:
    """Distinct texts that all shards search for."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def __reduce__(self) -> tuple[type["WantedTexts"], tuple[Sequence[str]]]:
        # A forked process has the automaton already; any other makes its own, once.
        return WantedTexts, (self.texts,)

    @cached_property
    def automaton(self) -> Any:
        """Finds each text's index wherever the text ends."""
        import ahocorasick

        automaton = ahocorasick.Automaton(ahocorasick.STORE_ANY)
        for index, text in enumerate(self.texts):
            automaton.add_word(text, index)
        automaton.make_automaton()
        return automaton


def count_in_shard(wanted: WantedTexts, notes: PackedTexts) -> npt.NDArray[np.int64]:
    """Return how many patients of a shard hold each wanted text, shape (texts,), wherever that is done."""
    counts: npt.NDArray[np.int64] = np.zeros(len(wanted.texts), dtype=np.int64)
    for patient in range(notes.patient_count):
        # `iter`, not `iter_long`: nested and overlapping texts must all be seen.
        held = {index for note in notes.notes_of(patient) for _, index in wanted.automaton.iter(note)}
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
