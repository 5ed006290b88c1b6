"""Two runs compared: the order of the steps, and nothing else (docs/comparing-runs.md).

Patients are paired and measured on the evidence of both runs; then the comparison is suppressed. Where evidence was
purged, the published estimates are compared as they stand.
"""

from clinaudit.audit.comparison.disclosure import compare_disclosure
from clinaudit.audit.comparison.evidence import RunEvidence
from clinaudit.audit.comparison.memorization import compare_memorization
from clinaudit.audit.comparison.published import compare_published_disclosure, compare_published_memorization
from clinaudit.audit.comparison.run_pair import RunPair
from clinaudit.audit.publication.published_files import read_results
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.suppression.comparison import suppress_compared_disclosure, suppress_compared_memorization


def read_evidence(pair: RunPair) -> tuple[RunEvidence, RunEvidence]:
    """Return the evidence of both runs; its tables are read lazily."""
    a, b = (RunEvidence(run.run, read_results(run.run, unsuppressed=True)) for run in (pair.a, pair.b))
    return a, b


def compare_runs(pair: RunPair, evidence: tuple[RunEvidence, RunEvidence] | None) -> Comparison:
    """Return the publishable comparison; without evidence, of the published estimates."""
    if evidence is None:
        return Comparison(
            basis="published",
            differences=list(pair.differences),
            warnings=list(pair.warnings),
            memorization=compare_published_memorization(pair.a.published, pair.b.published),
            disclosure=compare_published_disclosure(pair.a.published, pair.b.published),
        )
    a, b = evidence
    memorization = compare_memorization(a.metrics, b.metrics, seed=pair.a.seed)
    disclosure = compare_disclosure(a.readings, b.readings, seed=pair.a.seed)
    return Comparison(
        basis="paired",
        differences=list(pair.differences),
        warnings=list(pair.warnings),
        memorization={
            tier: {arm: suppress_compared_memorization(compared) for arm, compared in arms.items()}
            for tier, arms in memorization.items()
        },
        disclosure={
            diagnosis: {tier: suppress_compared_disclosure(*compared) for tier, compared in tiers.items()}
            for diagnosis, tiers in disclosure.items()
        },
    )
