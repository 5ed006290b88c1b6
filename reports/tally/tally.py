"""The tally of a run: all that was counted, as a tree of records whose leaves know their kind.

The stages fill it. Coarsened (`leaves.coarsen`) it is what everything published is computed from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from clinaudit.reports.schema.attacks import Release
from clinaudit.reports.schema.corpus import CohortEvidence, MeasuredSubgroups, PopulationEvidence
from clinaudit.reports.schema.corpus import Partition as GroupedBy
from clinaudit.reports.schema.decision import GateDecision, Narrowing
from clinaudit.reports.schema.disclosure import DiagnosisStatus, MeanOverDiagnoses, MeasuredPair, Side
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.identifiers import DetectorRecall, IdentifierEvidence
from clinaudit.reports.schema.judge import MeasuredJudge
from clinaudit.reports.schema.memorization import (
    FractionName,
    LengthUnit,
    MemorizationEvidence,
    NearVerbatimEvidence,
    OtherPatientsEvidence,
    PieceKind,
    RefusalsEvidence,
)
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import TrainingLoss
from clinaudit.reports.tally.attacks import MembershipTally, OrdinaryTally, QueriesTally
from clinaudit.reports.tally.leaves import (
    Alone,
    Count,
    CountWithPart,
    Exactness,
    Fraction,
    Groups,
    Inside,
    OfBothSplits,
    OfText,
    Partition,
    PartitionWithMean,
    Rate,
    Setting,
    SharesOfText,
    StandardizedDifference,
    coarsen,
)


@dataclass(frozen=True, slots=True)
class NearVerbatimTally:
    """Near-verbatim text of one tier and arm."""

    window: Setting[int]
    edit_budget: Setting[int]
    fraction: Fraction
    extra_fraction: Fraction
    #: Patients with any (`any`), and with none (`none`).
    patients: Partition
    extra_patients: Partition
    #: Mean length in tokens.
    longest_region: OfText
    evidence: Inside[NearVerbatimEvidence]


@dataclass(frozen=True, slots=True)
class OtherPatientsTally:
    """Text of patients other than the one asked about, of one tier and arm."""

    fraction: Fraction
    #: None where a split has nobody else; not published of an arm of the lowest class: it would tell its size.
    sampled_fraction: Inside[Fraction]
    chance: Inside[Fraction]
    #: Patients asked about with any such text (`any`), and with none (`none`).
    patients: Partition
    #: Those whose text it is: of the train split, and of no partition that is published.
    others: Count
    evidence: Inside[OtherPatientsEvidence]


@dataclass(frozen=True, slots=True)
class RefusalsTally:
    """Patients asked about, and those of them of whom the model refused any answer; with the others they add up."""

    asked: Count
    refused: Count
    evidence: Inside[RefusalsEvidence]


@dataclass(frozen=True, slots=True)
class MemorizationTally:
    """Memorization of one tier and arm."""

    fractions: Mapping[FractionName, Fraction]
    #: Patients with a match (`any`), and without (`none`).
    hits: Partition
    #: Those with attributable text, and without.
    attributable: Partition
    #: Patients with an answer too short to hold a match, and those among them with an empty one.
    short: CountWithPart
    #: Figures of text by field.
    text: Mapping[str, OfText]
    #: Mean length of a piece.
    piece_length: Mapping[PieceKind, Mapping[LengthUnit, OfText]]
    #: By number of patients; by "kind section"; by number of notes.
    k_distribution: SharesOfText
    sections: SharesOfText
    copy_forward: SharesOfText
    evidence: Inside[MemorizationEvidence]
    near_verbatim: NearVerbatimTally | None = None
    other_patients: OtherPatientsTally | None = None
    refusals: RefusalsTally | None = None


@dataclass(frozen=True, slots=True)
class PairTally:
    """The verdict table of one diagnosis and tier."""

    #: Patients by verdict: positive, negative, undecided, unjudged; `ambiguous` ones are among the undecided.
    verdicts: Mapping[Side, Mapping[DiagnosisStatus, Mapping[str, Count]]]
    dropped_sets: Partition
    #: With what was measured of it.
    evidence: Inside[MeasuredPair]

    def read_of_a_set(self) -> int:
        """Return how many texts of a set a judge read for it."""
        return sum(map(len, self.verdicts.values()))


@dataclass(frozen=True, slots=True)
class DisclosureTally:
    """Verdict tables by diagnosis and tier, and what was measured over all diagnoses, by tier."""

    by_diagnosis: Mapping[str, Mapping[str, PairTally]] = field(default_factory=dict)
    mean: Mapping[str, Inside[MeanOverDiagnoses]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IdentifierTally:
    """Identifiers in the answers about one arm's patients."""

    patients: Count
    own: Alone
    other: Alone
    #: None where a split has nobody else; not published of an arm of the lowest class.
    sampled: Inside[Alone]
    chance: Inside[Alone]
    verified: Alone
    verified_rate: Rate
    sampled_rate: Inside[Rate]
    chance_rate: Inside[Rate]
    evidence: Inside[IdentifierEvidence]


