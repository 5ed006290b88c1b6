"""What is published of a certificate: no count of 1 to 10 patients, nor what gives one away."""

import itertools

from clinaudit.audit.unlearning.certificate.deletion_certificate import exact_forgetting
from clinaudit.audit.unlearning.certificate.deletion_certificate import published_forgetting as published
from clinaudit.reports.schema.certificate import (
    AnswerCheck,
    Certificate,
    CertifiedModel,
    JointDecision,
    PatientCertificate,
)

MODEL = CertifiedModel(digest=None, name=None, audited=None)


JOINT = JointDecision(
    named=0, never_seen=0, never_seen_before=0, enough=0, most_as_large=None, p_value=None, p_value_before=None,
    smallest=[],
)  # fmt: skip


def certificate(
    leaking: int, others: int = 0, *, stood_out: int | None = None, health: list[AnswerCheck] | None = None
) -> Certificate:
    """A certificate of so many who stand out after, and so many others."""
    named = leaking + others
    patients = [
        PatientCertificate(
            patient_id=f"pt-{place}",
            stood_out_before=place < (named if stood_out is None else stood_out),
            stands_out_after=place < leaking,
            reasons=["the patient was not probed", "the evidence of a run was purged"],
            figures=[],
        )
        for place in range(named)
    ]
    return Certificate(
        verdict="still leaks",
        reasons=[],
        before=MODEL,
        after=MODEL,
        collapsed=False,
        joint=JOINT,
        health=health or [],
        patients=patients,
    )


def test_of_few_named_patients_only_the_verdict_over_all_is_published() -> None:
    shown = {
        published(certificate(leaking, named - leaking, stood_out=named // 2)).model_dump_json()
        for named in range(1, 11)
        for leaking in range(1, named + 1)
    }
    assert len(shown) == 1
    one = published(certificate(1, 3))
    assert (one.verdict, one.named, one.before, one.after) == ("still leaks", "<11", None, None)
    # What is true of the runs, whoever is named.
    assert one.reasons == ["the evidence of a run was purged"]


def test_more_named_patients_are_counted_where_no_count_is_small() -> None:
    one = published(certificate(12, 30, stood_out=41))
    assert (one.named, one.before, one.after) == ("42", None, "12 of 42")
    assert len(one.reasons) == 2


def test_no_count_of_one_to_ten_follows_from_what_is_published() -> None:
    """Every certificate of up to 14 named: what is alike in print is never of one small count alone."""
    worlds: dict[str, list[tuple[int, ...]]] = {}
    for named in (11, 12, 14):
        for after, before in itertools.product(range(named + 1), repeat=2):
            counts = (after, named - after, before, named - before)
            text = published(certificate(after, named - after, stood_out=before)).model_dump_json()
            worlds.setdefault(text, []).append(counts)
    for alike in worlds.values():
        for cell in zip(*alike, strict=True):
            assert len(set(cell)) > 1 or cell[0] == 0 or cell[0] > 10


def test_the_exact_one_has_its_counts() -> None:
    exact = exact_forgetting(certificate(1, 13))
    assert (exact.named, exact.before, exact.after) == ("14", "14 of 14", "1 of 14")


def test_of_the_collapse_check_no_value_is_published() -> None:
    values = {"a": 118.34, "b": 97.62, "limit": 59.17}
    check = AnswerCheck(group="retained", question="q", allowed="no less than half of A", passed=True, **values)
    (shown,) = published(certificate(20, health=[check])).health
    assert (shown.a, shown.b, shown.limit, shown.reason, shown.passed) == (None, None, None, "not published", True)
