"""The tally of membership: patients trained on, by where their scores lie among those of patients never seen."""

from dataclasses import dataclass

from clinaudit.reports.schema.membership import BlindFeature, MembershipEvidence, MembershipScore
from clinaudit.reports.tally.leaves import Count, Inside, Partition


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
