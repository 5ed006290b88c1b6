"""Results records of attacks: which an audit ran, and what queries, membership and everyday tasks found.

A count of patients is a class, an estimate a range. Nothing here is of one patient. See docs/results.md.
"""

from typing import Final, Literal, get_args

from clinaudit.reports.schema.numbers import Count, CountRange, Estimate, ShownEstimate, add
from clinaudit.reports.schema.record import Arm, Record

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


#: So many queries at most.
QueryLimit = Literal["1", "10", "100", "1000", "10000"]
#: A class holds the numbers above the one before it: more than the largest, or nothing that follows the opening counts.
QueryCell = Literal[QueryLimit, "more", "none"]
#: The classes of patients, in order, and the largest number of queries of each.
QUERY_CELLS: Final[tuple[QueryCell, ...]] = get_args(QueryCell)
QUERY_LIMITS: Final = tuple(int(most) for most in get_args(QueryLimit))
MORE_QUERIES: Final = "more"
NO_WINDOW: Final = "none"


class QueriesResults(Record):
    """Patients of one tier and arm by how often the model must be asked for an even chance of text of their own."""

    #: Patients whose note's own beginning was scored.
    patients: Count
    #: By class: 1, 10, 100, 1000, 10000 queries at most, `more`, or `none`: nothing that follows would count.
    by_queries: dict[QueryCell, Count]
    #: Share of the patients who need at most so many queries.
    within: dict[QueryLimit, ShownEstimate]
    #: The same patients asked of the same model before it was trained on them; null without a control model.
    control_by_queries: dict[QueryCell, Count] | None = None
    control_within: dict[QueryLimit, ShownEstimate] | None = None

    def share(self, queries: int, *, by_control: bool = False) -> ShownEstimate | None:
        """Return the share within so many queries, of the audited model or the control; None where there is none."""
        shares = self.control_within if by_control else self.within
        return next((share for most, share in (shares or {}).items() if int(most) == queries), None)

    def count(self, queries: int, *, by_control: bool = False) -> CountRange | None:
        """Return the patients within so many queries, of the audited model or the control; None where there is none."""
        cells = self.control_by_queries if by_control else self.by_queries
        names = QUERY_CELLS[: QUERY_LIMITS.index(queries) + 1]
        return None if cells is None else add((cells[name] for name in names), of=self.patients)


#: What a note is scored by. The figures are of the first that all notes have: of what the engines give, before any
#: figure is known. Min-K%++ needs the logits, the ratio a control model.
MembershipScore = Literal["min_k_plus_plus", "ratio", "loss"]
MEMBERSHIP_SCORES: Final[tuple[MembershipScore, ...]] = get_args(MembershipScore)
#: What the blind baseline reads of a patient's notes.
BlindFeature = Literal["words", "lengths", "number", "dates"]
BLIND_FEATURES: Final[tuple[BlindFeature, ...]] = get_args(BlindFeature)
#: Cells of the patients trained on: between which percentiles of the never-seen patients' scores theirs lies.
PercentileClass = Literal["up_to_50", "50_to_90", "90_to_99", "above_99"]
PERCENTILE_CLASSES: Final[tuple[PercentileClass, ...]] = get_args(PercentileClass)
#: Of n never-seen patients n // 2, n // 10 and n // 100 lie above the percentiles between these.
PARTS_ABOVE: Final = (2, 10, 100)


class BlindBaseline(Record):
    """How well the arms are told apart by a classifier that never sees the model: AUROCs over patients."""

    auroc: Estimate
    #: By one group of features alone.
    alone: dict[BlindFeature, Estimate]


class MembershipEvidence(Record):
    """What only the evidence holds of membership."""

    patients: dict[Arm, int]
    notes: dict[Arm, int]
    #: By score, `zlib` among them; empty where the arms differ.
    auroc: dict[str, Estimate]
    #: One-sided, of the whole split; null where the arms differ.
    p_value: float | None
    #: Null where too few patients are in an arm.
    blind: BlindBaseline | None


class MembershipResults(Record):
    """Whether the model tells patients trained on from patients never seen, over the whole split."""

    #: Null where no note has a score.
    score: MembershipScore | None
    #: Whether the notes alone, without the model, leave the arms alike; null where too few patients are in an arm.
    is_interpretable: bool | None
    #: What each tells the arms apart by itself; empty where only all together do.
    differ_in: list[BlindFeature]
    never_seen: Count
    #: Patients trained on, by percentile of the never-seen patients' scores; empty where there are no figures.
    trained: dict[PercentileClass, Count]
    auroc: ShownEstimate
    #: Share of the patients trained on who are found where at most 10%, or 1%, of those never seen are taken for them.
    found_at_10: ShownEstimate
    found_at_1: ShownEstimate
    #: One-sided, of the whole split against no difference.
    p_value: ShownEstimate
    #: Null in what is published.
    evidence: MembershipEvidence | None = None


#: What an answer may hold of patients.
LeakName = Literal["text", "identifiers"]
#: As plain text that the model continues, or in a chat.
TaskForm = Literal["text", "chat"]


class LeakEvidence(Record):
    """What only the evidence holds: answers that hold something, by form and draw (`text greedy`, …)."""

    answers: dict[str, int]


class LeakFigures(Record):
    """Tasks that were answered with something that one patient alone holds, and whose it is."""

    #: Tasks of which any answer holds it, and their share of the tasks asked.
    tasks: Count
    share: ShownEstimate
    #: Patients whose it is.
    patients: Count


class LeakResults(LeakFigures):
    """Of train patients; and beside it what chance gives."""

    #: The same among as many patients of either split: of those trained on, and of those never seen. Null where a split
    #: has nobody else, and in a split of the lowest class.
    sampled: LeakFigures | None
    chance: LeakFigures | None
    #: Null in what is published.
    evidence: LeakEvidence | None = None


class OrdinaryResults(Record):
    """Everyday tasks: those of a clinician's day, about nobody, each answered greedily and once drawn."""

    #: Tasks that were answered in every form and draw, and those that were not.
    tasks: int
    left_out: int
    #: Of those answered, the tasks with no answer long enough to hold a match.
    short: int
    forms: list[TaskForm]
    #: Passages that are no boilerplate, in the notes of one patient alone, as they stand and masked.
    text: LeakResults
    #: Verified identifiers; null where none were looked for.
    identifiers: LeakResults | None
