"""Formulas of memorization: by hand, and against loops over drawn tables."""

from collections import defaultdict
from random import Random

import pytest
from support.evidence_frames import evidence

from clinaudit.audit.measures.memorization.estimates import estimate_memorization
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.estimates.intervals import beta_bounds

HERE = {"form": "text", "tier": "public", "arm": "train"}
TAU = 30


def answer(name, patient, **columns):
    return {"generation_id": name, "patient_id": patient, "arm": "train", "tier": "public", "tokens": 100, **columns}


def estimate(**tables):
    tables = {"regions": [], "segments": [], "memorized_text": [], **tables}
    return Estimates(estimate_memorization(evidence(**tables), match_tokens=TAU))


def figures(row):
    return row.value, row.count_low, row.of_low


def test_a_patient_counts_once_with_the_mean_over_its_answers():
    table = estimate(
        generation_metrics=[
            answer("g1", "a", tokens=100, memorized_tokens=60, echo_tokens=10, attributable_tokens=40),
            answer("g2", "a", tokens=50, memorized_tokens=0),
            # An empty answer, and a refused one that repeats a note all the same.
            answer("g3", "b", tokens=0, says_something=False, says_something_before_end=False),
            answer("g4", "c", tokens=200, memorized_tokens=100, attributable_tokens=1, refused=True),
            answer("g5", "d", tokens=20, refused=False),
        ]
    )
    # a: (0.6 + 0) / 2, b: 0, c: 0.5, d: 0.
    memorized = table.find("memorized_fraction", **HERE)
    assert figures(memorized) == (pytest.approx(0.8 / 4), 2, 4)
    assert (memorized.low, memorized.high) == pytest.approx(beta_bounds(0.8, 4))
    assert figures(table.find("memorized_fraction_without_echo", **HERE)) == (pytest.approx(0.75 / 4), 2, 4)
    assert figures(table.find("attributable_fraction", **HERE)) == (pytest.approx(0.205 / 4), 2, 4)
    assert figures(table.find("attributable_patients", **HERE)) == (0.5, 2, 4)
    # a has 20% of its text, c half a percent.
    above = [table.find("attributable_patients", by="above", part=part, **HERE) for part in ("1%", "10%", "50%")]
    assert [figures(row) for row in above] == [(0.25, 1, 4), (0.25, 1, 4), (0.0, 0, 4)]
    assert figures(table.find("hit_rate", **HERE)) == (0.5, 2, 4)
    assert figures(table.find("long_answers", **HERE)) == (0.5, 2, 4)
    assert figures(table.find("answered", **HERE)) == (0.75, 3, 4)
    assert figures(table.find("answered_before_end", **HERE)) == (0.75, 3, 4)
    # Of those of whom refusals were looked for.
    assert figures(table.find("refused", **HERE)) == (0.5, 1, 2)


def test_of_answers_that_say_nothing_the_share_counts_and_not_whoever_has_one():
    nothing = {"says_something": False, "says_something_before_end": False}
    table = estimate(
        generation_metrics=[
            *(answer(f"a{draw}", "a") for draw in range(9)),
            answer("a9", "a", tokens=1, **nothing),
            answer("b0", "b", says_something_before_end=False),
            # A loop that nobody cut: as long as a match, and one token.
            answer("c0", "c", tokens=1000, **nothing),
        ]
    )
    assert figures(table.find("answered", **HERE)) == (pytest.approx(1.9 / 3), 2, 3)
    assert figures(table.find("answered_before_end", **HERE)) == (pytest.approx(0.9 / 3), 1, 3)
    assert figures(table.find("long_answers", **HERE)) == (pytest.approx(2 / 3), 2, 3)


