"""The results schema: what `results.json` holds, as typed records (contract, section 6).

Owns the shape of every published number; results_schema.py makes the JSON Schema of it. Knows nothing of how a
number was computed. A figure is an `Estimate`: a value with its interval, or no value with the reason.
"""

import json
import math
from typing import Any, Literal, get_args

from pydantic import Field

from clinaudit.reports.estimate import Count as Count
from clinaudit.reports.estimate import Estimate as Estimate
from clinaudit.reports.estimate import Record as Record
from clinaudit.reports.judge_quality import CorrectedPair, JudgeQuality
from clinaudit.reports.matched_cohorts import BalanceRow as BalanceRow
from clinaudit.reports.matched_cohorts import CohortSummary as CohortSummary
from clinaudit.reports.patient_groups import PatientDistribution, Subgroups

SCHEMA_VERSION = "1.0"
#: Floats are published with this many decimals (contract, section 6).
DECIMALS = 6
#: The row of `sections` that holds what few patients stand behind.
POOLED_SECTIONS = "Other sections (few patients)"

#: Of which the deltas are compared between matchers.
COMPARED_METRICS = ("auroc_all", "auroc")

Status = Literal["pass", "fail", "incomplete", "inconclusive"]
Arm = Literal["train", "nontrain"]


class TestedDelta(Estimate):
    """Train minus nontrain, with the one-sided test of delta > 0."""

    p_value: float | None = None
    #: Holm-adjusted over all (diagnosis, tier) pairs of the metric.
    p_holm: float | None = None
    #: `low` and `high` again with every unjudged verdict imputed at its worst for the gate; null where there is none.
    worst_low: float | None = None
    worst_high: float | None = None
    #: Where `auroc_all` is published as a band: the band and, on either side, at least half the width of the 95%
    #: interval, from `detectable_delta` as published; null elsewhere.
    confidence_low: float | None = None
    confidence_high: float | None = None


class Limit(Record):
    """What a rule allows: at most `max`, at least `min`."""

    max: float | None = None
    min: float | None = None


class RuleOutcome(Record):
    """One rule of the policy, and how this run fared."""

    id: str
    #: In plain words, what was asked.
    question: str
    metric: str
    tier: str | None = None
    diagnosis: str | None = None
    limit: Limit
    status: Literal["pass", "fail", "inconclusive"]
    observed: Estimate
    reason: str


class Decision(Record):
    """The verdict: any rule failed, else units missing, else any inconclusive, else pass."""

    status: Status
    policy: str
    reason: str
    rules: list[RuleOutcome]


class StageCompleteness(Record):
    """What one stage planned and what became of it; counts of units, not of patients."""

    #: Null where suppressed: less what is shown of tiers and tables it would give a hidden one back.
    planned: int | None
    done: int | None
    failed: int
    #: Neither done nor failed; given where `planned` and `done` are suppressed.
    missing: int | None = None
    excluded: dict[str, Count] = Field(default_factory=dict)


class Moments(Record):
    """Mean, standard deviation and range of a per-patient (or per-practice) number."""

    mean: float | None
    sd: float | None
    min: float | None
    max: float | None


class PopulationSummary(Record):
    """The paper's Tables 5 to 7 for one split or one cohort."""

    notes: Count
    patients: Count
    #: Tokens of the notes on the audited model's tokenizer.
    tokens: int | None
    practices: int | None
    notes_per_patient: Moments
    tokens_per_patient: Moments
    age: Moments
    #: Patients by band: <18, 18-34, 35-49, 50-64, 65-79, 80+, unknown (ages over 89 are inside 80+).
    age_bands: dict[str, Count]
    sex: dict[str, Count]
    race: dict[str, Count]


class CorpusSummary(Record):
    """Who was in the corpus."""

    #: Whether the corpus holds a nontrain split; without one nothing can be attributed to training.
    counterfactual: bool
    #: Where diagnosis labels came from: `table`, or the judge that read the notes.
    labels: Literal["table", "lexicon", "openai"]
    splits: dict[str, PopulationSummary]
    cohorts: dict[str, PopulationSummary]
    warnings: list[str]


