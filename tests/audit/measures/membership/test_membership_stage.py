"""From scores to figures: by hand, with a signal, and with few patients."""

from itertools import cycle

import polars as pl
import pytest
from support.scored_notes import draw_corpus, frame_of, scored, scores_of_corpus

from clinaudit.audit.measures.membership import estimate_membership, measure_blind_baseline, score_membership
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.estimates.frame import Estimates, Row
from clinaudit.reports.schema.record import ARMS


def measure(scores: pl.DataFrame, corpus: Corpus) -> Estimates:
    notes = score_membership(scores, corpus)
    blind = measure_blind_baseline(notes, corpus, seed=0, progress=Progress(quiet=True))
    return Estimates(estimate_membership({"membership": notes.lazy(), "blind_baseline": blind.lazy()}))


def figures(found: Estimates) -> tuple[Row, Row]:
    """Return the rows of the AUROC and of the patients found at 1% false positives."""
    auroc, at_one = found.find("membership_auroc"), found.find("membership_found")
    return auroc, at_one


def test_a_patients_score_is_the_mean_of_the_notes(tmp_path):
    """By the best note those trained on would stand above the others, and by the sum the patients of few notes."""
    counts = {arm: cycle([2, 4]) for arm in ARMS}
    corpus = draw_corpus(
        tmp_path / "corpus",
        1,
        train=12,
        never_seen=12,
        notes=lambda drawn: next(counts["train" if drawn.is_train else "nontrain"]),
    )

    def auroc_of(train: tuple[float, float], never_seen: tuple[float, float]) -> float | None:
        rows = [
            scored(patient, arm, note.note_id, [losses[number % 2]] * 10)
            for arm, losses in zip(ARMS, (train, never_seen), strict=True)
            for patient in corpus.patient_ids(arm)
            for number, note in enumerate(corpus.notes_of(patient))
        ]
        # Far below all others, so that what is left of those without their mean is above nought.
        for row in rows:
            if row["patient_id"] == corpus.patient_ids("nontrain")[0]:
                row["log_probs"] = [-20.0] * 10
        return figures(measure(frame_of(rows), corpus))[0].value

    assert auroc_of((-1.0, -3.0), (-1.9, -1.9)) == pytest.approx(1 / 12)
    assert auroc_of((-1.9, -1.9), (-1.0, -3.0)) == 1


@pytest.mark.parametrize(("train", "never_seen"), [(10, 40), (40, 10), (30, 0)])
def test_few_patients_have_no_figure(tmp_path, train, never_seen):
    corpus = draw_corpus(tmp_path / "corpus", 4, train=train, never_seen=never_seen)
    measured = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    assert measured.rows("membership_blind") == []
    assert all(row.value is None and row.reason for row in figures(measured))
    assert list(measure(frame_of([]), corpus)) == []
