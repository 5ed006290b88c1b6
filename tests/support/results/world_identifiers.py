"""Identifiers in a world: its counts of patients, their laws, the exact figures, and what a reader learns.

Three of HIPAA's identifiers stand for all of them. Counts of values follow from those of patients.
"""

import itertools
from collections.abc import Iterator

import numpy as np
from support.results.random_worlds import ARMS, Law, Sum, World, add, minus

from clinaudit.audit.statistics.intervals import clopper_pearson, wilson
from clinaudit.reports.exact.identifiers import DetectorRecall, IdentifierBin, IdentifierFigures, Identifiers
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.numbers import CountRange, Estimate
from clinaudit.reports.suppression.coarse_table import Coarse, CoarseIdentifierFigures, CoarseRate

CATEGORIES: tuple[HipaaIdentifier, ...] = ("A", "C", "D")
#: What makes two cells of an arm's patients: those with any, and those with none.
KINDS = ("own", "other", "sampled", "chance")
#: What is counted a query.
RATES = ("verified", "sampled", "chance")
#: Verified values a query above the first number, at the second at most; and those in the bin of a patient.
_BINS = ((0.0, 0.25), (0.25, 0.5), (0.5, 1.0), (1.0, 2.0), (2.0, 5.0), (5.0, 20.0), (20.0, None))
_VALUES = (0.25, 0.5, 1.0, 2.0, 4.0, 7.0, 21.0)
_PLACES = range(len(_BINS))


def places_of(world: World, arm: str) -> dict[str, Sum]:
    """Return where an arm's identifiers are counted, each place with its sum of patients."""
    tiers = {f"identifiers/{tier}/{arm}": world.patients(tier, arm) for tier in world.tiers}
    asked = minus(world.all_targets(arm), f"identifiers/missing/{arm}")
    return tiers | {f"identifiers/{name}/{arm}": asked for name in CATEGORIES}


def having(place: str, rate: str = "verified") -> Sum:
    """Return the sum of the patients with a value that a rate counts."""
    return add(*(f"{place}/{rate}/bin/{k}" for k in _PLACES))


def draw_identifiers(world: World, rng: np.random.Generator) -> None:
    """Add the counts of identifiers to a world that has all others; each patient was asked once at a tier."""
    for arm in ARMS:
        targets = world.value(world.all_targets(arm))
        here = np.ones((len(world.tiers), targets), dtype=bool)
        for row, tier in zip(here, world.tiers, strict=True):
            row[rng.permutation(targets)[: world.counts[f"total/missing/{tier}/{arm}"]]] = False
        written = np.stack([_without_empty(world, tier, arm, row) for tier, row in zip(world.tiers, here, strict=True)])
        world.counts[f"identifiers/missing/{arm}"] = int((~here.any(axis=0)).sum())
        # By tier, category and patient.
        given = {kind: _draw_given(rng, written) for kind in KINDS}
        # One or two at most times, and now and then many; some are their own and not verified.
        many = rng.choice([0, 1, 2, 8, 30], given["own"].shape, p=[0.2, 0.5, 0.2, 0.06, 0.04])
        own = np.where(given["own"], many, 0) / 2
        chance = given["chance"] * rng.choice([1, 2, 6, 21], given["own"].shape, p=[0.8, 0.1, 0.06, 0.04])
        values = {"verified": own + given["other"], "sampled": own + given["sampled"], "chance": chance}
        for axis, names in ((1, world.tiers), (0, CATEGORIES)):
            queries = np.maximum(1, here.sum(axis=0)) if axis == 0 else 1
            rates = {rate: counted.sum(axis=axis) / queries for rate, counted in values.items()}
            for row, name in enumerate(names):
                place = f"identifiers/{name}/{arm}"
                for kind in KINDS:
                    world.counts[f"{place}/{kind}"] = int(given[kind].any(axis=axis)[row].sum())
                for rate, (k, (low, high)) in itertools.product(RATES, enumerate(_BINS)):
                    own_rates = rates[rate][row]
                    inside = (own_rates > low) & (own_rates <= (np.inf if high is None else high))
                    world.counts[f"{place}/{rate}/bin/{k}"] = int(inside.sum())


