"""Residual inference on constructed samples, where it is known what can be guessed."""

import pytest
from support.pii.plain_samples import sample_of

from clinaudit.audit.pii.benchmark.sample import Sample
from clinaudit.audit.pii.benchmark.scoring.residual_inference import InferenceOutcome, infer_masked, summarize_inference
from clinaudit.reports.schema.pii_bench import ResidualInference


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
