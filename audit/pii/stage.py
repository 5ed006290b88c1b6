"""Identifiers in generations: detected → normalized → looked up in the corpus → owners → evidence rows.

Owns the order, for `audit` and `analyze` alike (docs/methods.md, section 2b). Knows nothing of where
generations come from, of files, or of what a gate makes of a figure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import polars as pl

from clinaudit.audit.pii.detectors.site_rules import SiteRules
from clinaudit.audit.pii.entity_span import Detector
from clinaudit.audit.pii.owners import FoundIdentifier, Kept, OwnedValue, Owners, find_values
from clinaudit.audit.pii.planted import DetectorRecall, measure_recall
from clinaudit.audit.pii.site_index import SiteIndex, index_values
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import IdentifierValue
from clinaudit.audit.pii.values.value_scan import DateReader, ValueScanner
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.spill import Items, Spill
from clinaudit.audit.statistics.pools import SPLITS, Pools, draw_pools
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.hipaa import HIPAA_IDENTIFIERS, HipaaIdentifier
from clinaudit.reports.schema.run_results import IdentifierFacts
from clinaudit.templates.profile import NoteProfile

#: Holders of one value that are listed; their number stands beside them.
MOST_LISTED: Final = 100


class _Asked(NamedTuple):
    """What is read of a row of `generations`."""

    generation_id: str
    patient_id: str | None
    prompt: str | None
    text: str


def identifier_rows(
    generation: _Asked,
    found: Sequence[FoundIdentifier],
    owned: Sequence[OwnedValue],
    values: Sequence[IdentifierValue],
    index: SiteIndex,
) -> Iterator[dict[str, object]]:
    """Yield the rows of one generation, one for each place."""
    by_value = {item.value: item for item in owned}
    for item in sorted(found, key=lambda item: (item.start, item.end)):
        own, holders = by_value[item.value], index.holders[item.value]
        yield {
            "generation_id": generation.generation_id,
            "char_start": item.start,
            "char_end": item.end,
            "text": generation.text[item.start : item.end],
            "category": item.category,
            "hipaa": item.hipaa,
            "kind": values[item.value].kind,
            "value": values[item.value].text,
            "owner": own.owner,
            "verified": own.verified,
            "holders": [index.patient_ids[number] for number in holders[:MOST_LISTED]],
            "holder_count": len(holders),
            "found_by": item.found_by,
            "sampled": own.sampled,
            "by_chance": own.chance,
        }


#: Of HIPAA's identifiers, those that no text holds.
_NO_TEXT: Final[Mapping[HipaaIdentifier, str]] = {
    "P": "a fingerprint or voice print is not text; a number that identifies one is counted under R",
    "Q": "a photograph is not text",
}
_NO_RULE: Final = "the detector found none of those that were planted to measure it"


@dataclass(frozen=True, slots=True)
class IdentifierFindings:
    """What the stage found."""

    #: Of `identifiers.parquet`.
    rows: Iterable[Row]
    #: Of `planted.parquet`: how many planted identifiers the detector found.
    planted: Sequence[Row]
    #: What was not looked for, and how many rules of the site's own were searched for.
    facts: IdentifierFacts


@dataclass(frozen=True, slots=True)
class Search:
    """How identifiers are looked for."""

    #: Rules of the site's own, beside those that ship and the names and numbers of the corpus; None: it has none.
    site_rules: SiteRules | None = None
    #: Who looks, which changes no result.
    runner: ShardRunner = field(default_factory=LocalRunner)
    #: What finds them instead of all these.
    detector: Detector | None = None

    def rules_of_hipaa(self) -> SiteRules | None:
        """Return the site's rules of HIPAA's identifiers alone."""
        return None if self.site_rules is None else self.site_rules.of(hipaa_categories())


def find_identifiers(
    generations: pl.DataFrame,
    *,
    corpus: Corpus,
    profile: NoteProfile,
    seed: int,
    progress: Progress,
    search: Search | None = None,
) -> IdentifierFindings:
    """Return what of HIPAA's identifiers the generations hold, and whose it is.

    `seed` is that of the pools and of the planted identifiers.
    """
    texts = generations["text"]
    looked = _look_up(texts, corpus, profile, search, seed=seed, progress=progress)
    rows: Spill[list[Row]] = Spill(corpus.scratch)
    with progress.stage("telling whose they are", total=len(generations), unit="generations") as advance:
        asked = generations.select(_Asked._fields).iter_rows()
        for generation, places in zip(map(_Asked._make, asked), looked.places_of, strict=True):
            owned = looked.owners.of(generation.patient_id, generation.prompt, places)
            rows.append(list(identifier_rows(generation, places, owned, looked.values, looked.index)))
            advance(1)
    # What the detector misses in the control's answers is no figure of the audited model.
    own_texts = generations.filter(role="target", model="audited")["text"]
    recall = measure_recall(own_texts, looked.detector, corpus=corpus, dates=looked.dates, seed=seed, progress=progress)
    site_rules = 0 if looked.site_rules is None else len(looked.site_rules.rows)
    return IdentifierFindings(
        rows=(row for own in rows for row in own),
        planted=[{"hipaa": row.identifier, "planted": row.planted, "found": row.found} for row in recall],
        facts=IdentifierFacts(not_tested=_not_tested(recall), site_rules=site_rules),
    )


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """The identifiers of some texts, and what tells whose they are."""

    detector: Detector
    dates: DateReader
    site_rules: SiteRules | None
    values: Sequence[IdentifierValue]
    places_of: Kept
    index: SiteIndex
    pools: Pools
    owners: Owners


def _look_up(
    texts: Items[str], corpus: Corpus, profile: NoteProfile, search: Search | None, *, seed: int, progress: Progress
) -> _LookedUp:
    search = search or Search()
    detector = site_detector(corpus, profile, search, progress)
    dates = DateReader(profile.date_formats)
    places_of: Kept = Spill(corpus.scratch)
    values = find_values(texts, detector, dates, progress=progress, runner=search.runner, kept=places_of)
    scanner = ValueScanner(values, dates)
    index = index_values(values, scanner, corpus, profile, progress=progress, runner=search.runner)
    patients = {"train": index.train_patients, "nontrain": len(index.patient_ids) - index.train_patients}
    pools = draw_pools({split: patients[split] for split in SPLITS}, seed=seed)
    owners = Owners(values, scanner, index, corpus, pools)
    return _LookedUp(detector, dates, search.rules_of_hipaa(), values, places_of, index, pools, owners)


def _not_tested(recall: Sequence[DetectorRecall]) -> dict[HipaaIdentifier, str]:
    found = {row.identifier for row in recall if row.found}
    return {
        identifier: _NO_TEXT.get(identifier, _NO_RULE) for identifier in HIPAA_IDENTIFIERS if identifier not in found
    }


def site_detector(corpus: Corpus, profile: NoteProfile, search: Search, progress: Progress) -> Detector:
    """Return the detector of a search: by its own, else by rules and by the names and numbers of the corpus' patients.

    These are read from every note: a run with several stages does so once, and gives each the detector.
    """
    if search.detector is not None:
        return search.detector
    from clinaudit.audit.pii.detectors.combined import UnionDetector
    from clinaudit.audit.pii.detectors.gazetteer import Gazetteer
    from clinaudit.audit.pii.detectors.rules import RuleDetector

    gazetteer = Gazetteer(corpus, profile, progress, runner=search.runner)
    site = filter(None, [search.rules_of_hipaa()])
    return UnionDetector([RuleDetector(hipaa_categories()), gazetteer, *site])


def hipaa_categories() -> frozenset[str]:
    """Return the categories of the taxonomy that are identifiers of HIPAA's list, and can stand in a text."""
    return frozenset(item.id for item in categories().values() if item.hipaa and item.hipaa not in _NO_TEXT)
