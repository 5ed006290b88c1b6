"""Draws what the prompts of a world are, and how often its model must be asked until it gives a patient's text away."""

import numpy as np
from support.results import random_worlds as shape
from support.results.random_worlds import World, few_or_many

from clinaudit.reports.schema.attacks import NO_WINDOW, QUERY_CELLS


def draw_prompts(world: World, rng: np.random.Generator) -> None:
    """Add the counts to a world that has all others: few prompts do not fit, and few patients need few queries."""
    for tier in world.tiers:
        for arm in shape.ARMS:
            patients = world.value(world.patients(tier, arm))
            fitting = patients - min(patients, few_or_many(rng, 0.3))
            if tier in shape.FRAGMENTS:
                _draw_queries(world, rng, f"queries/{tier}/{arm}", fitting)
            else:
                world.counts[f"prompts/{tier}/{arm}/fit"] = fitting
            for kind in shape.PROMPTS:
                world.counts[f"prompts/{tier}/{arm}/{kind}"] = min(patients, few_or_many(rng, 0.2) * rng.integers(1, 9))


def _draw_queries(world: World, rng: np.random.Generator, place: str, patients: int) -> None:
    """Draw both models' numbers; of whom nothing that follows would count is the same of either."""
    none = min(patients, few_or_many(rng, 0.4))
    cells = [name for name in QUERY_CELLS if name != NO_WINDOW]
    for model in shape.MODELS:
        drawn = rng.multinomial(patients - none, rng.dirichlet([0.4] * len(cells)))
        numbers = {**dict(zip(cells, map(int, drawn), strict=True)), NO_WINDOW: none}
        world.counts.update({f"{place}/{model}/{name}": number for name, number in numbers.items()})
