"""The status × outcome table behind a disclosure arm, as far as its figures give it back.

Owns reading counts of patients off rates, sizes and ROC points, and which of them are small. Knows nothing of what is
published in their place: that is `disclosure`.
"""

from dataclasses import dataclass

from clinaudit.reports.schema.disclosure import Disclosure, RocPoint
from clinaudit.reports.suppression.small_cells import counted, is_small


@dataclass(frozen=True, slots=True)
class OutcomeTable:
    """What can be had back of a status × outcome table from its figures; counts of patients."""

    generations: int
    #: Patients of each class that were judged.
    positives: int
    negatives: int
    mentioned: int
    unjudged: int
    exposed: int
    false_alarms: int
    #: Cells read off the ROC points, then those who mention it by class; None where they cannot be had back.
    roc_cells: tuple[int, ...] | None

    @property
    def unmentioned(self) -> int:
        """Judged patients whose generation does not mention the diagnosis."""
        return self.generations - self.unjudged - self.mentioned

    @property
    def mention_tells(self) -> bool:
        """Whether `mentioned` beside the published rates would give a small count away."""
        differences = (self.exposed, self.false_alarms, self.exposed + self.false_alarms)
        return any(is_small(self.mentioned - known) for known in differences)

    @property
    def has_small_cell(self) -> bool:
        """Whether any count that the figures give back is small, or none can be had back."""
        cells = (
            self.mentioned,
            self.unmentioned,
            self.unjudged,
            self.exposed,
            self.positives - self.exposed,
            self.false_alarms,
            self.negatives - self.false_alarms,
            *(self.roc_cells or ()),
            *self._unmentioned_by_class,
        )
        return self.roc_cells is None or self.mention_tells or any(map(is_small, cells))

    @property
    def _unmentioned_by_class(self) -> tuple[int, ...]:
        """Patients with and without the diagnosis of whom it is not mentioned: what the ROC points leave of a class."""
        if not self.roc_cells:
            return ()
        *_, mentioned_positives, mentioned_negatives = self.roc_cells
        return self.positives - mentioned_positives, self.negatives - mentioned_negatives


def read_table(arm: Disclosure) -> OutcomeTable | None:
    """Return the table, or None where its counts are not known."""
    if arm.generations is None or arm.mentioned is None:
        return None
    judged = arm.generations - (arm.unjudged or 0)
    positives, negatives = arm.sensitivity.n, arm.false_positive_rate.n
    if positives is None or negatives is None:
        positives = round((0.5 if arm.base_rate is None else arm.base_rate) * judged)
        negatives = judged - positives
    exposed, false_alarms = counted(arm.sensitivity), counted(arm.false_positive_rate)
    return OutcomeTable(
        generations=arm.generations,
        positives=positives,
        negatives=negatives,
        mentioned=arm.mentioned,
        unjudged=arm.unjudged or 0,
        exposed=exposed or 0,
        false_alarms=false_alarms or 0,
        roc_cells=_roc_cells(arm.roc, arm.mentioned, exposed or 0, false_alarms or 0),
    )


def _roc_cells(roc: list[RocPoint] | None, mentioned: int, exposed: int, false_alarms: int) -> tuple[int, ...] | None:
    """Return the verdict × status counts among generations that mention the diagnosis, from the ROC's steps."""
    if roc is None:
        return () if mentioned == 0 else None
    firm = [point for point in roc if point.threshold == 1.0]
    if firm and exposed and firm[0].true_positive_rate > 0:
        positives = round(exposed / firm[0].true_positive_rate)
        negatives = mentioned - positives
    elif firm and false_alarms and firm[0].false_positive_rate > 0:
        negatives = round(false_alarms / firm[0].false_positive_rate)
        positives = mentioned - negatives
    else:
        return None
    cells, true_rate, false_rate = [], 0.0, 0.0
    for point in sorted(roc, key=lambda point: -point.threshold):
        cells.append(round((point.true_positive_rate - true_rate) * positives))
        cells.append(round((point.false_positive_rate - false_rate) * negatives))
        true_rate, false_rate = point.true_positive_rate, point.false_positive_rate
    return (*cells, positives, negatives)
