"""Results records of who was in the corpus (the paper's Tables 4 to 7): splits, matched cohorts, groups of patients."""

from typing import Final, Literal, get_args

from pydantic import Field

from clinaudit.reports.schema.numbers import NOBODY, Count, Estimate, EstimateRange
from clinaudit.reports.schema.record import Arm, Record

#: Bins of the number of patients whom a prior fits, and the patients who have none at a tier.
UNIQUENESS_BINS: Final = ("1", "2-4", "5-10", ">10")
NOT_ASKED: Final = "no prior"


class Moments(Record):
    """Mean, standard deviation and range of a per-patient (or per-practice) number."""

    mean: float | None
    sd: float | None
    min: float | None
    max: float | None


class PopulationEvidence(Record):
    """What only the evidence holds of a split or a cohort: moments of numbers of each patient, or practice."""

    notes_per_patient: Moments
    tokens_per_patient: Moments
    #: Null where no note names a practice. A patient counts in each of theirs.
    notes_per_practice: Moments | None = None
    patients_per_practice: Moments | None = None
    age: Moments


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
    #: Targets who have an id in the nontrain split and one in train, and count as train. Null: not looked for.
    targets_in_both_splits: Count | None = None
    warnings: list[str]


Partition = Literal["age", "sex", "race", "notes"]
PARTITIONS: tuple[Partition, ...] = get_args(Partition)


class GroupMemorization(Record):
    """Memorization among the patients of one group; means over patients, with the bounds that the gate uses."""

    partition: Partition
    group: str
    #: Targets of the group with a generation.
    patients: int
    memorized_fraction: Estimate
    attributable_fraction: Estimate
    #: Patients with any memorized token.
    memorized_patients: int
    #: Patients with any attributable token.
    attributable_patients: int


class GroupDisclosure(Record):
    """How often a diagnosis is stated of the patients of one group who have it, all diagnoses together."""

    partition: Partition
    group: str
    #: Patients with at least one of the diagnoses and a verdict on it.
    patients: int
    #: Mean over patients of the share of their own diagnoses that is stated, with the bounds that the gate uses.
    sensitivity: Estimate
    #: Patients of whom any diagnosis is stated.
    exposed_patients: int


class MeasuredSubgroups(Record):
    """Estimates by age, sex, race where given, and number of notes."""

    memorization: dict[str, dict[Arm, list[GroupMemorization]]] = Field(default_factory=dict)
    disclosure: dict[str, dict[Arm, list[GroupDisclosure]]] = Field(default_factory=dict)


class GroupResults(Record):
    """The patients of one group, and how many of them are affected."""

    partition: Partition
    #: `others` pools the groups that a partition has too many cells for.
    group: str
    patients: Count
    #: Memorization: patients with any attributable text. Disclosure: patients with the diagnosis of whom it is stated.
    affected: Count
    share: EstimateRange


class SubgroupResults(Record):
    """Groups by age, sex, race where given, and number of notes: tier -> arm -> groups."""

    memorization: dict[str, dict[Arm, list[GroupResults]]] = Field(default_factory=dict)
    disclosure: dict[str, dict[Arm, list[GroupResults]]] = Field(default_factory=dict)
    #: Null in what is published.
    evidence: MeasuredSubgroups | None = None


CohortStatus = Literal["balanced", "imbalanced", "poorly_matched", "unavailable"]


class BalanceResults(Record):
    """Standardized mean difference of one covariate in one contrast (the paper's Table 4), one decimal."""

    contrast: Literal["pos-train vs. pos-nontrain", "pos-train vs. neg-train", "pos-nontrain vs. neg-nontrain"]
    covariate: Literal["age", "sex", "notes"]
    #: Null where it is undefined, and of sex where 1 to 10 of one sex are in a cell: its flag follows from numbers.
    smd: float | None
    flag: Literal["balanced", "imbalanced", "poorly_matched"]
    #: The same SMD among all candidates, before matching.
    smd_before: float | None = None


class CohortEvidence(Record):
    """What only the evidence holds of a cohort."""

    #: Patients a cell: train_positive, train_negative, nontrain_positive, nontrain_negative.
    cells: dict[str, int]
    #: Share of d-positives among the train candidates that controls come from.
    prevalence: Estimate


class CohortResults(Record):
    """The matched cohort of one diagnosis."""

    status: CohortStatus
    reason: str | None
    #: Matched sets, with one patient of each of the four cells.
    sets: Count
    #: Share of patients with the diagnosis among the train candidates that controls come from.
    prevalence: EstimateRange
    #: By arm: share of the generations that mention the diagnosis, the mean over the tiers (the paper's Table 1).
    mention_rate: dict[Arm, EstimateRange] = Field(default_factory=dict)
    balance: list[BalanceResults]
    excluded: dict[str, Count]
    #: Null in what is published.
    evidence: CohortEvidence | None = None
