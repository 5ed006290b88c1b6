"""What the summary says of the rules, of the text beside the headline, and of the gradient."""

import pytest
from support.results.filled_results import filled, with_status
from support.results.planted_decision import decision, rule

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.decision import Decision
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.memorization import Memorization
from clinaudit.reports.schema.results import Results
from clinaudit.reports.suppression.small_cells import band
from clinaudit.reports.wording.captions import gradient_caption
from clinaudit.reports.wording.findings import compared_sentence, headline_sentences, not_measured_sentences
from clinaudit.reports.wording.verdict import tier_sentences


def by_tier(statuses: str) -> Decision:
    words = {"f": "fail", "i": "inconclusive", "p": "pass"}
    pairs = zip(TIER_IDS, statuses.split(), strict=False)
    return decision(*(rule(tier, words[letter]) for tier, letters in pairs for letter in letters))


@pytest.mark.parametrize(
    ("statuses", "sentences"),
    [
        (
            "p p ii f f f",
            "every rule failed at tiers 4 to 6. No rule could be decided at tier 3: more than 10% of the texts are too"
            " short; no rule passes. Every rule passed at tiers 1 and 2.",
        ),
        ("p p p p p p", "every rule passed at tiers 1 to 6."),
        ("f pf f f p p", "every rule failed at tiers 1, 3 and 4, 1 of 2 rules failed at tier 2. Every rule passed at"),
        ("ipp p p p", "1 of 3 rules could not be decided at tier 1: more than 10% of the texts"),
        ("ipp p p p", "tiers 2 to 4, 2 of 3 rules passed at tier 1. The policy has no rule for tiers 5 and 6."),
    ],
)
def test_the_summary_says_what_became_of_each_tier(statuses: str, sentences: str) -> None:
    assert sentences in tier_sentences(by_tier(statuses))


def test_several_reasons_are_left_to_the_table() -> None:
    text = tier_sentences(decision(rule("public", "inconclusive", "One."), rule("public", "inconclusive", "Two.")))
    assert "No rule could be decided at tier 1 (why: “The policy, rule by rule”)." in text.replace(": no", ": No")


def test_without_rules_on_tiers_nothing_is_said() -> None:
    assert tier_sentences(None) == tier_sentences(decision(rule(None, "inconclusive"))) == ""


def test_ids_outside_the_ladder_stand_as_they_are() -> None:
    assert "every rule failed at tiers 1 and other" in tier_sentences(
        decision(rule("other", "fail"), rule("public", "fail"))
    )


def with_train(results: Results, **changes: object) -> Results:
    arms = results.memorization["encounter"]
    train = Memorization.model_validate({**arms["train"].model_dump(), **changes})
    return results.model_copy(update={"memorization": {**results.memorization, "encounter": {**arms, "train": train}}})


def test_the_headline_stands_beside_all_memorized_text() -> None:
    assert "echoes of the prompt, 61% (95% interval" in headline_sentences(filled())[1]
    bounded = with_train(filled(), memorized_fraction=band(0.85, 1.0))
    assert (
        "echoes of the prompt, at least 85% (exact figure suppressed) stands word for word"
        in headline_sentences(bounded)[1]
    )


def test_the_headline_gives_the_range_that_the_rule_reads() -> None:
    observed = Estimate(value=0.284, low=0.2, high=0.4)
    outcome = rule("encounter", "fail", metric="attributable_fraction", observed=observed)
    told = filled().model_copy(update={"decision": decision(outcome)})
    assert "reads the attributable share with wider bounds: 28% (20% to 40%)." in headline_sentences(told)[1]
    hidden = outcome.model_copy(update={"observed": band(0.2, 0.4)})
    assert "mean over patients" not in headline_sentences(told.model_copy(update={"decision": decision(hidden)}))[1]


def test_one_hidden_arm_of_a_pair_is_said_to_be_one_arm() -> None:
    results = filled()
    pair = results.disclosure.by_diagnosis["hiv"]["public"]
    assert pair.nontrain is not None
    nontrain = pair.nontrain.model_copy(update={"auroc_all": band(0.4, 0.6)})
    pairs = {**results.disclosure.by_diagnosis["hiv"], "public": pair.model_copy(update={"nontrain": nontrain})}
    by_diagnosis = {**results.disclosure.by_diagnosis, "hiv": pairs}
    disclosure = results.disclosure.model_copy(update={"by_diagnosis": by_diagnosis})
    gaps = " ".join(not_measured_sentences(results.model_copy(update={"disclosure": disclosure})))
    assert "the AUROC of one arm at least, in 1 of 36 pairs" in gaps


def train_means(name: str, values: dict[str, Estimate]) -> Results:
    figures = filled().memorization["public"]["train"]
    tiers = {tier: {"train": figures.model_copy(update={name: mean})} for tier, mean in values.items()}
    return Results.model_validate({"memorization": {tier: dict(arms) for tier, arms in tiers.items()}})


def shares(*values: float) -> dict[str, Estimate]:
    return {tier: Estimate(value=value) for tier, value in zip(TIER_IDS, values, strict=False)}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.02, 0.03, 0.9), "rises from 2.0% (Public demographics) to 90% (Demographics, name, medications)."),
        (
            (0.02, 0.01, 0.9),
            "goes from 2.0% (Public demographics) to 90% (Demographics, name, medications), though not",
        ),
        ((0.02, 0.01, 0.9), "not up at every step: 1.0% at Demographics and name."),
        ((0.02, 0.02, 0.9), "goes from 2.0% (Public demographics) to 90% (Demographics, name, medications)."),
        ((0.9, 0.5, 0.1), "goes from 90% (Public demographics) to 10% (Demographics, name, medications)."),
    ],
)
def test_the_gradient_rises_only_where_every_step_does(values: tuple[float, ...], words: str) -> None:
    assert words in gradient_caption(train_means("memorized_fraction", shares(*values)))


def test_a_hidden_step_is_not_called_rising() -> None:
    values = {**shares(0.02, 0.03, 0.9), "public_name": band(0.0, 0.03)}
    assert "goes from 2.0%" in gradient_caption(train_means("memorized_fraction", values))


def test_a_fall_where_the_prompt_holds_more_of_the_note_is_explained() -> None:
    fallen = gradient_caption(train_means("attributable_fraction", shares(0.3, 0.2, 0.1, 0.5, 0.71, 0.67)))
    assert "falls from 71% at Appointment and chief complaint to 67% at Appointment, complaint and history" in fallen
    assert "less left to learn" in fallen
    assert "less left" not in gradient_caption(
        train_means("attributable_fraction", shares(0.3, 0.2, 0.1, 0.5, 0.6, 0.7))
    )


@pytest.mark.parametrize(
    ("controls", "words"),
    [
        ("sensitive", "(controls) have another diagnosis of the panel."),
        ("any", "(controls) need have no other diagnosis of the panel."),
        (None, "--controls says."),
    ],
)
def test_who_the_controls_are_comes_from_the_setting(controls: str | None, words: str) -> None:
    assert words in compared_sentence(filled(), controls)
    assert compared_sentence(with_status("unavailable"), controls) == ""