class LengthSummary(Record):
    """Distribution of region lengths."""

    mean: float | None
    median: float | None
    p90: float | None
    max: int | None


class KBin(Record):
    """Pieces whose text stands in the notes of `k` patients (a number or a range as text)."""

    k: str
    #: Null where suppressed.
    pieces: int | None
    #: Target patients behind them; null where unknown, and always in what is published.
    patients: Count = None


SectionKind = Literal["revealing_single", "revealing_shared", "templated_single", "templated_shared"]
SECTION_KINDS: tuple[SectionKind, ...] = get_args(SectionKind)


class SectionComposition(Record):
    """Memorized tokens of one note section, by content and patient specificity (the paper's Figure 4).

    A suppressed count is null; those of a kind are pooled over the sections in the row `POOLED_SECTIONS`.
    """

    section: str
    revealing_single: int | None
    revealing_shared: int | None
    templated_single: int | None
    templated_shared: int | None
    #: Target patients behind each count; null where unknown, and always in what is published.
    patients: dict[SectionKind, int] | None = None


class CopyForwardBin(Record):
    """K = 1 revealing pieces that stand in `notes` of the patient's notes (the paper's Figure 12)."""

    notes: str
    #: Null where suppressed.
    pieces: int | None
    #: Target patients behind them; null where unknown, and always in what is published.
    patients: Count = None


class PaperView(Record):
    """The paper's counting: one row a (patient, cohort) rather than one a distinct prompt."""

    rows: int
    memorized_fraction: Estimate
    hit_rate: Estimate


class NearVerbatim(Record):
    """Text that stands in the patient's notes but for a few edits, at one tier in one arm; never part of other figures.

    Means are over generations, with a bootstrap over patients; `n` counts generations.
    """

    #: Tokens of a window.
    window: int
    #: Token edits that a window may have: insertions, deletions, substitutions.
    edit_budget: int
    #: Tokens inside a near match over generated tokens; verbatim ones are among them.
    fraction: Estimate
    #: Tokens inside a near match and in no verbatim one, over generated tokens.
    extra_fraction: Estimate
    #: Tokens of a generation's longest region; 0 where it has none.
    longest_region: Estimate
    #: The same lengths as a distribution over all generations.
    longest_region_length: LengthSummary
    #: Patients with any near-verbatim token; null where unknown, and always in what is published.
    patients: Count = None
    #: Patients with any that is not verbatim; null where unknown, and always in what is published.
    extra_patients: Count = None


class Memorization(Record):
    """Verbatim memorization at one tier in one arm (contract, section 4)."""

    generations: Count
    patients: Count
    #: Generations without a single token.
    empty: Count
    #: Generations shorter than the n-gram length, in which no match is possible.
    shorter_than_ngram: Count
    memorized_fraction: Estimate
    memorized_fraction_without_echo: Estimate
    #: The headline: memorized, clinically revealing, in a K = 1 piece, not prompt echo, over generated tokens.
    attributable_fraction: Estimate
    #: The same mean with the bounds the gate uses: Beta quantiles of Clopper-Pearson with the fractional sum.
    attributable_fraction_bounds: Estimate
    #: Patients with any attributable token; null where unknown or suppressed.
    attributable_patients: Count = None
    memorized_fraction_bounds: Estimate
    hit_rate: Estimate
    source_notes_mean: Estimate
    stitched_share: Estimate
    templated_share: Estimate
    multi_patient_share: Estimate
    region_length: dict[Literal["tokens", "characters"], LengthSummary]
    k_distribution: list[KBin]
    sections: list[SectionComposition]
    copy_forward: list[CopyForwardBin]
    #: Tokens at region edges that occur in no note as text and were dropped by the split; null where
    #: suppressed.
    dropped_tokens: int | None
    paper_view: PaperView | None = None
    #: The attributable fraction patient by patient; null where suppressed.
    distribution: PatientDistribution | None = None
    #: Counted separately; null where it was not measured.
    near_verbatim: NearVerbatim | None = None