@dataclass(frozen=True, slots=True)
class IdentifiersTally:
    """Identifiers in generations: by tier and arm, and by HIPAA's identifier and arm."""

    tiers: Mapping[str, Mapping[Arm, IdentifierTally]]
    categories: Inside[Mapping[HipaaIdentifier, Mapping[Arm, IdentifierTally]]]
    #: Of planted text, which is nobody's.
    recall: Setting[tuple[DetectorRecall, ...]]
    not_tested: Mapping[HipaaIdentifier, str]
    #: Rules of the site's own that were searched for beside those that ship.
    site_rules: Setting[int] = field(default_factory=lambda: Setting(0))


@dataclass(frozen=True, slots=True)
class RenderingTally:
    """What was counted where a tier's knowledge was put to the model in another form."""

    memorization: Mapping[str, Mapping[Arm, MemorizationTally]] = field(default_factory=dict)
    disclosure: DisclosureTally = field(default_factory=DisclosureTally)
    identifiers: IdentifiersTally | None = None


@dataclass(frozen=True, slots=True)
class PromptTally:
    """The prompts of one tier and arm: patients by whether theirs fits their own notes, and by what it is and shows."""

    #: `unbroken` and `broken`.
    fit: Partition
    #: `own`: the prompt is nobody else's; `earlier`: it is of an earlier note than the latest; and the rest.
    own: Partition
    earlier: Partition
    #: By what else the note's beginning shows: `some`, and the rest.
    shown: Mapping[str, Partition]


@dataclass(frozen=True, slots=True)
class SubgroupTally:
    """Patients by group and whether they are affected: tier -> arm -> partition."""

    memorization: Mapping[str, Mapping[Arm, Mapping[GroupedBy, Groups]]]
    #: Not published where one diagnosis alone has a cohort: both margins are then cells of its verdict table.
    disclosure: Inside[Mapping[str, Mapping[Arm, Mapping[GroupedBy, Groups]]]]
    evidence: Inside[MeasuredSubgroups]


@dataclass(frozen=True, slots=True)
class BalanceTally:
    """The balance of one covariate in one contrast."""

    contrast: str
    covariate: str
    flag: str
    #: Of sex not published where 1 to 10 of one sex are in a cell.
    smd: Inside[StandardizedDifference]
    smd_before: Inside[StandardizedDifference]


@dataclass(frozen=True, slots=True)
class CohortTally:
    """The matched cohort of one diagnosis, but for its verdict tables."""

    status: str
    reason: str | None
    #: Candidates of the training data: with the diagnosis (`present`), and without (`absent`).
    candidates: Partition
    balance: tuple[BalanceTally, ...]
    excluded: Mapping[str, OfBothSplits]
    evidence: Inside[CohortEvidence]


@dataclass(frozen=True, slots=True)
class PopulationTally:
    """A split, or a cohort."""

    age_bands: PartitionWithMean
    sex: Partition
    race: Partition
    #: Totals beside their means over patients would give the number of these.
    notes: Inside[int]
    tokens: Inside[int]
    #: Means: notes and tokens a patient, tokens a note.
    text: Mapping[str, OfText]
    #: Practices, and patients once in each of theirs; None where no note names one, not published of a cohort.
    practices: Inside[Count]
    practice_patients: Inside[Count]
    #: Every note names a practice.
    is_placed: bool
    evidence: Inside[PopulationEvidence]