def _without_empty(world: World, tier: str, arm: str, here: np.ndarray) -> np.ndarray:
    """Return the patients with an answer of any words: an empty one holds no identifier."""
    written = here.copy()
    empty = world.counts[f"mem/{tier}/{arm}/empty"]
    written[np.flatnonzero(here)[len(np.flatnonzero(here)) - empty :]] = False
    return written


def _draw_given(rng: np.random.Generator, written: np.ndarray) -> np.ndarray:
    """Return of whom any is given, `(tiers, categories, patients)`: of few, of nobody or of any number."""
    tiers, targets = written.shape
    given = np.zeros((tiers, len(CATEGORIES), targets), dtype=bool)
    for tier in range(tiers):
        for category in range(len(CATEGORIES)):
            few, many = int(rng.integers(1, 11)), int(rng.integers(0, targets + 1))
            number = [few, 0, many][rng.choice(3, p=[0.6, 0.25, 0.15])]
            given[tier, category, rng.permutation(targets)[:number]] = True
    return given & written[:, None]


def identifier_laws(world: World) -> Iterator[Law]:
    """Yield what holds in every world of this shape."""
    for arm in ARMS:
        missing = [f"total/missing/{tier}/{arm}" for tier in world.tiers]
        everywhere, targets = f"identifiers/missing/{arm}", world.all_targets(arm)
        yield from (Law(minus(at_tier, everywhere)) for at_tier in missing)
        others = {name: (len(missing) - 1) * factor for name, factor in targets.items()}
        yield Law(minus(add(everywhere, others), *missing))
        for place, patients in places_of(world, arm).items():
            any_, pooled = having(place), having(place, "sampled")
            own, other, sampled = (f"{place}/{kind}" for kind in KINDS[:3])
            yield from (Law(minus(patients, f"{place}/{kind}")) for kind in KINDS)
            yield from (Law(minus(patients, having(place, rate))) for rate in RATES)
            # What is another's alone is verified; what is verified is their own or another's.
            yield from (Law(minus(any_, other)), Law(minus(add(own, other), any_)))
            # A pool's values are sampled ones and the verified ones that are their own.
            yield from (Law(minus(pooled, sampled)), Law(minus(add(own, sampled), pooled)))
            yield from (Law(minus(add(any_, sampled), pooled)), Law(minus(add(pooled, other), any_)))
            yield Law(minus(having(place, "chance"), f"{place}/chance"), 0, 0)
            if (tier := place.split("/")[1]) in world.tiers:
                written = minus(patients, f"mem/{tier}/{arm}/empty")
                yield from (Law(minus(written, f"{place}/{kind}")) for kind in KINDS)
                yield from (Law(minus(written, having(place, rate))) for rate in RATES)
        yield from _union_laws(world, arm)


def _union_laws(world: World, arm: str) -> Iterator[Law]:
    """Who has any at a tier has it of a category, and the other way round."""

    def sum_of(name: str, kind: str) -> Sum:
        place = f"identifiers/{name}/{arm}"
        return having(place, kind.removeprefix("any ")) if kind.startswith("any ") else add(f"{place}/{kind}")

    for kind in (*KINDS, *(f"any {rate}" for rate in RATES)):
        for names, others in itertools.permutations((world.tiers, CATEGORIES)):
            for name in names:
                yield Law(minus(add(*(sum_of(other, kind) for other in others)), sum_of(name, kind)))


def measure_identifiers(world: World) -> Identifiers:
    """Return the exact figures."""
    figures = {
        place: _measure_place(world, place, world.value(patients))
        for arm in ARMS
        for place, patients in places_of(world, arm).items()
    }
    return Identifiers(
        tiers={tier: {arm: figures[f"identifiers/{tier}/{arm}"] for arm in ARMS} for tier in world.tiers},
        categories={name: {arm: figures[f"identifiers/{name}/{arm}"] for arm in ARMS} for name in CATEGORIES},
        # Of planted text, which is the same in every world.
        recall=[
            DetectorRecall(identifier=name, planted=200, found=190 - place, recall=wilson(190 - place, 200))
            for place, name in enumerate(CATEGORIES)
        ],
        not_tested={"P": "no text", "Q": "no text"},
    )


