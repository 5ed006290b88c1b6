"""Scores of one note: by hand, and which of them the figures are of."""

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.patient_facts import corpus_of, note_rows
from support.scored_notes import scored

from clinaudit.audit.measures.membership import choose_score, read_scores
from clinaudit.audit.measures.scoring import NoteScores
from clinaudit.priors.corpus.corpus import Corpus

TEXT = "cough cough cough and fever"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return corpus_of(tmp_path / "corpus", note_rows([("a", TEXT), ("b", "well")]))


def with_spread(of: NoteScores, means: list[float], deviations: list[float]) -> NoteScores:
    return replace(of, means=np.array(means, dtype=np.float32), deviations=np.array(deviations, dtype=np.float32))


def test_loss_zlib_and_ratio_by_hand(corpus: Corpus) -> None:
    control = scored("a", "train", "a", [-4.0, -6.0], model="control")
    (note,) = read_scores([control, scored("a", "train", "a", [-1.0, -2.0])], corpus)
    assert note.loss == -1.5
    assert note.ratio == 3.5
    assert note.zlib == -1.5 / len(zlib.compress(TEXT.encode()))
    assert (note.tokens, note.min_k_plus_plus) == (2, None)


def test_min_k_plus_plus_averages_the_least_fifth_of_standardized_tokens(corpus: Corpus) -> None:
    # Standardized: -1, -2, 0, -3, 1, then five of 0. The least two of ten: -3 and -2.
    of = scored("a", "train", "a", [-3, -5, -2, -8, -1, *[-2] * 5])
    (note,) = read_scores([with_spread(of, [-2] * 10, [1, 1.5, 1, 2, 1, *[1] * 5])], corpus)
    assert note.min_k_plus_plus == pytest.approx(-2.5)


def test_of_few_tokens_one_counts_and_certainty_divides_by_no_zero(corpus: Corpus) -> None:
    (note,) = read_scores([with_spread(scored("a", "train", "a", [0.0, -3]), [0, -2], [0, 1])], corpus)
    assert note.min_k_plus_plus == -1


def test_what_the_engines_give_decides_which_score_counts(corpus: Corpus) -> None:
    plain = [scored(name, "train", name, [-1.0]) for name in "ab"]
    audited = [with_spread(note, [-2], [1]) for note in plain]
    control = [scored(name, "train", name, [-2.0], model="control") for name in "ab"]
    # With logits, whether there is a control or not, and whatever it says.
    assert choose_score(read_scores([*audited, *control], corpus)) == "min_k_plus_plus"
    assert choose_score(read_scores(audited, corpus)) == "min_k_plus_plus"
    assert choose_score(read_scores([*plain, *control], corpus)) == "ratio"
    # One note that the control did not score, or scored by other tokens; one of which there are no logits.
    assert choose_score(read_scores([*plain, control[0]], corpus)) == "loss"
    other = scored("b", "train", "b", [-2.0, -2.0], model="control")
    assert choose_score(read_scores([*plain, control[0], other], corpus)) == "loss"
    assert choose_score(read_scores([audited[0], plain[1]], corpus)) == "loss"
    assert choose_score([]) is None


def test_a_note_without_a_scored_token_or_with_no_number_is_left_out(corpus: Corpus) -> None:
    good = scored("b", "train", "b", [-1.0])
    for bad in ([], [-1.0, float("nan")], [float("-inf")]):
        assert [note.patient_id for note in read_scores([scored("a", "train", "a", bad), good], corpus)] == ["b"]
    control = scored("b", "train", "b", [float("nan")], model="control")
    (note,) = read_scores([with_spread(good, [float("nan")], [1.0]), control], corpus)
    assert (note.loss, note.ratio, note.min_k_plus_plus) == (-1.0, None, None)
