"""Records of a deletion certificate without names: what `compare.json` holds of it (docs/forgetting.md).

A is the run before, B the one after. Counts of patients are words: of what is published they follow the rule on small
cells, in the exact comparison (PHI) they are plain numbers.
"""

from typing import Final, Literal

from pydantic import Field

from clinaudit.reports.schema.answer_check import AnswerCheck
from clinaudit.reports.schema.record import Record

#: Of a request as a whole. `never trained on` is by a training record: the model after never saw the named, and none of
#: them stands out.
ForgettingVerdict = Literal["still leaks", "broken", "not shown", "never trained on", "forgotten"]
#: Why a patient's text must go; the certificate by patient names it, and decides nothing by it.
Trigger = Literal["authorization-revoked", "part-2-consent", "research-withdrawal", "gdpr-17", "state-law"]
#: The reason of a measured value that is not given.
NOT_PUBLISHED: Final = "not published"
#: With which `clinaudit compare --forgotten` ends.
EXIT_STATUS: Final[dict[ForgettingVerdict, int]] = {
    "never trained on": 0,
    "forgotten": 0,
    "still leaks": 1,
    "broken": 1,
    "not shown": 8,
}


class HealthCheck(AnswerCheck):
    """One question of the collapse check (a utility check): whether B still writes as A did.

    `group` is whose generations: `retained` (trained on, not named) or `controls` (never seen). In what is
    published `a` and `b` are null also where too few patients stand behind them.
    """

    #: What the figure is a mean over. Over generations it is a share, and a count of patients stands behind it.
    unit: Literal["generations", "tokens"]


class Forgetting(Record):
    """The deletion certificate without names; counts of patients in words: "13", "<11", ">84 of 95"."""

    verdict: ForgettingVerdict
    named: str
    #: Named patients who stood out in A, and who stand out in B, of all; null where 1 to 10 are named, do,
    #: or do not.
    before: str | None
    after: str | None
    collapsed: bool | None
    #: By its training record B was trained again without the named, and not made to forget: then no collapse decides.
    is_trained_again: bool = False
    health: list[HealthCheck]
    #: Why the request does not pass, in words; of 1 to 10 named patients only what is true of the runs.
    reasons: list[str]
    #: What was weighed beside the two audits, as the options say: it tells of nobody.
    beside: list[str] = Field(default_factory=list)
