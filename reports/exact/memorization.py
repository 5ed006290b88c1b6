"""Results records of memorization: the summary of one tier in one arm, verbatim and near-verbatim (docs/results.md)."""

from typing import Literal

from pydantic import Field

from clinaudit.reports.exact.estimate import Estimate
from clinaudit.reports.exact.groups import FractionBin, PatientDistribution
from clinaudit.reports.schema.memorization import LengthUnit, PieceKind, SectionKind
from clinaudit.reports.schema.record import Record

FractionName = Literal[
    "memorized_fraction",
    "memorized_fraction_without_echo",
    "attributable_fraction",
    "attributable_fraction_unmasked",
    "near_verbatim_attributable_fraction",
]
#: Whose text a share of text is made of: regions (stitched, or not), tokens (templated, or revealing), pieces (of K
#: above 1, or of 1).
TextBasis = Literal["stitched", "unstitched", "templated", "revealing", "shared", "single"]


class LengthSummary(Record):
    """Distribution of region lengths."""

    mean: float | None
    median: float | None
    p90: float | None
    max: int | None


class KBin(Record):
    """Pieces whose text stands in the notes of `k` patients (a number or a range as text)."""

    k: str
    pieces: int
    #: Target patients behind them.
    patients: int


class SectionComposition(Record):
    """Memorized tokens of one note section, by content and patient specificity (the paper's Figure 4)."""

    section: str
    revealing_single: int
    revealing_shared: int
    templated_single: int
    templated_shared: int
    #: Target patients behind each count.
    patients: dict[SectionKind, int]


class CopyForwardBin(Record):
    """K = 1 revealing pieces that stand in `notes` of the patient's notes (the paper's Figure 12)."""

    notes: str
    pieces: int
    #: Target patients behind them.
    patients: int


class PaperView(Record):
    """The paper's counting: one row a (patient, cohort) rather than one a distinct prompt."""

    rows: int
    memorized_fraction: Estimate
    hit_rate: Estimate


class PatientFraction(Record):
    """A fraction of each patient's generated tokens: the mean over patients, and patients by bin.

    A patient's fraction is the mean over its generations; the interval is the gate's own (Beta quantiles).
    """

    mean: Estimate
    bins: list[FractionBin]


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
    #: Tokens of a generation's longest region, over the generations that have one.
    longest_region: Estimate
    #: The same lengths as a distribution over all generations, 0 where there is none.
    longest_region_length: LengthSummary
    #: `fraction` and `extra_fraction` patient by patient.
    by_patient: dict[Literal["fraction", "extra_fraction"], PatientFraction]
    #: Patients with any near-verbatim token, and with any that is not verbatim.
    patients: int
    extra_patients: int


class Guard(Record):
    """What the repetition guard cut at one tier in one arm; part of no other number (docs/methods.md, section 1).

    The `unguarded_` figures are those of the second rule, which does not cut what the patient's own note repeats.
    """

    #: Patients of whom some own note holds a 20-gram twice.
    repeating_patients: int
    #: Generations that the guard ended, and those of them that the second rule keeps more of.
    ended_generations: int
    spared_generations: int
    #: Patients of whom some generation is such a one.
    ended_patients: int
    spared_patients: int
    #: Tokens that the guard would cut off a perfect recitation; mean over patients, none at a background tier.
    recitation_tokens_cut: Estimate
    #: Patients of whom it would cut any.
    recitation_cut_patients: int
    unguarded_memorized_fraction: Estimate
    unguarded_attributable_fraction: Estimate
    unguarded_hit_rate: Estimate
    unguarded_hit_patients: int
    unguarded_hit_patients_share: Estimate
    by_patient: dict[Literal["unguarded_memorized_fraction", "unguarded_attributable_fraction"], PatientFraction]


