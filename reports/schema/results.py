"""The results schema: what `results.json` holds, as typed records (docs/results.md, "results.json").

Owns the shape of every published number, and the JSON Schema made of it. A count of patients is a class, an estimate is
a range (`numbers`).
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeVar

from pydantic import Field
from pydantic_core import to_json as to_json_bytes

from clinaudit.reports.schema.attacks import Attack, MembershipResults, OrdinaryResults, QueriesResults, Release
from clinaudit.reports.schema.corpus import CohortResults, CorpusResults, SubgroupResults
from clinaudit.reports.schema.decision import GateDecision, Narrowing
from clinaudit.reports.schema.disclosure import DisclosureResults
from clinaudit.reports.schema.identifiers import IdentifiersResults
from clinaudit.reports.schema.judge import JudgeResults
from clinaudit.reports.schema.memorization import MemorizationResults
from clinaudit.reports.schema.numbers import Count, EstimateRange
from clinaudit.reports.schema.record import Arm, Record

#: Floats are published with this many decimals (docs/methods.md, section 7).
DECIMALS = 6


class StageResults(Record):
    """What became of one stage's planned work; the unit is a patient at a tier (and diagnosis, for judgements)."""

    planned: Count
    #: Planned, and not done.
    missing: Count
    #: Not planned, by tier and reason.
    excluded: dict[str, Count] = Field(default_factory=dict)


class PromptResults(Record):
    """How the prompts of one tier and arm fit the notes."""

    #: Patients whose prompt is the note's own beginning, with every fact that the layout places; and the others. Of
    #: background facts: patients for whom the patients table agrees with the notes; and the others.
    unbroken: Count
    broken: Count
    unbroken_share: EstimateRange
    #: Patients whose prompt is nobody else's; of a prompt that several are asked with, no answer is about one of them.
    own: Count
    own_share: EstimateRange
    #: Patients whose prompt is of an earlier note than the latest, which lacks the tier's facts.
    earlier_note: Count
    #: Patients by what else the note's beginning shows beside the tier's facts.
    also_shows: dict[str, Count]


class RenderingResults(Record):
    """What was measured where a tier's knowledge was put to the model in another form; nothing is pooled over forms."""

    memorization: dict[str, dict[Arm, MemorizationResults]] = Field(default_factory=dict)
    disclosure: DisclosureResults = Field(default_factory=DisclosureResults)
    #: Null where identifiers were not looked for.
    identifiers: IdentifiersResults | None = None


class TrainingLoss(Record):
    """One epoch of the training log (the paper's Table 8)."""

    epoch: float
    train_loss: float | None
    validation_loss: float | None
    perplexity: float | None


class RunResults(Record):
    """Everything `results.json` holds."""

    schema_version: Literal["4.1"] = "4.1"
    decision: GateDecision | None = None
    completeness: dict[str, StageResults] = Field(default_factory=dict)
    corpus: CorpusResults | None = None
    memorization: dict[str, dict[Arm, MemorizationResults]] = Field(default_factory=dict)
    disclosure: DisclosureResults = Field(default_factory=DisclosureResults)
    #: Null where identifiers were not looked for.
    identifiers: IdentifiersResults | None = None
    #: By rendering, where it is not that of the figures above.
    renderings: dict[str, RenderingResults] = Field(default_factory=dict)
    #: By tier and arm.
    prompts: dict[str, dict[Arm, PromptResults]] = Field(default_factory=dict)
    #: Queries needed, by tier and arm; empty where no note was scored, and why not.
    queries: dict[str, dict[Arm, QueriesResults]] = Field(default_factory=dict)
    #: Null where no everyday task was asked.
    ordinary: OrdinaryResults | None = None
    not_scored: str | None = None
    #: Null where no note was scored.
    membership: MembershipResults | None = None
    cohorts: dict[str, CohortResults] = Field(default_factory=dict)
    #: Null where nobody was grouped.
    subgroups: SubgroupResults | None = None
    #: Null where the judge was not scored.
    judge_quality: JudgeResults | None = None
    #: Free-standing remarks a reader must see, in plain words.
    warnings: list[str] = Field(default_factory=list)
    #: Options that left something out of the audit, beside `--tier`.
    narrowed: list[Narrowing] = Field(default_factory=list)
    training: list[TrainingLoss] | None = None
    #: Every class of attack, and whether it was run; and how the model gets out, as the site says.
    attacks: list[Attack] = Field(default_factory=list)
    release: Release | None = None


