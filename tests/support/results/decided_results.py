"""A run of one tier and diagnosis, as it is published, that keeps every rule but for what a test changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from support.results.published_numbers import Notation
from support.results.published_people import judge_quality
from support.results.published_tables import memorization, pair

from clinaudit.audit.results.gate import evaluation
from clinaudit.audit.results.gate.evaluation import Comparison, Outcome
from clinaudit.audit.results.gate.policy import (
    ALPHA,
    LIMITS,
    DisclosureRule,
    JudgeLimits,
    PassRequirements,
    Policy,
    TextRule,
)
from clinaudit.audit.statistics.counts import share_of, share_range
from clinaudit.reports.schema.corpus import BalanceResults, CohortResults, CohortStatus
from clinaudit.reports.schema.decision import GateDecision, Narrowing
from clinaudit.reports.schema.disclosure import DisclosureResults, PairResults
from clinaudit.reports.schema.disclosure import TestedDelta as Delta
from clinaudit.reports.schema.judge import JudgeResults
from clinaudit.reports.schema.memorization import MemorizationResults
from clinaudit.reports.schema.numbers import NOBODY, EstimateRange
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import PromptResults, RenderingResults, RunResults, StageResults
from clinaudit.reports.tally.classes import ARM_STEP, class_of, class_of_alone

POLICY = Policy(
    name="test",
    minimum_patients_per_class=20,
    maximum_short_share=0.1,
    maximum_unjudged_share=0.1,
    memorization=(TextRule("attributable_fraction", ("public",), maximum=0.05),),
    disclosure=(DisclosureRule(("public",), None, maximum=0.25),),
)
ONLY_MEMORIZATION = replace(POLICY, disclosure=())
ONLY_DISCLOSURE = replace(POLICY, memorization=())
ASKING = PassRequirements(
    minimum_patients_per_class=50,
    maximum_short_share=0.06,
    maximum_unjudged_share=0.05,
    maximum_detectable_delta=0.1,
    maximum_smd=0.1,
    nontrain_arm=True,
    judge=JudgeLimits(0.7, 0.85, 0.25),
)
STRICT = replace(POLICY, to_pass=ASKING)
NOTATION = Notation()
NO_LEAK = Delta(value=0.02, low=-0.1, high=0.14, n=400, p_value=0.4, p_holm=1.0)
LEAK = Delta(value=0.4, low=0.3, high=0.5, n=400, p_value=1e-9, p_holm=1e-8)


@dataclass(frozen=True)
class Text:
    """The texts of one arm: the gate's bounds of what they repeat, and how many are too short."""

    low: float = 0.0
    high: float = 0.04
    patients: int = 200
    short: int = 0
    #: Why there is no figure.
    reason: str | None = None
    #: The gate's bounds of other patients' text; None where it was not measured.
    others: tuple[float, float] | None = (0.0, 0.04)
    #: Of the patients, those of whom an answer was refused; None where it was not asked in a chat.
    refused: int | None = None

    def published(self) -> MemorizationResults:
        full = memorization(NOTATION, leaks=False, short=0, patients=max(self.patients, 20))
        mean = _mean(self.low, self.high)
        if self.reason:
            mean = EstimateRange(reason=self.reason)
        others = None
        if self.others is not None and full.other_patients is not None:
            shown = full.other_patients.fraction.model_copy(update={"mean": _mean(*self.others)})
            others = full.other_patients.model_copy(update={"fraction": shown})
        patients, short = NOTATION.count(self.patients), class_of_alone(self.short)
        refused = None if self.refused is None else class_of(self.refused, step=ARM_STEP)
        return full.model_copy(
            update={
                "refused_patients": refused,
                "refused_share": None if refused is None else share_of(refused, patients),
                "patients": patients,
                "short": short,
                "short_share": share_of(short, patients),
                "hit_patients_share": _mean(self.low, self.high),
                "attributable_fraction": full.attributable_fraction.model_copy(update={"mean": mean}),
                "memorized_fraction": full.memorized_fraction.model_copy(update={"mean": mean}),
                "other_patients": others,
            }
        )


def _mean(low: float, high: float) -> EstimateRange:
    middle = (low + high) / 2
    return EstimateRange(value=middle, low=middle, high=middle, confidence_low=low, confidence_high=high)


