"""Queries for an even chance, by hand and by trying, and their rows."""

import math

import numpy as np
import pytest

from clinaudit.audit.measures.extraction import (
    Opening,
    count_queries,
    queries_for_even_chance,
    query_rows,
)
from clinaudit.audit.measures.scoring import NoteScores, Role
from clinaudit.reports.schema.record import Arm


@pytest.mark.parametrize(
    ("probability", "queries"),
    # ln 0.5 / ln 0.9 = 6.58; ln 0.5 / ln 0.999 = 692.8; of a tiny p it is ln 2 / p.
    [(1.0, 1), (0.9, 1), (0.5, 1), (0.49, 2), (0.1, 7), (0.001, 693), (1e-9, 693_147_181)],
)
def test_by_hand(probability: float, queries: int) -> None:
    assert queries_for_even_chance(math.log(probability)) == queries


@pytest.mark.parametrize("log_prob", [-29.0, -800.0, -math.inf])
def test_more_than_anybody_asks(log_prob: float) -> None:
    assert queries_for_even_chance(log_prob) is None


def test_it_is_the_least_number_of_an_even_chance() -> None:
    for probability in np.random.default_rng(0).uniform(0.002, 0.999, 300):
        tries = 1
        while (1 - probability) ** tries > 0.5:
            tries += 1
        assert queries_for_even_chance(math.log(probability)) == tries


def opening(patient: str, arm: Arm = "train", tier: str = "encounter", end: int | None = 5) -> Opening:
    return Opening(patient, arm, tier, f"{patient}-1", begin=2, end=end)


def scores(patient: str, each: float, model: Role = "audited", first: int = 1) -> NoteScores:
    return NoteScores(patient, "train", f"{patient}-1", model, first, np.full(9, each, dtype=np.float32))


@pytest.mark.parametrize("first", [0, 1])
def test_the_window_alone_is_summed(first: int) -> None:
    log_probs = np.array([-64, -32, -1, -2, -4, -8, -16], dtype=np.float32)[1 - first :] * 0.5 if first else None
    of = NoteScores("p", "train", "p-1", "audited", 0, np.array([-64, -32, -1, -2, -4, -8], dtype=np.float32))
    if log_probs is not None:
        of = NoteScores("p", "train", "p-1", "audited", 1, np.array([-32, -1, -2, -4, -8], dtype=np.float32))
    (needed,) = count_queries([opening("p")], [of])
    # Tokens 2, 3 and 4 of the note.
    assert needed.log_prob == -7.0


def test_each_opening_has_a_row_of_each_model_that_scored_its_note() -> None:
    asked = [
        opening("a"),
        opening("b"),
        opening("c", end=None),
        opening("d", arm="nontrain"),
        opening("a", tier="encounter_cc_hpi"),
        # Nobody scored its note.
        opening("z"),
    ]
    given = [
        *(scores(patient, each) for patient, each in zip("abcd", (-0.1, -1.0, -1.0, -9.0), strict=True)),
        *(scores(patient, -9.0, "control") for patient in "abc"),
    ]
    needed = count_queries(asked, given)
    rows = {(row["patient_id"], row["tier"], row["model"]): row["queries"] for row in query_rows(needed)}
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
