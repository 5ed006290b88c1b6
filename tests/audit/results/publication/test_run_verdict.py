"""The verdict on a finished run: recorded, from published ranges, or exact; and that these do not contradict."""

from pathlib import Path

import pytest
from support.results.filled_results import exact_of, filled, published_of

from clinaudit.audit.results.gate import reasons
from clinaudit.audit.results.gate.policy import locate_policy
from clinaudit.audit.results.publication.run_verdict import find_exact_verdict, find_verdict
from clinaudit.audit.runtime.choices import SHIPPED
from clinaudit.audit.runtime.run.durable_files import sha256_of
from clinaudit.errors import IntegrityError
from clinaudit.reports.schema.decision import DecidedOn
from clinaudit.reports.schema.results import RunResults

OWN = {"settings": {"--policy": sha256_of(locate_policy(None))}}


@pytest.fixture(scope="module")
def measured() -> tuple[RunResults, RunResults]:
    tally = filled(cell=30)
    return exact_of(tally), published_of(tally)


@pytest.mark.parametrize("policy", SHIPPED)
def test_what_the_ranges_settle_is_what_the_exact_numbers_decide(measured, policy: str) -> None:
    exact, published = measured
    undecided = exact.model_copy(update={"decision": None})
    anew = published.model_copy(update={"decision": None})
    settled = find_verdict(anew, {}, given=Path(policy)).decision
    decided = find_exact_verdict(anew, undecided, {}, given=Path(policy)).decision
    assert [rule.id for rule in settled.rules] == [rule.id for rule in decided.rules]
    known = [
        (rule.id, rule.status, other.status)
        for rule, other in zip(settled.rules, decided.rules, strict=True)
        if rule.reason != reasons.UNSETTLED
    ]
    assert known
    assert [(name, status) for name, status, _ in known] == [(name, status) for name, _, status in known]


def test_the_runs_own_policy_is_known_by_its_digest(measured) -> None:
    _, published = measured
    own = find_verdict(published, OWN, given=None)
    assert own.basis == "recorded"
    assert own.decision == published.decision
    assert find_verdict(published, OWN, given=Path("default")) == own
    assert find_verdict(published, OWN, given=Path("strict")).basis == "published"


@pytest.mark.parametrize("record", [{}, {"settings": None}, {"settings": {"--policy": "0" * 64}}, {"settings": []}])
def test_a_verdict_whose_policy_is_not_at_hand_is_returned_alone(measured, record: dict[str, object]) -> None:
    _, published = measured
    assert find_verdict(published, record, given=None) == (published.decision, "recorded")
    assert find_verdict(published, record, given=Path("default")).basis == "published"


def test_an_exact_verdict_of_the_runs_own_policy_is_the_recorded_one_with_exact_figures(measured) -> None:
    exact, published = measured
    for given in (None, Path("default")):
        shown = find_exact_verdict(published, exact, OWN, given=given).decision
        assert (shown.status, shown.reason) == (published.decision.status, published.decision.reason)
        assert [rule.decided_on for rule in shown.rules] == [rule.decided_on for rule in published.decision.rules]
        by_id = {rule.id: rule for rule in shown.rules}
        attributable = exact.memorization["encounter"]["train"].attributable_fraction.mean
        assert by_id["memorization/attributable_fraction/encounter"].observed.value == attributable.value
        delta = exact.disclosure.by_diagnosis["hiv"]["encounter"].delta
        assert delta is not None
        observed = by_id["disclosure/auroc_all/hiv/encounter"].observed
        assert (observed.value, observed.confidence_high) == (
            delta["auroc_all"].value,
            delta["auroc_all"].confidence_high,
        )


@pytest.mark.parametrize(
    ("metric", "status"), [("attributable_fraction", "pass"), ("own", "fail"), ("auroc_all", "pass"), ("hit_rate", "")]
)
def test_a_status_that_the_published_figures_contradict_is_no_verdict(measured, metric: str, status: str) -> None:
    _, published = measured
    decision = published.decision
    rules = [rule.model_copy(update={"status": status}) if rule.metric == metric else rule for rule in decision.rules]
    if not status:
        # Rules that the shipped policy does not have.
        rules = [rule for rule in decision.rules if rule.metric != "other_patient_fraction"]
    edited = decision.model_copy(update={"rules": rules, "status": "fail"})
    with pytest.raises(IntegrityError, match="the recorded verdict is not what"):
        find_verdict(published.model_copy(update={"decision": edited}), OWN, given=None)


def test_figures_that_were_edited_with_the_status_contradict_the_results(measured) -> None:
    _, published = measured
    decision = published.decision
    first, *others = decision.rules
    nothing = DecidedOn(low=0.0, high=0.01)
    edited = decision.model_copy(update={"rules": [first.model_copy(update={"decided_on": nothing}), *others]})
    # Whatever its policy is: it need not be at hand.
    with pytest.raises(IntegrityError, match="the published figures"):
        find_verdict(published.model_copy(update={"decision": edited}), {}, given=None)
