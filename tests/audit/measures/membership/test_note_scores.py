"""Scores of one note: by hand, and which of them the figures are of."""

import zlib
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from support.evidence_frames import evidence
from support.patient_facts import corpus_of, note_rows
from support.scored_notes import frame_of, scored

from clinaudit.audit.measures.membership import estimate_membership, score_membership
from clinaudit.priors.corpus.corpus import Corpus

TEXT = "cough cough cough and fever"
Row = dict[str, Any]


@pytest.fixture
def corpus(tmp_path):
    return corpus_of(tmp_path / "corpus", note_rows([("a", TEXT), ("b", "well")]))


def read(rows: Sequence[Row], corpus: Corpus) -> list[Row]:
    return score_membership(frame_of(rows), corpus).to_dicts()


def with_spread(row: Row, means: list[float], deviations: list[float]) -> Row:
    return {**row, "means": means, "deviations": deviations}


def test_loss_zlib_and_ratio_by_hand(corpus):
    control = scored("a", "train", "a", [-4.0, -6.0], model="control")
    (note,) = read([control, scored("a", "train", "a", [-1.0, -2.0])], corpus)
    assert note["loss"] == -1.5
    assert note["ratio"] == 3.5
    assert note["zlib"] == -1.5 / len(zlib.compress(TEXT.encode()))
    assert (note["tokens"], note["min_k_plus_plus"]) == (2, None)


def test_min_k_plus_plus_averages_the_least_fifth_of_standardized_tokens(corpus):
    # Standardized: -1, -2, 0, -3, 1, then five of 0. The least two of ten: -3 and -2.
    of = scored("a", "train", "a", [-3.0, -5.0, -2.0, -8.0, -1.0, *[-2.0] * 5])
    (note,) = read([with_spread(of, [-2] * 10, [1.0, 1.5, 1.0, 2.0, 1.0, *[1.0] * 5])], corpus)
    assert note["min_k_plus_plus"] == pytest.approx(-2.5)


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


def test_what_the_engines_give_decides_which_score_counts(corpus):
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
