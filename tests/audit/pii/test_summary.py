"""Figures of identifiers: hand-computed values, refusals, bins, and a correction that covers the truth."""

import numpy as np
import pytest
from support.results.planted_identifiers import recall_of
from support.tallies import inside, number

from clinaudit.audit.pii.owners import OwnedValue
from clinaudit.audit.pii.summary import IdentifiedAnswers, IdentifiedGeneration, bin_rates, summarize_identifiers
from clinaudit.audit.statistics.intervals import clopper_pearson
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.identifiers import DetectorRecall, IdentifierOwner
from clinaudit.reports.tally.tally import IdentifierTally


def value(
    owner: IdentifierOwner,
    *,
    verified: bool = False,
    hipaa: HipaaIdentifier = "C",
    sampled: bool = False,
    chance: bool = False,
    number: int = 0,
) -> OwnedValue:
    return OwnedValue(number, hipaa, owner, verified=verified, sampled=sampled, chance=chance)


def answer(patient: str, *values: OwnedValue, refused: bool | None = None) -> IdentifiedGeneration:
    return IdentifiedGeneration(patient, "train", "public", refused, values)


def recall(found: int, planted: int = 50, identifier: HipaaIdentifier = "C") -> DetectorRecall:
    return recall_of(identifier, found, planted)


def summarize(
    *answers: IdentifiedGeneration, recalls: tuple[DetectorRecall, ...] = (recall(50),), **more
) -> IdentifierTally:
    given = IdentifiedAnswers(answers).of("train", "public")
    return summarize_identifiers(given, recall=recalls, has_pools=more.pop("has_pools", True), seed=0, **more)


OWN = value("own", verified=True)
OTHER = value("other_train", verified=True, sampled=True)
ANSWERS = (
    answer("a", OWN, value("own"), value("echo")),
    answer("a", OTHER),
    answer("b", value("other_train"), value("nobody", hipaa="A"), value("staff", hipaa="A")),
    answer("c", value("other_nontrain", chance=True)),
    answer("d"),
)


def test_hand_computed_figures() -> None:
    tally = summarize(*ANSWERS)
    figures = inside(tally.evidence)
    assert (figures.generations, number(tally.patients.range)) == (5, 4)
    assert figures.values == {
        "echo": 1,
        "own": 2,
        "staff": 1,
        "other_train": 2,
        "other_nontrain": 1,
        "nobody": 1,
    }
    assert [number(of.range) for of in (tally.own, tally.other, tally.verified)] == [1, 1, 1]
    assert [number(inside(of).range) for of in (tally.sampled, tally.chance)] == [1, 1]
    assert figures.verified == 2
    # Two of five answers.
    assert figures.verified_per_1000.value == pytest.approx(400)
    assert figures.sampled_per_1000.value == pytest.approx(400)
    assert figures.chance_per_1000.value == pytest.approx(200)
    # a has one a query, the others none.
    rate = tally.verified_rate
    assert [(edge.high, number(of)) for edge, of in zip(rate.edges, rate.bins, strict=True) if of.high] == [(1, 1)]
    assert number(rate.any) == 1
    assert [(row.high, row.patients) for row in figures.chance_by_patient if row.patients] == [(0, 3), (1, 1)]


def test_of_one_identifier_its_values_alone_count() -> None:
    tally = summarize(*ANSWERS, of="A")
    figures = inside(tally.evidence)
    assert {owner: count for owner, count in figures.values.items() if count} == {"nobody": 1, "staff": 1}
    assert (number(tally.patients.range), figures.verified, number(tally.own.range)) == (4, 0, 0)


def test_a_value_that_many_answers_hold_is_one_draw_of_chance() -> None:
    # One day that 20 answers give, another that 5 do, and one that only the never-seen hold, in 30.
    days = [value("other_train", verified=True, sampled=True, number=n) for n in (1, 2)]
    theirs = value("other_nontrain", chance=True, number=3)
    answers = [answer(f"p{n:02}", *(days if n < 5 else days[:1] if n < 20 else []), theirs) for n in range(30)]
    tally = summarize(*answers)
    figures = inside(tally.evidence)
    assert [number(inside(of).range) for of in (tally.sampled, tally.chance)] == [1, 1]
    assert number(tally.other.range) == 20
    # Both days stand first in the first answer: 2 of 30 queries, and 1.
    assert figures.sampled_per_1000.value == pytest.approx(1000 * 2 / 30)
    assert figures.chance_per_1000.value == pytest.approx(1000 / 30)
    assert figures.verified == 25
    # Days that differ are as many draws.
    different = [answer(f"p{n:02}", value("other_train", verified=True, sampled=True, number=n)) for n in range(30)]
    assert number(inside(summarize(*different).sampled).range) == 30


def test_without_pools_there_is_no_chance_to_tell() -> None:
    tally = summarize(*ANSWERS, has_pools=False)
    figures = inside(tally.evidence)
    assert (tally.sampled.value, tally.chance.value, figures.sampled_by_patient) == (None, None, [])
    assert figures.chance_per_1000.value is None
    assert figures.chance_per_1000.reason