def test_what_matching_text_is_made_of():
    piece = {"generation_id": "g1", "token_start": 0, "char_start": 0}
    table = estimate(
        generation_metrics=[
            answer("g1", "a", memorized_tokens=90, regions=2, stitched_regions=1, source_notes=2)
            | {"region_characters": 400, "region_words": 80},
            answer("g2", "b", memorized_tokens=30, regions=1, source_notes=1)
            | {"region_characters": 200, "region_words": 40},
            # No match: no part of a mean over answers with one.
            answer("g3", "c"),
        ],
        regions=[
            {**piece, "region_id": 0, "piece": 0, "token_end": 40, "char_end": 11, "text": "dear\u00a0 Anna,\ngoats"}
            | {"patient_count": 1, "copy_forward_count": 6},
            {**piece, "region_id": 0, "piece": 1, "token_end": 20, "char_end": 9, "text": "of a farm"}
            | {"patient_count": 1, "copy_forward_count": 1},
            {**piece, "region_id": 1, "piece": 0, "token_end": 30, "char_end": 5, "text": "fever"}
            | {"patient_count": 11, "copy_forward_count": 1},
            {
                **piece,
                "generation_id": "g2",
                "region_id": 0,
                "piece": 0,
                "token_end": 30,
                "char_end": 5,
                "text": "fever",
            }
            | {"patient_count": 10, "copy_forward_count": 2},
        ],
        segments=[
            {"generation_id": "g1", "region_id": 0, "piece": 0, "tokens": 25, "templated_tokens": 25},
            {"generation_id": "g1", "region_id": 0, "piece": 0, "tokens": 15, "templated_tokens": 14},
            # Boilerplate alone is no piece whose copies count.
            {"generation_id": "g1", "region_id": 0, "piece": 1, "tokens": 20, "templated_tokens": 20},
        ],
        memorized_text=[
            {"generation_id": "g1", "section": "Plan", "kind": "revealing_single", "tokens": 60},
            {"generation_id": "g1", "section": "Plan", "kind": "templated_shared", "tokens": 30},
            {"generation_id": "g2", "section": "Plan", "kind": "templated_shared", "tokens": 10},
            {"generation_id": "g2", "section": "Exam", "kind": "revealing_shared", "tokens": 20},
        ],
    )

    def text(metric, by="", part=""):
        row = table.find(metric, by=by, part=part, **HERE)
        return row.value, row.behind

    assert text("source_notes") == (1.5, 2)
    assert text("region_length", "unit", "tokens") == (40.0, 2)
    assert text("region_length", "unit", "characters") == (200.0, 2)
    assert text("region_length", "unit", "words") == (40.0, 2)
    # One of three regions; a has both sorts, b the other alone: one patient behind the stitched.
    assert text("stitched_share") == (pytest.approx(1 / 3), 1)
    assert text("shared_share") == (0.5, 1)
    assert text("templated_share") == (pytest.approx(40 / 120), 2)
    assert text("piece_length", "unit", "tokens|single") == (30.0, 1)
    assert text("piece_length", "unit", "words|single") == (3.0, 1)
    assert text("piece_length", "unit", "characters|shared") == (5.0, 2)
    bins = {part: text("k_distribution", "k", part) for part in table.values_of("part", "k_distribution")}
    assert bins == {"1": (0.5, 1), "2-10": (0.25, 1), "11-100": (0.25, 1)} | dict.fromkeys(
        ("101-1000", "1001-8000", ">8000"), (0.0, 0)
    )
    copies = {part: text("copy_forward", "copies", part) for part in table.values_of("part", "copy_forward")}
    assert copies == {"6-10": (1.0, 1)} | dict.fromkeys(("1", "2", "3", "4", "5", ">10"), (0.0, 0))
    assert text("section_tokens", "section", "Plan|templated_shared") == (pytest.approx(1 / 3), 2)
    assert sum(row.value or 0 for row in table.rows("section_tokens")) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(5))
def test_means_and_shares_are_those_of_loops_over_answers(seed):
    rng = Random(seed)
    answers = [
        answer(f"g{at}", f"p{rng.randrange(12)}", tokens=(tokens := rng.choice([0, 0, 10, 80])))
        | {
            "arm": "train",
            "other_patient_tokens": rng.randint(0, tokens),
            "memorized_tokens": rng.randint(0, tokens // 9),
        }
        for at in range(40)
    ]
    shares, hits = defaultdict(list), defaultdict(list)
    for row in answers:
        shares[row["patient_id"]].append(row["other_patient_tokens"] / max(1, row["tokens"]))
        hits[row["patient_id"]].append(row["memorized_tokens"] > 0)
    means = [sum(own) / len(own) for own in shares.values()]
    rng.shuffle(answers)
    table = estimate(generation_metrics=answers)
    expected = (pytest.approx(sum(means) / len(means)), sum(mean > 0 for mean in means), len(means))
    assert figures(table.find("other_patient_fraction", **HERE)) == expected
    found = sum(map(any, hits.values()))
    assert figures(table.find("hit_rate", **HERE)) == (found / len(hits), found, len(hits))