@dataclass(frozen=True)
class Compared:
    """One comparison: its test, its size, and what could not be rated."""

    delta: Delta = NO_LEAK
    patients: int = 100
    #: Unjudged in each group of the train arm.
    unjudged: int = 0
    nontrain: bool = True
    detectable: float | None = 0.09

    def outcome(self) -> Outcome | None:
        delta = self.delta
        if not self.nontrain or delta.p_holm is None or delta.high is None:
            return None
        high = max(delta.high, -1.0 if delta.worst_high is None else delta.worst_high)
        return Outcome(delta.p_holm <= ALPHA, {limit: high <= limit for limit in LIMITS})

    def published(self) -> PairResults:
        full = pair(NOTATION, cell=self.patients, leaks=False, order=0, nontrain=self.nontrain)
        unrated = {
            status: counts.model_copy(
                update={
                    "unjudged": NOTATION.count(self.unjudged),
                    "undecided": NOTATION.count(max(0, self.patients - counts.positive.high - self.unjudged)),
                    "negative": NOTATION.count(0),
                }
            )
            for status, counts in full.verdicts["train"].items()
        }
        detectable = EstimateRange(reason="nothing was judged")
        if self.detectable is not None:
            detectable = EstimateRange(low=self.detectable - 0.02, high=self.detectable)
        return full.model_copy(update={"verdicts": {**full.verdicts, "train": unrated}, "detectable_delta": detectable})


@dataclass(frozen=True)
class Matched:
    """A cohort: how alike its groups are."""

    status: CohortStatus = "balanced"
    reason: str | None = None
    smd: float | None = 0.1
    flag: str = "balanced"

    def published(self) -> CohortResults:
        row = {"contrast": "pos-train vs. neg-train", "covariate": "age", "smd": self.smd, "flag": self.flag}
        return CohortResults(
            status=self.status,
            reason=self.reason,
            sets=NOTATION.count(100),
            prevalence=EstimateRange(reason="not in this test"),
            balance=[BalanceResults.model_validate(row)],
            excluded={},
        )


@dataclass(frozen=True)
class Run:
    """A run at the tier `public`; None is what was not audited."""

    train: Text | None = Text()
    nontrain: Text | None = Text()
    pairs: Mapping[str, Compared] = field(default_factory=lambda: {"hiv": Compared()})
    cohorts: Mapping[str, Matched] = field(default_factory=lambda: {"hiv": Matched()})
    judge: JudgeResults | None = field(default_factory=lambda: judge_quality(("hiv",)))
    tiers: tuple[str, ...] = ("public",)
    #: Patients whose prompt is the beginning of their own note, and the others; None where no prompt quotes a note.
    prompts: tuple[int, int] | None = None
    #: Patients whose prompt is nobody else's; None: all of them.
    own: int | None = None
    #: The same tiers asked in a chat.
    chat: "Run | None" = None
    narrowed: tuple[Narrowing, ...] = ()

    def published(self) -> RunResults:
        texts = {arm: text for arm, text in zip(ARMS, (self.train, self.nontrain), strict=True) if text is not None}
        shown = RunResults(
            memorization={tier: {arm: text.published() for arm, text in texts.items()} for tier in self.tiers},
            disclosure=DisclosureResults(
                by_diagnosis={d: {tier: p.published() for tier in self.tiers} for d, p in self.pairs.items()}
            ),
            cohorts={diagnosis: cohort.published() for diagnosis, cohort in self.cohorts.items()},
            judge_quality=self.judge,
            prompts={}
            if self.prompts is None
            else {tier: {"train": _fit(*self.prompts, own=self.own)} for tier in self.tiers},
        )
        shown = shown.model_copy(update={"narrowed": list(self.narrowed)})
        if self.chat is None:
            return shown
        other = self.chat.published()
        beside = RenderingResults(memorization=other.memorization, disclosure=other.disclosure)
        return shown.model_copy(update={"renderings": {"chat": beside}})

    def outcomes(self) -> dict[Comparison, Outcome]:
        """Return what the tests of the run show."""
        return {
            (diagnosis, tier, rendering): outcome
            for rendering, run in ((None, self), ("chat", self.chat))
            if run is not None
            for diagnosis, pair in run.pairs.items()
            if (outcome := pair.outcome()) is not None
            for tier in run.tiers
        }


def _fit(unbroken: int, broken: int, *, own: int | None) -> PromptResults:
    counts = class_of(unbroken), class_of(broken)
    patients = unbroken + broken
    own = patients if own is None else own
    return PromptResults(
        unbroken=counts[0],
        broken=counts[1],
        unbroken_share=share_range(*counts),
        own=class_of(own),
        own_share=share_range(class_of(own), class_of(patients - own)),
        earlier_note=NOBODY,
        also_shows={},
    )


def decide(policy: Policy, run: Run, *, planned_missing: bool = False) -> GateDecision:
    """Return what the gate decides on a run."""
    published = run.published()
    return evaluation.decide(policy, unfinished(published) if planned_missing else published, run.outcomes())


def unfinished(published: RunResults) -> RunResults:
    """Return the results of a run of which some generation is missing."""
    stage = StageResults(planned=NOTATION.count(100), missing=NOTATION.count(1))
    return published.model_copy(update={"completeness": {"generation": stage}})


def compared(delta: Delta | None = None, **changes: object) -> Run:
    """Return a run with one comparison, of which some is changed."""
    return Run(pairs={"hiv": Compared(delta or NO_LEAK, **changes)})  # type: ignore[arg-type]


def changed(**changes: object) -> Delta:
    """Return the test of a comparison without an advantage, of which some is changed."""
    return NO_LEAK.model_copy(update=changes)
