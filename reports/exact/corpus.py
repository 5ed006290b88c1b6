"""Results records of the corpus: counts and moments by split and cohort (the paper's Tables 5 to 7)."""

from typing import Literal

from pydantic import Field

from clinaudit.reports.schema.record import Arm, Record


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


class FollowUp(Record):
    """Longitudinal coverage of one split (the paper's Appendix E); years have 365.25 days."""

    #: Patients by cell: `one encounter`, `under 3 years`, `3 years or more`, `unknown` (some note has no date, or dates
    #: are more than a century apart).
    patients: dict[str, int]
    #: From the first encounter to the last, of all whose notes have dates.
    span_years: Quantiles
    #: Notes a year, of patients with more than 30 days of follow-up.
    notes_per_year: Quantiles


class PopulationSummary(Record):
    """The paper's Tables 5 to 7 for one split or one cohort."""

    notes: int
    patients: int
    #: Tokens of the notes on the audited model's tokenizer.
    tokens: int | None
    practices: int | None
    notes_per_patient: Moments
    tokens_per_patient: Moments
    #: Null where no note names a practice. A patient counts in each of theirs.
    notes_per_practice: Moments | None = None
    patients_per_practice: Moments | None = None
    #: Notes that name no practice.
    notes_without_practice: int = 0
    age: Moments
    #: Patients by band: <18, 18-34, 35-49, 50-64, 65-79, 80+, unknown (ages over 89 are inside 80+).
    age_bands: dict[str, int]
    sex: dict[str, int]
    race: dict[str, int]


class Identifiability(Record):
    """How identifiable the patients of one split are: counts of patients."""

    patients: int
    #: Of whose notes some holds a surrogate tag, by the tag's style.
    tagged: dict[str, int]
    #: By tier and by how many patients of the corpus the prior fits (`UNIQUENESS_BINS`, `NOT_ASKED`).
    uniqueness: dict[str, dict[str, int]]
    #: With a note longer than what the model was trained on.
    longer_than_trained: int
    #: Who have more than one id, joined into one patient.
    several_ids: int = 0


class CorpusSummary(Record):
    """Who was in the corpus."""

    #: Whether the corpus holds a nontrain split; without one nothing can be attributed to training.
    counterfactual: bool
    #: Where diagnosis labels came from: `table`, or the judge that read the notes.
    labels: Literal["table", "lexicon", "openai"]
    splits: dict[str, PopulationSummary]
    cohorts: dict[str, PopulationSummary]
    #: By split; empty where it was not measured.
    identifiability: dict[Arm, Identifiability] = Field(default_factory=dict)
    follow_up: dict[str, FollowUp] = Field(default_factory=dict)
    #: Targets who have an id in the nontrain split and one in train; they count as train. Null where not looked for.
    targets_in_both_splits: int | None = None
    warnings: list[str]
