"""Other patients' text in words: beside its limit, the never-seen and chance; on the first screen where it decides."""

import pytest
from support.results.filled_published import VARIANTS, published, unmeasured

from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.captions import others_text_sentences, others_tier
from clinaudit.reports.wording.findings import key_figures, key_tier, other_words_figure


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
