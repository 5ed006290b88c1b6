"""Identifiers in generations: detected → normalized → looked up in the corpus → owners → evidence rows.

Owns the order, for `audit` and `analyze` alike (docs/methods.md, section 2b). Knows nothing of where
generations come from, of files, or of what a gate makes of a figure.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from clinaudit.audit.pii.detectors.combined import UnionDetector
from clinaudit.audit.pii.detectors.gazetteer import Gazetteer
from clinaudit.audit.pii.detectors.rules import RuleDetector
from clinaudit.audit.pii.detectors.site_rules import SiteRules
from clinaudit.audit.pii.entity_span import Detector
from clinaudit.audit.pii.owners import find_values, tell_owners
from clinaudit.audit.pii.planted import measure_recall
from clinaudit.audit.pii.site_index import index_values
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import IdentifierValue
from clinaudit.audit.pii.values.value_scan import DateReader, ValueScanner
from clinaudit.audit.runtime.cluster.ray_runner import LocalRunner, ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.statistics.pools import SPLITS, draw_pools
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.hipaa import HIPAA_IDENTIFIERS, HipaaIdentifier
from clinaudit.reports.schema.run_results import IdentifierFacts
from clinaudit.templates.profile import NoteProfile

#: Of HIPAA's identifiers, those that no text holds.
_NO_TEXT: Final[Mapping[HipaaIdentifier, str]] = {
    "P": "a fingerprint or voice print is not text; a number that identifies one is counted under R",
    "Q": "a photograph is not text",
}
_NO_RULE: Final = "the detector found none of those that were planted to measure it"


def find_identifiers(
    generations: pl.DataFrame,
    *,
    corpus: Corpus,
    profile: NoteProfile,
    seed: int,
    progress: Progress,
    runner: ShardRunner | None = None,
    site_rules: SiteRules | None = None,
) -> tuple[dict[str, pl.DataFrame], IdentifierFacts]:
    """Return what of HIPAA's identifiers the generations hold, and whose it is: `identifiers` and `planted`.

    The tables have a row a place, in the order of the generations, and a row a kind of planted identifier. With them
    come the identifiers that were not looked for, and how many rules of the site's own were searched for.

    `seed` is that of the pools and of the planted identifiers. `site_rules`: the site's own, beside those that ship and
    the names and numbers of the corpus. `runner` (None: one process) changes no result.
    """
    runner = runner or LocalRunner()
    of_hipaa = None if site_rules is None else site_rules.of(hipaa_categories())
    detector = _site_detector(corpus, profile, of_hipaa, runner, progress)
    dates = DateReader(profile.date_formats)
    found = find_values(generations, detector, dates, progress=progress, runner=runner)
    values = [IdentifierValue(*value) for value in found.select("kind", "value").unique(maintain_order=True).rows()]
    scanner = ValueScanner(values, dates)
    index = index_values(values, scanner, corpus, profile, progress=progress, runner=runner)
    pools = draw_pools({split: len(index.patients.filter(split=split)) for split in SPLITS}, seed=seed)
    rows = tell_owners(found, generations, index=index, scanner=scanner, pools=pools, progress=progress)
    # What the detector misses in the control's answers is no figure of the audited model.
    own_texts = generations.filter(role="target", model="audited")["text"]
    planted = measure_recall(own_texts, detector, corpus=corpus, dates=dates, seed=seed, progress=progress)
    site = 0 if of_hipaa is None else len(of_hipaa.rows)
    facts = IdentifierFacts(not_tested=_not_tested(planted), site_rules=site)
    return {"identifiers": rows, "planted": planted}, facts


def _not_tested(planted: pl.DataFrame) -> dict[HipaaIdentifier, str]:
    found = set(planted.filter(pl.col("found") > 0)["hipaa"])
    return {
        identifier: _NO_TEXT.get(identifier, _NO_RULE) for identifier in HIPAA_IDENTIFIERS if identifier not in found
    }


def _site_detector(
    corpus: Corpus, profile: NoteProfile, site_rules: SiteRules | None, runner: ShardRunner, progress: Progress
) -> Detector:
    """Return what finds by rules, and by the names and numbers of the corpus' patients: it reads every note."""
    gazetteer = Gazetteer(corpus, profile, progress, runner=runner)
    return UnionDetector([RuleDetector(hipaa_categories()), gazetteer, *([] if site_rules is None else [site_rules])])


def hipaa_categories() -> frozenset[str]:
    """Return the categories of the taxonomy that are identifiers of HIPAA's list, and can stand in a text."""
    return frozenset(item.id for item in categories().values() if item.hipaa and item.hipaa not in _NO_TEXT)
