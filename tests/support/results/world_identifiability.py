"""How identifiable the patients of a world are: whose notes hold tags, whom a prompt fits, whose notes are too long.

Also who has several ids. Owns these counts: each but one is a partition of a split. Knows nothing of what is published.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from support.results.random_worlds import ARMS, Law, Sum, World, add, minus

from clinaudit.reports.exact.corpus import Identifiability
from clinaudit.reports.schema.corpus import NOT_ASKED, UNIQUENESS_BINS
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.suppression.coarse_table import CoarseIdentifiability

STYLE = "___"
#: Targets with ids in both splits: some of those of the train split who have several.
BOTH = "identifiable/both"


def partitions_of(world: World, arm: str) -> dict[str, dict[str, Sum]]:
    """Return the partitions of a split by name, each with its cells."""
    kinds: dict[str, tuple[str, ...]] = {
        STYLE: ("tagged", "rest"),
        **dict.fromkeys(world.tiers, (*UNIQUENESS_BINS, NOT_ASKED)),
        "length": ("longer", "rest"),
        "ids": ("several", "rest"),
    }
    return {kind: {cell: {f"identifiable/{arm}/{kind}/{cell}": 1} for cell in cells} for kind, cells in kinds.items()}


def shown_partitions(
    world: World, arm: str, split: CoarseIdentifiability
) -> Iterator[tuple[Mapping[str, Sum], Mapping[str, CountRange]]]:
    """Yield the cells of each partition, with what is published of them."""
    shown = {STYLE: split.tagged[STYLE], **split.uniqueness, "length": split.lengths, "ids": split.ids}
    return ((cells, shown[kind]) for kind, cells in partitions_of(world, arm).items())


def draw_identifiability(world: World, rng: np.random.Generator) -> None:
    """Add the counts, many of them small; those of ids leave the other numbers that are drawn as they are."""
    (of_ids,) = rng.spawn(1)
    for arm in ARMS:
        patients = world.value(world.all_patients(arm))
        for kind, cells in partitions_of(world, arm).items():
            own = of_ids if kind == "ids" else rng
            drawn = own.multinomial(patients, own.dirichlet([0.4] * len(cells)))
            world.counts.update({name: int(count) for (name,), count in zip(cells.values(), drawn, strict=True)})
    most = min(map(world.value, _holding_both(world)))
    world.counts[BOTH] = int(of_ids.integers(0, most + 1))


def _holding_both(world: World) -> tuple[Sum, Sum]:
    return partitions_of(world, "train")["ids"]["several"], world.all_targets("train")


def identifiability_laws(world: World) -> list[Law]:
    """Every partition holds the whole split."""
    return [
        *(
            Law(minus(world.all_patients(arm), *cells.values()), 0, 0)
            for arm in ARMS
            for cells in partitions_of(world, arm).values()
        ),
        *(Law(minus(whole, {BOTH: 1})) for whole in _holding_both(world)),
    ]


def measure_identifiability(world: World, arm: str) -> Identifiability:
    """Return the record of a split."""
    counts = {
        kind: {cell: world.value(add(of)) for cell, of in cells.items()}
        for kind, cells in partitions_of(world, arm).items()
    }
    return Identifiability(
        patients=world.value(world.all_patients(arm)),
        tagged={STYLE: counts[STYLE]["tagged"]},
        uniqueness={tier: counts[tier] for tier in world.tiers},
        longer_than_trained=counts["length"]["longer"],
        several_ids=counts["ids"]["several"],
    )
