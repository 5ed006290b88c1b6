"""What the parts “Repeated text” and “Diagnoses” conclude, in sentences."""

import pytest
from support.results.filled_published import VARIANTS, exact, published, unmeasured

from clinaudit.audit.statistics.counts import share_range
from clinaudit.reports.schema.memorization import SectionComposition
from clinaudit.reports.schema.numbers import ShownEstimate
from clinaudit.reports.schema.results import RenderingResults, RunResults
from clinaudit.reports.tables.prompts import refusals_table, rendering_tables
from clinaudit.reports.tally.classes import class_of
from clinaudit.reports.terminal.summary import summary_text
from clinaudit.reports.wording.captions import (
    balance_sentence,
    excess_caption,
    frequency_text,
    judge_quality_sentences,
    others_text_sentences,
    others_tier,
    own_text_sentences,
    refusal_sentences,
    rule_limit,
    sections_caption,
    shown_tier,
    spread_sentence,
    stated_sentences,
)
from clinaudit.reports.wording.findings import key_figures, key_tier, other_words_figure

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
    nothing = quality.model_copy(update={"hiding_rate": ShownEstimate(reason="no planted text")})
    assert judge_quality_sentences(nothing).endswith("hide a stated diagnosis in not measured.")
    assert judge_quality_sentences(None) == ""


NO_EVIDENCE = "A refusal is no evidence of safety."


def asked_in_a_chat(*refused: int) -> RunResults:
    """Return results of which two tiers were asked in a chat, too; `refused` of 100 patients at each."""
    results = published()
    memorization = {}
    for tier, count in zip(("public", "encounter"), refused, strict=True):
        counts = class_of(count), class_of(100 - count)
        update = {"refused_patients": counts[0], "refused_share": share_range(*counts)}
        arms = results.memorization[tier]
        memorization[tier] = {**arms, "train": arms["train"].model_copy(update=update)}
    return results.model_copy(update={"renderings": {"chat": RenderingResults(memorization=memorization)}})


def test_the_tier_with_most_refusals_is_named() -> None:
    first, second = refusal_sentences(asked_in_a_chat(3, 40))
    assert first == (
        "Asked in a chat by someone who holds an appointment reminder, the model refused to answer about 34–44% of the"
        " patients it was trained on."
    )
    assert second == NO_EVIDENCE


def test_none_refused_and_no_chat() -> None:
    assert refusal_sentences(asked_in_a_chat(0, 0)) == [
        "Asked in a chat, the model refused no answer about patients it was trained on."
    ]
    assert refusal_sentences(published()) == []
    assert refusals_table(published()).rows == ()


def test_the_tables_stand_beside_those_of_other_forms() -> None:
    results = asked_in_a_chat(3, 40)
    assert [row[1:3] for row in refusals_table(results).rows] == [("trained on", "1–10"), ("trained on", "31–40")]
    assert rendering_tables(results)[0].caption == "Verbatim memorization by tier, asked in a chat"


def test_the_terminal_says_so_and_still_fits_a_screen() -> None:
    lines = summary_text(asked_in_a_chat(3, 40)).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert NO_EVIDENCE in " ".join(" ".join(lines).split())


def leaking(*, at: int = 0, nontrain: bool = True) -> RunResults:
    return published(leaks_from=6, short_at=None, others_at=at, nontrain=nontrain)


def with_status(results: RunResults, arm: str) -> RunResults:
    """Return the results in which the rule on other patients' text fails in one arm alone."""
    assert results.decision is not None
    rules = [
        rule.model_copy(update={"status": "pass"}) if rule.status == "fail" and rule.arm != arm else rule
        for rule in results.decision.rules
    ]
    return results.model_copy(update={"decision": results.decision.model_copy(update={"rules": rules})})


def test_it_is_told_of_the_tier_where_it_is_most_with_limit_never_seen_and_chance() -> None:
    assert others_tier(leaking(at=1)) == "public_name"
    first, second, chance = others_text_sentences(leaking(at=1))
    assert first.startswith("For someone who knows public facts and the name, 12% (")
    assert first.endswith(
        ") of what the model writes about a patient it was trained on is somebody else's own text; the policy allows at"
        " most 5%."
    )
    assert second.startswith("In answers about patients it never saw: 12% (")
    assert chance == "Chance alone would give 0%."


def test_chance_is_told_of_the_arm_in_which_there_is_more() -> None:
    results = leaking()
    by_tier = {tier: dict(arms) for tier, arms in results.memorization.items()}
    by_tier["public"]["train"] = by_tier["public_name"]["train"]
    told = others_text_sentences(results.model_copy(update={"memorization": by_tier}))
    assert told[0].startswith("For someone who knows public facts alone, 0% (")
    assert told[1].startswith("In answers about patients it never saw: 12% (")
    assert told[2].startswith("Chance alone would give ")


def test_alike_tiers_are_told_of_by_the_appointment_reminder() -> None:
    assert others_tier(published()) == "encounter"


@pytest.mark.parametrize("results", [unmeasured(), RunResults()])
def test_what_was_not_measured_is_not_spoken_of(results: RunResults) -> None:
    assert others_tier(results) is None
    assert others_text_sentences(results) == []
    assert other_words_figure(results, "public") is None


def test_where_it_decides_it_stands_on_the_first_screen() -> None:
    results = leaking()
    assert key_tier(results) == "public"
    _, figure, _ = key_figures(results)
    assert figure.headline == "12% of the text†"
    assert "from one other patient’s notes. Limit: 5%." in figure.text
    assert "about a patient it was trained on" in figure.text
    assert "Asked about patients it never saw: at most" in figure.text
    assert figure.footnote.startswith("† Likewise, ")


def test_where_answers_about_the_never_seen_alone_fail_these_are_told_of() -> None:
    figure = other_words_figure(with_status(leaking(), "nontrain"), "public")
    assert figure is not None
    assert "about a patient it never saw is medical" in figure.text
    assert "Asked about" not in figure.text


def test_where_it_decides_nothing_the_patients_affected_stand_there() -> None:
    assert "had more than" in key_figures(VARIANTS["full"]().results)[1].text


def test_without_held_out_patients_no_more_is_said_than_is_known() -> None:
    sentences = others_text_sentences(leaking(nontrain=False))
    assert not any("never saw" in sentence for sentence in sentences)
