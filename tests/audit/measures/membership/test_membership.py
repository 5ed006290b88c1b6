"""Membership: scores of one note, and the figures that follow, by hand."""

import math
import zlib
from itertools import cycle
from random import Random

import polars as pl
import pytest
from support.evidence_frames import evidence
from support.patient_facts import corpus_of, note_rows
from support.scored_notes import draw_corpus, frame_of, scored, scores_of_corpus

from clinaudit.audit.measures.membership import (
    ARMS_DIFFER,
    NO_HUNDREDTH,
    NOT_COMPARED,
    TOO_FEW,
    estimate_membership,
    measure_blind_baseline,
    score_membership,
)
from clinaudit.audit.runtime.console import Progress
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.record import ARMS

BLIND = [
    {"feature": "", "value": 0.5, "low": 0.4, "high": 0.6},
    {"feature": "words", "value": 0.4, "low": 0.3, "high": 0.5},
]


def notes(train, nontrain, **more):
    """Return one note a patient."""
    return [
        {"patient_id": f"{arm}{at}", "arm": arm, "note_id": "n", "tokens": 50, "loss": score, "zlib": -score, **more}
        for arm, scores in (("train", train), ("nontrain", nontrain))
        for at, score in enumerate(scores)
    ]


def test_membership_tells_arms_apart_by_the_score_that_all_notes_have():
    # The second highest of those never seen is the edge: one in 101 is above it, and of 100 there is none.
    never_seen = [-3.0 + at / 1000 for at in range(99)] + [-2.0, -0.5]
    rows = notes([-1.0] * 10 + [-9.0] * 10, never_seen)
    table = Estimates(estimate_membership(evidence(membership=rows, blind_baseline=BLIND)))
    auroc = table.find("membership_auroc")
    assert auroc.value == pytest.approx((10 * 100) / (20 * 101))
    assert auroc.low < 0.5
    # No note has a ratio or deviations: loss counts.
    assert {row.part for row in table.rows("membership_auroc", by="score")} == {"loss", "zlib"}
    assert table.find("membership_auroc", by="score", part="loss") == auroc._replace(by="score", part="loss")
    found = table.find("membership_found")
    assert table.find("membership_found", by="score", part="loss") == found._replace(by="score", part="loss")
    assert (found.count_low, found.of_low) == (10, 20)
    fewer = Estimates(estimate_membership(evidence(membership=rows[:-1], blind_baseline=BLIND))).find(
        "membership_found"
    )
    assert (fewer.value, fewer.reason) == (None, NO_HUNDREDTH)
    blind = table.find("membership_blind", by="feature", part="words")
    assert (blind.value, blind.low, blind.high) == (0.4, 0.3, 0.5)


def test_what_the_length_of_a_note_explains_is_taken_out_of_both_arms():
    """There is no signal but that notes of those trained on are longer; a fit to one arm alone goes astray."""
    rng, areas, missed = Random(1), [], 0
    for _ in range(40):
        rows = notes([0.0] * 40, [0.0] * 40)
        for row in rows:
            row["tokens"] = rng.randrange(100, 400) if row["arm"] == "train" else rng.randrange(40, 150)
            row["loss"] = -math.log(row["tokens"]) + rng.gauss(0, 0.3)
        trained, never_seen = ([row["loss"] for row in rows if row["arm"] == arm] for arm in ("train", "nontrain"))
        assert sum(one > other for one in trained for other in never_seen) / 40**2 < 0.2
        table = Estimates(estimate_membership(evidence(membership=rows, blind_baseline=BLIND)))
        auroc = table.find("membership_auroc", by="score", part="loss")
        areas.append(auroc.value or 0)
        missed += not (auroc.low or 0) <= 0.5 <= (auroc.high or 1)
    assert sum(areas) / len(areas) == pytest.approx(0.5, abs=0.03)
    assert missed <= 4


@pytest.mark.parametrize(
    ("train", "blind", "reason"),
    [
        (10, BLIND, TOO_FEW),
        (11, [], NOT_COMPARED),
        (11, [BLIND[0], {**BLIND[1], "value": 0.7, "low": 0.551}], f"{ARMS_DIFFER} (words)"),
        # All together may show what none shows alone.
        (11, [{**BLIND[0], "value": 0.7, "low": 0.551}, BLIND[1]], f"{ARMS_DIFFER} (all features together)"),
    ],
)
def test_there_is_no_figure_where_it_would_tell_nothing_of_the_model(train, blind, reason):
    rows = notes([-1.0] * train, [-2.0 - at for at in range(11)])
    table = Estimates(estimate_membership(evidence(membership=rows, blind_baseline=blind)))
    for metric in ("membership_auroc", "membership_found"):
        (row,) = table.rows(metric)
        assert (row.value, row.reason) == (None, reason)
    assert len(table.rows("membership_blind")) == len(blind)


def measure(scores, corpus):
    notes = score_membership(scores, corpus)
    blind = measure_blind_baseline(notes, corpus, seed=0, progress=Progress(quiet=True))
    return Estimates(estimate_membership({"membership": notes.lazy(), "blind_baseline": blind.lazy()}))


def figures(found):
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

    def auroc_of(train, never_seen):
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


TEXT = "cough cough cough and fever"


@pytest.fixture
def corpus(tmp_path):
    return corpus_of(tmp_path / "corpus", note_rows([("a", TEXT), ("b", "well")]))


def read(rows, corpus):
    return score_membership(frame_of(rows), corpus).to_dicts()


def with_spread(row, means, deviations):
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


def choose(rows, corpus):
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
