"""Tables of a certificate's blocks: a reason stands beside the verdict that it explains, and hides no figure."""

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.tables.certificate import answer_health_table


def check(a: float | None, b: float | None, *, passed: bool | None, reason: str | None = None) -> AnswerCheck:
    return AnswerCheck(group="forget", question="q", allowed="half", a=a, b=b, limit=None, passed=passed, reason=reason)


def test_why_a_question_failed_or_was_not_asked_stands_with_its_figures() -> None:
    checks = [
        check(0.9, 0.8, passed=True),
        check(0.9, None, passed=False, reason="too little text"),
        check(0.25, 0.75, passed=None, reason="too short before"),
        check(None, 0.5, passed=None, reason="too short before"),
    ]
    assert [row[2:4] + row[5:] for row in answer_health_table(checks).rows] == [
        ("0.900", "0.800", "✓ yes"),
        ("0.900", "none", "✗ no: too little text"),
        ("0.250", "0.750", "? open: too short before"),
        ("none", "0.500", "? open: too short before"),
    ]
