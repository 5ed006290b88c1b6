"""The verdict of `clinaudit gate` on a finished run: the recorded one, or one decided anew (docs/policy.md).

Owns which figures decide: of the run's own policy the audit's recorded verdict counts, before and after a purge; of any
other, diagnoses are tested on what the published ranges settle, or on the exact numbers where these are asked for.
Reads no file of the run. The test of each comparison is made on the exact numbers, with Holm's step-down over all of
them, at levels that are safe for the classes of each, so that its word gives no count away.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from clinaudit.audit.results.gate import reasons
from clinaudit.audit.results.gate.evaluation import Comparison, Outcome
from clinaudit.audit.results.gate.policy import ALPHA, Policy, load_policy, locate_policy
from clinaudit.audit.results.gate.rules import conclude
from clinaudit.audit.results.gate.sample_size import decide_run
from clinaudit.audit.results.ranges.results import read_again
from clinaudit.audit.results.ranges.tests import (
    DrawnTables,
    agreed_outcomes,
    draw_tables,
    find_test_ranges,
    safe_level,
    safe_limits,
)
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.audit.runtime.run.durable_files import sha256_of
from clinaudit.errors import IntegrityError
from clinaudit.reports.schema.decision import DecidedRule, GateDecision
from clinaudit.reports.schema.disclosure import TestedDelta
from clinaudit.reports.schema.results import RunResults, view_rendering
from clinaudit.reports.terminal.rules import Basis

_CONTRADICTED = "the recorded verdict is not what {} say; run the audit again"


class RunVerdict(NamedTuple):
    """A verdict, and which figures decided it."""

    decision: GateDecision
    basis: Basis


def find_verdict(published: RunResults, record: Mapping[str, object], *, given: Path | None) -> RunVerdict:
    """Return the recorded verdict for the run's own policy, else what the published ranges settle.

    `record` is the content of `run.json`; `given` is the policy asked for: None is the run's own, or the default one
    where the run has no verdict. Raises `IntegrityError` where the published figures contradict the record.
    """
    policy, is_own = _find_policy(published.decision, record, given)
    if is_own and published.decision is not None:
        require_consistent(published, policy)
        return RunVerdict(published.decision, "recorded")
    if policy is None:
        raise ValueError("there is a policy, or a recorded verdict")
    return RunVerdict(_settle(policy, published), "published")


def find_exact_verdict(
    published: RunResults, exact: RunResults, record: Mapping[str, object], *, given: Path | None
) -> RunVerdict:
    """Return the verdict with tests on the `exact` results of the same run.

    The figures observed are exact, and PHI; what a rule was decided on stays what was published.
    """
    policy, is_own = _find_policy(published.decision, record, given)
    decision = published.decision
    if decision is None or not is_own:
        if policy is None:
            raise ValueError("there is a policy, or a recorded verdict")
        decision = decide_run(policy, published, find_outcomes(exact, published))
    observed = [rule.observed for rule in read_again(decision, exact).rules]
    rules = [rule.model_copy(update={"observed": of}) for rule, of in zip(decision.rules, observed, strict=True)]
    return RunVerdict(decision.model_copy(update={"rules": rules}), "exact")


def require_consistent(published: RunResults, policy: Policy | None) -> None:
    """Raise `IntegrityError` where a recorded verdict is not what its rules, its policy and the figures make of it.

    `policy` is the run's own; None where it is not at hand.
    """
    require_told(published)
    recorded = published.decision
    if policy is None or recorded is None:
        return
    decided = _settle(policy, published)
    settled = decided.rules
    if (decided.not_asked, decided.narrowed) != (recorded.not_asked, recorded.narrowed) or [
        (rule.id, rule.limit.max) for rule in settled
    ] != [(rule.id, rule.limit.max) for rule in recorded.rules]:
        raise IntegrityError(_CONTRADICTED.format("the rules of its policy"))
    if any(_contradicts(seen, rule) for seen, rule in zip(settled, recorded.rules, strict=True)):
        raise IntegrityError(_CONTRADICTED.format("the published figures"))


def require_told(published: RunResults) -> None:
    """Raise `IntegrityError` where a recorded verdict is not what its rules and their figures make of it."""
    recorded = published.decision
    if recorded is None:
        return
    statuses = [rule.status for rule in recorded.rules]
    if conclude(statuses, published, not_asked=recorded.not_asked, narrowed=recorded.narrowed)[0] != recorded.status:
        raise IntegrityError(_CONTRADICTED.format("its own rules"))
    try:
        is_of_figures = read_again(recorded, published) == recorded
    except KeyError:
        # A rule on a metric or a form of prompt that there is not.
        is_of_figures = False
    if not is_of_figures or any(map(_is_beyond_its_figures, recorded.rules)):
        raise IntegrityError(_CONTRADICTED.format("the published figures"))


def _settle(policy: Policy, published: RunResults) -> GateDecision:
    return decide_run(policy, published, agreed_outcomes(find_test_ranges(published)))


def _is_beyond_its_figures(rule: DecidedRule) -> bool:
    """Whether a rule that is decided on published figures alone cannot have its status beside its limit."""
    read, limit = rule.decided_on, rule.limit.max
    if read is None:
        return rule.diagnosis is None and rule.status != "inconclusive"
    is_below, is_above = read.high is not None and read.high <= limit, read.low is not None and read.low > limit
    return (rule.status == "pass" and not is_below) or (rule.status == "fail" and not is_above)


def _contradicts(settled: DecidedRule, recorded: DecidedRule) -> bool:
    """Whether no table within the published ranges gives a rule its recorded status."""
    return settled.reason != reasons.UNSETTLED and settled.status != recorded.status


def _find_policy(
    recorded: GateDecision | None, record: Mapping[str, object], given: Path | None
) -> tuple[Policy | None, bool]:
    """Return the policy, and whether the recorded verdict is of it; None where it is the run's own and not at hand."""
    settings = record.get("settings")
    digest = settings.get("--policy") if isinstance(settings, Mapping) else None
    if given is not None:
        policy = load_policy(given)
        return policy, recorded is not None and sha256_of(locate_policy(given)) == digest
    if recorded is None:
        return load_policy(), False
    own = next((Path(name) for name in SHIPPED if sha256_of(locate_policy(Path(name))) == digest), None)
    if own is None:
        return None, True
    policy = load_policy(own)
    if recorded.policy != policy.name:
        raise IntegrityError(_CONTRADICTED.format("the name of its policy"))
    return policy, True