class HasRenderings(Protocol):
    """Results, published or exact."""

    @property
    def renderings(self) -> Mapping[str, Any]:
        """By rendering, what was measured."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed."""


AnyResults = TypeVar("AnyResults", bound=HasRenderings)


def view_rendering(results: AnyResults, rendering: str | None) -> AnyResults:
    """Return the results with the figures of a rendering in the place of the tiers' own; None: as they are."""
    if rendering is None:
        return results
    other = results.renderings[rendering]
    seen = {"memorization": other.memorization, "disclosure": other.disclosure, "identifiers": other.identifiers}
    return results.model_copy(update=seen)


def round_floats(value: Any) -> Any:
    """Round floats to `DECIMALS`, give 0.0 for -0.0, and sort keys; NaN and infinity are a programming error."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a published figure is not finite")
        return round(value, DECIMALS) + 0.0
    if isinstance(value, dict):
        return {key: round_floats(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [round_floats(item) for item in value]
    return value


def holds_evidence(value: Any) -> bool:
    """Whether any record in it holds what only the evidence may: no published results do."""
    if isinstance(value, Record):
        return any(of is not None if name.endswith("evidence") else holds_evidence(of) for name, of in iter(value))
    if isinstance(value, dict):
        return any(map(holds_evidence, value.values()))
    return isinstance(value, list) and any(map(holds_evidence, value))


def to_json(results: RunResults) -> str:
    """Return the text of `results.json`: sorted keys, rounded floats, `disclosure.<diagnosis>` beside `.mean`."""
    return document_text(results)


def from_json(text: str) -> RunResults:
    """Read the text of a `results.json` back; raises `ValueError` where it is not one."""
    return RunResults.model_validate(read_document(text))


def document_text(results: Record) -> str:
    """Return the JSON text of a results record, published or exact."""
    document = results.model_dump(mode="json", exclude_none=False)
    for part in (document, *document["renderings"].values()):
        disclosure = part["disclosure"]
        part["disclosure"] = {**disclosure["by_diagnosis"], "mean": disclosure["mean"]}
    if document["training"] is None:
        del document["training"]
    # A tenth of the time of the standard library's, which indents in Python: an exact document has 100,000 values.
    return to_json_bytes(round_floats(document), indent=1).decode("utf-8") + "\n"


def read_document(text: str) -> dict[str, Any]:
    """Read the JSON text of a results record into the shape of its record; raises `ValueError` where it is none."""
    document: dict[str, Any] = json.loads(text)
    for part in (document, *document.get("renderings", {}).values()):
        disclosure = part.get("disclosure", {})
        mean = disclosure.pop("mean", {})
        part["disclosure"] = {"by_diagnosis": disclosure, "mean": mean}
    return document


@dataclass(frozen=True, slots=True)
class ReportContent:
    """A report's numbers and where they come from."""

    results: RunResults
    #: The content of `run.json`.
    provenance: Mapping[str, object]
    #: The exact report (PHI): ranges have no width, and what only the evidence holds is there.
    is_exact: bool = False


SCHEMA_PATH = Path(__file__).with_name("results.schema.json")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the published `results.json`."""
    return schema_of_document(RunResults)


def schema_of_document(records: type[Record]) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a results document, `disclosure` laid flat as `document_text` does."""
    schema = records.model_json_schema(mode="serialization")
    definitions = schema["$defs"]
    name = schema["properties"]["disclosure"]["$ref"].rpartition("/")[2]
    flat = definitions[name]["properties"]
    definitions[name] = {
        "description": "By diagnosis and tier, and the means over the diagnoses.",
        "type": "object",
        "properties": {"mean": flat["mean"]},
        "required": ["mean"],
        "additionalProperties": flat["by_diagnosis"]["additionalProperties"],
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["required"] = sorted(set(schema["properties"]) - {"training"})
    return schema
