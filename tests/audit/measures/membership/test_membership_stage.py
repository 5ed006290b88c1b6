"""The stage from scores to the tally: by hand, without a signal, with arms that differ, and with few patients."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.scored_notes import Drawn, draw_corpus, scored, scores_of_corpus
from support.tallies import inside, number, numbers

from clinaudit.audit.measures.membership import measure_membership
from clinaudit.audit.measures.scoring import NoteScores
from clinaudit.audit.results.ranges.attacks import derive_membership
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS, Row, read_table, write_table
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.tally.attacks import MembershipTally
from clinaudit.reports.tally.leaves import coarsen


def measure(scores: list[NoteScores], corpus: Corpus, *, seed: int = 0) -> tuple[MembershipTally, list[Row]]:
    return measure_membership(scores, corpus, seed=seed, progress=Progress(quiet=True))


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
    # 36.7, 37.9 and 39.0 of those trained on do. Of 40 the 20, 4 and 0 uppermost lie above the classes.
    trained = [-5.0, 10.5, 18.5, 20.5, 25.5, 26.5, 37.2, 38.4, *(50.0 + k for k in range(22))]
    tally = measure(one_note_each(corpus, {"train": trained, "nontrain": list(map(float, range(40)))}), corpus)[0]
    assert tally.trained is not None
    assert numbers(tally.trained) == {"up_to_50": 3, "50_to_90": 3, "90_to_99": 2, "above_99": 22}
    assert number(tally.never_seen.range) == 40
    wins = [0, 11, 19, 21, 26, 27, 37, 38, *[40] * 22]
    results, evidence = derive_membership(tally), inside(tally.evidence)
    assert results.auroc.value == pytest.approx(sum(wins) / 1200) == evidence.auroc["loss"].value
    assert results.found_at_10.value == pytest.approx(24 / 30)
    assert results.found_at_10.confidence_low == pytest.approx(0.6143)
    # Of 40 never seen, one is more than 1%.
    assert (results.found_at_1.value, results.found_at_1.reason) == (
        None,
        "fewer than 101 patients never seen: one wrongly found is 1% of them or more",
    )
    assert evidence.p_value is not None
    assert evidence.p_value < 1e-4
    assert (evidence.patients, evidence.notes) == ({"train": 30, "nontrain": 40},) * 2


def test_a_model_that_knows_its_patients_is_found_out(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 2)
    results = derive_membership(measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)[0])
    assert results.is_interpretable
    assert (results.auroc.confidence_low or 0) > 0.8
    assert (results.p_value.value or 1) < 1e-6


def later(drawn: Drawn) -> int:
    return int(drawn.rng.integers(0, 700)) + (500 if drawn.is_train else 0)


def test_where_the_dates_tell_the_arms_apart_there_is_no_figure_and_the_reason_names_them(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 3, day=later)
    tally, evidence_rows = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    results = derive_membership(tally)
    assert (results.is_interpretable, results.differ_in, results.trained) == (False, ["dates"], {})
    for figure in (results.auroc, results.found_at_10, results.found_at_1, results.p_value):
        assert figure.model_dump(exclude={"reason"}, exclude_none=True) == {}
        assert figure.reason == (
            "not interpretable: the notes alone, without the model, tell both groups apart (dates)"
        )
    evidence = inside(tally.evidence)
    assert (evidence.auroc, evidence.p_value) == ({}, None)
    assert {row["standardized"] for row in evidence_rows} == {None}
    assert evidence.blind is not None
    assert (evidence.blind.alone["dates"].low or 0) > 0.55
    # What is published is the word, and the groups of features that it rests on.
    assert derive_membership(coarsen(tally)).model_dump(exclude={"never_seen", "evidence"}) == (
        results.model_dump(exclude={"never_seen", "evidence"})
    )


@pytest.mark.parametrize(("train", "never_seen"), [(20, 40), (40, 20), (30, 0)])
def test_few_patients_have_no_figure(tmp_path: Path, train: int, never_seen: int) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 4, train=train, never_seen=never_seen)
    tally = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)[0]
    assert (tally.trained, tally.is_interpretable, inside(tally.evidence).blind) == (None, None, None)
    assert tally.reason == "more than 20 patients trained on and as many never seen must have scored notes"
    assert measure([], corpus)[0].score is None


def test_the_one_percent_is_given_from_101_never_seen_on(tmp_path: Path) -> None:
    for never_seen, is_given in ((100, False), (101, True)):
        corpus = draw_corpus(tmp_path / f"corpus{never_seen}", 6, train=30, never_seen=never_seen, notes=lambda _: 1)
        tally = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)[0]
        for shown in (derive_membership(tally), derive_membership(coarsen(tally))):
            assert (shown.found_at_1.low is not None) == is_given


def test_equal_scores_are_no_signal(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 7, notes=lambda _: 1)
    scores = one_note_each(corpus, {"train": [-1.0] * 30, "nontrain": [-1.0] * 30})
    areas = [derive_membership(measure(scores, corpus, seed=seed)[0]).auroc for seed in range(2)]
    assert areas[0] != areas[1]
    assert all((area.confidence_low or 1) < 0.5 < (area.confidence_high or 0) for area in areas)


def test_the_evidence_has_scores_of_notes_and_no_verdict(tmp_path: Path) -> None:
    corpus = draw_corpus(tmp_path / "corpus", 2)
    tally, evidence_rows = measure(scores_of_corpus(corpus, 0, gain=2.0), corpus)
    write_table(tmp_path, "membership", evidence_rows)
    rows = read_table(tmp_path, "membership")
    assert len(rows) == corpus.note_count
    assert list(SCHEMAS["membership"]) == [
        *("patient_id", "arm", "note_id", "tokens", "loss", "zlib", "min_k_plus_plus", "ratio", "standardized")
    ]
    assert rows[0]["ratio"] is None
    assert np.isfinite([row["standardized"] for row in rows]).all()
    # Neither the tally nor a result names a patient.
    for shown in (tally, coarsen(tally)):
        assert not [one for one in corpus.patients if one in json.dumps(derive_membership(shown).model_dump())]


@pytest.mark.simulation
def test_over_many_draws_without_a_signal_the_area_is_chance(tmp_path: Path) -> None:
    areas, missed = [], 0
    for seed in range(40):
        corpus = draw_corpus(tmp_path / f"corpus{seed}", seed, train=30, never_seen=24)
        figure = derive_membership(measure(scores_of_corpus(corpus, seed), corpus)[0]).auroc
        if figure.value is not None:
            areas.append(figure.value)
            missed += not (figure.confidence_low or 0) <= 0.5 <= (figure.confidence_high or 1)
    assert len(areas) > 35
    assert np.mean(areas) == pytest.approx(0.5, abs=3 * np.std(areas) / np.sqrt(len(areas)))
    assert missed <= 5
