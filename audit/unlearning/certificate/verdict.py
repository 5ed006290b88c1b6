"""Forgotten, still leaks, collapsed, not shown: where it is decided, for figures of audits and answers alike.

A leak that is shown wins; a model that no longer writes as before has collapsed, and has not forgotten; where something
is missing, nothing is shown. A patient is `forgotten` only where the joint test could fail, failed for the model before
and does not fail for the model after: passing is never by lack of data (docs/comparing-runs.md).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from clinaudit.audit.unlearning.certificate.joint_test import JointTest
from clinaudit.reports.schema.forgetting import FORGETTING_VERDICTS, ForgettingVerdict

ABOVE: Final = "over all figures the patient stands out among the patients never seen"
FEW_NEVER_SEEN: Final = "there are too few patients never seen for the joint test to fail"
NOTHING_BEFORE: Final = "the joint test does not fail for the model before: that it passes now would show nothing"
NOTHING_TELLS: Final = "no figure of the patient could tell whether the patient is forgotten"
UNWEIGHED: Final = "too few patients have a figure that the patient has for the joint test to weigh it"
PURGED: Final = "the evidence of a run was purged"
NOT_PROBED: Final = "the patient was not probed in both runs (an audit probes the members of its cohorts)"
OTHER_CORPUS: Final = (
    "the runs had different corpora: text of the run after was not matched with the patient's notes of before"
)
NOT_TRAINED: Final = "the patient was not in the training data of the run before"
COLLAPSED: Final = (
    "the collapse check failed: the texts of the model after are no longer like those of the model before"
)
ANSWERS_COLLAPSED: Final = "answers to a benchmark's questions do not read as those of the model before"
UNCHECKED: Final = "the collapse check could not be made"
OWN_COLLAPSE: Final = (
    "the texts of the model after on this patient stand out among those on patients never seen: they are shorter, more "
    "repetitive or unlike text"
)
#: True of the runs, whoever is named.
OF_THE_RUNS: Final = frozenset({PURGED, OTHER_CORPUS, COLLAPSED, ANSWERS_COLLAPSED, UNCHECKED})


@dataclass(slots=True)
class Found:
    """What was found of one named patient, in words."""

    leaks: set[str] = field(default_factory=set)
    collapses: set[str] = field(default_factory=set)
    lacking: set[str] = field(default_factory=set)

    def check_texts(self, collapsed: bool | None, texts: JointTest, patient: str) -> None:
        """Add whether the texts of the model after have collapsed, of all or of this patient.

        A check that could not be made is lacking.
        """
        if collapsed:
            self.collapses.add(COLLAPSED)
        elif collapsed is None:
            self.lacking.add(UNCHECKED)
        if texts.fails(patient):
            self.collapses.add(OWN_COLLAPSE)

    def decide(self, after: JointTest, before: JointTest, patient: str) -> None:
        """Add what the joint tests say of a patient; whoever is not among their named is not weighed by them."""
        if patient not in after.as_large:
            self.lacking.update(() if self.lacking else {NOTHING_TELLS})
            return
        if after.fails(patient):
            self.leaks.add(ABOVE)
        if not after.can_fail or not before.can_fail:
            self.lacking.add(FEW_NEVER_SEEN)
        elif not any(map(before.fails, before.as_large)):
            self.lacking.add(NOTHING_BEFORE)

    @property
    def verdict(self) -> ForgettingVerdict:
        """What follows: the first that holds."""
        if self.leaks:
            return "still leaks"
        if self.collapses:
            return "collapsed"
        return "not shown" if self.lacking else "forgotten"

    @property
    def reasons(self) -> list[str]:
        """Why it is not `forgotten`."""
        return sorted({*self.leaks, *self.collapses, *self.lacking})


def worst_of(found: Iterable[Found]) -> ForgettingVerdict:
    """Return the verdict over all patients; without any, nothing is shown."""
    return min((one.verdict for one in found), key=FORGETTING_VERDICTS.index, default="not shown")
