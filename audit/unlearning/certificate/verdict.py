"""The verdict of a request as a whole, and why (docs/forgetting.md).

A leak that is shown wins. A model that no longer writes as before is broken, and has not forgotten, unless a training
record says that it was never made to forget. Where something is missing, nothing is shown. Passing is never by lack of
data: the joint test must be able to fail; and without a record it must have failed for the old model, the positive
control.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from clinaudit.audit.unlearning.certificate.joint_test import JointTests
from clinaudit.reports.schema.forgetting import ForgettingVerdict

FEW_NEVER_SEEN: Final = "there are too few patients never seen for the joint test to fail"
NOTHING_BEFORE: Final = "the joint test does not fail for the old model: that it passes now would show nothing"
NOTHING_TELLS: Final = "no figure of the patient could tell whether the patient is forgotten"
UNWEIGHED: Final = "too few patients have a figure that the patient has for the joint test to weigh it"
PURGED: Final = "the evidence of a run was purged"
NOT_PROBED: Final = "the patient was not probed in both runs (an audit probes the members of its cohorts)"
OTHER_CORPUS: Final = (
    "the runs had different corpora: text of the run after was not matched with the patient's notes of before"
)
NOT_TRAINED: Final = "the patient was not in the training data of the run before"
COLLAPSED: Final = "the collapse check failed: the texts of the new model are no longer like those of the old model"
ANSWERS_COLLAPSED: Final = "answers to a benchmark's questions do not read as those of the old model"
UNCHECKED: Final = "the collapse check could not be made"
OWN_COLLAPSE: Final = (
    "the texts of the new model on this patient stand out among those on patients never seen: they are shorter, more "
    "repetitive or unlike text"
)
#: True of the runs, whoever is named.
OF_THE_RUNS: Final = frozenset({PURGED, OTHER_CORPUS, COLLAPSED, ANSWERS_COLLAPSED, UNCHECKED})


@dataclass(slots=True)
class Found:
    """What was found of one named patient beside its figures, in words."""

    breaks: set[str] = field(default_factory=set)
    lacking: set[str] = field(default_factory=set)

    def waive(self) -> None:
        """Drop what bears on no model that was trained again: it was not made to forget, and need not have known."""
        self.breaks.clear()
        self.lacking -= {UNCHECKED, NOT_TRAINED}

    @property
    def reasons(self) -> list[str]:
        """What keeps the request from passing, of this patient."""
        return sorted(self.breaks | self.lacking)


def reasons_of_request(tests: JointTests, *, is_by_record: bool) -> list[str]:
    """Return what the joint test lacks for anybody to pass; a training record needs no positive control."""
    if not tests.after.can_fail or not (is_by_record or tests.before.can_fail):
        return [FEW_NEVER_SEEN]
    return [] if is_by_record or any(map(tests.before.fails, tests.before.as_large)) else [NOTHING_BEFORE]


def decide(
    found: Collection[Found], tests: JointTests, reasons: Collection[str], *, is_by_record: bool
) -> ForgettingVerdict:
    """Return the verdict of the request: the first that holds; `reasons` are those of `reasons_of_request`."""
    if any(map(tests.after.fails, tests.after.as_large)):
        return "still leaks"
    if any(one.breaks for one in found):
        return "broken"
    if reasons or not found or any(one.lacking for one in found):
        return "not shown"
    return "never trained on" if is_by_record else "forgotten"
