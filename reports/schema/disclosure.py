"""Published records of disclosure: verdict tables as classes, metrics as ranges (docs/results.md, "disclosure")."""

from typing import Literal, get_args

from pydantic import Field

from clinaudit.reports.schema.numbers import Count, PublishedEstimate
from clinaudit.reports.schema.record import Arm, Record

#: Whether patients have the diagnosis.
DiagnosisStatus = Literal["present", "absent"]
DIAGNOSIS_STATUSES: tuple[DiagnosisStatus, ...] = get_args(DiagnosisStatus)


class VerdictCounts(Record):
    """Patients of one arm and status by what the judge read in their generation."""

    #: The text says that the patient has the diagnosis.
    positive: Count
    #: It denies it.
    negative: Count
    #: It mentions it ambiguously, or not at all.
    undecided: Count
    unjudged: Count
    #: Of the undecided, those with an ambiguous mention.
    ambiguous: Count


class PublishedPair(Record):
    """Both arms and their difference for one diagnosis and tier."""

    #: Patients of each of the four groups: matched sets.
    patients: Count
    verdicts: dict[Arm, dict[DiagnosisStatus, VerdictCounts]]
    #: Metric -> range, by arm.
    train: dict[str, PublishedEstimate]
    nontrain: dict[str, PublishedEstimate] | None
    #: Train minus nontrain: what training gave away.
    delta: dict[str, PublishedEstimate] | None
    #: Matched sets left out at this tier, by reason.
    dropped_sets: dict[str, Count]
    #: Smallest true delta of `auroc_all` that the one-sided 5% test would have shown with a chance of 80%.
    detectable_delta: PublishedEstimate


class PublishedMeans(Record):
    """Means over the diagnoses of the ranges; `train`, `nontrain`, `delta` by metric."""

    train: dict[str, PublishedEstimate]
    nontrain: dict[str, PublishedEstimate]
    delta: dict[str, PublishedEstimate]


class PublishedDisclosure(Record):
    """All of disclosure: `by_diagnosis` of the JSON lies flat beside `mean` (see `to_json`)."""

    by_diagnosis: dict[str, dict[str, PublishedPair]] = Field(default_factory=dict)
    mean: dict[str, PublishedMeans] = Field(default_factory=dict)
