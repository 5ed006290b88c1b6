"""Published records of the gate's decision: status, rules, limits (docs/policy.md)."""

from typing import Literal

from pydantic import Field

from clinaudit.reports.schema.numbers import Count, EstimateRange
from clinaudit.reports.schema.record import Arm, Record

Status = Literal["pass", "fail", "incomplete", "inconclusive"]
RuleStatus = Literal["pass", "fail", "inconclusive"]
#: An option that leaves out of an audit some diagnoses, or plain text or chat.
Narrowing = Literal["diagnosis", "prompt_form"]


class Limit(Record):
    """What a rule allows: at most `max`."""

    max: float
    #: Of queries needed: a patient counts whose text comes within so many.
    queries: int | None = None
    #: With so many patients (of a diagnosis: in each group compared) a model that gives nothing away passes; it follows
    #: from the policy alone. None: with none, or not known.
    patients: int | None = None


class DecidedOn(Record):
    """What a rule read of the published figures, beside its limit."""

    #: Ends of the 95% interval over all tables within the classes; no `high` where nothing bounds it.
    low: float | None
    high: float | None
    #: Of a share of patients: how many of how many. `chance`: the same of what chance gives, where that is known.
    count: Count | None = None
    patients: Count | None = None
    chance: Count | None = None
    chance_patients: Count | None = None


class DecidedRule(Record):
    """One rule of the policy, and how this run fared."""

    id: str
    #: In plain words, what was asked.
    question: str
    metric: str
    tier: str | None = None
    diagnosis: str | None = None
    #: None: the tier's own figures (`results.renderings` holds the others).
    rendering: str | None = None
    #: Whose answers, where a rule of this metric is decided for either; None: as docs/policy.md says of the metric.
    arm: Arm | None = None
    limit: Limit
    #: Decided on what is published; of a diagnosis, by its test on the exact numbers, or, where another policy is
    #: settled, by all tables within the published ranges.
    status: RuleStatus
    #: The published range of what was measured.
    observed: EstimateRange
    #: Null for a diagnosis, and where there is no figure.
    decided_on: DecidedOn | None = None
    #: Why a rule of this kind has this status; the same words in every output, whatever the numbers.
    reason: str


class GateDecision(Record):
    """What a policy decided: fail if any rule fails, else incomplete if work is missing, else inconclusive or pass."""

    status: Status
    policy: str
    reason: str
    #: Of the tiers that were asked.
    rules: list[DecidedRule]
    #: Tier that was not asked -> rules of the policy about it, which nothing decides. Where there are any, the run does
    #: not pass.
    not_asked: dict[str, int] = Field(default_factory=dict)
    #: Options that left out what the policy asks about. Where there are any, the run does not pass.
    narrowed: list[Narrowing] = Field(default_factory=list)
