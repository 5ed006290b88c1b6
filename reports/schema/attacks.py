"""Attacks: which ones there are and an audit ran, and the words that membership and everyday tasks are told by."""

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
    "everyday_use",
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
#: Numbers of queries within which a patient's text may come.
QUERY_LIMITS: Final = (1, 10, 100, 1_000, 10_000)


class Attack(Record):
    """One class of attack: whether this audit ran it."""

    name: AttackName
    status: AttackStatus


#: What a note is scored by, the strongest first. The figures are of the first that all notes have: of what the engines
#: give, before any figure is known. Min-K%++ needs the logits, the ratio a control model.
MembershipScore = Literal["min_k_plus_plus", "ratio", "loss", "zlib"]
MEMBERSHIP_SCORES: Final[tuple[MembershipScore, ...]] = get_args(MembershipScore)
#: What the blind baseline reads of a patient's notes.
BlindFeature = Literal["words", "lengths", "number", "dates"]
BLIND_FEATURES: Final[tuple[BlindFeature, ...]] = get_args(BlindFeature)
