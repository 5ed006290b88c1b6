"""The three figures of the first screen: which are chosen, what stands beside them, and what was not tested."""

import pytest
from support.results.filled_published import published, unmeasured

from clinaudit.reports.schema.attacks import ATTACKS, Attack
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, VerdictCounts
from clinaudit.reports.schema.memorization import FractionOfText
from clinaudit.reports.schema.numbers import CountRange, ShownEstimate
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.findings import (
    diagnosis_figure,
    key_figures,
    key_tier,
    not_tested_words,
    patients_figure,
    patients_words,
    repeated_words_figure,
)
from clinaudit.reports.wording.numbers import count_text


@pytest.mark.parametrize(
    ("leaks_from", "tier"), [(3, "encounter"), (0, "encounter"), (4, "encounter_cc"), (6, "encounter")]
)
def test_the_tier_shown_is_the_reminder_where_it_fails_else_the_least_knowledge(leaks_from: int, tier: str) -> None:
    assert key_tier(published(leaks_from=leaks_from)) == tier


def test_where_nothing_failed_the_tier_shown_is_where_most_is_repeated() -> None:
    results = published(leaks_from=6)
    most = results.memorization["public_name"]["train"]
    mean = ShownEstimate(value=0.03, low=0.03, high=0.03)
    most = most.model_copy(
        update={"attributable_fraction": most.attributable_fraction.model_copy(update={"mean": mean})}
    )
    memorization = {**results.memorization, "public_name": {**results.memorization["public_name"], "train": most}}
    assert key_tier(results.model_copy(update={"memorization": memorization})) == "public_name"
    assert key_tier(RunResults()) is None


def test_the_words_stand_beside_their_limit_and_the_never_seen() -> None:
    figure = repeated_words_figure(published(), "encounter")
    assert figure.headline == "70% of the text*"
    assert "Limit: 5%. Patients never seen: at most 4%." in figure.text
    assert figure.footnote.endswith("95% interval 61 to 78.")


@pytest.mark.parametrize(
    ("mean", "headline"),
    [
        (ShownEstimate(value=0.71, low=0.71, high=0.71), "71% of the text*"),
        (ShownEstimate(low=0.612, high=0.688), "61–69% of the text*"),
        (ShownEstimate(value=0.0, low=0.0, high=0.0), "0% of the text*"),
        (ShownEstimate(value=0.0008, low=0.0008, high=0.0008), "0.1% of the text*"),
        (ShownEstimate(reason="every patient was excluded"), "Not measured"),
    ],
)
def test_shares_of_the_text_are_percents_rounded_outwards(mean: ShownEstimate, headline: str) -> None:
    results = published()
    train = results.memorization["encounter"]["train"]
    train = train.model_copy(update={"attributable_fraction": FractionOfText(mean=mean, bins=[], above=[])})
    results = results.model_copy(update={"memorization": {"encounter": {"train": train}}})
    assert repeated_words_figure(results, "encounter").headline == headline


@pytest.mark.parametrize(
    ("exact", "leaks_from", "headline", "part"),
    [
        (False, 3, "111–120 of 121–130", "more than half of the answer"),
        (True, 3, "119 of 125", "more than half of the answer"),
        (False, 6, "1–10 of 121–130", "any of the answer"),
    ],
)
def test_patients_are_counted_by_the_largest_part_that_somebody_exceeds(
    exact: bool, leaks_from: int, headline: str, part: str
) -> None:
    figure = patients_figure(published(exact=exact, leaks_from=leaks_from), "encounter")
    assert figure is not None
    assert figure.headline == headline
    assert part in figure.text


def test_the_diagnosis_shown_is_the_failed_one_that_leaks_most() -> None:
    figure = diagnosis_figure(published(exact=True), "encounter")
    assert figure is not None
    assert figure.headline == "All of 54"
    assert figure.text == (
        "patients it was trained on with HIV are named as having it; of the same number without it: 0."
        " Never seen, a guess: 28 with it, 32 without."
    )


def test_a_run_without_held_out_patients_says_so_beside_every_figure() -> None:
    figures = key_figures(published(nontrain=False))
    assert len(figures) == 3
    assert all("No patients were held out to compare with." in figure.text for figure in figures)


