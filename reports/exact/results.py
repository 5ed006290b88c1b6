"""The exact results as typed records: what `evidence/results.json` holds (docs/results.md, "The evidence").

Owns the shape of what was measured. Knows nothing of how a number was computed, nor of what is published.
"""

from typing import Literal

from pydantic import Field

from clinaudit.reports.exact.cohorts import CohortSummary
from clinaudit.reports.exact.corpus import CorpusSummary
from clinaudit.reports.exact.disclosure import DisclosureResults
from clinaudit.reports.exact.groups import Subgroups
from clinaudit.reports.exact.identifiers import Identifiers
from clinaudit.reports.exact.judge import JudgeQuality
from clinaudit.reports.exact.memorization import Memorization
from clinaudit.reports.schema.decision import Narrowing, PublishedDecision
from clinaudit.reports.schema.record import Arm, Record
from clinaudit.reports.schema.results import TrainingLoss, document_text, read_document


class StageCompleteness(Record):
    """What one stage planned and what became of it; counts of units, not of patients."""

    planned: int
    done: int
    failed: int
    excluded: dict[str, int] = Field(default_factory=dict)


class PromptSummary(Record):
    """How the prompts of one tier and arm fit the notes; counts of patients."""

    #: The prompt is the note's own beginning, with every fact that the layout places; and the others. Of background
    #: facts: the patients table agrees with the notes; and the others.
    unbroken: int
    broken: int
    #: The prompt is nobody else's: no other patient of either arm is asked with the same text.
    own: int
    #: The prompt is of an earlier note than the latest, which lacks the tier's facts.
    earlier_note: int
    #: By what else the note's beginning shows beside the tier's facts.
    also_shows: dict[str, int]


class Drift(Record):
    """How far generations differ from what the same prompts gave when they were decoded alone."""

    #: Prompts that were decoded alone, too, and their patients.
    prompts: int
    patients: int
    #: Generations that came out otherwise, and their patients.
    differing: int
    differing_patients: int
    #: Mean over the prompts of the share of tokens before the first that differs.
    equal_leading_share: float
    #: Tokens of each prompt's generation that were compared at most.
    tokens: int


class RenderedResults(Record):
    """What was measured where a tier's knowledge was put to the model in another form; nothing is pooled over forms."""

    memorization: dict[str, dict[Arm, Memorization]] = Field(default_factory=dict)
    disclosure: DisclosureResults = Field(default_factory=DisclosureResults)
    #: Null where identifiers were not looked for.
    identifiers: Identifiers | None = None


class Results(Record):
    """Everything `evidence/results.json` holds."""

    schema_version: Literal["3.0"] = "3.0"
    #: As it is published.
    decision: PublishedDecision | None = None
    completeness: dict[str, StageCompleteness] = Field(default_factory=dict)
    corpus: CorpusSummary | None = None
    memorization: dict[str, dict[Arm, Memorization]] = Field(default_factory=dict)
    disclosure: DisclosureResults = Field(default_factory=DisclosureResults)
    #: Null where identifiers were not looked for.
    identifiers: Identifiers | None = None
    #: By rendering, where it is not that of the figures above.
    renderings: dict[str, RenderedResults] = Field(default_factory=dict)
    #: By tier and arm.
    prompts: dict[str, dict[Arm, PromptSummary]] = Field(default_factory=dict)
    cohorts: dict[str, CohortSummary] = Field(default_factory=dict)
    #: Null where nobody was grouped.
    subgroups: Subgroups | None = None
    #: Null where the judge was not scored.
    judge_quality: JudgeQuality | None = None
    #: Null where nothing was decoded alone.
    drift: Drift | None = None
    #: Free-standing remarks a reader must see, in plain words.
    warnings: list[str] = Field(default_factory=list)
    #: Options that left something out of the audit, beside `--tier`.
    narrowed: list[Narrowing] = Field(default_factory=list)
    training: list[TrainingLoss] | None = None


def exact_to_json(results: Results) -> str:
    """Return the text of `evidence/results.json`."""
    return document_text(results)


def exact_from_json(text: str) -> Results:
    """Read the text of an `evidence/results.json` back; raises `ValueError` where it is not one."""
    return Results.model_validate(read_document(text))
