"""The exact comparison as its page and its table show it: the published records, with ranges of no width (PHI).

Owns the way from exact records to those that pages are drawn from. Nothing of it is published.
"""

from clinaudit.reports.exact.comparison import ComparedMetric, Comparison, Forgetting, HitChanges
from clinaudit.reports.exact.estimate import exact_estimate
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
from clinaudit.reports.suppression.classes import exactly


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
