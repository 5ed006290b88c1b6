"""Audit coverage of a corpus: for how many patients something can be asked. Knows nothing of how it was found."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many patients an audit of a corpus could ask about, before cohort matching."""

    #: Patients for whom a prompt can be made, by tier: in the training data, and outside it.
    tiers: Mapping[str, tuple[int, int]]
    #: The smallest of the four groups that a diagnosis' cohort is matched from; None without a table of diagnoses.
    smallest_groups: Mapping[str, int] | None
