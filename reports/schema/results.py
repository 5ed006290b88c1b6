"""The results schema: what `results.json` holds, as typed records (docs/results.md, "results.json").

Owns the shape of every published number; json_schema.py makes the JSON Schema of it. Knows nothing of how a
number was computed. An `Estimate` is a value with its interval, or no value with the reason.
"""

import json
import math
from typing import Any, Literal

from pydantic import Field

from clinaudit.reports.schema.cohorts import CohortSummary
from clinaudit.reports.schema.corpus import CorpusSummary
from clinaudit.reports.schema.decision import Decision
from clinaudit.reports.schema.disclosure import DisclosureResults, SecondMatcher
from clinaudit.reports.schema.estimate import Arm, Count, Record
from clinaudit.reports.schema.groups import Subgroups
from clinaudit.reports.schema.judge import JudgeQuality
from clinaudit.reports.schema.memorization import Memorization

SCHEMA_VERSION = "1.0"
#: Floats are published with this many decimals (docs/methods.md, section 7).
DECIMALS = 6


class StageCompleteness(Record):
    """What one stage planned and what became of it; counts of units, not of patients."""

    #: Null where suppressed: less what is shown of tiers and tables it would give a hidden one back.
    planned: int | None
    done: int | None
    failed: int
    #: Neither done nor failed; given where `planned` and `done` are suppressed.
    missing: int | None = None
    excluded: dict[str, Count] = Field(default_factory=dict)


class TrainingLoss(Record):
    """One epoch of the training log (the paper's Table 8)."""

    epoch: float
    train_loss: float | None
    validation_loss: float | None
    perplexity: float | None


class Results(Record):
    """Everything `results.json` holds."""

    schema_version: Literal["1.0"] = "1.0"
    decision: Decision | None = None
    completeness: dict[str, StageCompleteness] = Field(default_factory=dict)
    corpus: CorpusSummary | None = None
    memorization: dict[str, dict[Arm, Memorization]] = Field(default_factory=dict)
    disclosure: DisclosureResults = Field(default_factory=DisclosureResults)
    cohorts: dict[str, CohortSummary] = Field(default_factory=dict)
    #: Null where one matcher was used.
    second_matcher: SecondMatcher | None = None
    #: Null where nobody was grouped.
    subgroups: Subgroups | None = None
    #: Null where the judge was not scored.
    judge_quality: JudgeQuality | None = None
    #: Free-standing remarks a reader must see, in plain words.
    warnings: list[str] = Field(default_factory=list)
    training: list[TrainingLoss] | None = None


def round_floats(value: Any) -> Any:
    """Round floats to `DECIMALS`, and give 0.0 for -0.0; NaN and infinity are a programming error."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a published figure is not finite")
        return round(value, DECIMALS) + 0.0
    if isinstance(value, dict):
        return {key: round_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [round_floats(item) for item in value]
    return value


def to_json(results: Results) -> str:
    """Return the text of `results.json`: sorted keys, rounded floats, `disclosure.<diagnosis>` beside `.mean`."""
    document = round_floats(results.model_dump(mode="json", exclude_none=False))
    disclosure = document["disclosure"]
    document["disclosure"] = {**disclosure["by_diagnosis"], "mean": disclosure["mean"]}
    if document["training"] is None:
        del document["training"]
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str) -> Results:
    """Read the text of a `results.json` back; raises `ValueError` where it is not one."""
    document = json.loads(text)
    disclosure = document.get("disclosure", {})
    mean = disclosure.pop("mean", {})
    document["disclosure"] = {"by_diagnosis": disclosure, "mean": mean}
    return Results.model_validate(document)
