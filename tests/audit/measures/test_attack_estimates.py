"""Formulas of queries needed and membership, by hand."""

from typing import Any

import pytest
from support.evidence_frames import evidence

from clinaudit.audit.measures.attack_estimates import (
    ARMS_DIFFER,
    NO_HUNDREDTH,
    NOT_COMPARED,
    estimate_membership,
    estimate_queries,
)
from clinaudit.audit.measures.membership import TOO_FEW
from clinaudit.reports.estimates.frame import Estimates

BLIND = [
    {"feature": "", "value": 0.5, "low": 0.4, "high": 0.6},
    {"feature": "words", "value": 0.4, "low": 0.3, "high": 0.5},
]


def test_queries_needed_are_shares_of_all_whose_opening_was_scored() -> None:
    found: list[tuple[str, str, str, float | None, int | None]] = [
        ("a", "train", "audited", -1.0, 1),
        ("b", "train", "audited", -9.0, 1000),
        # More than anybody asks; then nothing that follows counts.
        ("c", "train", "audited", -99.0, None),
        ("d", "train", "audited", None, None),
        ("n", "nontrain", "audited", -9.5, 10_000),
        ("a", "train", "control", -8.0, 101),
        ("n", "nontrain", "control", -1.0, 1),
    ]
    rows = [
        {"patient_id": who, "arm": arm, "tier": "encounter", "model": model, "log_prob": p, "queries": queries}
        for who, arm, model, p, queries in found
    ]
    table = Estimates(estimate_queries(evidence(queries_needed=rows)))

    def within(arm: str) -> list[int | None]:
        return [row.count_low for row in table.rows("queries_needed", arm=arm, by="queries")]

    assert within("train") == [1, 1, 1, 2, 2]
    assert within("nontrain") == [0, 0, 0, 0, 1]
    assert within("control") == [0, 0, 0, 1, 1]
    window = table.find("queries_window", tier="encounter", arm="train")
    assert window is not None
    assert (window.count_low, window.of_low) == (3, 4)
    assert [row.part for row in table.rows("queries_needed", arm="train")] == ["1", "10", "100", "1000", "10000"]


def notes(train: list[float], nontrain: list[float], **more: Any) -> list[dict[str, Any]]:
    """Return one note a patient, of one length: standardized against the others, scores keep their order."""
    return [
        {"patient_id": f"{arm}{at}", "arm": arm, "note_id": "n", "tokens": 50, "loss": score, "zlib": -score, **more}
        for arm, scores in (("train", train), ("nontrain", nontrain))
        for at, score in enumerate(scores)
    ]


def test_membership_tells_arms_apart_by_the_score_that_all_notes_have() -> None:
    # The second highest of those never seen is the edge: one in 101 is above it, and of 100 there is none.
    never_seen = [-3.0 + at / 1000 for at in range(99)] + [-2.0, -0.5]
    rows = notes([-1.0] * 10 + [-9.0] * 10, never_seen)
    table = Estimates(estimate_membership(evidence(membership=rows, blind_baseline=BLIND)))
    auroc = table.find("membership_auroc")
    assert auroc is not None
    assert auroc.value == pytest.approx((10 * 100) / (20 * 101))
    assert auroc.low is not None
    assert auroc.low < 0.5
    # No note has a ratio or deviations: loss counts.
    assert {row.part for row in table.rows("membership_auroc", by="score")} == {"loss", "zlib"}
    assert table.find("membership_auroc", by="score", part="loss") == auroc._replace(by="score", part="loss")
    found = table.find("membership_found")
    assert found is not None
    assert (found.count_low, found.of_low) == (10, 20)
    fewer = Estimates(estimate_membership(evidence(membership=rows[:-1], blind_baseline=BLIND))).find(
        "membership_found"
    )
    assert fewer is not None
    assert (fewer.value, fewer.reason) == (None, NO_HUNDREDTH)
    blind = table.find("membership_blind", by="feature", part="words")
    assert blind is not None
    assert (blind.value, blind.low, blind.high) == (0.4, 0.3, 0.5)


def test_min_k_plus_plus_counts_before_a_ratio_whatever_they_show() -> None:
    rows = notes([-1.0] * 12, [-3.0 - at / 10 for at in range(12)], ratio=0.0)
    for row in rows:
        row["min_k_plus_plus"] = -row["loss"]
    table = Estimates(estimate_membership(evidence(membership=rows, blind_baseline=BLIND)))
    chosen = table.find("membership_auroc")
    assert chosen is not None
    assert chosen.value == 0.0
    assert chosen.value != table.rows("membership_auroc", part="ratio")[0].value


@pytest.mark.parametrize(
    ("train", "blind", "reason"),
    [
        (10, BLIND, TOO_FEW),
        (11, [], NOT_COMPARED),
        (11, [BLIND[0], {**BLIND[1], "value": 0.7, "low": 0.56}], ARMS_DIFFER),
    ],
)
def test_there_is_no_figure_where_it_would_tell_nothing_of_the_model(
    train: int, blind: list[dict[str, Any]], reason: str
) -> None:
    rows = notes([-1.0] * train, [-2.0 - at for at in range(11)])
    table = Estimates(estimate_membership(evidence(membership=rows, blind_baseline=blind)))
    for metric in ("membership_auroc", "membership_found"):
        (row,) = table.rows(metric)
        assert (row.value, row.reason) == (None, reason)
    assert len(table.rows("membership_blind")) == len(blind)


def test_no_scored_note_is_no_row() -> None:
    assert estimate_membership(evidence(membership=[], blind_baseline=[])).is_empty()
    assert estimate_queries(evidence(queries_needed=[])).is_empty()
