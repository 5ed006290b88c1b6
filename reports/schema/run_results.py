"""The results schema: what `results.json` holds beside the table of estimates (docs/results.md, "results.json").

It is small: what was audited, how, the verdict, and remarks in words. Every figure is a row of `results.csv`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.attacks import Attack, Release
from clinaudit.reports.schema.hipaa import HipaaIdentifier
from clinaudit.reports.schema.judge import LabelSource
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.verdict import Narrowing, Verdict

SCHEMA_VERSION = "5.0"


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


def to_json(results: RunResults) -> str:
    """Return the text of `results.json`, its keys sorted."""
    return json.dumps(results.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def from_json(text: str) -> RunResults:
    """Read the text of a `results.json` back; raises `ValueError` where it is not one."""
    return RunResults.model_validate(json.loads(text))


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the published `results.json`."""
    schema = RunResults.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
