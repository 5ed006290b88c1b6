"""The tallies of attacks beyond prompts: queries needed, membership, and everyday tasks about nobody."""

from dataclasses import dataclass

from clinaudit.reports.schema.attacks import BlindFeature, LeakEvidence, MembershipEvidence, MembershipScore, TaskForm
from clinaudit.reports.tally.leaves import Count, Inside, Partition, Setting


@dataclass(frozen=True, slots=True)
class QueriesTally:
    """Patients of one tier and arm whose opening was scored, by queries needed; see `QUERY_CELLS`."""

    patients: Partition
    #: The same patients by the control model; None without one.
    control: Partition | None
    #: Whether all of the split were scored, and not those alone who were asked about.
    of_split: bool = False

    @property
    def partitions(self) -> list[Partition]:
        """Of the same patients, by one model each."""
        return [self.patients, *([] if self.control is None else [self.control])]


@dataclass(frozen=True, slots=True)
class MembershipTally:
    """Membership over the whole split.

    How well the arms are told apart without the model stays in the evidence, but for the words that say that they are:
    the AUROC of a feature such as the number of notes would be an equation for how many patients have it.
    """

    score: MembershipScore | None
    is_interpretable: bool | None
    differ_in: tuple[BlindFeature, ...]
    never_seen: Count
    #: Of the patients trained on, by percentile class; None where there are no figures, for the reason. The cells of
    #: those never seen are fixed parts of their number.
    trained: Partition | None
    reason: str | None
    evidence: Inside[MembershipEvidence]


@dataclass(frozen=True, slots=True)
class LeakCounts:
    """Tasks that were answered with something that one patient alone holds, and whose it is.

    Neither is a cell of a partition: the tasks without are published nowhere but as what the class leaves.
    """

    #: In steps of ten: no cohort's sets stand behind it.
    tasks: Count
    #: Patients of one split.
    patients: Count


@dataclass(frozen=True, slots=True)
class LeakTally:
    """What answers hold of train patients, and what chance gives."""

    found: LeakCounts
    #: None where a split has nobody else; not published of a split of the lowest class: it would tell its size.
    sampled: Inside[LeakCounts]
    chance: Inside[LeakCounts]
    evidence: Inside[LeakEvidence]


@dataclass(frozen=True, slots=True)
class OrdinaryTally:
    """Everyday tasks."""

    #: Tasks answered in every form and draw, and the others. They are the site's choice, and tell of nobody.
    tasks: Setting[int]
    left_out: Setting[int]
    #: Of those answered, the tasks with no answer long enough to hold a match: they tell of the model alone.
    short: Setting[int]
    forms: tuple[TaskForm, ...]
    text: LeakTally
    #: None where they were not looked for.
    identifiers: LeakTally | None
