"""From scores to figures: by hand, without a signal, with arms that differ, and with few patients."""

from pathlib import Path

import polars as pl
import pytest
from support.scored_notes import draw_corpus, frame_of, scored, scores_of_corpus

from clinaudit.audit.measures.membership import estimate_membership, measure_blind_baseline, score_membership
from clinaudit.audit.runtime.console.progress import Progress
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


@pytest.mark.parametrize(("train", "never_seen"), [(10, 40), (40, 10), (30, 0)])
def test_few_patients_have_no_figure(tmp_path: Path, train: int, never_seen: int) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 4, train=train, never_seen=never_seen)
    measured = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    assert measured.rows("membership_blind") == []
    assert all(row.value is None and row.reason for row in figures(measured))
    assert list(measure(frame_of([]), corpus)) == []
