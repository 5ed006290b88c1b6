"""The results schema: what `results.json` holds beside the table of estimates (docs/results.md, "results.json").

Owns the words about a run: what was audited, how, the verdict of a policy (docs/policy.md), and remarks. Every figure
is a row of `results.csv`. A rule names its figure by its place there, and no number of patients stands here: readers
print rows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import Field

from clinaudit.reports.estimates.frame import Estimates, RuleKind
from clinaudit.reports.schema.attacks import Attack, Release
from clinaudit.reports.schema.pii_bench import HipaaIdentifier
from clinaudit.reports.schema.record import Record

Status = Literal["pass", "fail", "incomplete", "inconclusive"]
RuleStatus = Literal["pass", "fail", "inconclusive"]
#: An option that leaves out of an audit some diagnoses, or plain text or chat.
Narrowing = Literal["diagnosis", "prompt_form"]


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
    #: Why the model may not be as it was trained. Where there is a reason, the run does not pass.
    doubts: list[str] = Field(default_factory=list)


#: What a text can say of a diagnosis; the order of every matrix's rows and columns.
VerdictClass = Literal["positive", "negative", "ambiguous", "not_mentioned"]
VERDICT_CLASSES: tuple[VerdictClass, ...] = get_args(VerdictClass)
#: Whose labelled texts a judge was scored on. `shipped`: the synthetic texts of this project; `site`: those that the
#: site supplied.
LabelSource = Literal["shipped", "site"]


class TrainingLoss(Record):
    """One epoch of the training log (the paper's Table 8)."""

    epoch: float
    train_loss: float | None
    validation_loss: float | None
    perplexity: float | None


class CorpusFacts(Record):
    """What is said of the corpus beside its numbers."""

    #: Whether patients were held out of training.
    counterfactual: bool
    #: Where the labels of diagnoses come from: table, lexicon, openai.
    labels: str
    warnings: list[str] = Field(default_factory=list)


class CohortFacts(Record):
    """What became of a diagnosis' cohort."""

    status: Literal["matched", "poorly_matched", "unavailable", "not_asked"]
    reason: str | None = None


class IdentifierFacts(Record):
    """What is said of the search for identifiers beside its numbers."""

    #: Identifiers that were not looked for, each with the reason.
    not_tested: dict[HipaaIdentifier, str] = Field(default_factory=dict)
    #: Rules of the site's own that were searched for beside those that ship.
    site_rules: int = 0


class Settings(Record):
    """What was asked, as it bears on the figures: design numbers, of nobody."""

    #: Tokens of a match (τ), and of a generation at most.
    match_tokens: int
    max_new_tokens: int | None = None
    tiers: list[str] = Field(default_factory=list)
    #: Forms in which the model was asked: text, chat, drawn.
    forms: list[str] = Field(default_factory=list)
    #: Whether the answers were given (`analyze`): no model was asked, and no prompt was written.
    given: bool = False
    #: Whether a control model was asked, and what stands for chance: nontrain, control, or nothing.
    control: bool = False
    #: Tokens that the model was trained on at a time, where that is known.
    training_length: int | None = None
    #: How patients were chosen to be asked, and how many of each cohort's groups at most.
    sampled: bool = False
    seed: int = 0


SCHEMA_VERSION = "5.0"


class RunResults(Record):
    """Everything `results.json` holds."""

    schema_version: Literal["5.0"] = "5.0"
    verdict: Verdict | None = None
    settings: Settings | None = None
    corpus: CorpusFacts | None = None
    cohorts: dict[str, CohortFacts] = Field(default_factory=dict)
    #: Null where identifiers were not looked for.
    identifiers: IdentifierFacts | None = None
    #: Why no note was scored; null where notes were.
    not_scored: str | None = None
    #: Name of the judge, and whose labelled texts it was scored on: shipped, or the site's own. Null where none judged.
    judge: str | None = None
    judge_labels: LabelSource | None = None
    #: Free-standing remarks a reader must see, in plain words.
    warnings: list[str] = Field(default_factory=list)
    narrowed: list[Narrowing] = Field(default_factory=list)
    #: Why the self-test doubts that the model is as it was trained.
    doubts: list[str] = Field(default_factory=list)
    training: list[TrainingLoss] | None = None
    #: Every class of attack, and whether it was run; and how the model gets out, as the site says.
    attacks: list[Attack] = Field(default_factory=list)
    release: Release | None = None


@dataclass(frozen=True, slots=True)
class RunReport:
    """All that pages, terminal, gate and comparison read of a run: words, and the table of estimates."""

    results: RunResults
    #: Published or exact, as `is_exact` says.
    estimates: Estimates
    #: The content of `run.json`.
    provenance: Mapping[str, object]
    #: The exact report (PHI).
    is_exact: bool = False

    @property
    def rules(self) -> list[Rule]:
        """The rules of the policy; none where none was applied."""
        return self.results.verdict.rules if self.results.verdict else []


def to_json(results: RunResults) -> str:
    """Return the text of `results.json`, its keys sorted."""
    return json.dumps(results.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the published `results.json`."""
    schema = RunResults.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
