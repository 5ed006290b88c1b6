"""Formulas of membership, by hand."""

import math
from random import Random
from typing import Any

import pytest
from support.evidence_frames import evidence

from clinaudit.audit.measures.membership import ARMS_DIFFER, NO_HUNDREDTH, NOT_COMPARED, TOO_FEW, estimate_membership
from clinaudit.reports.estimates.frame import Estimates

BLIND = [
    {"feature": "", "value": 0.5, "low": 0.4, "high": 0.6},
    {"feature": "words", "value": 0.4, "low": 0.3, "high": 0.5},
]


def notes(train: list[float], nontrain: list[float], **more: Any) -> list[dict[str, Any]]:
    """Return one note a patient."""
    return [
        {"patient_id": f"{arm}{at}", "arm": arm, "note_id": "n", "tokens": 50, "loss": score, "zlib": -score, **more}
        for arm, scores in (("train", train), ("nontrain", nontrain))
        for at, score in enumerate(scores)
    ]


def test_membership_tells_arms_apart_by_the_score_that_all_notes_have():
    # The second highest of those never seen is the edge: one in 101 is above it, and of 100 there is none.
    never_seen = [-3.0 + at / 1000 for at in range(99)] + [-2.0, -0.5]
    rows = notes([-1.0] * 10 + [-9.0] * 10, never_seen)
    table = Estimates(estimate_membership(evidence(membership=rows, blind_baseline=BLIND)))
    auroc = table.find("membership_auroc")
    assert auroc.value == pytest.approx((10 * 100) / (20 * 101))
    assert auroc.low < 0.5
    # No note has a ratio or deviations: loss counts.
    assert {row.part for row in table.rows("membership_auroc", by="score")} == {"loss", "zlib"}
    assert table.find("membership_auroc", by="score", part="loss") == auroc._replace(by="score", part="loss")
    found = table.find("membership_found")
    assert table.find("membership_found", by="score", part="loss") == found._replace(by="score", part="loss")
    assert (found.count_low, found.of_low) == (10, 20)
    fewer = Estimates(estimate_membership(evidence(membership=rows[:-1], blind_baseline=BLIND))).find(
        "membership_found"
    )
    assert (fewer.value, fewer.reason) == (None, NO_HUNDREDTH)
    blind = table.find("membership_blind", by="feature", part="words")
    assert (blind.value, blind.low, blind.high) == (0.4, 0.3, 0.5)


def test_what_the_length_of_a_note_explains_is_taken_out_of_both_arms():
    """There is no signal but that notes of those trained on are longer; a fit to one arm alone goes astray."""
    rng, areas, missed = Random(1), [], 0
    for _ in range(40):
        rows = notes([0.0] * 40, [0.0] * 40)
        for row in rows:
            row["tokens"] = rng.randrange(100, 400) if row["arm"] == "train" else rng.randrange(40, 150)
            row["loss"] = -math.log(row["tokens"]) + rng.gauss(0, 0.3)
        trained, never_seen = ([row["loss"] for row in rows if row["arm"] == arm] for arm in ("train", "nontrain"))
        assert sum(one > other for one in trained for other in never_seen) / 40**2 < 0.2
        table = Estimates(estimate_membership(evidence(membership=rows, blind_baseline=BLIND)))
        auroc = table.find("membership_auroc", by="score", part="loss")
        areas.append(auroc.value or 0)
        missed += not (auroc.low or 0) <= 0.5 <= (auroc.high or 1)
    assert sum(areas) / len(areas) == pytest.approx(0.5, abs=0.03)
    assert missed <= 4


@pytest.mark.parametrize(
    ("train", "blind", "reason"),
    [
        (10, BLIND, TOO_FEW),
        (11, [], NOT_COMPARED),
        (11, [BLIND[0], {**BLIND[1], "value": 0.7, "low": 0.551}], f"{ARMS_DIFFER} (words)"),
        # All together may show what none shows alone.
        (11, [{**BLIND[0], "value": 0.7, "low": 0.551}, BLIND[1]], f"{ARMS_DIFFER} (all features together)"),
    ],
)
def test_there_is_no_figure_where_it_would_tell_nothing_of_the_model(train, blind, reason):
    rows = notes([-1.0] * train, [-2.0 - at for at in range(11)])
    table = Estimates(estimate_membership(evidence(membership=rows, blind_baseline=blind)))
    for metric in ("membership_auroc", "membership_found"):
        (row,) = table.rows(metric)
        assert (row.value, row.reason) == (None, reason)
    assert len(table.rows("membership_blind")) == len(blind)
