"""Overlap of propensities: every candidate and every matched patient lies in one bin."""

import itertools

import numpy as np

from clinaudit.audit.measures.cohorts.balance import describe_overlap


def test_bins_hold_every_candidate_and_every_matched_patient_once():
    rng = np.random.default_rng(0)
    cells = [rng.normal(shift, 1, (size, 3)) for shift, size in ((1, 60), (0, 300), (1, 50), (0, 200))]
    chosen = [range(40)] * 4
    bins = describe_overlap(cells, chosen)
    assert bins == describe_overlap(cells, chosen)
    for arm, positive, negative in (("train", 60, 300), ("nontrain", 50, 200)):
        own = [item for item in bins if item.arm == arm]
        assert (own[0].low, own[-1].high) == (0.0, 1.0)
        assert all(a.high == b.low for a, b in itertools.pairwise(own))
        assert sum(item.positive_candidates or 0 for item in own) == positive
        assert sum(item.negative_candidates or 0 for item in own) == negative
        assert sum(item.positive_matched or 0 for item in own) == 40
        # Those with the diagnosis lie where propensity is high.
        assert (own[-1].positive_candidates or 0) / positive > (own[-1].negative_candidates or 0) / negative
