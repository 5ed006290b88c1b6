"""Whose each identifier of a generation is (docs/methods.md, "Whose it is").

Owns the way from a detector's spans to distinct values, the order in which owners are tried, when a value is verified,
and what chance gives: values of one patient among as many of either split.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from clinaudit.audit.pii.entity_span import Detector, EntitySpan
from clinaudit.audit.pii.site_index import SiteIndex
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.known_names import read_name, stands_in
from clinaudit.audit.pii.values.normal_form import IdentifierValue, fold_words, kind_of, normalize
from clinaudit.audit.pii.values.value_scan import DateReader, ValueScanner
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.audit.runtime.run.spill import Items, Spill
from clinaudit.audit.statistics.pools import SPLITS, Pools
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.hipaa import HipaaIdentifier, IdentifierOwner


class FoundIdentifier(NamedTuple):
    """One place of a generation that was found to be an identifier."""

    start: int
    end: int
    category: str
    hipaa: HipaaIdentifier
    found_by: str
    #: Place among the values of all generations.
    value: int


#: The places of each text, text by text.
Kept = Spill[list[FoundIdentifier]]
#: How much text one process is given at once, in characters.
_BATCH_CHARS: Final = 100_000


def find_values(
    texts: Items[str], detector: Detector, dates: DateReader, *, progress: Progress, runner: ShardRunner, kept: Kept
) -> list[IdentifierValue]:
    """Return the distinct values of HIPAA's identifiers in texts, generations or answers; `kept` gets their places.

    A span that holds no value of its kind is left out.
    """
    numbers: dict[IdentifierValue, int] = {}
    with progress.stage("looking for identifiers", total=len(texts), unit="generations") as advance:
        for found in runner.map(_values_of, (detector, dates), batches(texts, len, _BATCH_CHARS)):
            for spans in found:
                own: list[FoundIdentifier] = []
                for span, hipaa, value in spans:
                    number = numbers.setdefault(value, len(numbers))
                    own.append(FoundIdentifier(span.start, span.end, span.category, hipaa, span.found_by, number))
                kept.append(own)
            advance(len(found))
    return list(numbers)


def _values_of(
    shared: tuple[Detector, DateReader], texts: Sequence[str]
) -> list[list[tuple[EntitySpan, HipaaIdentifier, IdentifierValue]]]:
    """Return the identifiers of some texts that hold a value of their kind, text by text."""
    detector, dates = shared
    return [
        [
            (span, hipaa, value)
            for span in detector.detect(text)
            if (hipaa := categories()[span.category].hipaa) is not None
            and (value := read_value(text, span, dates)) is not None
        ]
        for text in texts
    ]


def read_value(text: str, span: EntitySpan, dates: DateReader) -> IdentifierValue | None:
    """Return the value that a span of a text holds, or None where it holds none of its kind."""
    written = text[span.start : span.end]
    if kind_of(span.category) == "date":
        day = dates.read(written)
        return None if day is None else IdentifierValue("date", day)
    return normalize(span.category, written)


#: Holders that are looked at in a pool: two of them tell that there is not one alone.
_ENOUGH: Final = 2


class OwnedValue(NamedTuple):
    """A value of one generation, however often it stands there, and whose it is."""

    value: int
    #: Of the place where it stands first.
    hipaa: HipaaIdentifier
    owner: IdentifierOwner
    #: The target's own, or another trained-on patient's, and nobody else in the corpus holds it.
    verified: bool
    #: Whether exactly one patient of the target's train pool and none of its nontrain pool holds it; then the reverse.
    sampled: bool = False
    chance: bool = False


class Owners:
    """Tells whose values are."""

    def __init__(
        self, values: Sequence[IdentifierValue], scanner: ValueScanner, index: SiteIndex, corpus: Corpus, pools: Pools
    ) -> None:
        self._scanner = scanner
        self._index = index
        self._corpus = corpus
        self._pools = pools
        self._names = [read_name(value.text) if value.kind == "name" else None for value in values]
        self._ranks = self._rank_patients(pools)
        self._first_ranks: dict[int, tuple[list[int], list[int]]] = {}

    def of(self, patient_id: str | None, prompt: str | None, found: Sequence[FoundIdentifier]) -> list[OwnedValue]:
        """Return the distinct values of an answer, by the place where each stands first.

        Where it is about nobody (None), every patient is another one.
        """
        target = None if patient_id is None else self._index.numbers[patient_id]
        distinct: dict[int, FoundIdentifier] = {}
        for item in sorted(found, key=lambda item: item.start):
            distinct.setdefault(item.value, item)
        echoed = self._find_echo(prompt or "", distinct)
        return [self._describe(item, target, is_echo=value in echoed) for value, item in distinct.items()]

    def _find_echo(self, prompt: str, values: dict[int, FoundIdentifier]) -> set[int]:
        held = self._scanner.find(prompt) & values.keys()
        words = fold_words(prompt).split()
        for value in values:
            name = self._names[value]
            if name is not None and stands_in(name, words):
                held.add(value)
        return held

    def _describe(self, found: FoundIdentifier, target: int | None, *, is_echo: bool) -> OwnedValue:
        value, index = found.value, self._index
        if is_echo:
            return OwnedValue(value, found.hipaa, "echo", verified=False)
        alone = len(index.holders[value]) == 1
        if target is not None and index.holds(value, target):
            return OwnedValue(value, found.hipaa, "own", verified=alone)
        if index.staff[value]:
            return OwnedValue(value, found.hipaa, "staff", verified=False)
        if index.partial[value]:
            return OwnedValue(value, found.hipaa, "nobody", verified=False)
        sampled, chance = self._in_pools(value, target)
        train = index.train_holders(value)
        owner: IdentifierOwner = "nobody"
        if train:
            owner = "other_train"
        elif len(index.holders[value]):
            owner = "other_nontrain"
        return OwnedValue(
            value, found.hipaa, owner, verified=owner == "other_train" and alone, sampled=sampled, chance=chance
        )

    def _in_pools(self, value: int, target: int | None) -> tuple[bool, bool]:
        """Return whether exactly one patient holds a value, of the target's train pool, and of its nontrain pool.

        Nobody's are those of a train patient who is not drawn.
        """
        split = "train" if target is None else self._corpus.patients[self._index.patient_ids[target]].split
        if not self._pools.size[split] or not len(self._index.holders[value]):
            return False, False
        reaches = self._pools.reach(split, None if target is None else int(self._ranks[target]))
        # The target itself does not hold it: that was asked before.
        train, nontrain = (
            sum(rank < reach for rank in ranks) for ranks, reach in zip(self._ranks_of(value), reaches, strict=True)
        )
        return (train, nontrain) == (1, 0), (train, nontrain) == (0, 1)

    def _ranks_of(self, value: int) -> tuple[list[int], list[int]]:
        if value not in self._first_ranks:
            held = np.asarray(self._index.holders[value], dtype=np.int64)
            border = self._index.train_holders(value)
            train, nontrain = (
                sorted(np.partition(ranks, _ENOUGH)[:_ENOUGH].tolist() if len(ranks) > _ENOUGH else ranks.tolist())
                for ranks in (self._ranks[held[:border]], self._ranks[held[border:]])
            )
            self._first_ranks[value] = train, nontrain
        return self._first_ranks[value]

    def _rank_patients(self, pools: Pools) -> npt.NDArray[np.int64]:
        """Return each patient's rank among the drawn patients of its split, shape (patients,); beyond all if not."""
        count = len(self._index.patient_ids)
        ranks = np.full(count, count, dtype=np.int64)
        for first, split in zip((0, self._index.train_patients), SPLITS, strict=True):
            ranks[first + pools.drawn[split]] = np.arange(len(pools.drawn[split]))
        return ranks
