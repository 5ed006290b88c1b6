"""Identifiers of a filled run: figures by tier, by HIPAA's identifier and by arm, consistent with each other."""

from support.results.planted_disclosure import wilson

from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.exact.identifiers import DetectorRecall, IdentifierBin, IdentifierFigures, Identifiers
from clinaudit.reports.schema.hipaa import HIPAA_IDENTIFIERS, HipaaIdentifier
from clinaudit.reports.schema.record import Arm

#: Upper ends of the bins of patients, above those with none; and a number of each.
_ENDS = (0.25, 0.5, 1.0, 2.0, 5.0, 20.0, None)
_VALUES = (0.2, 0.4, 1.0, 2.0, 4.0, 9.0, 25.0)
_NO_TEXT: tuple[HipaaIdentifier, ...] = ("P", "Q")
_RARE: tuple[HipaaIdentifier, ...] = ("L", "M", "N", "O", "R")


def identifiers_of(*, nontrain: bool = True, patients: int = 150) -> Identifiers:
    """Return identifiers that come back the more is known; none of the never-seen's but by chance."""
    arms: tuple[Arm, ...] = ("train", "nontrain") if nontrain else ("train",)
    looked_for = [name for name in HIPAA_IDENTIFIERS if name not in _NO_TEXT]
    return Identifiers(
        tiers={
            tier: {arm: figures_of(patients, (12, 15, 21, 90, 110, 130)[step], arm) for arm in arms}
            for step, tier in enumerate(TIER_IDS)
        },
        categories={
            name: {arm: figures_of(patients, 0 if name in _RARE else 100 - 8 * place, arm) for arm in arms}
            for place, name in enumerate(looked_for)
        },
        recall=[
            DetectorRecall(identifier=name, planted=200, found=196 - 7 * place, recall=wilson(196 - 7 * place, 200))
            for place, name in enumerate(looked_for)
        ],
        not_tested=dict.fromkeys(_NO_TEXT, "text holds none"),
    )


def figures_of(patients: int, own: int, arm: Arm) -> IdentifierFigures:
    """Return figures of one arm, of whom `own` are given one of their own, most of them verified."""
    seen = own if arm == "train" else min(own, 3)
    other, sampled, chance = seen // 5, seen // 7, seen // 30
    bins = _spread(seen - seen // 10)
    values = sum(value * count for value, count in zip(_VALUES, bins, strict=True))
    rate = 1000 * values / patients
    return IdentifierFigures(
        generations=patients,
        patients=patients,
        values={"echo": 5 * patients, "own": 2 * seen, "staff": seen, "other_train": other, "nobody": 3 * patients},
        own_patients=seen,
        own=clopper_pearson(seen, patients),
        other_patients=other,
        other=clopper_pearson(other, patients),
        sampled_patients=sampled,
        sampled=clopper_pearson(sampled, patients),
        chance_patients=chance,
        chance=clopper_pearson(chance, patients),
        verified=round(values),
        verified_patients=sum(bins),
        verified_per_1000=Estimate(value=rate, low=0.8 * rate, high=1.2 * rate, n=patients),
        corrected_per_1000=Estimate(value=1.1 * rate, low=0.85 * rate, high=1.4 * rate, n=patients),
        by_patient=[
            IdentifierBin(low=0.0, high=0.0, patients=patients - sum(bins)),
            *(
                IdentifierBin(low=low or 0.0, high=high, patients=count)
                for low, high, count in zip((0.0, *_ENDS[:-1]), _ENDS, bins, strict=True)
            ),
        ],
    )


def _spread(patients: int) -> list[int]:
    """Return most in the bins of one and two values."""
    two, few = patients // 3, patients // 10
    return [0, 0, patients - two - few, two, few, 0, 0]
