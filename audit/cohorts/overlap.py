"""Common support (positivity): the overlap of propensities with and without a diagnosis, before and after matching.

Owns the model of an arm's candidates and the bins (docs/methods.md, section 4). Knows nothing of diagnoses or how
patients were matched. Bins are cut at deciles of the candidates with the diagnosis: where it is rare, one bin of equal
width would hold all of them.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from clinaudit.audit.cohorts.propensity import Covariates, fit_propensity, standardize
from clinaudit.reports.exact.groups import OverlapBin
from clinaudit.reports.schema.record import Arm

_BINS: Final = 10
#: Decimal places that edges are rounded to (privacy): an unrounded edge is a patient's propensity, or lies between two.
_EDGE_PLACES: Final = 3
#: By arm: the cells with and without the diagnosis, as `clinaudit.audit.cohorts.balance` numbers them.
_ARMS: Final[tuple[tuple[Arm, int, int], ...]] = (("train", 0, 1), ("nontrain", 2, 3))


def describe_overlap(candidates: Sequence[Covariates], chosen: Sequence[Sequence[int]]) -> list[OverlapBin]:
    """Return the bins of both arms, counted for candidates and for the matched.

    `candidates` are the covariates by cell, at least one row each; `chosen` the rows of them that were matched.
    """
    described = []
    for arm, positive, negative in _ARMS:
        model = fit_propensity(*standardize(candidates[positive], candidates[negative]))
        scores = (model.first, model.second)
        edges = np.quantile(scores[0], np.linspace(0, 1, _BINS + 1)).round(_EDGE_PLACES)
        edges = np.unique([0.0, *edges[1:-1], 1.0])
        matched = (scores[0][list(chosen[positive])], scores[1][list(chosen[negative])])
        counts = [np.histogram(values, edges)[0].tolist() for values in (*scores, *matched)]
        for low, high, *of_bin in zip(edges[:-1], edges[1:], *counts, strict=True):
            described.append(
                OverlapBin(
                    arm=arm,
                    low=float(low),
                    high=float(high),
                    positive_candidates=of_bin[0],
                    negative_candidates=of_bin[1],
                    positive_matched=of_bin[2],
                    negative_matched=of_bin[3],
                )
            )
    return described
