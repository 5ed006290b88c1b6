"""Scores of one note: by hand, and which of them the figures are of."""

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.evidence_frames import evidence
from support.patient_facts import corpus_of, note_rows
from support.scored_notes import frame_of, scored

from clinaudit.audit.measures.membership import estimate_membership, score_membership, without_length
from clinaudit.priors.corpus.corpus import Corpus

TEXT = "cough cough cough and fever"
Row = dict[str, Any]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return corpus_of(tmp_path / "corpus", note_rows([("a", TEXT), ("b", "well")]))


def read(rows: Sequence[Row], corpus: Corpus) -> list[Row]:
    return score_membership(frame_of(rows), corpus).to_dicts()


def with_spread(row: Row, means: list[float], deviations: list[float]) -> Row:
    return {**row, "means": means, "deviations": deviations}


def test_loss_zlib_and_ratio_by_hand(corpus: Corpus) -> None:
    control = scored("a", "train", "a", [-4.0, -6.0], model="control")
    (note,) = read([control, scored("a", "train", "a", [-1.0, -2.0])], corpus)
    assert note["loss"] == -1.5
    assert note["ratio"] == 3.5
    assert note["zlib"] == -1.5 / len(zlib.compress(TEXT.encode()))
    assert (note["tokens"], note["min_k_plus_plus"]) == (2, None)


def test_min_k_plus_plus_averages_the_least_fifth_of_standardized_tokens(corpus: Corpus) -> None:
    # Standardized: -1, -2, 0, -3, 1, then five of 0. The least two of ten: -3 and -2.
    of = scored("a", "train", "a", [-3.0, -5.0, -2.0, -8.0, -1.0, *[-2.0] * 5])
    (note,) = read([with_spread(of, [-2] * 10, [1.0, 1.5, 1.0, 2.0, 1.0, *[1.0] * 5])], corpus)
    assert note["min_k_plus_plus"] == pytest.approx(-2.5)


def test_of_few_tokens_one_counts_and_certainty_divides_by_no_zero(corpus: Corpus) -> None:
    (note,) = read([with_spread(scored("a", "train", "a", [0.0, -3]), [0, -2], [0, 1])], corpus)
    assert note["min_k_plus_plus"] == -1


def test_patients_whom_the_site_named_besides_are_in_no_figure(corpus: Corpus) -> None:
    named = scored("a", "train", "a", [-1.0], role="included")
    assert [note["patient_id"] for note in read([named, scored("b", "train", "b", [-1.0])], corpus)] == ["b"]


def choose(rows: Sequence[Row], corpus: Corpus) -> list[str]:
    """Return the scores that have figures, the one that counts first."""
    notes = pl.concat([score_membership(frame_of(rows), corpus)] * 12)
    # Twelve patients of each arm, all alike.
    many = [
        {**note, "patient_id": f"{arm}{at}", "arm": arm}
        for arm in ("train", "nontrain")
        for at, note in enumerate(notes.to_dicts())
    ]
    blind = [{"feature": "", "value": 0.5, "low": 0.4, "high": 0.6}]
    table = estimate_membership(evidence(membership=many, blind_baseline=blind))
    return table.filter(metric="membership_auroc", by="score")["part"].to_list()


def test_what_the_engines_give_decides_which_score_counts(corpus: Corpus) -> None:
    plain = [scored(name, "train", name, [-1.0]) for name in "ab"]
    audited = [with_spread(note, [-2], [1]) for note in plain]
    control = [scored(name, "train", name, [-2.0], model="control") for name in "ab"]
    # With logits, whether there is a control or not, and whatever it says.
    assert choose([*audited, *control], corpus) == ["min_k_plus_plus", "ratio", "loss", "zlib"]
    assert choose(audited, corpus) == ["min_k_plus_plus", "loss", "zlib"]
    assert choose([*plain, *control], corpus) == ["ratio", "loss", "zlib"]
    # One note that the control did not score, or scored by other tokens; one of which there are no logits.
    assert choose([*plain, control[0]], corpus) == ["loss", "zlib"]
    other = scored("b", "train", "b", [-2.0, -2.0], model="control")
    assert choose([*plain, control[0], other], corpus) == ["loss", "zlib"]
    assert choose([audited[0], plain[1]], corpus) == ["loss", "zlib"]
    assert choose([], corpus) == []


def test_a_note_without_a_scored_token_or_with_no_number_is_left_out(corpus: Corpus) -> None:
    good = scored("b", "train", "b", [-1.0])
    for bad in ([], [-1.0, float("nan")], [float("-inf")]):
        assert [note["patient_id"] for note in read([scored("a", "train", "a", bad), good], corpus)] == ["b"]
    control = scored("b", "train", "b", [float("nan")], model="control")
    (note,) = read([with_spread(good, [float("nan")], [1.0]), control], corpus)
    assert (note["loss"], note["ratio"], note["min_k_plus_plus"]) == (-1.0, None, None)


def test_what_the_length_explains_is_taken_out_whoever_was_trained_on() -> None:
    rng = np.random.default_rng(0)
    tokens = rng.integers(20, 2000, 400)
    noise = rng.normal(size=400)
    logs = np.log(tokens)
    left = without_length(3 * logs - logs**2 / 5 + noise, tokens)
    assert np.corrcoef(left, logs)[0, 1] == pytest.approx(0, abs=1e-9)
    # All but the three fitted numbers of the noise are left.
    assert np.corrcoef(left, noise)[0, 1] > 0.99
    # Notes of one length keep their differences, and equal ones stay equal.
    assert np.ptp(without_length(noise, np.full(400, 7)) - noise) < 1e-12
    assert np.ptp(without_length(np.full(400, -1.7), np.full(400, 7))) == 0
