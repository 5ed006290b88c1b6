"""Worlds for the tests of what is published: whole numbers of patients that belong together, and their laws.

A world names every count that a run makes figures of (`age/train/rest/18-34`, `table/hiv/public/train/1/positive`) and
holds it in `counts`. `laws` lists what holds in any world of the same shape: who is counted where, as linear
inequalities. Knows nothing of results or of what is published.

One prompt stands for a patient and tier, of `TOKENS` tokens or shorter than a match. The laws are necessary, not all
that holds of real patients: a world may be one that no corpus gives, which makes twins only harder.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from clinaudit.audit.statistics.patient_distribution import THRESHOLDS

ARMS = ("train", "nontrain")
#: d-positive and d-negative patients.
ROWS = ("1", "0")
OUTCOMES = ("positive", "ambiguous", "negative", "not_mentioned", "unjudged")
VERDICTS = ("positive", "negative", "ambiguous", "not_mentioned")
SECTIONS = ("plan", "vitals")
KINDS = ("revealing_single", "revealing_shared", "templated_single", "templated_shared")
CONTENTS = ("revealing", "templated")
#: By kind, the sections of which its tokens are counted: those in no section are one more.
SECTIONS_OF = {kind: (*SECTIONS, "unassigned") if kind == KINDS[0] else SECTIONS for kind in KINDS}
K_BINS = ("1", "2-10", "11-100")
COPY_BINS = ("1", "2", "3")
#: Groups of each partition, and the ages of a band.
GROUPS = {
    "sex": ("female", "male"),
    "race": (
        "american indian or alaska native",
        "asian",
        "black",
        "hispanic",
        "native hawaiian or pacific islander",
        "other",
        "white",
        "unknown",
    ),
    "age": ("<18", "18-34", "35-49", "50-64", "65-79", "80+", "unknown"),
    "notes": ("1-2", "3-5", "6-10", "11-20"),
}
AGES = {"<18": (5, 17), "18-34": (18, 34), "35-49": (35, 49), "50-64": (50, 64), "65-79": (65, 79), "80+": (80, 90)}
#: What the corpus itself is described by.
CORPUS_PARTITIONS = ("sex", "race", "age")
#: Tokens of a generation that is not short.
TOKENS = 200
#: The same fractions of the text that the repetition guard's second rule leaves.
UNGUARDED = ("unguarded_attributable", "unguarded_memorized")
#: Text of other patients: of all, of as many of either split, and of as many with the splits exchanged.
OTHERS_TEXT = ("others", "others_sampled", "others_chance")
#: Fractions of a generation's tokens, by patient; in each the next is at most the one before (but `near`, the most).
FRACTIONS = (
    *("near", "memorized", "unechoed", "unmasked", "attributable", "extra", "near_attributable"),
    *UNGUARDED,
    *OTHERS_TEXT,
)
#: Of each pair, the second is part of the first.
NESTED = (
    ("near", "memorized"),
    ("memorized", "unechoed"),
    ("unechoed", "unmasked"),
    ("unmasked", "attributable"),
    ("near", "extra"),
    ("near", "near_attributable"),
    ("near_attributable", "attributable"),
    UNGUARDED[::-1],
)
_ENDS = (*(round(TOKENS * threshold) for threshold in THRESHOLDS), TOKENS)
#: Bins of a fraction above zero, in tokens: above the first, at most the second.
FRACTION_BINS = tuple(itertools.pairwise(_ENDS))
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
    """One random world; `tiers` and `diagnoses` are its shape, `fixed` what no count changes."""

    tiers: tuple[str, ...]
    diagnoses: tuple[str, ...]
    counts: dict[str, int]
    #: Moments, shares, sizes of invented sets: numbers of no patient.
    fixed: dict[str, float] = field(default_factory=dict)

    def value(self, expression: Sum | str) -> int:
        """Return what an expression comes to."""
        return sum(factor * self.counts[name] for name, factor in add(expression).items())

    def moved(self, changes: Mapping[str, int]) -> "World":
        """Return the world with some counts changed."""
        counts = dict(self.counts)
        for name, change in changes.items():
            counts[name] += change
        return World(self.tiers, self.diagnoses, counts, self.fixed)

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

    def verdicts(self, outcomes: Iterable[str]) -> dict[str, int]:
        """Sum of some cells of all outcome tables."""
        outcomes = tuple(outcomes)
        places = itertools.product(self.diagnoses, self.tiers, ARMS)
        return add(*(self.table(name, tier, arm, ROWS, outcomes) for name, tier, arm in places))

    def above(self, tier: str, arm: str, fraction: str, threshold: int = 0) -> dict[str, int]:
        """Patients whose fraction lies above a threshold, by its place."""
        return add(*(f"mem/{tier}/{arm}/{fraction}/bin/{k}" for k in range(threshold, len(FRACTION_BINS))))

    def dropped(self, diagnosis: str, tier: str) -> dict[str, int]:
        """Matched sets that a tier drops."""
        return add(*(f"pair/{diagnosis}/{tier}/dropped/{reason}" for reason in (MISSING, REFERS)))

    def own(self, diagnosis: str, tier: str) -> dict[str, int]:
        """Members of a cohort without a reading of their own at a tier."""
        return add(*(f"pair/{diagnosis}/{tier}/own/{reason}/{arm}" for reason in (MISSING, REFERS) for arm in ARMS))

    def population(self, name: str, partition: str, group: str) -> dict[str, int]:
        """Patients of a split (an arm's name) or of a cohort (a diagnosis), by group."""
        if name in ARMS:
            return self.split(name, partition, group)
        return add(*(self.members(name, arm, partition, group) for arm in ARMS))
