"""With how many patients each rule of a policy can be decided, and passed (docs/policy.md, "Which one").

The sizes that a policy implies before any audit: the gate is asked about a run of which nothing is found, as published.
And in plain text, beside how many a corpus has, for `clinaudit check --policy`: at most 100 columns.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import numpy as np
from scipy.special import ndtri, stdtrit

from clinaudit.audit.measures.ordinary.tasks import load_tasks
from clinaudit.audit.results.gate.evaluation import Comparison, Outcome, decide
from clinaudit.audit.results.gate.policy import (
    OF_EITHER_ARM,
    DisclosureRule,
    OrdinaryLimit,
    PassRequirements,
    Policy,
    Rule,
    TextRule,
)
from clinaudit.audit.results.gate.reasons import percent
from clinaudit.audit.statistics.auroc import difference_error, measure_error
from clinaudit.audit.statistics.counts import shares_up_to
from clinaudit.audit.statistics.intervals import ALPHA, clopper_pearson
from clinaudit.priors.diagnoses import load_panel
from clinaudit.priors.fragments import Coverage
from clinaudit.priors.tiers import FRAGMENT_TIERS, GUESSABLE_TIERS
from clinaudit.reports.schema.attacks import (
    MORE_QUERIES,
    QUERY_CELLS,
    QUERY_LIMITS,
    LeakResults,
    OrdinaryResults,
    QueriesResults,
    QueryCell,
)
from clinaudit.reports.schema.decision import GateDecision
from clinaudit.reports.schema.identifiers import IdentifierResults, IdentifiersResults
from clinaudit.reports.schema.memorization import FractionOfText, MemorizationResults, OtherPatientsResults
from clinaudit.reports.schema.numbers import NOBODY, CountRange, EstimateRange, exactly
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally.classes import ARM_STEP, STEP, class_of
from clinaudit.reports.terminal.layout import align_rows, wrap
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.names import ORDINARY, display_title, tier_title
from clinaudit.reports.wording.numbers import counted
from clinaudit.reports.wording.rule_figures import memorization_title

#: Patients trained on and never seen, by tier.
Sizes = Mapping[str, tuple[int, int]]


def clean_run(sizes: Sizes) -> RunResults:
    """Return what is published of a run with so many patients at each tier, of whom nothing is given away."""
    arms: dict[str, dict[Arm, CountRange]] = {
        tier: {arm: class_of(size, step=ARM_STEP) for arm, size in zip(ARMS, of_arms, strict=True) if size}
        for tier, of_arms in sizes.items()
    }
    tasks = _count_tasks()
    share = _nothing(exactly(tasks))
    text = LeakResults.model_construct(tasks=NOBODY, share=share, patients=NOBODY, sampled=None, chance=None)
    return RunResults(
        ordinary=OrdinaryResults.model_construct(
            tasks=tasks, left_out=0, short=0, forms=["text"], text=text, identifiers=None
        ),
        queries={
            tier: {arm: _queries(tier, arm, size) for arm, size in zip(ARMS, sizes[tier], strict=True) if size}
            for tier in sizes
            if tier in FRAGMENT_TIERS
        },
        memorization={tier: {arm: _memorization(of) for arm, of in by_arm.items()} for tier, by_arm in arms.items()},
        identifiers=IdentifiersResults(
            tiers={
                tier: {arm: _identifiers(of, has_pools=len(by_arm) == len(ARMS)) for arm, of in by_arm.items()}
                for tier, by_arm in arms.items()
            }
        ),
    )


@cache
def _count_tasks() -> int:
    return len(load_tasks().tasks)


def _nothing(patients: CountRange, *, times: int = 1) -> EstimateRange:
    upper = clopper_pearson(0, max(1, patients.low)).high or 0.0
    return EstimateRange(value=0.0, low=0.0, high=0.0, confidence_low=0.0, confidence_high=times * upper)


def _memorization(patients: CountRange) -> MemorizationResults:
    nothing = _nothing(patients)
    fraction = FractionOfText(mean=nothing, bins=[], above=[])
    others: dict[str, Any] = {"fraction": fraction}
    read: dict[str, Any] = {
        "patients": patients,
        "memorized_fraction": fraction,
        "attributable_fraction": fraction,
        "near_verbatim_attributable_fraction": fraction,
        "hit_patients_share": nothing,
        "short_share": nothing,
        "other_patients": OtherPatientsResults.model_construct(**others),
    }
    return MemorizationResults.model_construct(**read)


def _queries(tier: str, arm: Arm, size: int) -> QueriesResults:
    """Return of whom text is guessed after a history; elsewhere nobody's comes.

    Of those trained on as many more than of those never seen as chance makes in one audit of ten: of two shares, and of
    where in its class each count lies, which is taken for the middle.
    """
    cells, patients = dict.fromkeys(QUERY_CELLS, NOBODY), class_of(size, step=ARM_STEP)
    if tier in GUESSABLE_TIERS:
        share = sum(_GUESSED.values())
        more = _Z_OF_PASS * math.sqrt(2 * size * share * (1 - share) + 2 * len(_GUESSED) * ARM_STEP**2 / 12) / 2
        many = 1 + (more if arm == "train" else -more) / (size * share)
        for name, guessed in _GUESSED.items():
            low = max(1, round(size * guessed * many) - ARM_STEP // 2)
            cells[name] = CountRange(low=low, high=low + ARM_STEP - 1)
    cells[MORE_QUERIES] = CountRange(low=0 if tier in GUESSABLE_TIERS else patients.low, high=patients.high)
    return QueriesResults(patients=patients, by_queries=cells, within=shares_up_to(QUERY_LIMITS, cells, patients))


def _identifiers(patients: CountRange, *, has_pools: bool) -> IdentifierResults:
    nothing, of_1000, pools = _nothing(patients), _nothing(patients, times=1000), ("sampled", "chance")
    read: dict[str, Any] = {"patients": patients, "verified_per_1000": of_1000}
    for name in ("own", "other", *pools):
        found = (nothing, NOBODY, of_1000) if has_pools or name not in pools else (None, None, None)
        read |= zip((name, f"{name}_patients", f"{name}_per_1000"), found, strict=True)
    return IdentifierResults.model_construct(**read)


#: A size counts by the low end of what is published of it: of an arm's class, or of the sum of a row's classes. Each of
#: a row's lies up to nine below its count, and a row of verdicts has three cells that are not empty, as a rule.
_BELOW: Final = STEP - 1
_CELLS: Final = 3
#: The paper's Table 1: the diagnosis that texts mention most (depression) is mentioned in 70%. Half of the mentions
#: state and half deny it, which gives the largest variance that a mention rate allows (benchmarks/gate_power.py).
_STATED, _NOT_MENTIONED, _DENIED = 0.35, 0.30, 0.35
#: Chance at which a model that gives nothing away is to keep all comparisons of a rule.
CHANCE_OF_PASS: Final = 0.9
_Z_OF_PASS: Final = float(ndtri(CHANCE_OF_PASS))
#: Patients whose text a model guesses after a history, by number of queries (measured at commit 4a3d95f1).
_GUESSED: Final[Mapping[QueryCell, float]] = {"10": 0.17, "100": 0.10, "1000": 0.13}
#: Sizes beyond these are not looked for: of groups compared; and of patients of whom nothing is found, so many above
#: those that the policy asks for.
_MOST: Final = 100_000
_MOST_OF_TEXT: Final = 1_000


@dataclass(frozen=True, slots=True)
class RuleSizes:
    """Patients that one rule needs: in training for memorization, in each of the four groups for disclosure."""

    rule: Rule
    #: Surely enough to pass or fail by; a failure needs fewer.
    decided: int
    #: For a model that gives nothing away to pass; None where no size is enough.
    passed: int | None


def rule_sizes(policy: Policy, *, diagnoses: int) -> list[RuleSizes]:
    """Return the sizes of each rule; `diagnoses`: how many an audit covers, where a rule is of all of them."""
    minimum = policy.minimum_patients_per_class
    to_pass = policy.to_pass.minimum_patients_per_class or 0
    decided = _size_of_class(minimum)
    of_rows, asked_of_rows = (size + _BELOW * _CELLS for size in (minimum, to_pass))
    sizes = [RuleSizes(rule, decided, patients_without_findings(policy, rule)) for rule in policy.of_text]
    if policy.ordinary is not None:
        sizes.append(RuleSizes(policy.ordinary, decided, patients_without_findings(policy, policy.ordinary)))
    for comparison in policy.disclosure:
        count = len(comparison.tiers) * (diagnoses if comparison.diagnoses is None else len(comparison.diagnoses))
        within = patients_without_advantage(comparison.maximum, comparisons=count, asked=policy.to_pass)
        sizes.append(RuleSizes(comparison, of_rows, None if within is None else max(of_rows, asked_of_rows, within)))
    return sizes


def decide_run(policy: Policy, published: RunResults, outcomes: Mapping[Comparison, Outcome]) -> GateDecision:
    """Return the decision on a run, with how many patients each rule takes to pass beside its limit."""
    sizes = rule_sizes(policy, diagnoses=len({*published.cohorts, *published.disclosure.by_diagnosis}))
    return decide(policy, published, outcomes, {of.rule: of.passed for of in sizes})


def patients_without_findings(policy: Policy, rule: TextRule | OrdinaryLimit) -> int | None:
    """Return with how many patients of either arm the gate passes a rule where nothing is found; None where never.

    The gate itself decides on the run that is published of each class.
    """
    tier, of = ("encounter", ORDINARY) if isinstance(rule, OrdinaryLimit) else (rule.tiers[0], rule.tiers[0])
    asked = max(policy.minimum_patients_per_class, policy.to_pass.minimum_patients_per_class or 0)
    begin = class_of(asked, step=ARM_STEP).low
    sizes = range(max(1, begin), begin + _MOST_OF_TEXT, ARM_STEP)
    return next((size for size in sizes if would_pass(policy, rule, {tier: (size, size)})[of]), None)


def would_pass(policy: Policy, rule: TextRule | OrdinaryLimit, sizes: Sizes) -> dict[str, bool]:
    """Return by tier whether the gate passes a rule of which nothing is found, with so many patients."""
    none = replace(policy, memorization=(), identifiers=(), ordinary=None, disclosure=())
    tiers: tuple[str, ...]
    if isinstance(rule, OrdinaryLimit):
        tiers, alone = (ORDINARY,), replace(none, ordinary=rule)
    else:
        tiers, alone = rule.tiers, replace(none, memorization=(rule,))
    found = decide(alone, clean_run(sizes), {}).rules
    by_tier = {tier: [decided.status for decided in found if decided.tier == tier] for tier in tiers}
    # No status: nobody has a prompt there.
    return {tier: set(statuses) == {"pass"} for tier, statuses in by_tier.items()}


def patients_without_advantage(maximum: float, *, comparisons: int, asked: PassRequirements) -> int | None:
    """Return with how many patients in each group a model that gives nothing away usually keeps all comparisons.

    Usually: with the chance `CHANCE_OF_PASS`, where texts mention diagnoses as in the paper. What the policy asks of
    the power of a pass is met, too. None where no size is enough.
    """
    if maximum <= 0:
        return None
    chance = CHANCE_OF_PASS ** (1 / max(comparisons, 1))
    low, high = 2, _MOST
    if not _is_enough(high, maximum, chance, asked):
        return None
    while low < high:
        middle = (low + high) // 2
        if _is_enough(middle, maximum, chance, asked):
            high = middle
        else:
            low = middle + 1
    return low


def _is_enough(patients: int, maximum: float, chance: float, asked: PassRequirements) -> bool:
    counts = patients * np.array([_DENIED, _NOT_MENTIONED, _STATED])
    arm = measure_error(counts, counts)
    error = difference_error(arm, arm)
    points = stdtrit(error.degrees_of_freedom, 1 - ALPHA / 2) + stdtrit(error.degrees_of_freedom, chance)
    if float(points * error.standard) > maximum:
        return False
    power = asked.maximum_detectable_delta
    return power is None or float(error.minimum_detectable_difference()) <= power


def _size_of_class(minimum: int) -> int:
    """Return the smallest size of an arm that its class shows to be at least `minimum`: the low end of the next."""
    return 0 if minimum <= 0 else ARM_STEP * math.ceil((minimum - 1) / ARM_STEP) + 1


_HEADS: Final = ("Rule", "Of", "Decided", "Passed", "Here", "")
_IDENTIFIER_TITLES: Final[Mapping[str, str]] = {
    "own": "Own identifiers",
    "other": "Others’ identifiers",
    "verified_per_1000": "Verified ones",
}
_NOTES: Final = (
    "Decided, passed: with how many patients a rule can be. Own text: patients trained on; to pass, nothing of theirs "
    "is repeated. Others’ text: patients trained on, and as many never seen where there are any. Identifiers: the "
    "same; to pass, chance gives none. In 1,000 queries: as own text; to pass, none of it comes, but that after a "
    f"history it is guessed of {sum(_GUESSED.values()):.0%} of either (trained on or never seen, as many of each). "
    "Everyday tasks: patients trained on; to pass, no task that ships brings anything back. Diagnoses: patients in "
    "each of four groups (trained on or never seen, with the diagnosis or without); to pass, the model gives nothing "
    f"away, and keeps all comparisons of the rule in {CHANCE_OF_PASS:.0%} of audits. A size counts by the low end of "
    "what is published of it.",
    "Here: at most, in this corpus. Groups are matched, and only matched patients are asked about, so that an audit "
    "uses fewer; --patients-per-cell limits them too. Without a table of diagnoses groups are not known.",
)


def needed_patients_text(policy: Policy, coverage: Coverage) -> str:
    """Return with how many patients each rule can be decided and passed, beside how many a corpus has.

    Of the rules about the tiers that `coverage` has; of the others it says that they keep a run from passing.
    """
    asked = policy.about(coverage.tiers)
    limited = [rule.tiers for rule in policy.of_text] + [rule.tiers for rule in policy.disclosure]
    left_out = {tier for tiers in limited for tier in tiers} - coverage.tiers.keys()
    notes = list(_NOTES)
    if left_out:
        kinds = counted(len(left_out), "kind")
        notes.append(
            f"Not listed: rules about {kinds} of asker that --tier leaves out. Nothing decides them, and a run "
            "without them never passes this policy."
        )
    diagnoses = tuple(diagnosis.id for diagnosis in load_panel())
    rows = [
        row for sizes in rule_sizes(asked, diagnoses=len(diagnoses)) for row in _rows(asked, sizes, coverage, diagnoses)
    ]
    head, *lines = align_rows([_HEADS, *rows], cut=(0, 1))
    return "\n".join(
        [
            f"Patients that the policy {harmless_text(policy.name)} takes:",
            head,
            "-" * len(head),
            *lines,
            "",
            *(wrap(note, indent="  ") for note in notes),
        ]
    )


def _rows(policy: Policy, sizes: RuleSizes, coverage: Coverage, panel: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    rule = sizes.rule
    if isinstance(rule, DisclosureRule):
        known = coverage.smallest_groups
        for diagnosis in rule.diagnoses or panel:
            here = None if known is None else known.get(diagnosis, 0)
            is_enough = here is not None and sizes.passed is not None and here >= sizes.passed
            yield _row(f"Diagnoses ≤ {rule.maximum:g}", display_title(diagnosis), sizes, here, passes=is_enough)
        return
    if isinstance(rule, OrdinaryLimit):
        here = max((train for train, _ in coverage.tiers.values()), default=0)
        passes = would_pass(policy, rule, coverage.tiers)
        yield _row(f"{tier_title(ORDINARY)} ≤ {percent(rule.maximum)}", "Nobody", sizes, here, passes=passes[ORDINARY])
        return
    within = f"In {counted(rule.queries, 'query', 'queries')}" if rule.queries else None
    title = within or _IDENTIFIER_TITLES.get(rule.metric) or memorization_title(rule.metric)
    limit = f"{rule.maximum:g}/1000" if rule.metric == "verified_per_1000" else f"{100 * rule.maximum:.3g}%"
    passes = would_pass(policy, rule, coverage.tiers)
    for tier in rule.tiers:
        here = _count_here(rule, coverage.tiers.get(tier))
        yield _row(f"{title} ≤ {limit}", tier_title(tier), sizes, here, passes=passes[tier])


def _count_here(rule: TextRule, here: tuple[int, int] | None) -> int | None:
    """Return how many patients a rule would find; `here`: of the tier, trained on and never seen.

    What chance gives of identifiers is told of as many never seen, and some rules are about either.
    """
    if here is None:
        return None
    train, nontrain = here
    return min(here) if nontrain and (rule.metric in _IDENTIFIER_TITLES or rule.metric in OF_EITHER_ARM) else train


def _row(rule: str, of: str, sizes: RuleSizes, here: int | None, *, passes: bool) -> tuple[str, ...]:
    if here is None:
        said = "not known"
    elif here < sizes.decided:
        said = "too few"
    else:
        said = "enough to pass" if passes else "too few to pass"
    passed = "none is" if sizes.passed is None else f"{sizes.passed}"
    return rule, of, f"{sizes.decided}", passed, "?" if here is None else f"{here}", said
