"""From scores to figures: by hand, without a signal, with arms that differ, and with few patients."""

from pathlib import Path

import numpy as np
import pytest
from support.evidence_frames import evidence
from support.scored_notes import Drawn, draw_corpus, scored, scores_of_corpus

from clinaudit.audit.measures.attack_estimates import estimate_membership
from clinaudit.audit.measures.membership import MeasuredMembership, measure_membership
from clinaudit.audit.measures.scoring import NoteScores
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS, read_table, write_table
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.estimates.frame import Estimates, Row


def measure(scores: list[NoteScores], corpus: Corpus, *, seed: int = 0) -> MeasuredMembership:
    return measure_membership(scores, corpus, seed=seed, progress=Progress(quiet=True))


def figures(measured: MeasuredMembership) -> tuple[Row, Row]:
    """Return the rows of the AUROC and of the patients found at 1% false positives."""
    tables = evidence(membership=measured.rows, blind_baseline=measured.blind)
    found = Estimates(estimate_membership(tables))
    auroc, at_one = found.find("membership_auroc"), found.find("membership_found")
    assert auroc is not None
    assert at_one is not None
    return auroc, at_one


def one_note_each(corpus: Corpus, scores: dict[str, list[float]]) -> list[NoteScores]:
    """Give the patients of each arm, in the order of their ids, these mean log probabilities."""
    return [
        scored(patient, arm, f"{patient}-0", [value] * 10)
        for arm in ("train", "nontrain")
        for patient, value in zip(corpus.patient_ids(arm), scores[arm], strict=True)
    ]


def test_figures_by_hand(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 1, train=30, never_seen=40, notes=lambda _: 1)
    # Never seen: 0 to 39, each standardized by the others, so that the ends lie a little further out: 36 to 38 where
    # 36.7, 37.9 and 39.0 of those trained on do.
    trained = [-5.0, 10.5, 18.5, 20.5, 25.5, 26.5, 37.2, 38.4, *(50.0 + k for k in range(22))]
    measured = measure(one_note_each(corpus, {"train": trained, "nontrain": list(map(float, range(40)))}), corpus)
    wins = [0, 11, 19, 21, 26, 27, 37, 38, *[40] * 22]
    auroc, at_one = figures(measured)
    assert auroc.value == pytest.approx(sum(wins) / 1200)
    assert (auroc.low or 0) > 0.5
    # Of 40 never seen, one is more than 1%.
    assert (at_one.value, bool(at_one.reason)) == (None, True)
    assert measured.facts.score == "loss"


def test_a_model_that_knows_its_patients_is_found_out(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 2)
    measured = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    assert measured.facts.is_interpretable
    assert (figures(measured)[0].low or 0) > 0.8


def later(drawn: Drawn) -> int:
    return int(drawn.rng.integers(0, 700)) + (500 if drawn.is_train else 0)


def test_where_the_dates_tell_the_arms_apart_there_is_no_figure_and_the_reason_names_them(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 3, day=later)
    measured = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    facts = measured.facts
    assert (facts.is_interpretable, facts.differ_in) == (False, ["dates"])
    assert (facts.reason or "").endswith("tell both groups apart (dates)")
    assert all(row.value is None and row.reason for row in figures(measured))
    (dates,) = (row for row in measured.blind if row["feature"] == "dates")
    assert dates["low"] > 0.55


@pytest.mark.parametrize(("train", "never_seen"), [(10, 40), (40, 10), (30, 0)])
def test_few_patients_have_no_figure(tmp_path: Path, train: int, never_seen: int) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 4, train=train, never_seen=never_seen)
    measured = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    assert (measured.facts.is_interpretable, measured.blind) == (None, [])
    assert measured.facts.reason
    assert all(row.value is None and row.reason for row in figures(measured))
    assert measure([], corpus).facts.score is None


def test_equal_scores_are_no_signal(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 7, notes=lambda _: 1)
    auroc, _ = figures(measure(one_note_each(corpus, {"train": [-1.0] * 30, "nontrain": [-1.0] * 30}), corpus))
    assert auroc.value == 0.5
    assert (auroc.low or 1) < 0.5 < (auroc.high or 0)


def test_the_evidence_has_scores_of_notes_and_no_verdict(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 2)
    measured = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    write_table(tmp_path, "membership", measured.rows)
    rows = read_table(tmp_path, "membership")
    assert len(rows) == corpus.note_count
    assert list(SCHEMAS["membership"]) == [
        *("patient_id", "arm", "note_id", "tokens", "loss", "zlib", "min_k_plus_plus", "ratio")
    ]
    assert rows[0]["ratio"] is None
    # What is said beside the figures names no patient.
    assert not [one for one in corpus.patients if one in measured.facts.model_dump_json()]


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
