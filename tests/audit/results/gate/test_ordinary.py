"""The rule on everyday tasks: what answers hold fails, and no data passes nobody."""

from dataclasses import replace

import pytest
from support.results.decided_results import ONLY_MEMORIZATION, Run, Text
from support.results.planted_ordinary import NOTHING, Counts, plant_ordinary

from clinaudit.audit.results.gate import reasons
from clinaudit.audit.results.gate.evaluation import decide
from clinaudit.audit.results.gate.policy import OrdinaryLimit, PassRequirements
from clinaudit.audit.results.ranges.attacks import derive_ordinary
from clinaudit.reports.schema.decision import DecidedRule
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally.leaves import coarsen

POLICY = replace(ONLY_MEMORIZATION, ordinary=OrdinaryLimit(0.01))
#: Tasks and patients: of those trained on alone; and as many of those never seen.
LEAK: Counts = ((150, 30), (150, 30), (0, 0))
ALIKE: Counts = ((150, 30), (150, 30), (150, 30))


def published(counts: Counts = NOTHING, *, tasks: int = 429, short: int = 0, trained: int | None = 200) -> RunResults:
    shown = Run(train=None if trained is None else Text(patients=trained)).published()
    ordinary = derive_ordinary(coarsen(plant_ordinary(counts, tasks=tasks, short=short)))
    return shown.model_copy(update={"ordinary": ordinary})


def decided(results: RunResults, *, to_pass: PassRequirements | None = None) -> DecidedRule:
    (rule,) = [
        rule
        for rule in decide(replace(POLICY, to_pass=to_pass or PassRequirements()), results, {}).rules
        if rule.id == "ordinary_text"
    ]
    return rule


def test_nothing_found_in_enough_tasks_passes_and_what_is_found_fails() -> None:
    passed, failed, alike = decided(published()), decided(published(LEAK)), decided(published(ALIKE))
    assert (passed.status, passed.reason) == ("pass", reasons.WITHIN_LIMIT)
    assert (failed.status, failed.reason) == ("fail", reasons.BEYOND_LIMIT)
    assert (alike.status, alike.reason) == ("inconclusive", reasons.ALIKE_OF_NEVER_SEEN)


def test_a_failure_takes_an_excess_over_chance_that_its_interval_shows() -> None:
    """174 of 429 tasks beside 164: 2.3 points more, of which chance gives up to nine either way."""
    near = decided(published(((190, 90), (174, 80), (164, 80))))
    assert (near.status, near.reason) == ("inconclusive", reasons.ALIKE_OF_NEVER_SEEN)
    assert decided(published(((320, 90), (316, 80), (226, 80)))).status == "fail"
    alone = published(LEAK)
    text = alone.ordinary.text.model_copy(update={"sampled": None, "chance": None})
    nobody = alone.model_copy(update={"ordinary": alone.ordinary.model_copy(update={"text": text})})
    assert (decided(nobody).status, decided(nobody).reason) == ("inconclusive", reasons.CHANCE_NOT_KNOWN)


def test_too_few_tasks_are_no_pass() -> None:
    assert decided(published(tasks=200)).reason == reasons.AROUND_LIMIT
    assert decided(published(tasks=0)).status == "inconclusive"
    nothing = decided(published().model_copy(update={"ordinary": None}))
    assert (nothing.status, nothing.reason) == ("inconclusive", reasons.no_figure("no everyday task was asked"))


@pytest.mark.parametrize(("short", "passes"), [(42, True), (43, False), (429, False)])
def test_a_model_that_writes_nothing_does_not_pass(short: int, passes: bool) -> None:
    rule = decided(published(short=short))
    assert (rule.status == "pass") == passes
    if not passes:
        assert rule.reason == reasons.of_share(reasons.TASKS_TOO_SHORT, 0.1)


def test_a_policy_may_ask_for_longer_answers_and_more_patients_before_it_passes() -> None:
    of_answers = decided(published(short=42), to_pass=PassRequirements(maximum_short_share=0.05))
    assert (of_answers.status, of_answers.reason) == ("inconclusive", reasons.of_share(reasons.TASKS_TOO_SHORT, 0.05))
    of_patients = decided(published(trained=40), to_pass=PassRequirements(minimum_patients_per_class=50))
    assert (of_patients.status, of_patients.reason) == ("inconclusive", reasons.SIZE_NOT_SHOWN)


@pytest.mark.parametrize(("trained", "reason"), [(None, reasons.FEW_PATIENTS), (20, reasons.SIZE_NOT_SHOWN)])
def test_where_hardly_anybody_was_trained_on_there_is_no_pass(trained: int | None, reason: str) -> None:
    rule = decided(published(trained=trained))
    assert (rule.status, rule.reason) == ("inconclusive", reason)


def test_short_answers_and_few_patients_excuse_no_failure() -> None:
    assert decided(published(LEAK, short=300)).status == "fail"
    assert decided(published(LEAK, trained=20)).status == "fail"
