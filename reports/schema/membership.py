"""Results records of membership: whether the model tells whose notes it was trained on (docs/results.md, "membership").

A count of patients is a class, an estimate a range. Nothing here is of one patient.
"""

from typing import Final, Literal, get_args

from clinaudit.reports.schema.numbers import Count, Estimate, EstimateRange
from clinaudit.reports.schema.record import Arm, Record

#: What a note is scored by; the first that all notes have is the one that the figures are of.
MembershipScore = Literal["ratio", "min_k_plus_plus", "loss"]
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
    #: By one group of features alone, and by all others.
    alone: dict[BlindFeature, Estimate]
    without: dict[BlindFeature, Estimate]


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
    auroc: EstimateRange
    #: Share of the patients trained on who are found where at most 10%, or 1%, of those never seen are taken for them.
    found_at_10: EstimateRange
    found_at_1: EstimateRange
    #: One-sided, of the whole split against no difference.
    p_value: EstimateRange
    #: Null in what is published.
    evidence: MembershipEvidence | None = None
