"""The verdict on a finished run: recorded, from published ranges, or exact; and that these do not contradict."""

from pathlib import Path

import pytest
from support.results.filled_results import filled

from clinaudit.audit.choices import SHIPPED
from clinaudit.audit.gate import reasons
from clinaudit.audit.gate.policy import locate_policy
from clinaudit.audit.publication.run_verdict import find_exact_verdict, find_verdict
from clinaudit.audit.ranges.results import publish
from clinaudit.audit.run.durable_files import sha256_of
from clinaudit.reports.exact.results import Results
from clinaudit.reports.schema.results import PublishedResults
from clinaudit.reports.suppression.coarse import coarsen

OWN = {"settings": {"--policy": sha256_of(locate_policy(None))}}


@pytest.fixture(scope="module")
def measured() -> tuple[Results, PublishedResults]:
    exact = filled(cell=30)
    return exact, publish(coarsen(exact))


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
    assert own.settled is not None
    assert find_verdict(published, OWN, given=Path("default")) == own
    assert find_verdict(published, OWN, given=Path("strict")).basis == "published"


@pytest.mark.parametrize("record", [{}, {"settings": None}, {"settings": {"--policy": "0" * 64}}, {"settings": []}])
def test_a_verdict_whose_policy_is_not_at_hand_is_returned_alone(measured, record: dict[str, object]) -> None:
    _, published = measured
    assert find_verdict(published, record, given=None) == (published.decision, "recorded", None)
    assert find_verdict(published, record, given=Path("default")).basis == "published"


def test_an_exact_verdict_of_the_runs_own_policy_is_the_recorded_one_with_exact_figures(measured) -> None:
    exact, published = measured
    for given in (None, Path("default")):
        shown = find_exact_verdict(published, exact, OWN, given=given).decision
        assert exact.decision is not None
        assert (shown.status, shown.reason) == (exact.decision.status, exact.decision.reason)
        for rule, recorded in zip(shown.rules, exact.decision.rules, strict=True):
            assert (rule.status, rule.observed.value) == (recorded.status, recorded.observed.value)
            assert (rule.observed.confidence_low, rule.observed.confidence_high) == (
                recorded.observed.low,
                recorded.observed.high,
            )
