"""The coarse table's records: classes, means and words, in the parts in which they are published.

Owns the shape. No `int` or `float` of patients stands in it: counts are classes, means are merged units, figures of
text have two digits. `coarse` makes it, `clinaudit.audit.ranges` computes everything published from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from clinaudit.reports.schema.cohorts import PublishedBalance
from clinaudit.reports.schema.decision import Narrowing, PublishedDecision
from clinaudit.reports.schema.disclosure import DiagnosisStatus, VerdictCounts
from clinaudit.reports.schema.groups import Partition
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.identifiers import PublishedRecall
from clinaudit.reports.schema.memorization import LengthUnit, PieceKind, SectionKind
from clinaudit.reports.schema.numbers import CountRange, PublishedEstimate
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.schema.results import PublishedDrift, TrainingLoss
from clinaudit.reports.suppression.classes import Interval, MeanClass

#: By name of the cell.
Cells = Mapping[str, CountRange]


@dataclass(frozen=True, slots=True)
class CoarseFraction:
    """A fraction of each patient's text: patients by bin, and the mean over patients."""

    #: Least and largest fraction of each bin.
    edges: tuple[Interval, ...]
    bins: tuple[CountRange, ...]
    mean: MeanClass


@dataclass(frozen=True, slots=True)
class CoarseNearVerbatim:
    """Near-verbatim text of one tier and arm."""

    window: int
    edit_budget: int
    fraction: CoarseFraction
    extra_fraction: CoarseFraction
    #: Patients with any, and with none.
    patients: Cells
    extra_patients: Cells
    longest_region: float | None


@dataclass(frozen=True, slots=True)
class CoarseGuard:
    """What the repetition guard cut at one tier and arm."""

    #: Patients whose own notes repeat a 20-gram, and the others.
    repeating: Cells
    #: Patients of whom the second rule keeps more (`spared`), of whom the guard ended something all the same, and the
    #: others.
    ended: Cells
    recitation_tokens_cut: float | None


@dataclass(frozen=True, slots=True)
class CoarseOtherPatients:
    """Text of patients other than the one asked about, of one tier and arm."""

    fraction: CoarseFraction
    #: None where a split has nobody else, and in an arm of the lowest class: that nobody else is there would tell its
    #: size.
    sampled_fraction: CoarseFraction | None
    chance: CoarseFraction | None
    #: Patients asked about with any such text, and with none.
    patients: Cells
    #: Those whose text it is: of the train split, and of no partition that is published.
    others: CountRange


@dataclass(frozen=True, slots=True)
class CoarseMemorization:
    """Memorization of one tier and arm."""

    fractions: Mapping[str, CoarseFraction]
    #: Patients with a match (`any`), and without (`none`); those with attributable text, and without.
    hits: Cells
    attributable: Cells
    #: Patients with an empty text, and with one too short to hold a match, who stand alone. The first are among the
    #: second, which is all that is told of them: an empty text holds no identifier, so that both counts add up.
    empty: CountRange
    short: CountRange
    #: Figures of text by field.
    text: Mapping[str, float | None]
    #: Mean length of a piece, by K and unit.
    piece_length: Mapping[PieceKind, Mapping[LengthUnit, float | None]]
    k_distribution: tuple[tuple[str, float | None], ...]
    sections: tuple[tuple[str, Mapping[SectionKind, float | None]], ...]
    copy_forward: tuple[tuple[str, float | None], ...]
    near_verbatim: CoarseNearVerbatim | None
    guard: CoarseGuard | None
    other_patients: CoarseOtherPatients | None
    #: Patients asked about, and those of them of whom the model refused any answer; None where refusals were not looked
    #: for. The second has the steps of an arm: it and those with an answer add up to the first.
    asked: CountRange | None
    refused: CountRange | None


@dataclass(frozen=True, slots=True)
class CoarsePair:
    """The verdict table of one diagnosis and tier."""

    verdicts: Mapping[Arm, Mapping[DiagnosisStatus, VerdictCounts]]
    has_nontrain: bool
    dropped_sets: Cells


@dataclass(frozen=True, slots=True)
class CoarseRate:
    """Values a query of an arm's patients: how many patients have how many; those with none are no bin."""

    #: Least and largest number of each bin, the last possibly without end.
    edges: tuple[Interval, ...]
    bins: tuple[CountRange, ...]
    #: Patients with any value, who stand alone.
    any: CountRange
    #: Values per 1,000 queries, in the exact report alone: a number of values may be one of patients.
    exact: PublishedEstimate | None


@dataclass(frozen=True, slots=True)
class CoarseIdentifierFigures:
    """Identifiers in the answers about one arm's patients: how many these are, and counts of them that stand alone."""

    patients: CountRange
    own: CountRange
    other: CountRange
    #: None where a split has nobody else, and in an arm of the lowest class.
    sampled: CountRange | None
    chance: CountRange | None
    verified: CountRange
    verified_rate: CoarseRate
    sampled_rate: CoarseRate | None
    chance_rate: CoarseRate | None
    #: In the exact report alone.
    exact_corrected: PublishedEstimate | None


@dataclass(frozen=True, slots=True)
class CoarseIdentifiers:
    """Identifiers in generations: by tier and arm, and by HIPAA's identifier and arm."""

    tiers: Mapping[str, Mapping[Arm, CoarseIdentifierFigures]]
    categories: Mapping[HipaaIdentifier, Mapping[Arm, CoarseIdentifierFigures]]
    recall: tuple[PublishedRecall, ...]
    not_tested: Mapping[HipaaIdentifier, str]


