"""What the repetition guard cut in a world: its counts, their laws, the exact figures, and what a reader learns.

One prompt stands for a patient and tier. Text by the guard's second rule is measured of as many tokens as the other.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from support.results.random_worlds import (
    ARMS,
    FRACTION_BINS,
    TOKENS,
    UNGUARDED,
    Law,
    Sum,
    World,
    add,
    minus,
)
from support.results.world_memorization import list_metrics, name_patients, tokens_of_fractions

from clinaudit.audit.generation.own_repeats import Recitations
from clinaudit.audit.memorization.guard_summary import GuardedText, summarize_guard
from clinaudit.audit.memorization.summary import GenerationMetrics
from clinaudit.priors.tiers import TIERS
from clinaudit.reports.exact.memorization import Guard
from clinaudit.reports.schema.record import Arm

#: Each fraction by the second rule, and by the first.
_PAIRS = dict(zip(UNGUARDED, ("attributable", "memorized"), strict=True))
_FRAGMENTS = {tier.id for tier in TIERS if tier.is_fragment}


def draw_guard(world: World, rng: np.random.Generator) -> None:
    """Add the guard's counts to a world that has all others."""
    counts = world.counts
    for arm in ARMS:
        targets = world.value(world.all_targets(arm))
        repeating = counts[f"repeating/{arm}"] = _portion(rng, targets)
        for tier in world.tiers:
            patients, place = world.value(world.patients(tier, arm)), f"mem/{tier}/{arm}/guard/{{}}".format
            away = rng.hypergeometric(repeating, targets - repeating, targets - patients) if targets else 0
            here = counts[place("repeating")] = repeating - int(away)
            spared = counts[place("spared")] = _portion(rng, here)
            counts[place("ended")] = spared + _portion(rng, patients - spared)
            cut = counts[place("recitation/patients")] = _portion(rng, here) if tier in _FRAGMENTS else 0
            counts[place("recitation/sum")] = sum(int(rng.integers(1, TOKENS + 1)) for _ in range(cut))
            _draw_fractions(world, rng, tier, arm, rng.permutation(patients)[:spared])


def _portion(rng: np.random.Generator, whole: int) -> int:
    """Return a part of a whole: few, none, or anything."""
    few = min(whole, int(rng.integers(1, 11)))
    return int([few, 0, rng.integers(0, whole + 1)][rng.choice(3, p=[0.4, 0.1, 0.5])])


def _draw_fractions(world: World, rng: np.random.Generator, tier: str, arm: str, spared: np.ndarray) -> None:
    before = {name: np.array(tokens, dtype=int) for name, tokens in tokens_of_fractions(world, tier, arm).items()}
    memorized = before["memorized"].copy()
    memorized[spared] = rng.integers(np.minimum(1, memorized[spared]), TOKENS + 1)
    attributable = before["attributable"].copy()
    attributable[spared] = rng.integers(0, memorized[spared] + 1)
    for name, tokens in zip(UNGUARDED, (attributable, memorized), strict=True):
        world.counts[f"mem/{tier}/{arm}/{name}/sum"] = int(tokens.sum())
        for k, (low, high) in enumerate(FRACTION_BINS):
            world.counts[f"mem/{tier}/{arm}/{name}/bin/{k}"] = int(((tokens > low) & (tokens <= high)).sum())


def guard_laws(world: World, tier: str, arm: str) -> Iterator[Law]:
    """Yield what holds in every world of this shape."""
    place = f"mem/{tier}/{arm}/guard/{{}}".format
    patients, spared = world.patients(tier, arm), add(place("spared"))
    for part, whole in (
        (place("repeating"), patients),
        (place("repeating"), f"repeating/{arm}"),
        (minus(f"repeating/{arm}", place("repeating")), add(f"total/missing/{tier}/{arm}")),
        (f"repeating/{arm}", world.all_targets(arm)),
        (place("spared"), place("repeating")),
        (place("spared"), place("ended")),
        (place("ended"), patients),
        (place("recitation/patients"), place("repeating")),
        (place("recitation/patients"), place("recitation/sum")),
        (place("recitation/sum"), {place("recitation/patients"): TOKENS}),
        (world.above(tier, arm, "unguarded_memorized"), patients),
        (world.above(tier, arm, "memorized"), world.above(tier, arm, "unguarded_memorized")),
    ):
        yield Law(minus(whole, part))
    if tier not in _FRAGMENTS:
        yield Law(add(place("recitation/patients")), 0, 0)
    for second, first in _PAIRS.items():
        # Nothing else changes than the text of those who are spared.
        for threshold in range(len(FRACTION_BINS)):
            changed = minus(world.above(tier, arm, second, threshold), world.above(tier, arm, first, threshold))
            yield Law(minus(spared, changed))
            yield Law(add(spared, changed))
        changed = minus(f"mem/{tier}/{arm}/{second}/sum", f"mem/{tier}/{arm}/{first}/sum")
        yield Law(minus({place("spared"): TOKENS}, changed))
        yield Law(add({place("spared"): TOKENS}, changed))


def measure_guard(world: World, tier: str, arm: Arm) -> Guard:
    """Return the exact figures."""
    rows = list_metrics(world, tier, arm)
    names = name_patients(tier, arm, len(rows))
    count = {
        name: world.counts[f"mem/{tier}/{arm}/guard/{name}"]
        for name in ("repeating", "spared", "ended", "recitation/patients", "recitation/sum")
    }
    tokens = tokens_of_fractions(world, tier, arm)
    lost, behind = count["recitation/sum"], count["recitation/patients"]
    cuts = [lost // behind + (rank < lost % behind) if rank < behind else 0 for rank in range(len(rows))]
    guarded = GuardedText(
        ended=frozenset(names[: count["ended"]]),
        spared=frozenset(names[: count["spared"]]),
        unguarded={
            row.generation_id: _second(row, tokens["unguarded_memorized"][i], tokens["unguarded_attributable"][i])
            for i, row in enumerate(rows)
        },
        recitations=Recitations(
            repeating=frozenset(names[: count["repeating"]]),
            cuts={(name, tier): cut for name, cut in zip(names, cuts, strict=True)} if tier in _FRAGMENTS else {},
        ),
    )
    return summarize_guard(rows, guarded, seed=0)


def _second(row: GenerationMetrics, memorized: int, attributable: int) -> GenerationMetrics:
    # Of this text only what is memorized and what is the patient's own count.
    return replace(row, tokens=TOKENS, memorized_tokens=memorized, attributable_tokens=attributable)


def guard_cells(world: World, tier: str, arm: str) -> dict[str, dict[str, Sum]]:
    """Return the sums of counts behind the cells of each partition."""
    patients = world.patients(tier, arm)
    repeating, spared, ended = ({f"mem/{tier}/{arm}/guard/{name}": 1} for name in ("repeating", "spared", "ended"))
    return {
        "repeating": {"any": repeating, "none": minus(patients, repeating)},
        "ended": {"spared": spared, "cut": minus(ended, spared), "none": minus(patients, ended)},
    }
