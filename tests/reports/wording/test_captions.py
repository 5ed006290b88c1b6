"""What the parts “Repeated text” and “Diagnoses” conclude, in sentences."""

import pytest
from support.results.filled_published import VARIANTS, exact, published, unmeasured

from clinaudit.reports.schema.memorization import SectionComposition
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.captions import (
    balance_sentence,
    excess_caption,
    frequency_text,
    judge_quality_sentences,
    own_text_sentences,
    rule_limit,
    sections_caption,
    shown_tier,
    spread_sentence,
    stated_sentences,
)

RESULTS = published()


def test_own_text_has_its_limit_and_the_never_seen_beside_it() -> None:
    first, second = own_text_sentences(RESULTS)
    assert first.startswith("For someone who holds an appointment reminder, 70% (")
    assert "the policy allows at most 5%" in first
    assert second.startswith("For patients it never saw: ")
    assert "the policy allows" not in own_text_sentences(RESULTS.model_copy(update={"decision": None}))[0]


def test_without_held_out_patients_nothing_is_owed_to_training() -> None:
    results = VARIANTS["train-only"]().results
    assert own_text_sentences(results)[1].endswith("what is due to training is unknown.")
    assert stated_sentences(results)[-1] == "No patient that the model never saw was asked about."


@pytest.mark.parametrize("results", [RunResults(), unmeasured()], ids=["empty", "all-null"])
def test_nothing_measured_is_said_and_never_a_zero(results: RunResults) -> None:
    said = " ".join((*own_text_sentences(results), *stated_sentences(results)))
    assert "not measured" in said
    assert "0%" not in said


def test_false_statements_about_the_never_seen_are_said_plainly() -> None:
    last = stated_sentences(RESULTS)[-1]
    assert "never-seen patients who do not have it" in last
    assert "a false claim about a person" in last


def test_sentences_speak_of_the_highest_tier_where_the_headline_was_not_run() -> None:
    assert shown_tier({"public": 1, "encounter": 1, "encounter_cc": 1}) == "encounter"
    assert shown_tier({"public": 1, "encounter_cc": 1, "public_name": 1}) == "encounter_cc"
    assert shown_tier({}) is None


def test_a_limit_is_that_of_the_same_metric_tier_and_diagnosis() -> None:
    assert rule_limit(RESULTS, "attributable_fraction", "public") == 0.05
    assert rule_limit(RESULTS, "auroc_all", "public", "hiv") == 0.25
    assert rule_limit(RESULTS, "auroc_all", "public") is None
    assert rule_limit(RESULTS, "memorized_fraction", "public") is None


def test_shares_of_sections_are_of_what_is_shown() -> None:
    section = SectionComposition(
        section="plan", revealing_single=0.6, revealing_shared=0.0, templated_single=0.2, templated_shared=0.0
    )
    assert "about 75% is medical and in nobody else's notes; about 25% is template text." in sections_caption([section])
    nothing = section.model_copy(update={"revealing_single": 0.0, "templated_single": 0.0})
    assert "is unknown" in sections_caption([nothing])


def test_the_worst_off_patients_are_named_with_exact_results_alone() -> None:
    assert spread_sentence(None) == ""
    spread = exact().memorization["encounter"]["train"].evidence
    assert spread_sentence(spread) == (
        "Among the worst-off tenth of the patients it is 54% on average, among half of all at most 28%."
    )


def test_the_excess_counts_what_fails_passes_and_cannot_be_told() -> None:
    caption = excess_caption(RESULTS, [0.25])
    assert "The policy's limit is 0.25." in caption
    assert "Of 36 comparisons 18 fail, 12 pass and 6 cannot be decided." in caption
    assert "No rule of a policy limits it." in excess_caption(RunResults(), [])


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.167, 0.167, "about 1 in 6"),
        (0.0, 0.0, "none"),
        (0.0, 0.05, "up to 1 in 20"),
        (0.1, 0.2, "1 in 10 to 1 in 5"),
        (0.7, 0.7, "about 7 in 10"),
        (0.0005, 0.0005, "about 1 in 2,000"),
    ],
)
def test_shares_are_natural_frequencies(low: float, high: float, words: str) -> None:
    assert frequency_text(low, high) == words


def test_balance_names_the_largest_difference_and_whom_nobody_could_be_matched_for() -> None:
    said = balance_sentence(RESULTS)
    assert "standard deviations" in said
    # One number, not two that say the same.
    assert "differences" not in said
    alone = balance_sentence(VARIANTS["train-only"]().results)
    assert "not measured" in alone
    assert "Nobody could be matched for a recorded abortion, anxiety, bipolar disorder" in alone


def test_the_judges_quality_says_what_was_not_measured() -> None:
    quality = RESULTS.judge_quality
    assert quality is not None
    nothing = quality.model_copy(update={"hiding_rate": EstimateRange(reason="no planted text")})
    assert judge_quality_sentences(nothing).endswith("hide a stated diagnosis in not measured.")
    assert judge_quality_sentences(None) == ""
