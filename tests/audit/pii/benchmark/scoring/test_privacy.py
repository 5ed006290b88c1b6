"""Privacy, balance, and occurrences of entities at the borders of tokens.

And residual inference on constructed samples, where it is known what can be guessed.
"""

import pytest
from support.pii.plain_samples import sample_of

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.scoring.privacy import (
    balance_curve,
    balance_score,
    find_occurrences,
    mask_texts,
    privacy_score,
)
from clinaudit.audit.pii.benchmark.scoring.residual_inference import InferenceOutcome, infer_masked, summarize_inference
from clinaudit.reports.schema.pii_bench import ResidualInference

ORIGINAL = "Ann Lee is 25. Ann Lee was born in 1925 and lives in Oslo."
ENTITIES = ["Ann Lee", "25", "Oslo"]


@pytest.mark.parametrize(
    ("masked", "expected"),
    [
        (ORIGINAL, 0),
        ("<PERSON> is <AGE>. <PERSON> was born in 1925 and lives in <CITY>.", 1),  # the year is no age
        ("<PERSON> is 25. Ann Lee was born in 1925 and lives in <CITY>.", 0.5),
        ("Ann Lee is 25. Ann Lee was born in 1925 and lives in Oslo. Oslo!", -0.25),
    ],
)
def test_privacy_is_the_share_of_occurrences_that_are_gone(masked: str, expected: float) -> None:
    assert privacy_score(ENTITIES, ORIGINAL, masked) == pytest.approx(expected)


def test_a_text_without_entities_has_no_privacy_score_and_a_look_alike_is_left_all_the_same() -> None:
    assert privacy_score([], ORIGINAL, ORIGINAL) is privacy_score(["Bergen"], ORIGINAL, ORIGINAL) is None
    assert privacy_score(["Ann"], "Ann.", "\uff21nn.") == 0


def test_balance() -> None:
    # The rows of the paper's Table 8.
    assert [round(balance_score(p, u), 2) for p, u in ((0, 1), (1, 0.52), (0.83, 0.89))] == [0.5, 0.76, 0.86]
    curve = balance_curve(0.83, 0.89)
    assert (curve[0], len(curve)) == ((0.0, 0.89), 11)
    assert curve[10] == (1.0, pytest.approx(0.83))


@pytest.mark.parametrize(
    ("entities", "text", "expected"),
    [
        (["25"], "Aged 25, born 1925, room 25b, 25% of 25.", [(5, "25"), (30, "25"), (37, "25")]),
        (["250"], "1,250 or 250.75 or 250.", [(19, "250")]),
        (["$4,200"], "owes $4,200; not US$4,200.50", [(5, "$4,200")]),
        (["@ab_c"], "x@ab_c and @ab_cd and @ab_c", [(1, "@ab_c"), (22, "@ab_c")]),
        # The longest takes its place first, also where a shorter one begins before it.
        (["New York", "York City Hall", "York"], "New York City Hall, York", [(4, "York City Hall"), (20, "York")]),
        (["Ann", "Ann Lee"], "Ann Lee and Ann", [(0, "Ann Lee"), (12, "Ann")]),
        (["ann"], "Ann", []),
        ([""], "Ann", []),
        (["a.b"], "a.b axb", [(0, "a.b")]),
    ],
)
def test_occurrences(entities: list[str], text: str, expected: list[tuple[int, str]]) -> None:
    found = find_occurrences(entities, text)
    assert [(span.start, entity) for span, entity in found] == expected
    assert [text[start:end] for (start, end), _ in found] == [entity for _, entity in expected]


def test_every_occurrence_is_replaced_and_nothing_else() -> None:
    tags = {"Ann Lee": "<PERSON_1>", "Ann": "<NICKNAME_1>", "25": "<AGE_1>"}
    assert mask_texts("Ann Lee (Ann) is 25, born 1925.", tags) == "<PERSON_1> (<NICKNAME_1>) is <AGE_1>, born 1925."


def town_samples(**counts: int) -> list[Sample]:
    """One subject a sample with a name of its own; the town tells the clinic."""
    return [
        sample_of(
            f"N{town}{number} of {town} goes to the {town.upper()} clinic.",
            {f"N{town}{number}": "full_name", town: "city", f"{town.upper()} clinic": "clinic"},
            sample=f"{town}-{number}",
        )
        for town, count in counts.items()
        for number in range(count)
    ]


def masking(samples: list[Sample], *categories: str) -> dict[str, list[str]]:
    """The texts of some categories, by sample."""
    return {
        sample.id: [e.text for subject in sample.subjects for e in subject.entities if e.category in categories]
        for sample in samples
    }


