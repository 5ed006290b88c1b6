"""A site's own notes as a benchmark: which share of the identifiers known of its patients each system misses.

The gold is what the patients table and the labelled fields of the notes say, found wherever it stands in a note
(`Gazetteer`). Figures are of patients: they leave by the rules of an audit (docs/methods.md, section 10), as classes of
twenty and what follows from these. Each place stands in `evidence/site_identifiers.parquet`, by offset and without its
text, the exact counts in `evidence/site_counts.json`.

Owns the gold, the counts and their coarsening. Knows nothing of tasks 2 and 3: nobody asked a question of these notes.
"""

import json
import math
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.pii.detectors.gazetteer import Gazetteer
from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.masking import PromptMasker
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.durable_files import replacing_by_library, write_atomically
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.pii_bench import SiteBench, SiteMisses
from clinaudit.reports.tally.classes import ARM_STEP, class_of
from clinaudit.templates.profile import NoteProfile

#: Notes that are read where there are more: a share of some thousands of places is known to a percent or two.
MOST_NOTES: Final = 1000
#: Of these so many are masked by the filter, drawn at random: it reads each several times over.
MOST_MASKED: Final = 300
#: The filter itself, beside the systems.
FILTER: Final = "clinaudit mask"
EVIDENCE_FILE: Final = "site_identifiers.parquet"
#: The exact counts: places too, of which nothing is published.
TALLY_FILE: Final = "site_counts.json"
LIMITS: Final = (
    "Known are names, birth dates and ids of the patients table and of labelled fields; what stands in free text alone "
    "is not counted, so that the share missed of all identifiers can be larger.",
    "A place counts as found where all its characters are covered, whatever the system calls it.",
    "A patient counts as missed where any of these places is left, however many there are.",
    "What a system masks beyond these places is not counted: this says nothing of precision.",
    "The gazetteer of the site's own names is no row: it reads the same table.",
    f"{FILTER} is measured on up to {MOST_MASKED} of the notes and is told of no patient, as it reads texts about "
    "people who stand in no table of the site. Given the corpus it finds these places by the table.",
)
Stretches = Iterable[tuple[int, int]]
#: For each known place; None where its note was not read.
Hits = Sequence[bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTally:
    """How much of what is known one system leaves: exact counts (PHI)."""

    system: str
    #: None: all together.
    identifier: HipaaIdentifier | None
    patients: int
    #: Of whom any place is left.
    missed_patients: int
    places: int
    missed_places: int


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


class SiteSample:
    """Notes drawn from a corpus, and the identifiers known in them."""

    def __init__(self, corpus: Corpus, profile: NoteProfile, progress: Progress, *, seed: int) -> None:
        """Draw the notes and look for what is known; raises `BadInputError` where nothing known stands in any note."""
        gazetteer = Gazetteer(corpus, profile, progress)
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

    def publish(self, found: Mapping[str, Hits]) -> SiteBench:
        """Return the figures of all systems as they may leave the site."""
        return SiteBench(
            patients=class_of(self.patients, step=ARM_STEP),
            misses=[publish_misses(row) for row in self.tally(found)],
            limits=list(LIMITS),
        )

    def tally(self, found: Mapping[str, Hits]) -> list[SiteTally]:
        """Return the exact counts of every system, all identifiers together first (PHI)."""
        identifiers = sorted({place.identifier for place in self.places if place.identifier is not None})
        return [
            _tally(system, identifier, self.places, hits)
            for system, hits in found.items()
            for identifier in (None, *identifiers)
        ]

    def write_evidence(self, path: Path, found: Mapping[str, Hits]) -> None:
        """Write each known place and which systems cover it (PHI), by offset, and the counts that follow."""
        import polars as pl

        counts = [asdict(row) for row in self.tally(found)]
        write_atomically(path.with_name(TALLY_FILE), json.dumps(counts, indent=1) + "\n")

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


def _tally(system: str, identifier: HipaaIdentifier | None, places: Sequence[KnownPlace], hits: Hits) -> SiteTally:
    by_patient: dict[str, list[bool]] = {}
    for place, hit in zip(places, hits, strict=True):
        if hit is not None and identifier in (None, place.identifier):
            by_patient.setdefault(place.patient_id, []).append(hit)
    return SiteTally(
        system=system,
        identifier=identifier,
        patients=len(by_patient),
        missed_patients=sum(not all(own) for own in by_patient.values()),
        places=sum(map(len, by_patient.values())),
        missed_places=sum(own.count(False) for own in by_patient.values()),
    )


def publish_misses(tally: SiteTally) -> SiteMisses:
    """Return a system's counts of patients in classes, and the range of their share over all tables within these.

    A share of places is not published: where each patient has one, eight of them to two digits are equations for the
    number of patients (benchmarks/pii_bench_attack.py).
    """
    missed, covered = (
        class_of(count, step=ARM_STEP) for count in (tally.missed_patients, tally.patients - tally.missed_patients)
    )
    return SiteMisses(
        system=tally.system,
        identifier=tally.identifier,
        patients=CountRange(low=missed.low + covered.low, high=missed.high + covered.high),
        covered_patients=covered,
        missed_patients=missed,
        missed=_share(missed, covered),
    )


def _share(part: CountRange, rest: CountRange) -> EstimateRange:
    if not part.high and not rest.high:
        return EstimateRange(reason="no note that was read holds a known one")
    # A share and both ends of its interval rise with the part and fall with the rest; of nobody's both are empty.
    least, most = (clopper_pearson(of, of + others) for of, others in ((part.low, rest.high), (part.high, rest.low)))
    lows = [math.floor(100 * (end or 0.0)) / 100 for end in (least.value, least.low)]
    highs = [math.ceil(100 * (end or 0.0)) / 100 for end in (most.value, most.high)]
    return EstimateRange(low=lows[0], high=highs[0], confidence_low=lows[1], confidence_high=highs[1])
