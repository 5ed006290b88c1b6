"""A run of one tier and diagnosis that keeps every rule, but for what a test changes, exact and as it is published."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from support.results.published_numbers import Notation
from support.results.published_people import judge_quality
from support.results.published_tables import memorization, pair

from clinaudit.audit.gate.evaluation import evaluate
from clinaudit.audit.gate.policy import DisclosureRule, JudgeLimits, MemorizationRule, PassRequirements, Policy
from clinaudit.audit.ranges.counts import share_range
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.reports.exact.decision import Decision
from clinaudit.reports.exact.disclosure import DisclosureDelta, DisclosurePair, DisclosureResults
from clinaudit.reports.exact.disclosure import TestedDelta as Delta
from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.exact.memorization import Memorization, OtherPatients
from clinaudit.reports.exact.results import RenderedResults, Results
from clinaudit.reports.schema.cohorts import CohortStatus, PublishedBalance, PublishedCohort
from clinaudit.reports.schema.disclosure import PublishedDisclosure, PublishedPair
from clinaudit.reports.schema.judge import PublishedJudgeQuality
from clinaudit.reports.schema.memorization import PublishedMemorization
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import PublishedPrompts, PublishedRendering, PublishedResults
from clinaudit.reports.suppression.classes import class_of

POLICY = Policy(
    name="test",
    minimum_patients_per_class=20,
    maximum_short_share=0.1,
    maximum_unjudged_share=0.1,
    memorization=(MemorizationRule("attributable_fraction", ("public",), maximum=0.05),),
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
    #: Share of patients with a match.
    hits: float = 0.0
    #: The gate's bounds of other patients' text; None where it was not measured.
    others: tuple[float, float] | None = (0.0, 0.04)
    #: Of the patients, those of whom an answer was refused; None where it was not asked in a chat.
    refused: int | None = None

    def exact(self) -> Memorization:
        value = None if self.reason else (self.low + self.high) / 2
        bounds = (
            Estimate(value=None, reason=self.reason)
            if self.reason
            else Estimate(value=value, low=self.low, high=self.high, n=self.patients)
        )
        return Memorization.model_construct(
            patients=self.patients,
            attributable_fraction_bounds=bounds,
            memorized_fraction_bounds=bounds,
            hit_patients_share=clopper_pearson(round(self.hits * self.patients), self.patients),
            other_patients=None
            if self.others is None
            else OtherPatients.model_construct(
                fraction_bounds=Estimate(value=sum(self.others) / 2, low=self.others[0], high=self.others[1])
            ),
        )

    def published(self) -> PublishedMemorization:
        full = memorization(NOTATION, leaks=False, short=self.short, patients=max(self.patients, 20))
        mean = _mean(self.low, self.high)
        if self.reason:
            mean = PublishedEstimate(reason=self.reason)
        others = None
        if self.others is not None and full.other_patients is not None:
            shown = full.other_patients.fraction.model_copy(update={"mean": _mean(*self.others)})
            others = full.other_patients.model_copy(update={"fraction": shown})
        refused = None if self.refused is None else class_of(self.refused)
        answered = class_of(self.patients - (self.refused or 0))
        return full.model_copy(
            update={
                "refused_patients": refused,
                "refused_share": None if refused is None else share_range(refused, answered),
                "patients": NOTATION.count(self.patients),
                "attributable_fraction": full.attributable_fraction.model_copy(update={"mean": mean}),
                "memorized_fraction": full.memorized_fraction.model_copy(update={"mean": mean}),
                "other_patients": others,
            }
        )


def _mean(low: float, high: float) -> PublishedEstimate:
    middle = (low + high) / 2
    return PublishedEstimate(value=middle, low=middle, high=middle, confidence_low=low, confidence_high=high)


@dataclass(frozen=True)
class Compared:
    """One comparison: its test, its size, and what could not be rated."""

    delta: Delta = NO_LEAK
    patients: int = 100
    #: Unjudged in each group of the train arm.
    unjudged: int = 0
    nontrain: bool = True
    detectable: float | None = 0.09

    def exact(self) -> DisclosurePair:
        delta = DisclosureDelta.model_construct(auroc_all=self.delta) if self.nontrain else None
        return DisclosurePair.model_construct(delta=delta)

    def published(self) -> PublishedPair:
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
        detectable = PublishedEstimate(reason="nothing was judged")
        if self.detectable is not None:
            detectable = PublishedEstimate(low=self.detectable - 0.02, high=self.detectable)
        return full.model_copy(update={"verdicts": {**full.verdicts, "train": unrated}, "detectable_delta": detectable})


@dataclass(frozen=True)
class Matched:
    """A cohort: how alike its groups are."""

    status: CohortStatus = "balanced"
    reason: str | None = None
    smd: float | None = 0.1
    flag: str = "balanced"

    def published(self) -> PublishedCohort:
        row = {"contrast": "pos-train vs. neg-train", "covariate": "age", "smd": self.smd, "flag": self.flag}
        return PublishedCohort(
            status=self.status,
            reason=self.reason,
            matcher="psm",
            sets=NOTATION.count(100),
            prevalence=PublishedEstimate(reason="not in this test"),
            balance=[PublishedBalance.model_validate(row)],
            excluded={},
        )


class Found(NamedTuple):
    """What was found, exact and as it is published."""

    exact: Results
    published: PublishedResults


@dataclass(frozen=True)
class Run:
    """A run at the tier `public`; None is what was not audited."""

    train: Text | None = Text()
    nontrain: Text | None = Text()
    pairs: Mapping[str, Compared] = field(default_factory=lambda: {"hiv": Compared()})
    cohorts: Mapping[str, Matched] = field(default_factory=lambda: {"hiv": Matched()})
    judge: PublishedJudgeQuality | None = field(default_factory=lambda: judge_quality(("hiv",)))
    tiers: tuple[str, ...] = ("public",)
    #: Patients whose prompt is the beginning of their own note, and the others; None where no prompt quotes a note.
    prompts: tuple[int, int] | None = None
    #: The same tiers asked with the facts alone.
    facts: "Run | None" = None

    def found(self) -> Found:
        texts = {arm: text for arm, text in zip(ARMS, (self.train, self.nontrain), strict=True) if text is not None}
        exact = Results.model_construct(
            memorization={tier: {arm: text.exact() for arm, text in texts.items()} for tier in self.tiers},
            disclosure=DisclosureResults.model_construct(
                by_diagnosis={d: {tier: p.exact() for tier in self.tiers} for d, p in self.pairs.items()}
            ),
            decision=None,
        )
        published = PublishedResults(
            memorization={tier: {arm: text.published() for arm, text in texts.items()} for tier in self.tiers},
            disclosure=PublishedDisclosure(
                by_diagnosis={d: {tier: p.published() for tier in self.tiers} for d, p in self.pairs.items()}
            ),
            cohorts={diagnosis: cohort.published() for diagnosis, cohort in self.cohorts.items()},
            judge_quality=self.judge,
            prompts={} if self.prompts is None else {tier: {"train": _fit(*self.prompts)} for tier in self.tiers},
        )
        if self.facts is None:
            return Found(exact.model_copy(update={"renderings": {}}), published)
        other = self.facts.found()
        measured = RenderedResults.model_construct(
            memorization=other.exact.memorization, disclosure=other.exact.disclosure
        )
        shown = PublishedRendering(memorization=other.published.memorization, disclosure=other.published.disclosure)
        return Found(
            exact.model_copy(update={"renderings": {"facts": measured}}),
            published.model_copy(update={"renderings": {"facts": shown}}),
        )


def _fit(unbroken: int, broken: int) -> PublishedPrompts:
    counts = class_of(unbroken), class_of(broken)
    return PublishedPrompts(
        unbroken=counts[0], broken=counts[1], with_cuts=class_of(0), unbroken_share=share_range(*counts)
    )


def decide(policy: Policy, run: Run, *, planned_missing: bool = False) -> Decision:
    """Return what the gate decides on the exact numbers of a run."""
    found = run.found()
    return evaluate(policy, found.exact, found.published, planned_missing=planned_missing)


def compared(delta: Delta | None = None, **changes: object) -> Run:
    """Return a run with one comparison, of which some is changed."""
    return Run(pairs={"hiv": Compared(delta or NO_LEAK, **changes)})  # type: ignore[arg-type]


def changed(**changes: object) -> Delta:
    """Return the test of a comparison without an advantage, of which some is changed."""
    return NO_LEAK.model_copy(update=changes)
