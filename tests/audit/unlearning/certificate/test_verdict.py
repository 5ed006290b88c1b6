"""What is decided of one patient, by hand: a leak wins, a collapse comes second, and what is missing shows nothing."""

import pytest

from clinaudit.audit.unlearning.certificate.joint_test import JointTest
from clinaudit.audit.unlearning.certificate.verdict import (
    ABOVE,
    COLLAPSED,
    FEW_NEVER_SEEN,
    NOT_PROBED,
    NOTHING_BEFORE,
    OWN_COLLAPSE,
    UNCHECKED,
    Found,
    worst_of,
)


def joint(as_large: int, *, never_seen: int = 95, patient: str = "p") -> JointTest:
    """The test of five named patients, of whom the others do not stand out."""
    others = dict.fromkeys((f"n{place}" for place in range(4)), never_seen)
    return JointTest(never_seen, {patient: as_large, **others}, {})


FAILS, PASSES, FEW = joint(0), joint(1), joint(0, never_seen=94)


@pytest.mark.parametrize(
    ("after", "before", "verdict", "reasons"),
    [
        (PASSES, FAILS, "forgotten", []),
        (FAILS, FAILS, "still leaks", [ABOVE]),
        # A model that knows nothing of them, or of whom nothing can be known, passes by lack of data.
        (PASSES, PASSES, "not shown", [NOTHING_BEFORE]),
        (FEW, FAILS, "not shown", [FEW_NEVER_SEEN]),
        (PASSES, FEW, "not shown", [FEW_NEVER_SEEN]),
        # Another named patient is the one who leaked before: the named are decided together.
        (PASSES, joint(0, patient="other"), "forgotten", []),
    ],
)
def test_passing_rests_on_a_test_that_fails_before(after, before, verdict, reasons) -> None:
    found = Found()
    found.decide(after, before, "p")
    assert (found.verdict, found.reasons) == (verdict, reasons)


def test_the_first_that_holds_decides_and_all_reasons_are_given() -> None:
    found = Found(lacking={NOT_PROBED})
    assert found.verdict == "not shown"
    found.check_texts(False, PASSES, "p")
    found.check_texts(None, PASSES, "p")
    assert (found.verdict, found.reasons) == ("not shown", sorted([NOT_PROBED, UNCHECKED]))
    found.check_texts(True, PASSES, "p")
    assert found.verdict == "collapsed"
    found.check_texts(False, FAILS, "p")
    assert found.collapses == {COLLAPSED, OWN_COLLAPSE}
    found.collapses.remove(OWN_COLLAPSE)
    found.leaks.add(ABOVE)
    assert (found.verdict, found.reasons) == ("still leaks", sorted([NOT_PROBED, UNCHECKED, COLLAPSED, ABOVE]))
    assert worst_of([Found(), found]) == "still leaks"
    assert worst_of([]) == "not shown"