@dataclass(frozen=True, slots=True)
class CoarseRendering:
    """What was measured where a tier's knowledge was put to the model in another form."""

    memorization: Mapping[str, Mapping[Arm, CoarseMemorization]]
    disclosure: Mapping[str, Mapping[str, CoarsePair]]
    identifiers: CoarseIdentifiers | None = None


@dataclass(frozen=True, slots=True)
class CoarsePrompts:
    """The prompts of one tier and arm: patients by whether theirs fits their own notes, and by what it is and shows."""

    fit: Cells
    text: Cells
    note: Cells
    shown: Mapping[str, Cells]


@dataclass(frozen=True, slots=True)
class CoarseGroup:
    """One group of patients: those affected, and the others."""

    partition: Partition
    group: str
    affected: CountRange
    unaffected: CountRange


@dataclass(frozen=True, slots=True)
class CoarseCohort:
    """The matched cohort of one diagnosis, but for its verdict tables."""

    status: str
    reason: str | None
    matcher: str
    #: Candidates of the training data, by whether they have the diagnosis.
    candidates: Cells
    balance: tuple[PublishedBalance, ...]
    excluded: Cells


@dataclass(frozen=True, slots=True)
class CoarsePopulation:
    """A split, or a cohort."""

    age_bands: Cells
    sex: Cells
    race: Cells
    #: In years; None where nobody's age is known.
    age: MeanClass | None
    #: `notes`, `tokens`, and their means over patients.
    text: Mapping[str, float | None]
    #: Practices, and patients once in each of theirs; None of a cohort, and where no note names one.
    practices: CountRange | None
    practice_patients: CountRange | None
    #: Every note names a practice.
    is_placed: bool


@dataclass(frozen=True, slots=True)
class CoarseFollowUp:
    """Longitudinal coverage of a split."""

    patients: Cells
    #: In years; None where no patient's notes have dates.
    span_years: MeanClass | None


@dataclass(frozen=True, slots=True)
class CoarseIdentifiability:
    """How identifiable the patients of one split are; each entry is a partition of the split."""

    #: By style: `tagged` and `rest`.
    tagged: Mapping[str, Cells]
    #: By tier.
    uniqueness: Mapping[str, Cells]
    #: `longer` and `rest`.
    lengths: Cells
    #: `several` and `rest`.
    ids: Cells


@dataclass(frozen=True, slots=True)
class CoarseCorpus:
    """Who was in the corpus."""

    counterfactual: bool
    labels: str
    splits: Mapping[str, CoarsePopulation]
    cohorts: Mapping[str, CoarsePopulation]
    identifiability: Mapping[Arm, CoarseIdentifiability]
    follow_up: Mapping[str, CoarseFollowUp]
    #: Stands alone: nothing that is published counts the other targets.
    targets_in_both_splits: CountRange | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CoarseStage:
    """What became of one stage's planned work."""

    missing: CountRange
    failed: CountRange
    excluded: Cells


@dataclass(frozen=True, slots=True)
class CoarseAnswers:
    """What the judge answered to a set of questions."""

    answers_each: int
    #: By what became of each question.
    cells: Cells
    #: Of invented texts alone.
    alpha: PublishedEstimate | None


@dataclass(frozen=True, slots=True)
class CoarseJudge:
    """How the judge read the labelled texts: exact where these are invented, in classes where a site's."""

    judge: str
    labels: str
    #: Truth -> verdict -> texts.
    matrix: Mapping[str, Cells]
    #: Of invented texts.
    flip_rate: PublishedEstimate
    hiding_rate: PublishedEstimate
    accuracy_by_diagnosis: Mapping[str, PublishedEstimate]
    second_judge: str | None
    #: Verdicts on which both agree, part, and that one could not give.
    second: Cells
    #: About invented texts, and about this run's.
    answers: CoarseAnswers | None = None
    run_answers: CoarseAnswers | None = None


@dataclass(frozen=True, slots=True)
class Coarse:
    """The coarse table and the verdicts of one run."""

    #: The exact report's: classes of one number.
    is_exact: bool
    memorization: Mapping[str, Mapping[Arm, CoarseMemorization]]
    disclosure: Mapping[str, Mapping[str, CoarsePair]]
    renderings: Mapping[str, CoarseRendering]
    prompts: Mapping[str, Mapping[Arm, CoarsePrompts]]
    cohorts: Mapping[str, CoarseCohort]
    group_memorization: Mapping[str, Mapping[Arm, tuple[CoarseGroup, ...]]] | None
    group_disclosure: Mapping[str, Mapping[Arm, tuple[CoarseGroup, ...]]] | None
    corpus: CoarseCorpus | None
    completeness: Mapping[str, CoarseStage]
    judge: CoarseJudge | None
    #: Decided on what is published, and by the tests of diagnoses: what each rule read is computed anew.
    decision: PublishedDecision | None
    drift: PublishedDrift | None
    warnings: tuple[str, ...]
    narrowed: tuple[Narrowing, ...]
    training: tuple[TrainingLoss, ...] | None
    #: None where they were not looked for.
    identifiers: CoarseIdentifiers | None = None
