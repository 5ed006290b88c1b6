"""The verdict on a finished run: the recorded one, or that of another policy on the exact table (docs/policy.md).

Owns which of them is meant, and what makes a recorded verdict unbelievable. Knows nothing of how a rule is decided.
"""

from pathlib import Path
from typing import Final

from clinaudit.audit.results.gate.policy import load_policy, locate_policy
from clinaudit.audit.results.gate.verdict import conclude, decide
from clinaudit.audit.results.publication.published_files import has_evidence, read_exact, read_published
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import sha256_of
from clinaudit.errors import BadInputError, IntegrityError
from clinaudit.reports.schema.run_results import RunReport
from clinaudit.reports.schema.verdict import Verdict

_CONTRADICTED: Final = "the recorded verdict contradicts {}; run the audit again"


def find_verdict(run: RunDirectory, *, given: Path | None = None) -> tuple[Verdict, bool]:
    """Return the verdict on a run, and whether it is of the run's own policy: the recorded one.

    `given`: a policy; None for the run's own. Raises `IntegrityError` where a recorded verdict is not what its rules
    make of it, or `gate.json` would be another; `BadInputError` where another policy is given and the evidence was
    purged.
    """
    published = read_published(run)
    require_concluded(published)
    recorded = published.results.verdict
    if given is None and recorded is not None:
        return recorded, True
    policy = load_policy(given)
    if recorded is not None and given is not None and _digest(given) == _own_digest(published):
        return recorded, True
    if not has_evidence(run):
        stands = "has no recorded verdict" if recorded is None else "keeps its recorded verdict"
        raise BadInputError(f"this run was purged and {stands}: no other policy can be asked")
    exact = read_exact(run)
    return decide(policy, exact.estimates, exact.results, published=published.estimates), False


def require_concluded(published: RunReport) -> None:
    """Raise `IntegrityError` where a recorded verdict is not what its rules make of it."""
    recorded = published.results.verdict
    if recorded is None:
        return
    statuses = [rule.status for rule in recorded.rules]
    missing = [row.count_high for row in published.estimates.rows("missing")]
    # Where it is not printed how much is missing, it may be nothing.
    maybe_done = [False] if any(missing) else [True, False] if None in missing else [True]
    if recorded.status not in {
        conclude(statuses, is_done=is_done, not_asked=recorded.not_asked, narrowed=recorded.narrowed)[0]
        for is_done in maybe_done
    }:
        raise IntegrityError(_CONTRADICTED.format("its own rules"))


def require_decided(run: RunDirectory) -> None:
    """Raise `IntegrityError` where the run's own policy decides otherwise on the exact table than was recorded.

    Asks nothing where the evidence was purged, or the policy is none that ships. Words may change between versions:
    statuses are compared.
    """
    published = read_published(run)
    recorded = published.results.verdict
    own = next((name for name in SHIPPED if _digest(Path(name)) == _own_digest(published)), None)
    if recorded is None or own is None or not has_evidence(run):
        return
    exact = read_exact(run)
    decided = decide(load_policy(Path(own)), exact.estimates, exact.results, published=published.estimates)
    if _statuses(decided) != _statuses(recorded):
        raise IntegrityError(_CONTRADICTED.format("the exact figures"))


def _statuses(verdict: Verdict) -> dict[str, str]:
    return {"": verdict.status, **{rule.id: rule.status for rule in verdict.rules}}


def _digest(given: Path) -> str:
    return sha256_of(locate_policy(given))


def _own_digest(published: RunReport) -> object:
    settings = published.provenance.get("settings")
    return settings.get("--policy") if isinstance(settings, dict) else None