def find_outcomes(exact: RunResults, published: RunResults) -> dict[Comparison, Outcome]:
    """Return the outcome of every comparison that was tested; `exact` and `published` are results of one run."""
    measured: dict[Comparison, TestedDelta] = {
        (diagnosis, tier, rendering): pair.evidence.delta.auroc_all
        for rendering in (None, *exact.renderings)
        for diagnosis, tiers in view_rendering(exact, rendering).disclosure.by_diagnosis.items()
        for tier, pair in tiers.items()
        if pair.evidence is not None and pair.evidence.delta is not None
    }
    ends = find_test_ranges(published)
    tested = {}
    for compared, delta in measured.items():
        if delta.p_value is None:
            continue
        diagnosis, tier, rendering = compared
        shown = view_rendering(published, rendering).disclosure.by_diagnosis[diagnosis][tier]
        tested[compared] = delta, draw_tables(shown, ends[compared])
    levels = _find_levels(tested)
    return {
        compared: Outcome(
            shows_excess=(delta.p_value or 0.0) <= levels[compared],
            is_within={
                limit: max(_upper(delta.high), delta.worst_high or -1.0) <= turn
                for limit, turn in safe_limits(drawn, levels[compared]).items()
            },
        )
        for compared, (delta, drawn) in tested.items()
    }


def _upper(end: float | None) -> float:
    """Return the upper end of an interval; without one nothing can be ruled out."""
    return math.inf if end is None else end


def _find_levels(tested: dict[Comparison, tuple[TestedDelta, DrawnTables]]) -> dict[Comparison, float]:
    """Return the level at which each comparison is tested after Holm's step-down (1979).

    A comparison counts as rejected for the others where its own word says so: they tell no more of it.
    """
    rejected: set[Comparison] = set()
    while True:
        levels = {
            compared: safe_level(drawn, ALPHA / (len(tested) - len(rejected - {compared})))
            for compared, (_, drawn) in tested.items()
        }
        found = {key for key, (delta, _) in tested.items() if (delta.p_value or 0.0) <= levels[key]}
        if found <= rejected:
            return levels
        rejected |= found