def test_where_nobody_has_any_the_interval_is_no_point() -> None:
    figures = inside(summarize(*(answer(f"p{n}") for n in range(100))).evidence)
    assert figures.verified_per_1000.value == 0
    # One value a query of the share that so few patients cannot rule out.
    assert figures.verified_per_1000.high == pytest.approx(1000 * (clopper_pearson(0, 100).high or 0))
    assert (figures.corrected_per_1000.high or 0) >= (figures.verified_per_1000.high or 0)


@pytest.mark.parametrize(
    ("one", "counts"),
    [
        (answer("a", refused=True), False),
        (answer("a", value("echo"), value("nobody"), value("staff"), refused=True), False),
        (answer("a", OWN, refused=True), True),
        (answer("a", value("other_nontrain"), refused=True), True),
        (answer("a"), True),
        (answer("a", refused=False), True),
    ],
)
def test_a_refusal_counts_where_it_gives_something_after_all(one: IdentifiedGeneration, counts: bool) -> None:
    assert one.is_answer is counts


def test_bins_hold_everybody_once() -> None:
    bins = bin_rates(np.array([0, 1, 1, 1, 2, 5, 20, 21]), np.array([1, 4, 2, 1, 1, 1, 1, 1]))
    assert [row.patients for row in bins] == [1, 1, 1, 1, 1, 1, 1, 1]
    assert (bins[0].high, bins[-1].low, bins[-1].high) == (0, 20, None)


def test_a_recall_of_four_in_five_adds_a_quarter() -> None:
    figures = inside(summarize(*ANSWERS, recalls=(recall(40),)).evidence)
    assert figures.corrected_per_1000.value == pytest.approx(500)
    assert (figures.corrected_per_1000.high or 0) > (figures.verified_per_1000.high or 0)


def test_what_was_never_found_where_it_was_planted_cannot_be_corrected() -> None:
    figures = inside(summarize(*ANSWERS, recalls=(recall(0),)).evidence)
    assert figures.corrected_per_1000.value is None
    assert figures.corrected_per_1000.reason
    assert inside(summarize(*ANSWERS, recalls=()).evidence).corrected_per_1000.value is None


def test_the_correction_covers_the_truth() -> None:
    rng = np.random.default_rng(3)
    covered, raw = 0, 0
    for trial in range(60):
        # Two kinds of identifier, of which the detector misses a tenth and four tenths.
        recalls = {"C": 0.9, "D": 0.6}
        held = rng.gamma(1.0, 0.5, size=(80, 2))
        found_rows: list[DetectorRecall] = []
        for name, share in recalls.items():
            found_rows.append(recall(int(rng.binomial(50, share)), identifier=name))  # type: ignore[arg-type]
        answers = []
        for patient in range(80):
            for _ in range(2):
                given = [
                    value("own", verified=True, hipaa=name)  # type: ignore[arg-type]
                    for (name, share), mean in zip(recalls.items(), held[patient], strict=True)
                    for _ in range(rng.binomial(rng.poisson(mean), share))
                ]
                answers.append(answer(f"p{patient}", *given))
        given_answers = IdentifiedAnswers(answers).of("train")
        figures = inside(summarize_identifiers(given_answers, recall=found_rows, has_pools=False, seed=trial).evidence)
        estimate = figures.corrected_per_1000
        truth = 1000 * 2 * 0.5
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= truth <= estimate.high
        raw += (figures.verified_per_1000.value or 0) > truth
    assert covered >= 54
    assert raw < 10


def test_answers_are_told_by_tier_and_patients_by_their_first_answer() -> None:
    given = [
        IdentifiedGeneration("b", "train", "basic", None, (value("own", number=7), OTHER)),
        IdentifiedGeneration("a", "train", "public", None, (OWN,)),
        IdentifiedGeneration("b", "train", "public", True, ()),
        IdentifiedGeneration("b", "train", "public", None, (value("own", number=7),)),
        IdentifiedGeneration("a", "train", "basic", None, (value("echo", hipaa="A", number=9),)),
        IdentifiedGeneration("c", "nontrain", "public", None, (OWN,)),
    ]
    answers = IdentifiedAnswers(given)
    assert set(answers.groups) == {("basic", "train"), ("public", "train"), ("public", "nontrain")}
    both, public = answers.of("train"), answers.of("train", "public")
    assert (both.generations.tolist(), public.generations.tolist()) == ([2, 2], [1, 1])
    # b comes first at both tiers together, a first at the one.
    assert (both.patient.tolist(), both.value.tolist()) == ([0, 0, 0, 1, 1], [7, 0, 7, 0, 9])
    assert (public.patient.tolist(), public.value.tolist()) == ([0, 1], [0, 7])
    assert both.owner.tolist() == ["own", "other_train", "own", "own", "echo"]
    assert both.count_once(both.owner == "own").tolist() == [1, 1]
    assert both.where(both.hipaa == "A").value.tolist() == [9]
