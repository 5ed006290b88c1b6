"""The tally of a world's prompts and of its queries needed; knows nothing of how anything is published."""

from collections.abc import Callable
from typing import TypeVar

from support.results import random_worlds as shape
from support.results.counted_leaves import CountedLeaves
from support.results.random_worlds import add, minus

from clinaudit.reports.schema.record import Arm
from clinaudit.reports.tally.attacks import QueriesTally
from clinaudit.reports.tally.tally import PromptTally

Made = TypeVar("Made")


def tally_prompts(leaves: CountedLeaves) -> dict[str, dict[Arm, PromptTally]]:
    """Return what the prompts are, of every tier."""

    def make(tier: str, arm: Arm) -> PromptTally:
        patients, fitting = leaves.world.patients(tier, arm), leaves.world.fitting(tier, arm)
        own, earlier, some = (add(f"prompts/{tier}/{arm}/{kind}") for kind in shape.PROMPTS)
        return PromptTally(
            fit=leaves.partition({"unbroken": fitting, "broken": minus(patients, fitting)}),
            own=leaves.halves("own", own, patients),
            earlier=leaves.halves("earlier", earlier, patients),
            shown={"age": leaves.halves("some", some, patients)},
        )

    return _by_arm(leaves, leaves.world.tiers, make)


def tally_world_queries(leaves: CountedLeaves) -> dict[str, dict[Arm, QueriesTally]]:
    """Return the patients by queries needed, of every tier that quotes a note and of both models."""

    def make(tier: str, arm: Arm) -> QueriesTally:
        audited, control = (leaves.partition(leaves.world.queries(tier, arm, model)) for model in shape.MODELS)
        return QueriesTally(patients=audited, control=control)

    return _by_arm(leaves, [tier for tier in leaves.world.tiers if tier in shape.FRAGMENTS], make)


def _by_arm(
    leaves: CountedLeaves, tiers: list[str] | tuple[str, ...], make: Callable[[str, Arm], Made]
) -> dict[str, dict[Arm, Made]]:
    """Return what is made of each tier and arm of which anybody was asked about."""
    world = leaves.world
    return {
        tier: {arm: make(tier, arm) for arm in shape.ARMS if world.value(world.patients(tier, arm))} for tier in tiers
    }