def summarize(outcomes: list[InferenceOutcome], *, seed: int = 0) -> list[ResidualInference]:
    return list(summarize_inference(outcomes, system=None, domain="clinical", seed=seed))


def shares(samples: list[Sample], *categories: str) -> dict[str | None, ResidualInference]:
    outcomes = infer_masked(samples, masking(samples, *categories))
    return {share.category: share for share in summarize(outcomes)}


def test_what_a_visible_value_tells_is_recovered_above_the_prior() -> None:
    samples = town_samples(alta=8, bode=6)
    found = shares(samples, "full_name", "clinic")
    clinic = found["Clinic or practice"]
    assert clinic.masked == 14
    assert clinic.recovered.value == 1
    # Among the 13 others the clinic of Alta is the commonest for every guess: right for eight of fourteen.
    assert clinic.prior.value == pytest.approx(8 / 14)
    assert clinic.above_prior.value == pytest.approx(6 / 14)
    assert clinic.above_prior.low is not None
    assert 0.1 < clinic.above_prior.low < 6 / 14 < (clinic.above_prior.high or 0) < 0.8
    name = found["Full name"]
    assert (name.recovered.value, name.recovered_in_five.value, name.above_prior.value) == (0, 0, 0)
    assert name.above_prior.high is not None
    assert name.above_prior.high > 0.1  # 14 samples cannot rule out more
    assert found[None].recovered.value == 0.5


def test_nothing_visible_recovers_no_more_than_the_prior() -> None:
    clinic = shares(town_samples(alta=8, bode=6), "full_name", "clinic", "city")["Clinic or practice"]
    assert clinic.recovered.value == clinic.prior.value == pytest.approx(8 / 14)
    assert clinic.recovered_in_five.value == 1
    assert clinic.unique.value == 0


def test_too_few_who_are_alike_tell_nothing() -> None:
    # Four others of Bode: fewer than five; the commonest clinic of all is guessed.
    (outcome, *_) = infer_masked(samples := town_samples(bode=5, alta=8), masking(samples, "clinic"))
    assert (outcome.sample, outcome.recovered, outcome.recovered_in_five, outcome.alike) == ("bode-0", False, True, 5)


def test_nothing_is_known_from_the_same_sample() -> None:
    at_glim = ({"Eva": "nickname", "Glim": "company"}, {"Ida": "nickname", "Glim": "company"})
    twins = sample_of("Eva and Ida work at Glim.", *at_glim, sample="twins")
    at_acme = {"Bo": "nickname", "Acme": "company"}
    others = [sample_of("Bo works at Acme.", at_acme, sample=f"bo-{number}") for number in range(9)]
    outcomes = infer_masked([twins, *others], {"twins": ["Glim"]})
    assert [(outcome.sample, outcome.recovered_in_five, outcome.alike) for outcome in outcomes] == [
        ("twins", False, 10),
        ("twins", False, 10),
    ]
    # Alone there is nobody to know anything from.
    assert not any(outcome.prior_in_five for outcome in infer_masked([twins], {"twins": ["Glim", "Eva"]}))


def test_a_visible_value_of_the_same_category_is_no_guess() -> None:
    # Everybody has two employers; the one that is seen tells what the other is not.
    samples = [
        sample_of("From Acme to Glim.", {"Acme": "company", "Glim": "company"}, sample=f"s{number}")
        for number in range(7)
    ] + [sample_of("At Moss.", {"Moss": "company"}, sample=f"m{number}") for number in range(9)]
    (outcome,) = infer_masked(samples, {"s0": ["Glim"]})
    assert (outcome.recovered, outcome.prior) == (False, False)
    both = sample_of("Acme, Moss.", {"Acme": "company", "Moss": "company"})
    (moss,) = infer_masked([*samples, both], {"q1": ["Moss"]})
    # Narrowed by Acme he would say Acme, which is seen.
    assert (moss.recovered, moss.prior) == (True, True)


def test_whoever_shares_nothing_visible_is_unique() -> None:
    samples = [*town_samples(alta=6), *town_samples(moss=1)]
    found = infer_masked(samples, masking(samples, "clinic"))
    assert [outcome.alike for outcome in found] == [6] * 6 + [1]
    (everything, _) = summarize(found)
    assert everything.unique.value == pytest.approx(1 / 7)


def test_the_same_seed_gives_the_same_intervals() -> None:
    outcomes = infer_masked(samples := town_samples(alta=8, bode=6), masking(samples, "clinic"))
    assert summarize(outcomes, seed=3) == summarize(outcomes, seed=3)
    assert summarize([])[0].recovered.value is None
