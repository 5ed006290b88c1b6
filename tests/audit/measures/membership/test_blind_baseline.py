"""What tells the arms apart without the model is found and named; alike arms are not told apart."""

import numpy as np
import polars as pl
import pytest
from support.scored_notes import draw_corpus, words_alike

from clinaudit.audit.measures.membership import MOST_BLIND_AUROC, measure_blind_baseline
from clinaudit.audit.runtime.console import Progress


def measure(corpus, *, seed=0):
    """Return the AUROC and its lower end by group of features; of all together by the empty name."""
    patients = [(arm, patient_id) for arm in ("train", "nontrain") for patient_id in corpus.patient_ids(arm)]
    notes = pl.DataFrame(patients, schema=["arm", "patient_id"], orient="row")
    blind = measure_blind_baseline(notes, corpus, seed=seed, progress=Progress(quiet=True))
    return {feature: (value, low) for feature, value, low, _ in blind.iter_rows()}


def find_differences(blind):
    return {feature for feature, (_, low) in blind.items() if low > MOST_BLIND_AUROC}


def later(drawn):
    return int(drawn.rng.integers(0, 700)) + (500 if drawn.is_train else 0)


def in_the_middle(drawn):
    return int(drawn.rng.integers(300, 400)) if drawn.is_train else int(drawn.rng.choice([50, 650]))


def more(drawn):
    return int(drawn.rng.integers(1, 4)) + 3 * drawn.is_train


def longer(drawn):
    return words_alike(drawn) * (2 if drawn.is_train else 1)


def a_word_more(drawn):
    return [*words_alike(drawn), "telehealth" if drawn.is_train else "inperson"]


@pytest.mark.parametrize(
    ("arms", "group"),
    [
        ({"day": later}, "dates"),
        ({"day": in_the_middle}, "dates"),
        ({"notes": more}, "number"),
        ({"words": longer}, "lengths"),
        ({"words": a_word_more}, "words"),
    ],
    ids=["later", "in the middle", "number", "lengths", "words"],
)
def test_a_planted_difference_is_found_and_named(tmp_path, arms, group):
    named = find_differences(measure(draw_corpus(tmp_path / "corpus", 3, **arms)))
    assert group in named
    if group != "number":
        # Nothing but what was planted shows it alone. Of more notes the longest is longer, the first one earlier, and
        # more words are different.
        assert named - {""} == {group}


def test_arms_that_are_alike_are_not_told_apart(tmp_path):
    blind = measure(draw_corpus(tmp_path / "corpus", 11, train=60, never_seen=60))
    assert blind[""][0] == pytest.approx(0.5, abs=0.12)
    assert find_differences(blind) == set()


@pytest.mark.simulation
def test_over_many_draws_of_arms_that_are_alike_the_area_is_chance(tmp_path):
    drawn = [measure(draw_corpus(tmp_path / f"corpus{seed}", seed, train=40, never_seen=25)) for seed in range(40)]
    areas = [blind[""][0] for blind in drawn]
    assert np.mean(areas) == pytest.approx(0.5, abs=3 * np.std(areas) / np.sqrt(len(areas)))
    assert sum(bool(find_differences(blind)) for blind in drawn) <= 1
