"""Two runs compared: the order of the steps, and nothing else (docs/comparing-runs.md).

What is published is made of both runs' published results, and of the counts of pairs as classes where both have their
evidence. The exact comparison pairs and measures patients on the evidence; it stays there.
"""

from collections.abc import Iterable

from clinaudit.audit.results.comparison.disclosure import compare_disclosure
from clinaudit.audit.results.comparison.evidence import EvidencePair, RunEvidence
from clinaudit.audit.results.comparison.memorization import compare_memorization, count_hits
from clinaudit.audit.results.comparison.published import (
    compare_ordinary,
    compare_published_disclosure,
    compare_published_memorization,
    compare_rules,
)
from clinaudit.audit.results.comparison.run_pair import RunPair
from clinaudit.audit.results.publication.published_files import read_exact
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.schema.forgetting import Forgetting
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.tally.coarse_comparison import coarsen_hits
from clinaudit.reports.wording.comparison import conclusion_sentence


def read_evidence(pair: RunPair, *, included: Iterable[str] = ()) -> EvidencePair:
    """Return the evidence of both runs; its tables are read lazily. `included` patients count though no targets."""
    a, b = (RunEvidence(run.run, read_exact(run.run), frozenset(included)) for run in (pair.a, pair.b))
    return a, b


def compare_runs(pair: RunPair, evidence: EvidencePair | None, *, forgetting: Forgetting | None = None) -> Comparison:
    """Return what may be published of the comparison; without the evidence of both runs, no pairs are counted."""
    hits = {} if evidence is None else count_hits(evidence[0].metrics, evidence[1].metrics)
    pairs = {tier: {arm: coarsen_hits(counts) for arm, counts in arms.items()} for tier, arms in hits.items()}
    comparison = Comparison(
        figures="published",
        date=read_identity(pair.b.record).date,
        differences=list(pair.differences),
        warnings=list(pair.warnings),
        memorization=compare_published_memorization(pair.a.published, pair.b.published, pairs),
        ordinary=compare_ordinary(pair.a.published, pair.b.published),
        disclosure=compare_published_disclosure(pair.a.published, pair.b.published),
        forgetting=forgetting,
        rules=compare_rules(pair.a.published, pair.b.published),
    )
    return comparison.model_copy(update={"conclusion": conclusion_sentence(comparison)})


def compare_exactly(pair: RunPair, evidence: EvidencePair, *, forgetting: Forgetting | None = None) -> Comparison:
    """Return the exact comparison (PHI)."""
    a, b = evidence
    compared = compare_disclosure(a.readings, b.readings, seed=pair.a.seed)
    comparison = Comparison(
        figures="exact",
        date=read_identity(pair.b.record).date,
        differences=list(pair.differences),
        warnings=list(pair.warnings),
        memorization=compare_memorization(a.metrics, b.metrics),
        ordinary=compare_ordinary(a.results, b.results),
        disclosure={
            diagnosis: {tier: metrics for tier, (_, metrics) in tiers.items()} for diagnosis, tiers in compared.items()
        },
        paired_members={
            diagnosis: {tier: members for tier, (members, _) in tiers.items()} for diagnosis, tiers in compared.items()
        },
        forgetting=forgetting,
        rules=compare_rules(pair.a.published, pair.b.published),
    )
    return comparison.model_copy(update={"conclusion": conclusion_sentence(comparison)})
