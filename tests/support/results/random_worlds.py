"""Worlds for the attack on small cells: whole numbers of patients that belong together, and their laws.

A world names every count that a run makes figures of (`age/train/rest/18-34`, `table/hiv/public/train/1/positive`) and
holds it in `counts`. `laws` lists what holds in any world of the same shape: who is counted where, as linear
inequalities. Knows nothing of results or of what is published. Fractions of single patients are whole thousandths.

One prompt stands for a patient and tier: where patients have several, generations are no count of patients.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

ARMS = ("train", "nontrain")
#: d-positive and d-negative patients.
ROWS = ("1", "0")
OUTCOMES = ("positive", "ambiguous", "negative", "not_mentioned", "unjudged")
VERDICTS = ("positive", "negative", "ambiguous", "not_mentioned")
SECTIONS = ("plan", "vitals")
KINDS = ("revealing_single", "revealing_shared", "templated_single", "templated_shared")
K_BINS = ("1", "2-10", "11-100")
COPY_BINS = ("1", "2", "3")
#: Groups of each partition, with the ages of a band.
GROUPS = {
    "sex": ("female", "male"),
    "race": ("white", "black", "asian", "unknown"),
    "age": ("18-34", "35-64", "65-79", "80+", "unknown"),
    "notes": ("1-2", "3-5", "6-10"),
}
AGES = {"18-34": (18, 34), "35-64": (35, 64), "65-79": (65, 79), "80+": (80, 90)}
#: What the corpus itself is described by.
CORPUS_PARTITIONS = ("sex", "race", "age")
#: Bins of the attributable fraction above zero, in thousandths.
FRACTION_BINS = ((0, 10), (10, 100), (100, 500), (500, 1000))
MISSING, REFERS = "no distinguishing fact", "the chief complaint refers to the diagnosis"
UNSURE = ("age or sex unknown", "diagnosis status unknown", "no sensitive diagnosis")

#: A linear expression: count name to factor.
Sum = Mapping[str, int]


def add(*parts: Sum | str) -> dict[str, int]:
    """Return the sum of expressions or names."""
    together: dict[str, int] = {}
    for part in parts:
        for name, factor in ({part: 1} if isinstance(part, str) else part).items():
            together[name] = together.get(name, 0) + factor
    return together


def minus(first: Sum | str, *others: Sum | str) -> dict[str, int]:
    """Return the first less the others."""
    return add(first, *({name: -factor for name, factor in add(other).items()} for other in others))


@dataclass(frozen=True)
class Law:
    """`low` <= the sum <= `high`, in every world of a shape."""

    sum: Sum
    low: float = 0
    high: float = np.inf


@dataclass(frozen=True)
class World:
    """One random world; `tiers`, `diagnoses` and `overlap_bins` are its shape, `fixed` what no count changes."""

    tiers: tuple[str, ...]
    diagnoses: tuple[str, ...]
    overlap_bins: int
    counts: dict[str, int]
    #: Lengths, moments: numbers that tell nothing of counts.
    fixed: dict[str, float] = field(default_factory=dict)

    def value(self, expression: Sum | str) -> int:
        """Return what an expression comes to."""
        return sum(factor * self.counts[name] for name, factor in add(expression).items())

    def moved(self, changes: Mapping[str, int]) -> "World":
        """Return the world with some counts changed."""
        counts = dict(self.counts)
        for name, change in changes.items():
            counts[name] += change
        return World(self.tiers, self.diagnoses, self.overlap_bins, counts, self.fixed)

    # Sums that have a name

    def members(self, diagnosis: str, arm: str, partition: str, group: str) -> str:
        """Members of a cohort in an arm, by group."""
        return f"{partition}/{arm}/member/{diagnosis}/{group}"

    def targets(self, arm: str, partition: str, group: str) -> dict[str, int]:
        """Members of any cohort, each once."""
        parts = [self.members(diagnosis, arm, partition, group) for diagnosis in self.diagnoses]
        return minus(add(*parts), f"{partition}/{arm}/twice/{group}")

    def split(self, arm: str, partition: str, group: str) -> dict[str, int]:
        """All patients of a split, by group."""
        return add(self.targets(arm, partition, group), f"{partition}/{arm}/rest/{group}")

    def at_tier(self, tier: str, arm: str, partition: str, group: str) -> dict[str, int]:
        """Targets with a generation at a tier, by group."""
        return minus(self.targets(arm, partition, group), f"{partition}/{arm}/missing/{tier}/{group}")

    def patients(self, tier: str, arm: str) -> dict[str, int]:
        """Targets with a generation at a tier."""
        return minus(self.all_targets(arm), f"total/missing/{tier}/{arm}")

    def all_targets(self, arm: str) -> dict[str, int]:
        """Targets of an arm."""
        cells = {f"total/cell/{diagnosis}": 2 for diagnosis in self.diagnoses}
        return minus(cells, f"total/twice/{arm}")

    def all_patients(self, arm: str) -> dict[str, int]:
        """Patients of a split."""
        return add(self.all_targets(arm), f"total/rest/{arm}")

    def table(
        self, diagnosis: str, tier: str, arm: str, rows: Iterable[str], outcomes: Iterable[str]
    ) -> dict[str, int]:
        """Sum of some cells of an outcome table."""
        outcomes = tuple(outcomes)
        return add(*(f"table/{diagnosis}/{tier}/{arm}/{row}/{outcome}" for row in rows for outcome in outcomes))

    def dropped(self, diagnosis: str, tier: str) -> dict[str, int]:
        """Matched sets that a tier drops."""
        return add(*(f"pair/{diagnosis}/{tier}/dropped/{reason}" for reason in (MISSING, REFERS)))

    def own(self, diagnosis: str, tier: str) -> dict[str, int]:
        """Members of a cohort without a reading of their own at a tier."""
        return add(*(f"pair/{diagnosis}/{tier}/own/{reason}/{arm}" for reason in (MISSING, REFERS) for arm in ARMS))


def laws(world: World) -> list[Law]:
    """Return what holds in every world of this shape; counts are at least 0 besides."""
    found: list[Law] = []

    def equal(first: Sum | str, *others: Sum | str) -> None:
        found.append(Law(minus(first, *others), 0, 0))

    def at_most(small: Sum | str, large: Sum | str) -> None:
        found.append(Law(minus(large, small)))

    for arm in ARMS:
        for partition, groups in GROUPS.items():
            for diagnosis in world.diagnoses:
                names = [world.members(diagnosis, arm, partition, group) for group in groups]
                equal(add(*names), {f"total/cell/{diagnosis}": 2})
            equal(f"total/twice/{arm}", *(f"{partition}/{arm}/twice/{group}" for group in groups))
            for group in groups:
                for diagnosis in world.diagnoses:
                    twice = f"{partition}/{arm}/twice/{group}"
                    at_most(
                        twice if len(world.diagnoses) > 1 else {twice: 2},
                        world.members(diagnosis, arm, partition, group),
                    )
            if len(world.diagnoses) == 1:
                found.append(Law({f"total/twice/{arm}": 1}, 0, 0))
            if partition in CORPUS_PARTITIONS:
                equal(f"total/rest/{arm}", *(f"{partition}/{arm}/rest/{group}" for group in groups))
            for tier in world.tiers:
                found += _tier_laws(world, tier, arm, partition)
        for tier in world.tiers:
            found += _memorization_laws(world, tier, arm)
    for population in (*ARMS, *world.diagnoses):
        bands = [(population_of(world, population, "age", band), ages) for band, ages in AGES.items()]
        total = f"age/sum/{population}"
        at_most(add(*({name: f * ages[0] for name, f in band.items()} for band, ages in bands)), total)
        at_most(total, add(*({name: f * ages[1] for name, f in band.items()} for band, ages in bands)))
    for diagnosis in world.diagnoses:
        found += _cohort_laws(world, diagnosis)
        for tier in world.tiers:
            found += _pair_laws(world, diagnosis, tier)
    return found


def population_of(world: World, population: str, partition: str, group: str) -> dict[str, int]:
    """Patients of a split (an arm's name) or of a cohort (a diagnosis), by group."""
    if population in ARMS:
        return world.split(population, partition, group)
    return add(*(world.members(population, arm, partition, group) for arm in ARMS))


def _tier_laws(world: World, tier: str, arm: str, partition: str) -> list[Law]:
    found = []
    groups = GROUPS[partition]
    place = f"{partition}/{arm}/{{}}/{tier}/{{}}".format
    totals = {"missing": f"total/missing/{tier}/{arm}"}
    totals |= {kind: f"mem/{tier}/{arm}/{kind}" for kind in ("hit", "revealed", "hit_sum", "revealed_sum")}
    totals |= {kind: f"mem/{tier}/{arm}/{kind}" for kind in ("asked", "exposed", "exposed_sum")}
    for kind, total in totals.items():
        found.append(Law(minus(total, *(place(kind, group) for group in groups)), 0, 0))
    for group in groups:
        here = world.at_tier(tier, arm, partition, group)
        found += [
            Law(here),
            Law(minus(here, place("hit", group))),
            Law(minus(place("hit", group), place("revealed", group))),
            Law(minus(here, place("asked", group))),
            Law(minus(place("asked", group), place("exposed", group))),
            Law(minus(place("hit_sum", group), place("revealed_sum", group))),
        ]
        for kind in ("hit", "revealed", "exposed"):
            found.append(Law(minus(place(f"{kind}_sum", group), place(kind, group))))
            found.append(Law(minus({place(kind, group): 1000}, place(f"{kind}_sum", group))))
    return found


def _memorization_laws(world: World, tier: str, arm: str) -> list[Law]:
    place = f"mem/{tier}/{arm}/{{}}".format
    patients = world.patients(tier, arm)
    bins = [place(f"bin/{k}") for k in range(len(FRACTION_BINS))]
    found = [
        Law(minus(place("revealed"), *bins), 0, 0),
        # A patient's fraction lies above its bin's lower end: by a thousandth, as fractions are whole ones.
        Law(minus(place("revealed_sum"), {name: low + 1 for name, (low, _) in zip(bins, FRACTION_BINS, strict=True)})),
        Law(minus({name: high for name, (_, high) in zip(bins, FRACTION_BINS, strict=True)}, place("revealed_sum"))),
        Law(minus(patients, place("short"))),
        Law(minus(place("short"), place("empty"))),
        Law(minus(patients, place("hit"), place("short"))),
        Law(minus(patients, place("near"))),
        Law(minus(place("near"), place("hit"))),
        Law(minus(place("near"), place("extra"))),
        Law(minus(add(place("hit"), place("extra")), place("near"))),
        Law(minus(place("extra_sum"), place("extra"))),
        Law(minus({place("extra"): 1000}, place("extra_sum"))),
        Law(minus(patients, place("stitched"))),
    ]
    whole = {"k": K_BINS, "copy": COPY_BINS}
    whole |= dict.fromkeys(KINDS, SECTIONS)
    for kind, names in whole.items():
        for name in names:
            units, behind = place(f"{kind}/{name}/units"), place(f"{kind}/{name}/patients")
            found += [
                Law(minus(units, behind)),
                Law(minus(place("hit"), behind)),
                # A patient has at most so many pieces (tokens) in a bin.
                Law(minus({behind: 2000}, units)),
            ]
    found.append(Law(minus(place("k/1/units"), *(place(f"copy/{name}/units") for name in COPY_BINS))))
    found.append(Law(minus(place("regions"), place("stitched"))))
    found.append(Law(minus(place("regions"), place("hit"))))
    single = len(world.diagnoses) == 1
    rows, hits = place("rows"), place("hit_rows")
    members = {f"total/cell/{diagnosis}": 2 for diagnosis in world.diagnoses}
    away = [f"pair/{diagnosis}/{tier}/own/{MISSING}/{arm}" for diagnosis in world.diagnoses]
    found.append(Law(minus(add(rows, *away), members), 0, 0))
    found.append(Law(minus(hits, place("hit")), 0, 0 if single else np.inf))
    found.append(Law(minus({place("hit"): len(world.diagnoses)}, hits)))
    found.append(Law(minus(rows, hits)))
    found.append(Law(minus(rows, patients)))
    # Who has a diagnosis and a verdict on it, and of whom it is stated: of one diagnosis these are its table's.
    for kind, outcomes in (("asked", OUTCOMES[:-1]), ("exposed", OUTCOMES[:1])):
        cells = [world.table(diagnosis, tier, arm, ("1",), outcomes) for diagnosis in world.diagnoses]
        found.append(Law(minus(add(*cells), place(kind)), 0, 0 if single else np.inf))
        found += [Law(minus(place(kind), cell)) for cell in cells]
    if single:
        found.append(Law(minus({place("exposed"): 1000}, place("exposed_sum")), 0, 0))
    return found


def _pair_laws(world: World, diagnosis: str, tier: str) -> list[Law]:
    found = []
    place = f"pair/{diagnosis}/{tier}/{{}}/{{}}".format
    kept = minus(f"total/cell/{diagnosis}", world.dropped(diagnosis, tier))
    for arm in ARMS:
        for row in ROWS:
            found.append(Law(minus(kept, world.table(diagnosis, tier, arm, row, OUTCOMES)), 0, 0))
        away = f"pair/{diagnosis}/{tier}/own/{MISSING}/{arm}"
        missing = f"total/missing/{tier}/{arm}"
        found.append(Law(minus(missing, away), 0, 0 if len(world.diagnoses) == 1 else np.inf))
        if len(world.diagnoses) == 2:
            others = [f"pair/{d}/{tier}/own/{MISSING}/{arm}" for d in world.diagnoses]
            found.append(Law(minus(add(*others), missing)))
    for reason in (MISSING, REFERS):
        own = add(*(f"pair/{diagnosis}/{tier}/own/{reason}/{arm}" for arm in ARMS))
        found.append(Law(minus(own, place("dropped", reason))))
        found.append(Law(minus({place("dropped", reason): 4}, own)))
    return found


def _cohort_laws(world: World, diagnosis: str) -> list[Law]:
    found = []
    place = f"overlap/{diagnosis}/{{}}/{{}}/{{}}/{{}}".format
    bins = range(world.overlap_bins)
    candidates = []
    for arm in ARMS:
        for row in ROWS:
            names = [place(arm, row, "candidates", k) for k in bins]
            matched = [place(arm, row, "matched", k) for k in bins]
            found.append(Law(minus(f"total/cell/{diagnosis}", *matched), 0, 0))
            found += [Law(minus(name, match)) for name, match in zip(names, matched, strict=True)]
            candidates += names
        of_arm = [name for name in candidates if f"/{arm}/" in name]
        found.append(Law(minus(world.all_patients(arm), *of_arm)))
    excluded = [f"overlap/{diagnosis}/excluded/{reason}" for reason in UNSURE]
    everyone = add(*(world.all_patients(arm) for arm in ARMS))
    found.append(Law(minus(everyone, *candidates, *excluded), 0, 0))
    return found