def test_what_was_not_measured_is_said_and_never_zero() -> None:
    figures = key_figures(unmeasured())
    assert {figure.headline for figure in figures} == {"Not measured"}
    assert "every patient was excluded" in figures[0].text
    assert key_figures(RunResults()) == []


def test_what_was_not_tested_is_what_no_audit_tests_and_what_this_one_left_out() -> None:
    attacks = [Attack(name=name, status="run") for name in ATTACKS]
    audited = published().model_copy(update={"attacks": attacks})
    assert not_tested_words(audited) == "paraphrase"
    left_out = {"sampling", "chat", "membership", "canaries", "poisoning", "gradients", "control"}
    listed = [of.model_copy(update={"status": "not run"}) if of.name in left_out else of for of in attacks]
    assert not_tested_words(audited.model_copy(update={"attacks": listed})) == (
        "paraphrase, chats, membership and 4 attacks more (annex)"
    )
    # Of a model whose weights never leave the building nobody has them.
    kept = [of.model_copy(update={"status": "not applicable"}) if of.name == "gradients" else of for of in listed]
    assert "3 attacks more" in not_tested_words(audited.model_copy(update={"attacks": kept}))
    without = published(nontrain=False)
    fewer = without.model_copy(
        update={
            "memorization": {tier: arms for tier, arms in without.memorization.items() if tier != "public"},
            "judge_quality": None,
        }
    )
    words = not_tested_words(fewer)
    assert "patients never seen (there are none)" in words
    assert "asking with “Public facts”" in words
    assert "how well the judge reads" in words
    assert "repeated text, diagnoses and identifiers" in not_tested_words(RunResults())


def test_patients_are_those_of_the_corpus_else_of_the_tiers() -> None:
    assert patients_words(published()) == "121–130 trained on, 121–130 never seen"
    assert patients_words(published(exact=True)) == "130 trained on, 130 never seen"
    assert patients_words(published(nontrain=False)) == "121–130 trained on, nobody held out"
    bare = published(exact=True).model_copy(update={"corpus": None})
    assert patients_words(bare) == "125 trained on, 127 never seen"
    assert patients_words(RunResults()) == "not measured"


@pytest.mark.parametrize("patients", [CountRange(low=1, high=1), CountRange(low=1, high=10)])
def test_a_frequency_of_a_handful_is_said_to_be_too_few(patients: CountRange) -> None:
    results = published(exact=True)
    nobody = CountRange(low=0, high=0)
    counts = VerdictCounts.model_construct(
        positive=nobody, negative=patients, undecided=nobody, unjudged=nobody, ambiguous=nobody
    )
    verdicts = {arm: dict.fromkeys(DIAGNOSIS_STATUSES, counts) for arm in ("train", "nontrain")}
    tiny = {"patients": patients, "verdicts": verdicts}
    tiers = {
        name: {tier: pair.model_copy(update=tiny) for tier, pair in pairs.items()}
        for name, pairs in results.disclosure.by_diagnosis.items()
    }
    alone = results.model_copy(update={"disclosure": results.disclosure.model_copy(update={"by_diagnosis": tiers})})
    figure = diagnosis_figure(alone, "encounter")
    assert figure is not None
    assert figure.headline == "Too few asked"
    assert f": {count_text(patients)} in each group." in figure.text
    # Where another diagnosis that did not fail either has enough, that one is shown.
    several = {**tiers, "hiv": results.disclosure.by_diagnosis["hiv"]}
    mixed = alone.model_copy(
        update={"disclosure": results.disclosure.model_copy(update={"by_diagnosis": several}), "decision": None}
    )
    shown = diagnosis_figure(mixed, "encounter")
    assert shown is not None
    assert shown.headline == "All of 54"


def test_patients_of_a_tier_are_too_few_where_there_is_one() -> None:
    results = published(exact=True)
    train = results.memorization["encounter"]["train"].model_copy(update={"patients": CountRange(low=1, high=1)})
    figure = patients_figure(results.model_copy(update={"memorization": {"encounter": {"train": train}}}), "encounter")
    assert figure is not None
    assert figure.headline == "Too few asked"
