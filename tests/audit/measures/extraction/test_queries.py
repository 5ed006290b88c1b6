"""Queries for an even chance, by hand and by trying, and their rows."""

import math

import numpy as np
import polars as pl
import pytest
from support.evidence_frames import evidence
from support.scored_notes import frame_of, scored

from clinaudit.audit.measures.extraction import count_queries, estimate_queries, queries_for_even_chance
from clinaudit.reports.estimates.frame import Estimates


def least_queries(log_probs):
    return (
        pl.DataFrame({"log_prob": log_probs}).select(queries_for_even_chance(pl.col("log_prob")))["literal"].to_list()
    )


@pytest.mark.parametrize(
    ("probability", "queries"),
    # ln 0.5 / ln 0.9 = 6.58; ln 0.5 / ln 0.999 = 692.8; of a tiny p it is ln 2 / p.
    [(1.0, 1), (0.9, 1), (0.5, 1), (0.49, 2), (0.1, 7), (0.001, 693), (1e-9, 693_147_181)],
)
def test_by_hand(probability, queries):
    assert least_queries([math.log(probability)]) == [queries]


def test_it_is_the_least_number_of_an_even_chance():
    probabilities = np.random.default_rng(0).uniform(0.002, 0.999, 300).tolist()
    for probability, queries in zip(probabilities, least_queries(list(map(math.log, probabilities))), strict=True):
        tries = 1
        while (1 - probability) ** tries > 0.5:
            tries += 1
        assert queries == tries


def opening(patient, arm="train", tier="encounter", end=5, role="target"):
    return patient, role, arm, tier, f"{patient}-1", 2, end


def count(openings, scores):
    columns = ["patient_id", "role", "arm", "tier", "note_id", "token_start", "token_end"]
    return count_queries(pl.DataFrame(openings, schema=columns, orient="row"), scores)


@pytest.mark.parametrize("first", [0, 1])
def test_the_window_alone_is_summed(first):
    log_probs = [-64.0, -32.0, -1.0, -2.0, -4.0, -8.0][first:]
    needed = count([opening("p")], frame_of([scored("p", "train", "p-1", log_probs, first_token=first)]))
    # Tokens 2, 3 and 4 of the note.
    assert needed["log_prob"].to_list() == [-7.0]


def test_each_opening_has_a_row_of_each_model_that_scored_its_note():
    asked = [
        opening("a"),
        opening("b"),
        opening("c", end=None),
        opening("d", arm="nontrain"),
        opening("a", tier="encounter_cc_hpi"),
        # Nobody scored its note.
        opening("z"),
    ]
    each = dict(zip("abcd", (-0.1, -1.0, -1.0, -9.0), strict=True))
    given = [
        *(scored(patient, "train", f"{patient}-1", [of] * 9) for patient, of in each.items()),
        *(scored(patient, "train", f"{patient}-1", [-9.0] * 9, model="control") for patient in "abc"),
    ]
    needed = count(asked, frame_of(given)).iter_rows(named=True)
    rows = {(row["patient_id"], row["tier"], row["model"]): row["queries"] for row in needed}
    assert rows == {
        # exp(-0.3) is above one half; exp(-3) takes 14 queries, exp(-27) ln 2 e^27.
        ("a", "encounter", "audited"): 1,
        ("a", "encounter", "control"): 368_787_737_895,
        ("a", "encounter_cc_hpi", "audited"): 1,
        ("a", "encounter_cc_hpi", "control"): 368_787_737_895,
        ("b", "encounter", "audited"): 14,
        ("b", "encounter", "control"): 368_787_737_895,
        ("c", "encounter", "audited"): None,
        ("c", "encounter", "control"): None,
        ("d", "encounter", "audited"): 368_787_737_895,
    }


def test_queries_needed_are_shares_of_all_whose_opening_was_scored():
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

    def within(arm):
        return [row.count_low for row in table.rows("queries_needed", arm=arm, by="queries")]

    assert within("train") == [1, 1, 1, 2, 2]
    assert within("nontrain") == [0, 0, 0, 0, 1]
    assert within("control") == [0, 0, 0, 1, 1]
    window = table.find("queries_window", tier="encounter", arm="train")
    assert (window.count_low, window.of_low) == (3, 4)
    assert [row.part for row in table.rows("queries_needed", arm="train")] == ["1", "10", "100", "1000", "10000"]
    named = [{**row, "role": "included"} for row in rows]
    for nobody in ([], named):
        assert estimate_queries(evidence(queries_needed=nobody)).is_empty()
