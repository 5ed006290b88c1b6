"""Records of the attacks that an audit ran, and of those that it did not (docs/results.md, "attacks")."""

from typing import Final, Literal, get_args

from clinaudit.reports.schema.record import Record

#: A class of attack.
AttackName = Literal[
    "continuation",
    "other_patients_text",
    "identifiers",
    "queries_needed",
    "sampling",
    "chat",
    "control",
    "attribute_inference",
    "membership",
    "ordinary_use",
    "canaries",
    "fine_tuning",
    "gradients",
    "optimised_prompts",
    "poisoning",
]
ATTACKS: Final[tuple[AttackName, ...]] = get_args(AttackName)
#: How the model gets out: asked from outside, with its weights, or used inside alone.
Release = Literal["api", "weights", "internal"]
AttackStatus = Literal["run", "not run", "not applicable"]


class Attack(Record):
    """One class of attack: whether this audit ran it."""

    name: AttackName
    status: AttackStatus
