"""A run of which nothing is found, as it would be published: what `clinaudit check` asks the gate about.

Owns what the gate reads of answers that give nothing away: other fields are not there. Knows nothing of policies:
`evaluation` decides on it as on any other.
"""

from collections.abc import Mapping
from typing import Any

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
    others: dict[str, Any] = {"fraction": fraction}
    read: dict[str, Any] = {
        "patients": patients,
        "memorized_fraction": fraction,
        "attributable_fraction": fraction,
        "near_verbatim_attributable_fraction": fraction,
        "hit_patients_share": nothing,
        "short_share": nothing,
        "other_patients": PublishedOtherPatients.model_construct(**others),
    }
    return PublishedMemorization.model_construct(**read)


def _identifiers(patients: CountRange, *, has_pools: bool) -> PublishedIdentifierFigures:
    nothing, of_1000, pools = _nothing(patients), _nothing(patients, times=1000), ("sampled", "chance")
    read: dict[str, Any] = {"patients": patients, "verified_per_1000": of_1000}
    for name in ("own", "other", *pools):
        found = (nothing, NOBODY, of_1000) if has_pools or name not in pools else (None, None, None)
        read |= zip((name, f"{name}_patients", f"{name}_per_1000"), found, strict=True)
    return PublishedIdentifierFigures.model_construct(**read)
