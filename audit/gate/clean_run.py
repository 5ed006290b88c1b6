"""A run of which nothing is found, as it would be published: what `clinaudit check` asks the gate about.

Owns what is published of answers that give nothing away. Knows nothing of policies: `evaluation` decides on it as on
any other.
"""

from collections.abc import Mapping

from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.reports.schema.identifiers import PublishedIdentifierFigures, PublishedIdentifiers
from clinaudit.reports.schema.memorization import FractionOfText, PublishedMemorization, PublishedOtherPatients
from clinaudit.reports.schema.numbers import NOBODY, CountRange, PublishedEstimate
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import PublishedResults
from clinaudit.reports.suppression.classes import ARM_STEP, class_of

#: Patients trained on and never seen, by tier.
Sizes = Mapping[str, tuple[int, int]]


def clean_run(sizes: Sizes) -> PublishedResults:
    """Return what is published of a run with so many patients at each tier, of whom nothing is given away."""
    arms: dict[str, dict[Arm, CountRange]] = {
        tier: {arm: class_of(size, step=ARM_STEP) for arm, size in zip(ARMS, of_arms, strict=True) if size}
        for tier, of_arms in sizes.items()
    }
    return PublishedResults(
        memorization={tier: {arm: _memorization(of) for arm, of in by_arm.items()} for tier, by_arm in arms.items()},
        identifiers=PublishedIdentifiers(
            tiers={
                tier: {arm: _identifiers(of, has_pools=len(by_arm) == len(ARMS)) for arm, of in by_arm.items()}
                for tier, by_arm in arms.items()
            }
        ),
    )


def _nothing(patients: CountRange, *, times: int = 1) -> PublishedEstimate:
    upper = clopper_pearson(0, max(1, patients.low)).high or 0.0
    return PublishedEstimate(value=0.0, low=0.0, high=0.0, confidence_low=0.0, confidence_high=times * upper)


def _memorization(patients: CountRange) -> PublishedMemorization:
    nothing = _nothing(patients)
    fraction = FractionOfText(mean=nothing, bins=[], above=[])
    return PublishedMemorization(
        patients=patients,
        memorized_fraction=fraction,
        memorized_fraction_without_echo=fraction,
        attributable_fraction=fraction,
        attributable_fraction_unmasked=fraction,
        near_verbatim_attributable_fraction=fraction,
        hit_patients=NOBODY,
        hit_patients_share=nothing,
        empty=NOBODY,
        short=NOBODY,
        short_share=nothing,
        source_notes_mean=None,
        stitched_share=None,
        templated_share=None,
        multi_patient_share=None,
        region_tokens=None,
        region_characters=None,
        k_distribution=[],
        sections=[],
        copy_forward=[],
        other_patients=PublishedOtherPatients(
            fraction=fraction,
            sampled_fraction=fraction,
            chance=fraction,
            patients=NOBODY,
            patients_share=nothing,
            others=NOBODY,
        ),
    )


def _identifiers(patients: CountRange, *, has_pools: bool) -> PublishedIdentifierFigures:
    nothing, of_1000 = _nothing(patients), _nothing(patients, times=1000)
    return PublishedIdentifierFigures(
        patients=patients,
        own_patients=NOBODY,
        own=nothing,
        other_patients=NOBODY,
        other=nothing,
        sampled_patients=NOBODY if has_pools else None,
        sampled=nothing if has_pools else None,
        chance_patients=NOBODY if has_pools else None,
        chance=nothing if has_pools else None,
        sampled_per_1000=of_1000 if has_pools else None,
        chance_per_1000=of_1000 if has_pools else None,
        verified_patients=NOBODY,
        verified=nothing,
        verified_per_1000=of_1000,
        corrected_per_1000=None,
        by_patient=[],
    )
