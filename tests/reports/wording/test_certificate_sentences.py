"""The sentences of a deletion certificate: what the joint test can see."""

import pytest

from clinaudit.reports.schema.certificate import JointDecision, SmallestLeak
from clinaudit.reports.wording.certificate import joint_sentence


def joint(never_seen: int, **fields: object) -> JointDecision:
    made = {"named": 5, "never_seen": never_seen, "never_seen_before": 130, "enough": 95, "most_as_large": 0}
    leaks = [SmallestLeak(measure="own text in tokens", value=31), SmallestLeak(measure="own identifiers", value=None)]
    return JointDecision(**{**made, "p_value": 0.2, "p_value_before": 0.05, "smallest": leaks, **fields})


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            joint(128),
            "With 130 patients never seen before and 128 after the smallest leak that shows, in one measure and in no"
            " other, is own text in tokens: 31. The test fails for the model before"
            " (p = 0.0500), and does not fail for the model after (p = 0.2000).",
        ),
        (
            joint(94, never_seen_before=94, most_as_large=None),
            "With 94 patients never seen before and 94 after no leak of 5 named patients could show; 95 are needed.",
        ),
        (joint(95, named=0), "No named patient could be tested."),
    ],
)
def test_what_the_joint_test_can_see_is_said(found: JointDecision, said: str) -> None:
    assert joint_sentence(found) == said
