"""Masked K: the scan of notes with placeholders for the values of their own patient and visit (docs/methods.md, 2).

Owns which values are masked in which note, and the scan in shards: a shard's notes are masked where it is scanned, here
or by the workers of a cluster, so that no masked corpus is kept. Knows nothing of generations.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.specificity.patient_count import (
    PART_BYTES,
    WantedTexts,
    add_shards,
    count_in_shard,
    index_texts,
)
from clinaudit.audit.measures.memorization.specificity.value_mask import MaskedValue, ValueMask, mask_text
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.note_texts import pack_notes, release_pages, split_patients
from clinaudit.priors.corpus.patient import Patient, Split
from clinaudit.priors.identity import Identity, IdentityReader, Visit
from clinaudit.templates.dates import WrittenDates
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.profile import NoteProfile

_Shard = list[tuple[Patient, list[Visit]]]


@dataclass(frozen=True, slots=True)
class MaskableText:
    """A note with line feeds only, and the occurrences of its own patient's and visit's values, in order."""

    text: str
    values: list[MaskedValue]
    #: Finds the same values in other texts.
    mask: ValueMask


class NoteMasker:
    """Finds in notes the values of their own patient and visit, under one note template."""

    def __init__(self, profile: NoteProfile) -> None:
        self._identities = IdentityReader(profile)
        self._dates = WrittenDates(profile.date_formats)

    def read(self, patient: Patient, notes: Sequence[Visit]) -> list[MaskableText]:
        """Return a patient's notes with their values; `notes` are all of the patient's, oldest first."""
        masks: dict[Identity, ValueMask] = {}
        found: list[MaskableText] = []
        for note, identity in zip(notes, self._identities.read(patient, notes), strict=True):
            if identity not in masks:
                masks[identity] = ValueMask(identity, self._dates)
            text = normalize_newlines(note.text)
            found.append(MaskableText(text, masks[identity].find(text, identity.age_place), masks[identity]))
        return found


@dataclass(frozen=True, slots=True)
class _Task:
    """What all shards share."""

    wanted: WantedTexts
    profile: NoteProfile


def count_masked_patients(
    texts: Collection[str],
    corpus: Corpus,
    profile: NoteProfile,
    *,
    runner: ShardRunner,
    advance: Callable[[int], None],
    split: Split = "train",
) -> dict[str, int]:
    """Return for each masked text how many patients of a split have a note that, masked, holds it.

    `advance` is called with bytes of notes. Without a `runner` the work is done in this process.
    """
    if not texts:
        return {}
    notes = corpus.packed(split)
    wanted, order = index_texts(texts, notes)
    parts = list(split_patients(notes, part_bytes=PART_BYTES))
    shards = _cut(corpus, split, [part for part, _ in parts])
    found = runner.map(count_masked_shard, _Task(wanted, profile), shards)
    return add_shards(found, order, parts, advance)


def _cut(corpus: Corpus, split: Split, parts: Iterable[range]) -> Iterator[_Shard]:
    packed, patients = corpus.packed(split), corpus.scan_order(split)
    for part in parts:
        shard: _Shard = []
        for place in part:
            own = zip(corpus.notes_of(patients[place]), packed.notes_of(place), strict=True)
            shard.append((corpus.patients[patients[place]], [Visit.of(note, text) for note, text in own]))
        release_pages(packed, part)
        yield shard


def count_masked_shard(task: _Task, shard: _Shard) -> npt.NDArray[np.int64]:
    """Return how many patients of a shard hold each wanted text once masked, in the order of `index_texts`."""
    masker = NoteMasker(task.profile)
    masked = ([mask_text(note.text, note.values) for note in masker.read(patient, notes)] for patient, notes in shard)
    return count_in_shard(task.wanted, pack_notes(masked))
