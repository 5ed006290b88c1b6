"""Other patients' text in a world: its counts, their laws, the exact figures, and what a reader learns.

One prompt stands for a patient and tier. Whose text it is counts patients of the train split.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from support.results.random_worlds import (
    ARMS,
    FRACTION_BINS,
    OTHERS_TEXT,
    TOKENS,
    Law,
    Sum,
    World,
    add,
    minus,
)
from support.results.world_memorization import list_metrics, tokens_of_fractions

from clinaudit.audit.memorization.other_patients.stage import OtherPatientsText
from clinaudit.audit.memorization.other_patients_summary import summarize_other_patients
from clinaudit.reports.exact.memorization import OtherPatients
from clinaudit.reports.schema.record import Arm

#: More than an arm has patients: nobody's text stands nowhere.
_MANY = 10_000


def draw_others(world: World, rng: np.random.Generator) -> None:
    """Add the counts of other patients' text to a world that has all others."""
    for arm in ARMS:
        for tier in world.tiers:
            place = f"mem/{tier}/{arm}/{{}}".format
            memorized = np.array(tokens_of_fractions(world, tier, arm)["memorized"], dtype=int)
            for fraction in OTHERS_TEXT:
                tokens = _draw_tokens(rng, memorized, short=world.counts[place("short")])
                world.counts[place(f"{fraction}/sum")] = int(tokens.sum())
                for k, (low, high) in enumerate(FRACTION_BINS):
                    world.counts[place(f"{fraction}/bin/{k}")] = int(((tokens > low) & (tokens <= high)).sum())
            most = min(world.value(world.all_patients("train")), world.counts[place(f"{OTHERS_TEXT[0]}/sum")])
            owners = int(rng.integers(1, 11) if rng.random() < 0.6 else rng.integers(1, max(2, most + 1)))
            world.counts[place("owners")] = min(most, owners)


def _draw_tokens(rng: np.random.Generator, memorized: np.ndarray, *, short: int) -> np.ndarray:
    """Return each patient's tokens, by rank: beside what is memorized, and none in a short text."""
    long = len(memorized) - short
    few = min(long, int(rng.integers(1, 11)))
    any_ = int([few, 0, rng.integers(0, long + 1)][rng.choice(3, p=[0.4, 0.2, 0.4])])
    tokens = np.zeros(len(memorized), dtype=int)
    having = rng.permutation(long)[:any_]
    tokens[having] = rng.integers(1, TOKENS + 1, any_) // int(rng.choice([1, 4, 20])) + 1
    return np.minimum(tokens, TOKENS - memorized)


def others_laws(world: World, tier: str, arm: str) -> Iterator[Law]:
    """Yield what holds in every world of this shape."""
    place = f"mem/{tier}/{arm}/{{}}".format
    patients, owners = world.patients(tier, arm), add(place("owners"))
    most = len(FRACTION_BINS) - 1
    for fraction in OTHERS_TEXT:
        any_ = world.above(tier, arm, fraction)
        # None of it is memorized, and a text shorter than a match has none.
        yield Law(minus(patients, any_, place("short")))
        whole = minus({name: TOKENS * factor for name, factor in patients.items()}, {place("short"): TOKENS})
        yield Law(minus(whole, place(f"{fraction}/sum"), place("memorized/sum")))
        yield Law(minus(patients, world.above(tier, arm, fraction, most), world.above(tier, arm, "memorized", most)))
    any_ = world.above(tier, arm, OTHERS_TEXT[0])
    for small, large in (
        (any_, {place("owners"): _MANY}),
        (owners, add(place(f"{OTHERS_TEXT[0]}/sum"))),
        (owners, world.all_patients("train")),
    ):
        yield Law(minus(large, small))


def measure_others(world: World, tier: str, arm: Arm) -> OtherPatients:
    """Return the exact figures."""
    rows = list_metrics(world, tier, arm)
    every = [f"owner {number}" for number in range(world.counts[f"mem/{tier}/{arm}/owners"])]
    counted = []
    for row, tokens, sampled, chance in zip(
        rows, *(_by_rank(world, tier, arm, fraction) for fraction in OTHERS_TEXT), strict=True
    ):
        counts = replace(
            row,
            other_patient_tokens=tokens,
            other_patient_sampled_tokens=sampled,
            other_patient_chance_tokens=chance,
        )
        # All of them are the first's, who has any: how they are spread is no figure.
        owners, every = (every, []) if tokens else ([], every)
        counted.append((counts, OtherPatientsText(tokens, sampled, chance, frozenset(owners), ())))
    return summarize_other_patients(counted, seed=0)


def _by_rank(world: World, tier: str, arm: str, fraction: str) -> list[int]:
    """Return each patient's tokens: those with most come last, as they have least of their own."""
    own = tokens_of_fractions(world, tier, arm)[fraction]
    short = world.counts[f"mem/{tier}/{arm}/short"]
    return [*own[: len(own) - short][::-1], *[0] * short]


def others_cells(world: World, tier: str, arm: str) -> dict[str, Sum]:
    """Return the sums of counts behind the cells of who has any of it."""
    any_ = world.above(tier, arm, OTHERS_TEXT[0])
    return {"any": any_, "none": minus(world.patients(tier, arm), any_)}
