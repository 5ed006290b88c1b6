"""Results records of the corpus: patients by class, split and cohort (the paper's Tables 5 to 7)."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from clinaudit.reports.schema.numbers import NOBODY, Count, EstimateRange
from clinaudit.reports.schema.record import Arm, Record

#: Bins of the number of patients whom a prior fits, and the patients who have none at a tier.
UNIQUENESS_BINS: Final = ("1", "2-4", "5-10", ">10")
NOT_ASKED: Final = "no prior"

#: Cells of patients by how long they were followed, with the least and the largest span in years; nobody's notes span
#: more than a century. Patients of whom some note has no date, or whose dates are farther apart, are unknown.
FOLLOW_UP_YEARS: Final[Mapping[str, tuple[float, float]]] = {
    "one encounter": (0.0, 0.0),
    "under 3 years": (0.0, 3.0),
    "3 years or more": (3.0, 100.0),
}
FOLLOW_UP_UNKNOWN: Final = "unknown"


class Moments(Record):
    """Mean, standard deviation and range of a per-patient (or per-practice) number."""

    mean: float | None
    sd: float | None
    min: float | None
    max: float | None


class Quantiles(Record):
    """Mean and quantiles of a per-patient number."""

    mean: float | None
    p25: float | None
    median: float | None
    p75: float | None
    p95: float | None


class PopulationEvidence(Record):
    """What only the evidence holds of a split or a cohort: moments of numbers of each patient, or practice."""

    notes_per_patient: Moments
    tokens_per_patient: Moments
    #: Null where no note names a practice. A patient counts in each of theirs.
    notes_per_practice: Moments | None = None
    patients_per_practice: Moments | None = None
    #: Notes that name no practice.
    notes_without_practice: int = 0
    age: Moments


class FollowUpEvidence(Record):
    """What only the evidence holds of how long a split was followed."""

    #: From the first encounter to the last, of all whose notes have dates.
    span_years: Quantiles
    #: Notes a year, of patients with more than 30 days of follow-up.
    notes_per_year: Quantiles


class PopulationResults(Record):
    """The paper's Tables 5 to 7 for one split or one cohort."""

    patients: Count
    #: Of the exact report: a total beside its mean would give the number of patients.
    notes: float | None
    #: On the audited model's tokenizer.
    tokens: float | None
    #: Two significant digits; null where there are 1 to 20 patients, and of a cohort.
    notes_per_patient: float | None
    tokens_per_patient: float | None
    #: Mean tokens of a note.
    tokens_per_note: float | None = None
    #: Practices, as a class; and their means, ranges that follow from classes. Of splits alone.
    practices: Count | None = None
    notes_per_practice: EstimateRange | None = None
    patients_per_practice: EstimateRange | None = None
    #: Mean age in whole years.
    age: EstimateRange
    #: Patients by band: <18, 18-34, 35-49, 50-64, 65-79, 80+, unknown (ages over 89 are inside 80+).
    age_bands: dict[str, Count]
    sex: dict[str, Count]
    race: dict[str, Count]
    #: By partition (`age_bands`, `sex`, `race`) and cell: its share of all patients.
    shares: dict[str, dict[str, EstimateRange]] = Field(default_factory=dict)
    #: Null in what is published.
    evidence: PopulationEvidence | None = None


class FollowUpResults(Record):
    """Longitudinal coverage of one split (the paper's Appendix E); no median or other percentile."""

    #: Patients by cell: `one encounter`, `under 3 years`, `3 years or more`, `unknown` (some note has no date, or dates
    #: are more than a century apart).
    patients: dict[str, Count]
    #: Share of each cell.
    shares: dict[str, EstimateRange]
    #: Mean years from first to last encounter, in whole years.
    span_years: EstimateRange
    #: Null in what is published.
    evidence: FollowUpEvidence | None = None


class IdentifiabilityResults(Record):
    """How identifiable the patients of one split are."""

    #: Patients of whose notes some holds a surrogate tag of de-identification, by the tag's style; and their share.
    tagged: dict[str, Count]
    tagged_share: dict[str, EstimateRange]
    #: By tier: patients by how many patients of the corpus their prior fits (`UNIQUENESS_BINS`, `NOT_ASKED`).
    uniqueness: dict[str, dict[str, Count]]
    #: By tier: share of those who have a prior whose prior fits fewer than 2, 5 and 11 patients.
    fewer_than: dict[str, dict[str, EstimateRange]]
    #: Patients with a note longer than what the model was trained on: presumably not trained on, or not whole.
    longer_than_trained: Count
    #: Patients who stand in the corpus under more than one id, and count once.
    several_ids: Count = NOBODY


class CorpusResults(Record):
    """Who was in the corpus."""

    #: Whether the corpus holds a nontrain split; without one nothing can be attributed to training.
    counterfactual: bool
    #: Where diagnosis labels came from: `table`, or the judge that read the notes.
    labels: Literal["table", "lexicon", "openai"]
    splits: dict[str, PopulationResults]
    cohorts: dict[str, PopulationResults]
    #: By split; empty where it was not measured.
    identifiability: dict[Arm, IdentifiabilityResults] = Field(default_factory=dict)
    follow_up: dict[str, FollowUpResults] = Field(default_factory=dict)
    #: Targets who have an id in the nontrain split and one in train, and count as train. Null: not looked for.
    targets_in_both_splits: Count | None = None
    warnings: list[str]