class RocPoint(Record):
    """One operating point: everyone with a score of at least `threshold` is called positive."""

    threshold: float
    true_positive_rate: float
    false_positive_rate: float


class Disclosure(Record):
    """Disclosure of one diagnosis at one tier in one arm (contract, section 5)."""

    generations: Count
    mentioned: Count
    mention_rate: Estimate
    unjudged: Count
    #: Share of d-positives among the generations counted; 0.5 by design.
    base_rate: float | None
    auroc: Estimate
    ppv: Estimate
    auroc_all: Estimate
    sensitivity: Estimate
    false_positive_rate: Estimate
    ppv_at_prevalence: Estimate
    #: Null where suppressed or where one class is missing.
    roc: list[RocPoint] | None
    #: By share of which the count is zero: what it might still be, with 95% confidence (one-sided Clopper-Pearson).
    zero_bounds: dict[str, float] = Field(default_factory=dict)
    #: By figure: how many of the 2,000 resamples leave it undefined (of one class alone), where any does.
    undefined_resamples: dict[str, int] = Field(default_factory=dict)


class DisclosureDelta(Record):
    """Train minus nontrain: what training gave away."""

    mention_rate: TestedDelta
    auroc: TestedDelta
    ppv: TestedDelta
    auroc_all: TestedDelta
    sensitivity: TestedDelta
    false_positive_rate: TestedDelta
    ppv_at_prevalence: TestedDelta


class DisclosurePair(Record):
    """Both arms and their difference for one diagnosis and tier."""

    train: Disclosure
    nontrain: Disclosure | None
    delta: DisclosureDelta | None
    #: Matched sets left out at this tier, by reason.
    dropped_sets: dict[str, Count]
    #: Smallest true delta of `auroc_all` that the one-sided 5% test would have shown with a chance of 80%.
    detectable_delta: float | None = None
    #: The same with the judge's errors taken out; null where the judge was not scored.
    corrected: CorrectedPair | None = None


class MeanOverDiagnoses(Record):
    """Means over the diagnoses with a joint bootstrap over patients; `train`, `nontrain`, `delta` by metric."""

    train: dict[str, Estimate]
    nontrain: dict[str, Estimate]
    delta: dict[str, Estimate]


class SecondMatching(Record):
    """One diagnosis with its cohort matched another way: does what training gave away depend on who is compared?"""

    status: Literal["balanced", "imbalanced", "poorly_matched", "unavailable"]
    reason: str | None
    #: Matched sets, with one patient of each cell.
    sets: Count
    #: Largest |SMD| over covariates and contrasts.
    largest_smd: float | None
    #: Tier -> metric (`auroc_all`, `auroc`) -> train minus nontrain on this cohort.
    delta: dict[str, dict[str, Estimate]]
    #: What the deltas come from, by tier; in `evidence/` only, empty where published.
    pairs: dict[str, DisclosurePair] = Field(default_factory=dict)


class SecondMatcher(Record):
    """The deltas on the cohorts of `--second-matcher`; no rule reads them."""

    matcher: Literal["psm", "optimal"]
    diagnoses: dict[str, SecondMatching]


class TrainingLoss(Record):
    """One epoch of the training log (the paper's Table 8)."""

    epoch: float
    train_loss: float | None
    validation_loss: float | None
    perplexity: float | None


class DisclosureResults(Record):
    """All disclosure figures: `by_diagnosis` of the JSON lies flat beside `mean` (see `to_json`)."""

    by_diagnosis: dict[str, dict[str, DisclosurePair]] = Field(default_factory=dict)
    mean: dict[str, MeanOverDiagnoses] = Field(default_factory=dict)


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
