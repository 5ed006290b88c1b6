"""The difference of `auroc_all` between the arms with every unjudged verdict at its worst (contract, section 5: gate).

Owns the imputation. Knows nothing of what is decided by it.
"""

from clinaudit.audit.area_error import difference_error
from clinaudit.audit.arm_intervals import error_of_all, floats
from clinaudit.audit.auroc import auroc_of_counts
from clinaudit.audit.exposure import NEGATIVE, POSITIVE, UNJUDGED, score_levels_of_all
from clinaudit.audit.readings import ArmCounts, Counts


def worst_case_ends(train: ArmCounts, nontrain: ArmCounts) -> tuple[float, float] | None:
    """Return the lower end where the model leaks least and the upper one where it leaks most; None if all is judged."""
    if not any(counts[UNJUDGED] for arm in (train, nontrain) for counts in arm):
        return None
    return _impute_and_measure(train, nontrain, leaking=False)[0], _impute_and_measure(train, nontrain, leaking=True)[1]


def _impute_and_measure(train: ArmCounts, nontrain: ArmCounts, *, leaking: bool) -> tuple[float, float]:
    """Return the interval with every unjudged verdict such that the difference is largest (`leaking`) or smallest."""
    told, mistold = (POSITIVE, NEGATIVE) if leaking else (NEGATIVE, POSITIVE)
    imputed = (
        ArmCounts(_impute(train.present, told), _impute(train.absent, mistold)),
        ArmCounts(_impute(nontrain.present, mistold), _impute(nontrain.absent, told)),
    )
    areas = [auroc_of_counts(*(score_levels_of_all(counts) for counts in arm)) for arm in imputed]
    error = difference_error(error_of_all(imputed[0]), error_of_all(imputed[1]))
    return floats(error.interval(areas[0] - areas[1], floor=-1.0))


def _impute(counts: Counts, outcome: int) -> Counts:
    filled = counts.copy()
    filled[outcome] += filled[UNJUDGED]
    filled[UNJUDGED] = 0
    return filled
