"""Results records of memorization: the summary of one tier in one arm, verbatim and near-verbatim (docs/results.md)."""

from typing import Literal, get_args

from clinaudit.reports.schema.estimate import Count, Estimate, Record
from clinaudit.reports.schema.groups import PatientDistribution

#: The row of `sections` that holds what few patients stand behind.
POOLED_SECTIONS = "Other sections (few patients)"


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
    """Text that stands in the patient's notes but for a few edits, at one tier in one arm; part of no other number.

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
    """Verbatim memorization at one tier in one arm (docs/methods.md, section 2)."""

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
