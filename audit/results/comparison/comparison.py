"""Two runs compared: the order of the steps, and nothing else (docs/comparing-runs.md).

What is published is made of both runs' published results, and of the counts of pairs as classes where both have their
evidence. The exact comparison pairs and measures patients on the evidence; it stays there.
"""

from collections.abc import Iterable
from pathlib import Path

from clinaudit.audit.results.comparison.disclosure import compare_disclosure
from clinaudit.audit.results.comparison.evidence import RunEvidence
from clinaudit.audit.results.comparison.memorization import compare_memorization, count_hits
from clinaudit.audit.results.comparison.published import (
    compare_published_disclosure,
    compare_published_memorization,
    compare_rules,
)
from clinaudit.audit.results.comparison.run_pair import RunPair, open_pair
from clinaudit.audit.results.publication.published_files import read_exact
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.comparison import (
    ComparedEstimate,
    ComparisonContent,
    ExactComparison,
    LevelCounts,
    PairedPatients,
    PublishedComparison,
    PublishedForgetting,
    PublishedMemorizationChange,
)
from clinaudit.reports.schema.exact_comparison import ComparedMetric, Comparison, Forgetting, HitChanges
from clinaudit.reports.schema.identity import read_identity
from clinaudit.reports.schema.numbers import exact_estimate
from clinaudit.reports.tally.classes import exactly
from clinaudit.reports.tally.coarse_comparison import coarsen_hits
from clinaudit.reports.wording.comparison import conclusion_sentence


def exact_content(comparison: Comparison) -> ComparisonContent:
    """Return what the exact comparison's page is drawn from."""
    shown = PublishedComparison(
        figures="exact",
        differences=comparison.differences,
        warnings=comparison.warnings,
        memorization={
            tier: {
                arm: PublishedMemorizationChange(
                    memorized_fraction=_compared(compared.memorized_fraction),
                    attributable_fraction=_compared(compared.attributable_fraction),
                    hit_patients_share=_compared(compared.hit_patients_share),
                    patients=_paired(compared.hits),
                    other_patient_fraction=_if_compared(compared.other_patient_fraction),
                    near_verbatim_attributable_fraction=_if_compared(compared.near_verbatim_attributable_fraction),
                )
                for arm, compared in arms.items()
            }
            for tier, arms in comparison.memorization.items()
        },
        disclosure={
            diagnosis: {
                tier: {metric: _compared(figure) for metric, figure in compared.delta.items()}
                for tier, compared in tiers.items()
            }
            for diagnosis, tiers in comparison.disclosure.items()
        },
        forgetting=None if comparison.forgetting is None else exact_forgetting(comparison.forgetting),
    )
    p_values = {
        tier: {arm: compared.hits.p_value for arm, compared in arms.items()}
        for tier, arms in comparison.memorization.items()
    }
    return ComparisonContent(shown, ExactComparison(p_values=p_values))


def exact_forgetting(forgetting: Forgetting) -> PublishedForgetting:
    """Return a certificate's counts as they are."""
    above, controls = forgetting.leaked_before, forgetting.controls_above
    return PublishedForgetting(
        verdict=forgetting.verdict,
        named=exactly(forgetting.named),
        patients={verdict: exactly(number) for verdict, number in forgetting.patients.items()},
        before=LevelCounts(above=exactly(above), within=exactly(forgetting.named - above)),
        controls=LevelCounts(above=exactly(controls), within=exactly(forgetting.controls - controls)),
        controls_above_level=exact_estimate(forgetting.controls_above_level),
        collapsed=forgetting.collapsed,
        health=forgetting.health,
        reasons=forgetting.reasons,
        beside=forgetting.beside,
        collateral={
            group: {name: exactly(count) for name, count in bins.items()}
            for group, bins in forgetting.collateral.items()
        },
    )


def _if_compared(metric: ComparedMetric | None) -> ComparedEstimate | None:
    return None if metric is None else _compared(metric)


def _compared(metric: ComparedMetric) -> ComparedEstimate:
    return ComparedEstimate(
        a=exact_estimate(metric.a), b=exact_estimate(metric.b), difference=exact_estimate(metric.difference)
    )


def _paired(hits: HitChanges) -> PairedPatients:
    return PairedPatients(**{name: exactly(getattr(hits, name)) for name in PairedPatients.model_fields})


EvidencePair = tuple[RunEvidence, RunEvidence]


def read_evidence(pair: RunPair, *, included: Iterable[str] = ()) -> EvidencePair:
    """Return the evidence of both runs; its tables are read lazily. `included` patients count though no targets."""
    a, b = (RunEvidence(run.run, read_exact(run.run), frozenset(included)) for run in (pair.a, pair.b))
    return a, b


def read_reference(pair: RunPair, reference: Path, *, included: Iterable[str]) -> RunEvidence:
    """Return the evidence of a retrained model's run, which must be as comparable with run B as run B is with run A.

    Raises `BadInputError` where it is not, was purged, or is of the model of A or of B: neither can vouch for itself.
    """
    beside = open_pair(pair.b.run.root, reference)
    if not beside.b.has_evidence:
        raise BadInputError("the evidence of the --reference was purged; audit the retrained model again")
    for name, run in (("A", pair.a), ("B", pair.b)):
        if run.model is not None and run.model == beside.b.model:
            raise BadInputError(f"the --reference is a run of run {name}'s model; name one of a retrained model")
    return RunEvidence(beside.b.run, read_exact(beside.b.run), frozenset(included))


def compare_runs(
    pair: RunPair, evidence: EvidencePair | None, *, forgetting: PublishedForgetting | None = None
) -> PublishedComparison:
    """Return what may be published of the comparison; without the evidence of both runs, no pairs are counted."""
    hits = {} if evidence is None else count_hits(evidence[0].metrics, evidence[1].metrics)
    pairs = {tier: {arm: coarsen_hits(counts) for arm, counts in arms.items()} for tier, arms in hits.items()}
    comparison = PublishedComparison(
        figures="published",
        date=read_identity(pair.b.record).date,
        differences=list(pair.differences),
        warnings=list(pair.warnings),
        memorization=compare_published_memorization(pair.a.published, pair.b.published, pairs),
        disclosure=compare_published_disclosure(pair.a.published, pair.b.published),
        forgetting=forgetting,
        rules=compare_rules(pair.a.published, pair.b.published),
    )
    return comparison.model_copy(update={"conclusion": conclusion_sentence(comparison)})


def compare_exactly(
    pair: RunPair, evidence: EvidencePair, *, forgetting: Forgetting | None = None
) -> tuple[Comparison, ComparisonContent]:
    """Return the exact comparison, and the same for its page and its table (PHI)."""
    a, b = evidence
    comparison = Comparison(
        differences=list(pair.differences),
        warnings=list(pair.warnings),
        memorization=compare_memorization(a.metrics, b.metrics, seed=pair.a.seed),
        disclosure=compare_disclosure(a.readings, b.readings, seed=pair.a.seed),
        forgetting=forgetting,
    )
    content = exact_content(comparison)
    opening = {
        "conclusion": conclusion_sentence(content.comparison),
        "rules": compare_rules(pair.a.published, pair.b.published),
    }
    shown = content.comparison.model_copy(update=opening)
    return comparison.model_copy(update=opening), ComparisonContent(shown, content.exact)
