"""From scores to figures: by hand, without a signal, with arms that differ, and with few patients."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support.scored_notes import Drawn, draw_corpus, frame_of, scored, scores_of_corpus

from clinaudit.audit.measures.membership import estimate_membership, measure_blind_baseline, score_membership
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.estimates.frame import Estimates, Row


def measure(scores: pl.DataFrame, corpus: Corpus) -> Estimates:
    notes = score_membership(scores, corpus)
    blind = measure_blind_baseline(notes, corpus, seed=0, progress=Progress(quiet=True))
    return Estimates(estimate_membership({"membership": notes.lazy(), "blind_baseline": blind.lazy()}))


def figures(found: Estimates) -> tuple[Row, Row]:
    """Return the rows of the AUROC and of the patients found at 1% false positives."""
    auroc, at_one = found.find("membership_auroc"), found.find("membership_found")
    assert auroc is not None
    assert at_one is not None
    return auroc, at_one


def one_note_each(corpus: Corpus, scores: dict[str, list[float]]) -> pl.DataFrame:
    """Give the patients of each arm, in the order of their ids, these mean log probabilities."""
    return frame_of(
        [
            scored(patient, arm, f"{patient}-0", [value] * 10)
            for arm in ("train", "nontrain")
            for patient, value in zip(corpus.patient_ids(arm), scores[arm], strict=True)
        ]
    )


def test_figures_by_hand(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 1, train=30, never_seen=40, notes=lambda _: 1)
    trained = [-5.0, 10.5, 18.5, 20.5, 25.5, 26.5, 37.2, 38.4, *(50.0 + k for k in range(22))]
    measured = measure(one_note_each(corpus, {"train": trained, "nontrain": list(map(float, range(40)))}), corpus)
    wins = [0, 11, 19, 21, 26, 27, 38, 39, *[40] * 22]
    auroc, at_one = figures(measured)
    assert auroc.value == pytest.approx(sum(wins) / 1200)
    assert (auroc.low or 0) > 0.5
    # Of 40 never seen, one is more than 1%.
    assert (at_one.value, bool(at_one.reason)) == (None, True)
    assert measured.find("membership_auroc", by="score", part="loss") == auroc._replace(by="score", part="loss")


def test_a_patients_score_is_the_mean_of_the_notes(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 1, train=12, never_seen=12, notes=lambda _: 2)
    # Each of the notes alone would tell nobody apart.
    high, low = [-1.0] * 10, [-3.0] * 10
    rows = [
        scored(patient, arm, f"{patient}-{number}", high if (number == 0) == (arm == "train") else low)
        for arm in ("train", "nontrain")
        for patient in corpus.patient_ids(arm)
        for number in range(2)
    ]
    assert figures(measure(frame_of(rows), corpus))[0].value == 0.5
    rows[0]["log_probs"] = [-0.5] * 10
    assert figures(measure(frame_of(rows), corpus))[0].value == pytest.approx(0.5 + 0.5 / 12)


def test_a_model_that_knows_its_patients_is_found_out(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 2)
    assert (figures(measure(scores_of_corpus(corpus, 0, gain=2.0), corpus))[0].low or 0) > 0.8


def later(drawn: Drawn) -> int:
    return int(drawn.rng.integers(0, 700)) + (500 if drawn.is_train else 0)


def test_where_the_dates_tell_the_arms_apart_there_is_no_figure_and_the_reason_names_them(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 3, day=later)
    measured = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    for row in figures(measured):
        assert row.value is None
        assert row.reason.endswith("tell both arms apart (dates)")
    dates = measured.find("membership_blind", by="feature", part="dates")
    assert dates is not None
    assert (dates.low or 0) > 0.55


@pytest.mark.parametrize(("train", "never_seen"), [(10, 40), (40, 10), (30, 0)])
def test_few_patients_have_no_figure(tmp_path: Path, train: int, never_seen: int) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 4, train=train, never_seen=never_seen)
    measured = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    assert measured.rows("membership_blind") == []
    assert all(row.value is None and row.reason for row in figures(measured))
    assert list(measure(frame_of([]), corpus)) == []


def test_equal_scores_are_no_signal(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 7, notes=lambda _: 1)
    auroc, _ = figures(measure(one_note_each(corpus, {"train": [-1.0] * 30, "nontrain": [-1.0] * 30}), corpus))
    assert auroc.value == 0.5
    assert (auroc.low or 1) < 0.5 < (auroc.high or 0)


def test_the_evidence_has_scores_of_notes_and_no_verdict(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 2)
    notes = score_membership(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    assert notes.height == corpus.note_count
    assert notes.columns == list(SCHEMAS["membership"])
    assert notes.columns == ["patient_id", "arm", "note_id", "tokens", "loss", "zlib", "min_k_plus_plus", "ratio"]
    assert notes["ratio"].is_null().all()


@pytest.mark.simulation
def test_over_many_draws_without_a_signal_the_area_is_chance(tmp_path: Path) -> None:
    areas, missed = [], 0
    for seed in range(40):
        corpus = draw_corpus(tmp_path / f"corpus{seed}", seed, train=30, never_seen=24)
        auroc, _ = figures(measure(scores_of_corpus(corpus, seed), corpus))
        if auroc.value is not None:
            areas.append(auroc.value)
            missed += not (auroc.low or 0) <= 0.5 <= (auroc.high or 1)
    assert len(areas) > 35
    assert np.mean(areas) == pytest.approx(0.5, abs=3 * np.std(areas) / np.sqrt(len(areas)))
    assert missed <= 5
