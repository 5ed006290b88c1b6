"""Worlds for the tests of what is published: whole numbers of patients that belong together, and their laws.

A world names every count that a run makes figures of (`age/train/rest/18-34`, `table/hiv/public/train/1/positive`) and
holds it in `counts`. `laws` lists what holds in any world of the same shape: who is counted where, as linear
inequalities. Knows nothing of results or of what is published.

One prompt stands for a patient and tier, of `TOKENS` tokens or shorter than a match. The laws are necessary, not all
that holds of real patients: a world may be one that no corpus gives, which makes twins only harder.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clinaudit.audit.statistics.patient_distribution import THRESHOLDS
from clinaudit.priors.tiers import TIERS
from clinaudit.reports.schema.attacks import QUERY_CELLS
from clinaudit.reports.schema.corpus import FOLLOW_UP_YEARS, NOT_ASKED, UNIQUENESS_BINS
from clinaudit.reports.schema.disclosure import Outcome, Side
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.judge import VERDICT_CLASSES
from clinaudit.reports.schema.record import ARMS as ARMS

#: d-positive and d-negative patients.
ROWS = ("1", "0")
OUTCOMES: tuple[Outcome, ...] = ("positive", "ambiguous", "negative", "not_mentioned", "unjudged")
VERDICTS = VERDICT_CLASSES
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
#: Three of HIPAA's identifiers stand for all of them.
CATEGORIES: tuple[HipaaIdentifier, ...] = ("A", "C", "D")
#: Whose identifiers: what makes two cells of an arm's patients, those with any and those with none.
OWNER_KINDS = ("own", "other", "sampled", "chance")
#: What is counted a query, and its bins: above the first number, at the second at most.
RATES = ("verified", "sampled", "chance")
RATE_BINS = ((0.0, 0.25), (0.25, 0.5), (0.5, 1.0), (1.0, 2.0), (2.0, 5.0), (5.0, 20.0), (20.0, None))
#: The model that was audited, and the same before it was trained; and what a prompt is or shows.
MODELS = ("audited", "control")
PROMPTS = ("own", "earlier", "some")
#: Days from the first note to the last, by cell: three years end with the 1096th day.
FOLLOW_UP_DAYS: Mapping[str, tuple[int, int]] = dict(
    zip(FOLLOW_UP_YEARS, ((0, 0), (1, 1095), (1096, 36525)), strict=True)
)
STYLE = "___"
#: Targets with ids in both splits: some of those of the train split who have several.
BOTH = "identifiable/both"
#: Tiers at which a prompt is part of a note.
FRAGMENTS = {tier.id for tier in TIERS if tier.is_fragment}
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


def times(expression: Sum, factor: float) -> dict[str, Any]:
    """Return so many times an expression."""
    return {name: factor * count for name, count in expression.items()}


@dataclass(frozen=True)
class Law:
    """`low` <= the sum <= `high`, in every world of a shape."""

    sum: Sum
    low: float = 0
    high: float = np.inf


def equal(first: Sum | str, *others: Sum | str) -> Law:
    """Say that the first is the sum of the others."""
    return Law(minus(first, *others), 0, 0)


def at_most(small: Sum | str, large: Sum | str) -> Law:
    """Say that the first is at most the second."""
    return Law(minus(large, small))


@dataclass(frozen=True)
class World:
    """One random world; `tiers` and `diagnoses` are its shape, `fixed` what no count changes."""

    tiers: tuple[str, ...]
    diagnoses: tuple[str, ...]
    counts: dict[str, int]
    #: Moments, shares, sizes of invented sets: numbers of no patient.
    fixed: dict[str, float] = field(default_factory=dict)
    #: Whose answers the judge read: with a control model, its own about the patients trained on, too.
    sides: tuple[Side, ...] = ARMS

    def value(self, expression: Sum | str) -> int:
        """Return what an expression comes to."""
        return sum(factor * self.counts[name] for name, factor in add(expression).items())

    def moved(self, changes: Mapping[str, int]) -> "World":
        """Return the world with some counts changed."""
        counts = dict(self.counts)
        for name, change in changes.items():
            counts[name] += change
        return replace(self, counts=counts)

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
        places = itertools.product(self.diagnoses, self.tiers, self.sides)
        return add(*(self.table(name, tier, arm, ROWS, outcomes) for name, tier, arm in places))

    def above(self, tier: str, arm: str, fraction: str, threshold: int = 0) -> dict[str, int]:
        """Patients whose fraction lies above a threshold, by its place."""
        return add(*(f"mem/{tier}/{arm}/{fraction}/bin/{k}" for k in range(threshold, len(FRACTION_BINS))))

    def dropped(self, diagnosis: str, tier: str) -> dict[str, int]:
        """Matched sets that a tier drops."""
        return add(*(f"pair/{diagnosis}/{tier}/dropped/{reason}" for reason in (MISSING, REFERS)))

    def own(self, diagnosis: str, tier: str) -> dict[str, int]:
        """Readings that members of a cohort lack at a tier, the control's of those trained on among them."""
        arms = ("train" if side == "control" else side for side in self.sides)
        return add(*(f"pair/{diagnosis}/{tier}/own/{reason}/{arm}" for arm in arms for reason in (MISSING, REFERS)))

    def population(self, name: str, partition: str, group: str) -> dict[str, int]:
        """Patients of a split (an arm's name) or of a cohort (a diagnosis), by group."""
        if name in ARMS:
            return self.split(name, partition, group)
        return add(*(self.members(name, arm, partition, group) for arm in ARMS))

    def asked_verdicts(self) -> dict[str, int]:
        """Return the verdicts that were asked for: of each answer about a member of a cohort at a tier."""
        pairs, read = itertools.product(self.diagnoses, self.tiers), len(ROWS) * len(self.sides)
        return add(*(minus({f"total/cell/{name}": read}, self.own(name, tier)) for name, tier in pairs))

    def having(self, place: str, rate: str = "verified") -> dict[str, int]:
        """Patients with an identifier that a rate counts."""
        return add(*(f"{place}/{rate}/bin/{k}" for k in range(len(RATE_BINS))))

    def identified_places(self, arm: str) -> dict[str, dict[str, int]]:
        """Where an arm's identifiers are counted, each place with its patients: at a tier, or of a category at any."""
        at_any = minus(self.all_targets(arm), f"identifiers/missing/{arm}")
        of_tiers = {f"identifiers/{tier}/{arm}": self.patients(tier, arm) for tier in self.tiers}
        return {**of_tiers, **{f"identifiers/{name}/{arm}": at_any for name in CATEGORIES}}

    def identifiable(self, arm: str) -> dict[str, dict[str, Sum]]:
        """Partitions of a split by what identifies its patients: tags, whom a prompt fits, long notes, several ids."""
        kinds: dict[str, tuple[str, ...]] = {
            STYLE: ("tagged", "rest"),
            **dict.fromkeys(self.tiers, (*UNIQUENESS_BINS, NOT_ASKED)),
            "length": ("longer", "rest"),
            "ids": ("several", "rest"),
        }
        return {
            kind: {cell: {f"identifiable/{arm}/{kind}/{cell}": 1} for cell in cells} for kind, cells in kinds.items()
        }

    def fitting(self, tier: str, arm: str) -> dict[str, int]:
        """Patients whose prompt fits their notes; where it quotes one, those whose queries are counted."""
        if tier not in FRAGMENTS:
            return {f"prompts/{tier}/{arm}/fit": 1}
        return add(*(self.queries(tier, arm, MODELS[0]).values()))

    def queries(self, tier: str, arm: str, model: str) -> dict[str, Sum]:
        """Partition of these patients by queries needed of a model."""
        return {cell: {f"queries/{tier}/{arm}/{model}/{cell}": 1} for cell in QUERY_CELLS}

    def guarded(self, tier: str, arm: str) -> dict[str, dict[str, Sum]]:
        """Partitions of an arm's patients by what the repetition guard cut."""
        patients, place = self.patients(tier, arm), f"mem/{tier}/{arm}/guard/{{}}".format
        repeating, spared, ended = (add(place(name)) for name in ("repeating", "spared", "ended"))
        return {
            "repeating": {"any": repeating, "none": minus(patients, repeating)},
            "ended": {"spared": spared, "cut": minus(ended, spared), "none": minus(patients, ended)},
        }


def few_or_many(rng: np.random.Generator, none: float) -> int:
    """Return 0 with a chance of `none`, else mostly 1 to 10, else 11 to 40."""
    if rng.random() < none:
        return 0
    return int(rng.integers(1, 11)) if rng.random() < 0.7 else int(rng.integers(11, 41))


def pick(rng: np.random.Generator, of: Sequence[int], count: int) -> list[int]:
    """Draw `count` patients without replacement from groups of these sizes; returns how many of each."""
    return [int(n) for n in rng.multivariate_hypergeometric(list(of), count)] if sum(of) else [0] * len(of)


def spread(counts: dict[str, int], place: str, names: Sequence[str], numbers: Iterable[int]) -> None:
    """Set counts at a place, by name."""
    for name, number in zip(names, numbers, strict=True):
        counts[place.format(name)] = int(number)
