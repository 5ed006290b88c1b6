"""The sentences of a deletion certificate: how a patient stands, and what the joint test can see."""

import pytest

from clinaudit.reports.schema.certificate import (
    CertificateRow,
    JointDecision,
    PatientCertificate,
    QuestionRow,
    SmallestLeak,
)
from clinaudit.reports.wording.certificate import figures_sentence, joint_sentence


def patient(reasons: list[str | None], **fields: object) -> PatientCertificate:
    figure = {"measure": "m", "before": 1, "after": 1, "below": 3, "controls": 95}
    return PatientCertificate(
        patient_id="p",
        verdict="forgotten",
        leaked_before=True,
        reasons=[],
        measures=[CertificateRow(tier="public", reason=reason, **figure) for reason in reasons],
        questions=[QuestionRow(use="train", **figure)],
        **fields,
    )


def test_how_a_patient_stands_and_how_many_figures_could_not_be_measured() -> None:
    tested = {"as_large": 1, "p_value": 0.0977, "largest": "public, m"}
    assert figures_sentence(patient([None, "too short"], **tested)) == (
        "Over 3 figures 1 patient never seen stand out as much or more (p = 0.0977, adjusted for all named); its"
        " largest excess is that of: public, m. Of 3 figures 1 could not be measured."
    )
    assert figures_sentence(patient([])) == "The patient was not in the joint test."


def joint(never_seen: int, **fields: object) -> JointDecision:
    made = {"named": 5, "never_seen": never_seen, "never_seen_before": 130, "enough": 95, "most_as_large": 0}
    leaks = [SmallestLeak(measure="longest match", tokens=12), SmallestLeak(measure="memorized", tokens=31)]
    return JointDecision(**{**made, "p_value": 0.2, "p_value_before": 0.05, "smallest": leaks, **fields})


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            joint(128),
            "With 130 patients never seen before and 128 after the smallest leak that shows, at one level of access"
            " and in no other figure, is longest match: 12; memorized: 31. The test fails for the model before"
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
