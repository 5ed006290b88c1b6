"""Notes with placeholders for the values of their own patient and visit, for masked K (docs/methods.md, 2).

Owns which values are masked in which note, and the masking of a corpus in shards. Knows nothing of generations, and of
who counts what in the notes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from clinaudit.audit.measures.memorization.specificity.value_mask import MaskedValue, ValueMask, mask_text
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner, in_order
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.note_texts import PackedTexts, TextStore, release_pages, split_patients
from clinaudit.priors.corpus.patient import Patient, Split
from clinaudit.priors.identity import Identity, IdentityReader, Visit
from clinaudit.templates.dates import WrittenDates
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.profile import NoteProfile

#: Some patients, each with all notes, oldest first.
PatientsShard = list[tuple[Patient, list[Visit]]]
#: Bytes of notes in a shard: masking takes a tenth of a second a megabyte.
PART_BYTES: Final = 2 << 20


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


def mask_notes(
    corpus: Corpus, profile: NoteProfile, split: Split, *, runner: ShardRunner, advance: Callable[[int], None]
) -> PackedTexts:
    """Return the notes of a split with placeholders, patients in the order of `Corpus.scan_order`.

    They lie in a nameless file. `advance` is called with bytes of notes.
    """
    parts = split_patients(corpus.packed(split), part_bytes=PART_BYTES)
    shards = cut_notes(corpus, split)
    places: list[range] = []
    with TextStore(corpus.scratch) as texts:
        for masked, (_, size) in zip(in_order(runner.map(mask_shard, profile, shards)), parts, strict=True):
            for own in masked:
                places.append(range(len(texts), len(texts) + len(own)))
                for text in own:
                    texts.append(text)
            advance(size)
    return texts.packed(places)


def cut_notes(corpus: Corpus, split: Split) -> Iterator[PatientsShard]:
    """Yield the patients of a split in shards of `PART_BYTES`, in the order of `Corpus.scan_order`; line feeds only."""
    packed, patients = corpus.packed(split), corpus.scan_order(split)
    for part, _ in split_patients(packed, part_bytes=PART_BYTES):
        shard: PatientsShard = []
        for place in part:
            own = zip(corpus.notes_of(patients[place]), packed.notes_of(place), strict=True)
            shard.append((corpus.patients[patients[place]], [Visit.of(note, text) for note, text in own]))
        release_pages(packed, part)
        yield shard


def mask_shard(profile: NoteProfile, shard: PatientsShard) -> list[list[str]]:
    """Return the notes of some patients with placeholders, wherever that is done."""
    masker = NoteMasker(profile)
    return [[mask_text(note.text, note.values) for note in masker.read(patient, notes)] for patient, notes in shard]