def _measure_place(world: World, place: str, patients: int) -> IdentifierFigures:
    counts = {kind: world.counts[f"{place}/{kind}"] for kind in KINDS}
    shares = {kind: clopper_pearson(count, patients) for kind, count in counts.items()}
    bins = {rate: _bins(world, f"{place}/{rate}", patients) for rate in RATES}
    values = {
        rate: sum(value * row.patients for value, row in zip((0.0, *_VALUES), own, strict=True))
        for rate, own in bins.items()
    }
    rates = {
        rate: Estimate(value=1000 * total / patients if patients else None, low=0.0, high=9000.0, n=patients)
        for rate, total in values.items()
    }
    return IdentifierFigures(
        generations=patients,
        patients=patients,
        values={"echo": 3 * patients, "own": counts["own"], "staff": 7, "other_train": counts["other"], "nobody": 5},
        own_patients=counts["own"],
        own=shares["own"],
        other_patients=counts["other"],
        other=shares["other"],
        sampled_patients=counts["sampled"],
        sampled=shares["sampled"],
        chance_patients=counts["chance"],
        chance=shares["chance"],
        verified=round(values["verified"]),
        verified_patients=patients - bins["verified"][0].patients,
        verified_per_1000=rates["verified"],
        corrected_per_1000=rates["verified"],
        sampled_per_1000=rates["sampled"],
        chance_per_1000=rates["chance"],
        by_patient=bins["verified"],
        sampled_by_patient=bins["sampled"],
        chance_by_patient=bins["chance"],
    )


def _bins(world: World, place: str, patients: int) -> list[IdentifierBin]:
    counts = [world.counts[f"{place}/bin/{k}"] for k in _PLACES]
    return [
        IdentifierBin(low=0.0, high=0.0, patients=patients - sum(counts)),
        *(IdentifierBin(low=low, high=high, patients=count) for (low, high), count in zip(_BINS, counts, strict=True)),
    ]


def shown_identifiers(world: World, coarse: Coarse) -> Iterator[Law]:
    """Yield what is published of patients: counts that stand alone, and the arms that they are of."""
    told = coarse.identifiers
    assert told is not None
    for arm in ARMS:
        shown = {name: arms[arm] for by_arm in (told.tiers, told.categories) for name, arms in by_arm.items()}
        for place, patients in places_of(world, arm).items():
            yield from _shown_at(place, patients, shown[place.split("/")[1]])


def _shown_at(place: str, patients: Sum, coarse: CoarseIdentifierFigures) -> Iterator[Law]:
    counts: list[tuple[Sum, CountRange | None]] = [
        (patients, coarse.patients),
        (having(place), coarse.verified),
        *((add(f"{place}/{kind}"), getattr(coarse, kind)) for kind in KINDS),
    ]
    yield from (Law(sum_, count.low, count.high) for sum_, count in counts if count is not None)
    for rate in RATES:
        shown = getattr(coarse, f"{rate}_rate")
        if shown is not None:
            yield Law(having(place, rate), shown.any.low, shown.any.high)
            yield from _shown_bins([add(f"{place}/{rate}/bin/{k}") for k in _PLACES], shown)


def _shown_bins(bins: list[dict[str, int]], shown: CoarseRate) -> Iterator[Law]:
    """Read bins, of which the uppermost may be one: then somebody is in the first and in the last of these."""
    lows, highs = [low for low, _ in _BINS], [np.inf if high is None else high for _, high in _BINS]
    for edge, count in zip(shown.edges, shown.bins, strict=True):
        inside = bins[lows.index(edge.low) : highs.index(edge.high) + 1]
        yield Law(add(*inside), count.low, count.high)
        if len(inside) > 1:
            yield from (Law(inside[0], 1), Law(inside[-1], 1))


def list_identifier_counts(world: World) -> Iterator[tuple[str, Sum]]:
    """Yield the counts that nobody may learn and that have no name of their own."""
    for arm in ARMS:
        for place, patients in places_of(world, arm).items():
            yield f"{place}/patients", patients
            for rate in RATES:
                yield f"{place}/any {rate}", having(place, rate)
                yield f"{place}/none {rate}", minus(patients, having(place, rate))
            for kind in KINDS:
                yield f"{place}/no {kind}", minus(patients, f"{place}/{kind}")
