"""A site's own notes as a benchmark: which share of the identifiers known of its patients each system misses.

The gold is what the patients table and the labelled fields of the notes say, found wherever it stands in a note
(`Gazetteer`). Figures are of patients: they leave by the house's rules (docs/methods.md, section 10), counts as
classes, a share to two digits and only where more than ten patients stand behind it and behind what it leaves out.
Each place stands in `evidence/site_identifiers.parquet`, by offset and without its text.

Owns the gold, the recall and its coarsening. Knows nothing of tasks 2 and 3: nobody asked a question of these notes.
"""

import math
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from clinaudit.audit.pii.benchmark.scoring.sample_means import share_over_samples
from clinaudit.audit.pii.detectors.gazetteer import Gazetteer
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.masking import PromptMasker
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.run.durable_files import replacing_by_library
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.pii_bench import SiteBench, SiteRecall
from clinaudit.reports.suppression.classes import class_of, is_enough, two_digits
from clinaudit.templates.profile import NoteProfile

#: Notes that are read where there are more: a share of some thousands of places is known to a percent or two.
MOST_NOTES: Final = 1000
#: Of these so many are masked by the filter, drawn at random: it reads each several times over.
MOST_MASKED: Final = 300
#: The filter itself, beside the systems.
FILTER: Final = "clinaudit mask"
EVIDENCE_FILE: Final = "site_identifiers.parquet"
TOO_FEW: Final = "ten patients or fewer stand behind it, or behind what it leaves out"
LIMITS: Final = (
    "Known are names, birth dates and ids of the patients table and of labelled fields; what stands in free text alone "
    "is not counted, so that the share missed of all identifiers can be larger.",
    "A place counts as found where all its characters are covered, whatever the system calls it.",
    "What a system masks beyond these places is not counted: this is recall, and says nothing of precision.",
    "The gazetteer of the site's own names is no row: it reads the same table.",
    f"{FILTER} is measured on up to {MOST_MASKED} of the notes and is told of no patient, as it reads texts about "
    "people who stand in no table of the site. Given the corpus it finds these places by the table.",
)
Stretches = Iterable[tuple[int, int]]
#: For each known place; None where its note was not read.
Hits = Sequence[bool | None]


@dataclass(frozen=True, slots=True)
class KnownPlace:
    """Where a note holds an identifier that is known."""

    patient_id: str
    note: int
    span: EntitySpan

    @property
    def identifier(self) -> HipaaIdentifier | None:
        """HIPAA's paragraph."""
        return categories()[self.span.category].hipaa


