"""How identifiable the patients of a split are: tags of de-identification, unique priors, notes too long to train on.

Owns counts of patients by split. Knows nothing of results, nor of what a model did.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from clinaudit.audit.population.description import NoteCensus
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.renderings import ProbedTiers
from clinaudit.priors.uniqueness import FEWER_THAN, count_fitting
from clinaudit.reports.exact.corpus import Identifiability
from clinaudit.reports.schema.corpus import NOT_ASKED, UNIQUENESS_BINS
from clinaudit.reports.schema.record import ARMS, Arm

#: Least number of patients in each bin but the last, the largest first.
_BIN_STARTS: Final = tuple(zip(reversed((1, *FEWER_THAN)), reversed(UNIQUENESS_BINS), strict=True))


def describe_identifiability(
    facts: Mapping[str, PatientFacts],
    probed: ProbedTiers,
    census: NoteCensus,
    *,
    training_length: int,
    several_ids: Collection[str],
) -> dict[Arm, Identifiability]:
    """Count the patients of each split; `facts` are those of all patients of both.

    `training_length`: tokens of the longest text that the model was trained on. A patient with a longer note was left
    out of training in the paper (Appendix E), and elsewhere at least that note was cut. `several_ids`: patients who
    have more than one id.
    """
    fitting = {tier.id: count_fitting(facts.values(), tier, probed.renderings_of(tier)[0]) for tier in probed.tiers}
    described: dict[Arm, Identifiability] = {}
    for arm in ARMS:
        ids = [patient_id for patient_id, known in facts.items() if known.arm == arm]
        if not ids:
            continue
        styles = Counter(style for patient_id in ids for style in census.tag_styles.get(patient_id, ()))
        described[arm] = Identifiability(
            patients=len(ids),
            tagged=dict(sorted(styles.items())),
            uniqueness={tier: _bins([of.get(patient_id) for patient_id in ids]) for tier, of in fitting.items()},
            longer_than_trained=sum(census.longest[patient_id] > training_length for patient_id in ids),
            several_ids=sum(patient_id in several_ids for patient_id in ids),
        )
    return described


def _bins(fitting: Sequence[int | None]) -> dict[str, int]:
    counts = Counter(
        NOT_ASKED if of is None else next(name for start, name in _BIN_STARTS if of >= start) for of in fitting
    )
    return {name: counts[name] for name in (*UNIQUENESS_BINS, NOT_ASKED)}