@dataclass(frozen=True, slots=True)
class IdentifiabilityTally:
    """How identifiable the patients of one split are; each entry is a partition of the split."""

    #: By style: `tagged` and `rest`.
    tagged: Mapping[str, Partition]
    #: By tier.
    uniqueness: Mapping[str, Partition]
    #: `longer` and `rest`.
    lengths: Partition
    #: `several` and `rest`.
    ids: Partition


@dataclass(frozen=True, slots=True)
class CorpusTally:
    """Who was in the corpus."""

    counterfactual: bool
    labels: str
    splits: Mapping[str, PopulationTally]
    cohorts: Mapping[str, PopulationTally]
    identifiability: Mapping[Arm, IdentifiabilityTally]
    #: Stands alone: nothing that is published counts the other targets. None: not looked for.
    targets_in_both_splits: Alone | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StageTally:
    """What became of one stage's planned work, in units."""

    planned: Inside[int]
    missing: Count
    #: By tier and reason, of both arms together: beside each arm's classes they would bound the matched sets.
    excluded: Inside[Partition]


@dataclass(frozen=True, slots=True)
class AnswersTally:
    """What the judge answered to a set of questions, by what became of each."""

    answers_each: Setting[int]
    cells: Mapping[str, Count]
    alpha: Inside[Setting[EstimateRange]]


@dataclass(frozen=True, slots=True)
class JudgeTally:
    """How the judge read the labelled texts: invented ones, or a site's."""

    judge: str
    labels: str
    #: Truth -> verdict -> texts.
    matrix: Mapping[str, Mapping[str, Count]]
    #: Of invented texts.
    flip_rate: Setting[EstimateRange]
    hiding_rate: Setting[EstimateRange]
    #: Not published of a site's texts.
    accuracy_by_diagnosis: Inside[Mapping[str, Setting[EstimateRange]]]
    #: About the labelled texts; of a site's not published. Then about this run's.
    answers: Inside[AnswersTally]
    run_answers: AnswersTally | None
    evidence: Inside[MeasuredJudge]


@dataclass(frozen=True, slots=True)
class Tally:
    """Everything that was counted in a run, and its verdict."""

    memorization: Mapping[str, Mapping[Arm, MemorizationTally]] = field(default_factory=dict)
    disclosure: DisclosureTally = field(default_factory=DisclosureTally)
    #: None where they were not looked for.
    identifiers: IdentifiersTally | None = None
    renderings: Mapping[str, RenderingTally] = field(default_factory=dict)
    prompts: Mapping[str, Mapping[Arm, PromptTally]] = field(default_factory=dict)
    #: Where nothing was scored, why not.
    queries: Mapping[str, Mapping[Arm, QueriesTally]] = field(default_factory=dict)
    #: None where no everyday task was asked.
    ordinary: OrdinaryTally | None = None
    not_scored: str | None = None
    membership: MembershipTally | None = None
    cohorts: Mapping[str, CohortTally] = field(default_factory=dict)
    subgroups: SubgroupTally | None = None
    corpus: CorpusTally | None = None
    completeness: Mapping[str, StageTally] = field(default_factory=dict)
    judge: JudgeTally | None = None
    #: Decided on what is published, and by the tests of diagnoses: what each rule read is computed anew.
    decision: Setting[GateDecision] | None = None
    warnings: tuple[str, ...] = ()
    narrowed: tuple[Narrowing, ...] = ()
    training: Setting[tuple[TrainingLoss, ...]] | None = None
    release: Release | None = None
    exactness: Exactness = field(default_factory=Exactness)

    @property
    def is_exact(self) -> bool:
        """Whether nothing was coarsened."""
        return self.exactness.is_exact


def publishable(tally: Tally) -> Tally:
    """Return the coarse tally: all that is published is computed from it."""
    return coarsen(tally)
