"""Records of a comparison: what `compare.json` holds, published or exact (docs/comparing-runs.md).

A is the run before, B the one after. An exact comparison (PHI) has ranges of no width, and what only the evidence
holds: numbers of pairs and p-values.
"""

from typing import Final, Literal, get_args

from pydantic import Field

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.attacks import LeakName
from clinaudit.reports.schema.decision import Status
from clinaudit.reports.schema.numbers import Count, Estimate, EstimateRange, exact_estimate
from clinaudit.reports.schema.record import Arm, Record

#: What was read: both runs' results as published, or the evidence of both.
FiguresRead = Literal["published", "exact"]
#: Of one named patient, and of all. The worst first.
ForgettingVerdict = Literal["still leaks", "collapsed", "not shown", "forgotten"]
FORGETTING_VERDICTS: Final[tuple[ForgettingVerdict, ...]] = get_args(ForgettingVerdict)
#: The reason of a measured value that is not given.
NOT_PUBLISHED: Final = "not published"
#: With which `clinaudit compare --forgotten` ends, by the verdict over all named patients.
EXIT_STATUS: Final[dict[ForgettingVerdict, int]] = {"forgotten": 0, "still leaks": 1, "collapsed": 8, "not shown": 8}
#: How answers on a retained patient changed, in the order of `collateral`; JSON sorts them.
COLLATERAL_CHANGES: Final = ("much worse", "worse", "about the same", "better")


class Difference(Record):
    """A setting, version or digest in which the runs differ."""

    name: str
    a: str
    b: str


class ComparedRules(Record):
    """The verdicts of both runs, and what became of the rules, each in words: "Own text · Appointment reminder"."""

    #: Null where no policy was applied.
    a: Status | None
    b: Status | None
    #: Failed in A and pass in B; fail in B alone; fail in both; could not be decided in B.
    mended: list[str]
    new: list[str]
    failing: list[str]
    open: list[str]
    #: Failed in A, and no rule of B, or with another limit there.
    gone: list[str]


class ComparedEstimate(Record):
    """One metric in both runs, and B minus A.

    The difference of two published figures: its range reaches from the low end of B less the high end of A to the high
    end of B less the low end of A, and so does its interval. That covers whenever both intervals do, however the runs
    depend on each other: at least 90%.
    The difference of two exact figures is paired by patient, with a 95% interval.
    """

    a: EstimateRange
    b: EstimateRange
    difference: EstimateRange
    #: Patients paired; in an exact comparison alone.
    pairs: int | None = None


def exact_change(a: Estimate, b: Estimate, difference: Estimate) -> ComparedEstimate:
    """Return a metric of the evidence of both runs, and their paired difference: ranges of no width."""
    return ComparedEstimate(
        a=exact_estimate(a), b=exact_estimate(b), difference=exact_estimate(difference), pairs=difference.n
    )


class PairedPatients(Record):
    """Patients by whether anything of their notes stood in their generations, in A and in B (McNemar 1947)."""

    both: Count
    a_only: Count
    b_only: Count
    neither: Count
    #: Patients of the arm with a generation in one run only.
    unpaired_a: Count
    unpaired_b: Count
    #: Two-sided, exact: of the null hypothesis that as many patients came as went. In an exact comparison alone.
    p_value: float | None = None


class PairedMembers(Record):
    """Members of a cohort who were judged in both runs, and in one only: in an exact comparison alone."""

    pairs: int
    unpaired_a: int
    unpaired_b: int


class ComparedMemorization(Record):
    """Verbatim memorization in both runs, at one tier in one arm."""

    memorized_fraction: ComparedEstimate
    attributable_fraction: ComparedEstimate
    #: Patients of whom any text holds a match.
    hit_patients_share: ComparedEstimate
    #: Null where the evidence of a run was purged.
    patients: PairedPatients | None
    #: Text of exactly one other train patient; null where a run has not measured it.
    other_patient_fraction: ComparedEstimate | None = None
    #: Attributable but for a few edits.
    near_verbatim_attributable_fraction: ComparedEstimate
    #: Share of patients given an identifier of their own; null where a run did not look, and of exact figures.
    own_identifiers: ComparedEstimate | None = None
    #: Share of patients whose own text comes within 1,000 queries; null where nothing was scored, and of exact figures.
    within_1000_queries: ComparedEstimate | None = None


class HealthCheck(AnswerCheck):
    """One question of the collapse check (a utility check): whether B still writes as A did.

    `group` is whose generations: `retained` (trained on, not named) or `controls` (never seen). In what is
    published `a` and `b` are null also where too few patients stand behind them.
    """

    #: What the figure is a mean over. Over generations it is a share, and a count of patients stands behind it.
    unit: Literal["generations", "tokens"]


class LevelCounts(Record):
    """Patients by whether they stand out among those never seen, by the joint test."""

    above: Count
    within: Count


class Forgetting(Record):
    """The deletion certificate without names."""

    verdict: ForgettingVerdict
    named: Count
    #: Named patients by verdict; empty where 1 to 10 are named.
    patients: dict[ForgettingVerdict, Count]
    #: Named patients in A; null where 1 to 10 are named.
    before: LevelCounts | None
    #: The patients never seen of the joint test, in B, by the rule for named ones; null where there are none.
    controls: LevelCounts | None
    #: Share of these who would not pass the same rule.
    controls_above_level: EstimateRange
    collapsed: bool | None
    #: By its training record B was trained again without the named, and not made to forget: then no collapse decides.
    is_trained_again: bool = False
    health: list[HealthCheck]
    #: Why patients are not shown to be forgotten, in words; of 1 to 10 named patients only what is true of the runs.
    reasons: list[str]
    #: What was weighed beside the two audits, as the options say: it tells of nobody.
    beside: list[str] = Field(default_factory=list)
    #: Retained patients by whether they share a named one's disease (`same`, `others`), and by how answers on them
    #: changed. Empty where this was not measured, or 1 to 10 are named: of few, whose disease it is could be told.
    collateral: dict[str, dict[str, Count]] = Field(default_factory=dict)


class Comparison(Record):
    """Everything `compare.json` holds, and `evidence/compare.json`."""

    schema_version: Literal["4.0"] = "4.0"
    figures: FiguresRead
    #: One sentence: what changed, as far as these figures show it.
    conclusion: str = ""
    #: Null where neither run has a verdict.
    rules: ComparedRules | None = None
    #: Of run B's audit, as the site gave it (ISO 8601); None where it gave none.
    date: str | None = None
    differences: list[Difference]
    warnings: list[str]
    #: By tier and arm.
    memorization: dict[str, dict[Arm, ComparedMemorization]] = Field(default_factory=dict)
    #: Shares of everyday tasks answered with `text` of a patient, and with `identifiers`; empty where a run asked none.
    ordinary: dict[LeakName, ComparedEstimate] = Field(default_factory=dict)
    #: Diagnosis -> tier -> metric: trained on minus never seen.
    disclosure: dict[str, dict[str, dict[str, ComparedEstimate]]] = Field(default_factory=dict)
    #: Diagnosis -> tier; empty in what is published.
    paired_members: dict[str, dict[str, PairedMembers]] = Field(default_factory=dict)
    forgetting: Forgetting | None = None