class OtherPatients(Record):
    """Text that stands in the notes of exactly one other train patient, at one tier in one arm.

    Which tokens count: docs/methods.md, section 2, "Other patients' text". None of them is memorized. Means are over
    generations, with a bootstrap over patients.
    """

    #: Tokens that count over generated tokens; 0 for an empty generation.
    fraction: Estimate
    #: The same mean with the bounds the gate uses: Beta quantiles of Clopper-Pearson with the fractional sum.
    fraction_bounds: Estimate
    #: The same with as many patients of either split, drawn at random: what `chance` is compared with.
    sampled_fraction: Estimate
    #: `sampled_fraction` with the splits exchanged: exactly one nontrain patient's text, and no train patient's.
    chance: Estimate
    #: Share of generations with any such token.
    rate: Estimate
    #: Target patients with any such token, and their share (Clopper-Pearson).
    patients: int
    patients_share: Estimate
    #: Distinct other patients whose text counts in some generation.
    others: int
    #: Fractions patient by patient.
    by_patient: dict[Literal["fraction", "sampled_fraction", "chance"], PatientFraction]


class Refusals(Record):
    """How often the model refused to answer, asked in a chat; a refusal is no evidence that it gives nothing away."""

    #: Generations that were asked for, and those that open as a refusal.
    generations: int
    refused: int
    #: Patients asked about, and those of whom any generation is a refusal.
    patients: int
    refused_patients: int
    #: The share of these patients, with Clopper-Pearson bounds.
    share: Estimate


class Memorization(Record):
    """Verbatim memorization at one tier in one arm (docs/methods.md, section 2)."""

    generations: int
    patients: int
    #: Generations without a single token.
    empty: int
    #: Generations shorter than the n-gram length, in which no match is possible.
    shorter_than_ngram: int
    memorized_fraction: Estimate
    memorized_fraction_without_echo: Estimate
    #: The headline: memorized, no boilerplate, in a piece with K = 1 and masked K = 1, neither prompt echo nor a
    #: fact of the prompt, over generated tokens.
    attributable_fraction: Estimate
    #: The same by K alone and prompt echo alone: the values that the prompt holds make house style count, too.
    attributable_fraction_unmasked: Estimate
    #: The same mean with the bounds the gate uses: Beta quantiles of Clopper-Pearson with the fractional sum.
    attributable_fraction_bounds: Estimate
    #: Patients with any attributable token.
    attributable_patients: int
    memorized_fraction_bounds: Estimate
    #: The headline's tokens, and those of a near match that are attributable but for a few edits around them, over
    #: generated tokens (docs/methods.md, section 2a); null where it was not measured. Then with the gate's bounds.
    near_verbatim_attributable_fraction: Estimate | None = None
    near_verbatim_attributable_fraction_bounds: Estimate | None = None
    #: Share of generations with a match.
    hit_rate: Estimate
    source_notes_mean: Estimate
    #: All notes that hold some piece; and how many hold every piece between them, found greedily.
    source_notes_any: Estimate | None = None
    source_notes_min: Estimate | None = None
    stitched_share: Estimate
    templated_share: Estimate
    multi_patient_share: Estimate
    region_length: dict[LengthUnit, LengthSummary]
    #: Of pieces with K = 1 and with K > 1.
    piece_length: dict[PieceKind, dict[LengthUnit, LengthSummary]] = Field(default_factory=dict)
    k_distribution: list[KBin]
    sections: list[SectionComposition]
    copy_forward: list[CopyForwardBin]
    #: Tokens at region edges that occur in no note as text and were dropped by the split.
    dropped_tokens: int
    paper_view: PaperView | None = None
    #: The attributable fraction patient by patient.
    distribution: PatientDistribution | None = None
    #: Each fraction patient by patient, by its field's name.
    by_patient: dict[FractionName, PatientFraction]
    #: Patients of whom some generation is empty, or (also) shorter than the n-gram length.
    empty_patients: int
    short_patients: int
    #: Patients with any match, and their share (Clopper-Pearson).
    hit_patients: int
    hit_patients_share: Estimate
    #: Target patients behind a figure of text: those with a stitched region, ...
    behind: dict[TextBasis, int]
    #: Counted separately; null where it was not measured.
    near_verbatim: NearVerbatim | None = None
    #: Null where the program did not generate the text itself.
    guard: Guard | None = None
    #: What other patients' notes hold of the text; counted separately, null where it was not measured.
    other_patients: OtherPatients | None = None
    #: Null where refusals were not looked for. All other figures are of the answers that are none.
    refusals: Refusals | None = None
