"""The verdict of `clinaudit gate` on a finished run: the recorded one, or one decided anew (docs/policy.md).

Owns which figures decide: of the run's own policy the audit's recorded verdict counts, before and after a purge; any
other is decided from the published ranges, or on the exact numbers where these are asked for. Reads no file of the run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from clinaudit.audit.choices import SHIPPED
from clinaudit.audit.gate.evaluation import evaluate
from clinaudit.audit.gate.policy import Policy, load_policy, locate_policy
from clinaudit.audit.gate.published import settle
from clinaudit.audit.gate.rules import conclude, misses_planned_units
from clinaudit.audit.publication.exact_content import exact_decision
from clinaudit.audit.publication.published_files import published_decision
from clinaudit.audit.ranges.tests import find_test_ranges
from clinaudit.audit.run.durable_files import sha256_of
from clinaudit.errors import IntegrityError
from clinaudit.reports.exact.results import Results
from clinaudit.reports.schema.decision import PublishedDecision
from clinaudit.reports.schema.results import PublishedResults
from clinaudit.reports.terminal.rules import Basis


class RunVerdict(NamedTuple):
    """A verdict, and which figures decided it."""

    decision: PublishedDecision
    basis: Basis
    #: What the published ranges settle of a recorded verdict; None elsewhere, and where its policy is not at hand.
    settled: PublishedDecision | None = None


def find_verdict(published: PublishedResults, record: Mapping[str, object], *, given: Path | None) -> RunVerdict:
    """Return the recorded verdict for the run's own policy, else what the published ranges settle.

    `record` is the content of `run.json`; `given` is the policy asked for: None is the run's own, or the default one
    where the run has no verdict.
    """
    policy, is_own = _find_policy(published.decision, record, given)
    settled = None
    if policy is not None:
        missing = misses_planned_units(published)
        settled = settle(policy, published, find_test_ranges(published), planned_missing=missing)
    if is_own and published.decision is not None:
        _require_consistent(published)
        return RunVerdict(published.decision, "recorded", settled)
    if settled is None:
        raise ValueError("there is a policy, or a recorded verdict")
    return RunVerdict(settled, "published")


def find_exact_verdict(
    published: PublishedResults, results: Results, record: Mapping[str, object], *, given: Path | None
) -> RunVerdict:
    """Return the verdict on the exact numbers `results`, of which `published` was made; the figures in it are PHI."""
    policy, is_own = _find_policy(published.decision, record, given)
    decision = results.decision
    if decision is None or not is_own:
        if policy is None:
            raise ValueError("there is a policy, or a recorded verdict")
        decision = evaluate(policy, results, published, planned_missing=misses_planned_units(published))
    return RunVerdict(exact_decision(published_decision(decision, published), decision), "exact")


def _require_consistent(published: PublishedResults) -> None:
    """Raise `IntegrityError` where a recorded verdict is not what its own rules make of it."""
    recorded = published.decision
    if recorded is None:
        return
    statuses = [rule.status for rule in recorded.rules]
    if conclude(statuses, planned_missing=misses_planned_units(published))[0] != recorded.status:
        raise IntegrityError("the recorded verdict is not what its own rules say; run the audit again")


def _find_policy(
    recorded: PublishedDecision | None, record: Mapping[str, object], given: Path | None
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
    return None if own is None else load_policy(own), True