class SiteNotes:
    """Notes drawn from a corpus, and the identifiers known in them."""

    def __init__(
        self,
        corpus: Corpus,
        profile: NoteProfile,
        *,
        seed: int,
        advance: Callable[[int], None] = lambda _patients: None,
    ) -> None:
        """Draw the notes and look for what is known; `advance(1)` for each patient read.

        Raises `BadInputError` where nothing known stands in any note.
        """
        gazetteer = Gazetteer(corpus, profile, advance=advance)
        notes = [(patient, note) for patient in corpus.patients for note in corpus.notes_of(patient)]
        drawn = sorted(random.Random(seed).sample(range(len(notes)), min(MOST_NOTES, len(notes))))
        self.texts = [notes[place][1].text for place in drawn]
        patients = [notes[place][0] for place in drawn]
        self.patients = len(set(patients))
        #: Those that a filter is tried on.
        self.masked_notes = frozenset(
            random.Random(seed).sample(range(len(self.texts)), min(MOST_MASKED, len(self.texts)))
        )
        self.places = [
            KnownPlace(patients[note], note, span)
            for note, text in enumerate(self.texts)
            for span in gazetteer.detect(text)
        ]
        if not self.places:
            raise BadInputError(
                "no identifier of the patients table or of a labelled field stands in any note that was read; name the "
                "layout of the notes with --template, or leave --corpus out"
            )

    def found_by(self, detector: Detector, advance: Callable[[int], None]) -> Hits:
        """Return for each known place whether a system covers it; `advance(1)` for each note."""
        return self._covered_by(
            lambda text: ((span.start, span.end) for span in detector.detect(text)), range(len(self.texts)), advance
        )

    def hidden_by(self, masker: PromptMasker, advance: Callable[[int], None]) -> Hits:
        """Return for each known place whether a filter masks it, or withholds its note; `advance(1)` for each note.

        None in notes that were not masked, beyond `masked_notes`.
        """
        return self._covered_by(
            lambda text: ((one.start, one.end) for one in masker.hidden_in(text)), self.masked_notes, advance
        )

    def _covered_by(
        self, read: Callable[[str], Stretches], notes: Collection[int], advance: Callable[[int], None]
    ) -> Hits:
        found: list[bool | None] = []
        waiting = iter(self.places)
        place = next(waiting, None)
        for note, text in enumerate(self.texts):
            covered = bytearray(len(text))
            if note in notes:
                for start, end in read(text):
                    covered[start:end] = b"\x01" * (end - start)
                advance(1)
            while place is not None and place.note == note:
                found.append(all(covered[place.span.start : place.span.end]) if note in notes else None)
                place = next(waiting, None)
        return found

    def publish(self, found: Mapping[str, Hits], *, seed: int) -> SiteBench:
        """Return the figures of all systems as they may leave the site."""
        return SiteBench(
            patients=class_of(self.patients),
            notes=class_of(len(self.texts)),
            recall=[row for system, hits in found.items() for row in self._rows(system, hits, seed=seed)],
            limits=list(LIMITS),
        )

    def write_evidence(self, path: Path, found: Mapping[str, Hits]) -> None:
        """Write each known place and which systems cover it (PHI), by offset."""
        import polars as pl

        columns: dict[str, Any] = {
            "patient_id": [place.patient_id for place in self.places],
            "note": [place.note for place in self.places],
            "start": [place.span.start for place in self.places],
            "end": [place.span.end for place in self.places],
            "category": [place.span.category for place in self.places],
            **{f"found_by_{system.replace(' ', '_')}": list(hits) for system, hits in found.items()},
        }
        with replacing_by_library(path) as temporary:
            pl.DataFrame(columns).write_parquet(temporary, statistics=False)

    def _rows(self, system: str, hits: Hits, *, seed: int) -> Iterator[SiteRecall]:
        identifiers = sorted({place.identifier for place in self.places if place.identifier is not None})
        for identifier in (None, *identifiers):
            rows = [
                (place.patient_id, hit)
                for place, hit in zip(self.places, hits, strict=True)
                if hit is not None and identifier in (None, place.identifier)
            ]
            yield _recall(system, identifier, rows, seed=seed)


def _recall(
    system: str, identifier: HipaaIdentifier | None, rows: Sequence[tuple[str, bool]], *, seed: int
) -> SiteRecall:
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for patient, hit in rows:
        sums[patient] = sums.get(patient, 0.0) + hit
        counts[patient] = counts.get(patient, 0) + 1
    with_found = sum(value > 0 for value in sums.values())
    with_missed = sum(sums[patient] < counts[patient] for patient in counts)
    estimate = share_over_samples(
        np.array([*sums.values()], dtype=np.float64), np.array([*counts.values()], dtype=np.int64), seed=seed
    )
    if estimate.value is None or not is_enough(len(counts), with_found, with_missed):
        recall = missed = PublishedEstimate(reason=TOO_FEW)
    else:
        low, high = estimate.low or 0.0, 1.0 if estimate.high is None else estimate.high
        recall = _published(estimate.value, low, high)
        missed = _published(1 - estimate.value, 1 - high, 1 - low)
    return SiteRecall(
        system=system, identifier=identifier, patients=class_of(len(counts)), recall=recall, missed=missed
    )


def _published(value: float, low: float, high: float) -> PublishedEstimate:
    """Return a share to two digits, its interval rounded outwards to whole percents."""
    shown = two_digits(value)
    return PublishedEstimate(
        value=shown,
        low=shown,
        high=shown,
        confidence_low=math.floor(low * 100) / 100,
        confidence_high=math.ceil(high * 100) / 100,
    )
