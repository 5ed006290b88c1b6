"""The verdict of a policy: status, rules, why, and what closes each open rule (docs/policy.md).

A rule names its figure by its place in the table of estimates. No number of patients stands here: readers print rows.
"""

from typing import Literal

from pydantic import Field

from clinaudit.reports.schema.record import Record

Status = Literal["pass", "fail", "incomplete", "inconclusive"]
RuleStatus = Literal["pass", "fail", "inconclusive"]
#: An option that leaves out of an audit some diagnoses, or plain text or chat.
Narrowing = Literal["diagnosis", "prompt_form"]
#: What is given away: the patient's own text, others' text, ...
RuleKind = Literal["own", "others", "identifiers", "queries", "diagnoses", "everyday", "membership"]


class Rule(Record):
    """One rule of the policy at one place, and how this run fared."""

    #: Such as `attributable_fraction/public/text`.
    id: str
    kind: RuleKind
    #: In plain words, what was asked.
    question: str
    #: Where its figure stands in the table of estimates; empty where a column does not apply.
    metric: str
    form: str = ""
    tier: str = ""
    arm: str = ""
    diagnosis: str = ""
    by: str = ""
    part: str = ""
    #: Where the figure that was taken off as chance stands, at the same place: its metric and arm. Of others' text and
    #: everyday tasks a metric of its own; empty where no chance was known.
    chance_metric: str = ""
    chance_arm: str = ""
    #: At most this may be given away.
    limit: float
    status: RuleStatus
    #: Why a rule of this kind has this status, in plain words, without a number of patients.
    reason: str
    #: What closes the rule, where it is inconclusive; or what would mend a failure.
    action: str = ""


class Verdict(Record):
    """What a policy decided: fail if any rule fails, else incomplete if work is missing, else inconclusive or pass."""

    status: Status
    policy: str
    #: As a sentence: why this status.
    reason: str
    rules: list[Rule]
    #: Further sentences that belong to the verdict: what membership tells, which diagnoses were not asked.
    remarks: list[str] = Field(default_factory=list)
    #: Tier that was not asked -> rules of the policy about it. Where there are any, the run does not pass.
    not_asked: dict[str, int] = Field(default_factory=dict)
    #: Options that left out what the policy asks about. Where there are any, the run does not pass.
    narrowed: list[Narrowing] = Field(default_factory=list)
