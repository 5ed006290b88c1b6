"""Results records of memorization: one tier in one arm, verbatim and near-verbatim (docs/results.md)."""

from typing import Final, Literal, get_args

from clinaudit.reports.schema.numbers import Count, Estimate, EstimateRange
from clinaudit.reports.schema.record import Record

SectionKind = Literal["revealing_single", "revealing_shared", "templated_single", "templated_shared"]
SECTION_KINDS: tuple[SectionKind, ...] = get_args(SectionKind)
LengthUnit = Literal["tokens", "characters", "words"]
LENGTH_UNITS: tuple[LengthUnit, ...] = get_args(LengthUnit)
#: Pieces of K = 1, and of K above 1.
PieceKind = Literal["single", "shared"]
PIECE_KINDS: tuple[PieceKind, ...] = get_args(PieceKind)
#: Sections that the paper's Figure 4 draws.
SECTIONS_DRAWN: Final = 10


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


class SectionTokens(Record):
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


class Decile(Record):
    """The fraction that `share` of the patients do not exceed."""

    share: float
    fraction: float


class NearVerbatimEvidence(Record):
    """What only the evidence holds of near-verbatim text; means over generations, with a bootstrap over patients."""

    #: Tokens inside a near match over generated tokens; then those in no verbatim match as well.
    fraction: Estimate
    extra_fraction: Estimate
    #: Tokens of a generation's longest region, over the generations that have one.
    longest_region: Estimate
    #: The same lengths as a distribution over all generations, 0 where there is none.
    longest_region_length: LengthSummary


class OtherPatientsEvidence(Record):
    """Means over generations of other patients' text, with a bootstrap over patients (see `OtherPatientsResults`)."""

    fraction: Estimate
    sampled_fraction: Estimate
    chance: Estimate
    #: Share of generations with any such token.
    rate: Estimate


class RefusalsEvidence(Record):
    """Generations that were asked for, and those that open as a refusal."""

    generations: int
    refused: int


class MemorizationEvidence(Record):
    """What only the evidence holds of one tier and arm; means are over generations, with a bootstrap over patients."""

    generations: int
    #: Generations without a single token, and those shorter than the n-gram length, in which no match is possible.
    empty: int
    shorter_than_ngram: int
    memorized_fraction: Estimate
    memorized_fraction_without_echo: Estimate
    attributable_fraction: Estimate
    attributable_fraction_unmasked: Estimate
    near_verbatim_attributable_fraction: Estimate
    #: Share of generations with a match.
    hit_rate: Estimate
    source_notes_mean: Estimate
    source_notes_any: Estimate
    source_notes_min: Estimate
    stitched_share: Estimate
    templated_share: Estimate
    multi_patient_share: Estimate
    region_length: dict[LengthUnit, LengthSummary]
    piece_length: dict[PieceKind, dict[LengthUnit, LengthSummary]]
    k_distribution: list[KBin]
    sections: list[SectionTokens]
    copy_forward: list[CopyForwardBin]
    #: Tokens at region edges that occur in no note as text and were dropped by the split.
    dropped_tokens: int
    #: Of the attributable fraction patient by patient, and its mean over the tenth who are worst off (bootstrap over
    #: patients); none without an answer.
    deciles: list[Decile]
    worst_tenth: Estimate | None
    #: Target patients behind a figure of text: those with a stitched region, ...
    behind: dict[TextBasis, int]


class FractionBin(Record):
    """Patients whose fraction lies above `low` and at `high` at most; the first bin holds those at zero."""

    low: float
    high: float
    patients: Count


class ShareAbove(Record):
    """Patients whose fraction lies above `threshold`, and their share."""

    threshold: float
    patients: Count
    share: EstimateRange


class FractionOfText(Record):
    """A fraction of each patient's generated tokens: its mean over patients, and how patients are spread over it."""

    mean: EstimateRange
    bins: list[FractionBin]
    above: list[ShareAbove]


class SharedPieces(Record):
    """Share of the pieces whose text stands in the notes of `k` patients (a number or a range as text)."""

    k: str
    #: Of the pieces of all rows shown, a whole percent; null where too few patients stand behind it.
    share: float | None


class SectionComposition(Record):
    """Memorized tokens of one note section as shares of all that are shown (the paper's Figure 4), whole percents.

    Null where too few patients stand behind it.
    """

    section: str
    revealing_single: float | None
    revealing_shared: float | None
    templated_single: float | None
    templated_shared: float | None
    #: Of the section's tokens; null unless all four kinds are shown. A range, since the shares are whole percents.
    templated_share: EstimateRange | None = None


class CopiedPieces(Record):
    """Share of the K = 1 revealing pieces that stand in `notes` of the patient's notes (the paper's Figure 12)."""

    notes: str
    share: float | None


class NearVerbatimResults(Record):
    """Text that stands in the patient's notes but for a few edits; part of no other number."""

    #: Tokens of a window.
    window: int
    #: Token edits that a window may have: insertions, deletions, substitutions.
    edit_budget: int
    #: Tokens inside a near match over generated tokens; verbatim ones are among them.
    fraction: FractionOfText
    #: Tokens inside a near match and in no verbatim one, over generated tokens.
    extra_fraction: FractionOfText
    #: Mean tokens of the longest region of a generation that has one, two significant digits; null where too few
    #: patients have one.
    longest_region: float | None
    #: Null in what is published.
    evidence: NearVerbatimEvidence | None = None


class OtherPatientsResults(Record):
    """Text that stands in the notes of exactly one train patient who is not the one asked about.

    Part of no other number; which tokens count: docs/methods.md, section 2, "Other patients' text".
    """

    #: Tokens that count over generated tokens.
    fraction: FractionOfText
    #: The same with as many patients of either split, drawn at random: what `chance` is compared with. Both are null
    #: where a split has nobody else, and in an arm of the lowest class.
    sampled_fraction: FractionOfText | None
    #: `sampled_fraction` with the splits exchanged: text of exactly one nontrain patient, and of no train patient.
    chance: FractionOfText | None
    #: Patients asked about in whose text any such token stands, and their share.
    patients: Count
    patients_share: EstimateRange
    #: Distinct other patients whose text stands in some generation.
    others: Count
    #: Null in what is published.
    evidence: OtherPatientsEvidence | None = None


class MemorizationResults(Record):
    """Verbatim memorization at one tier in one arm (docs/methods.md, section 2)."""

    #: Patients with a generation.
    patients: Count
    memorized_fraction: FractionOfText
    memorized_fraction_without_echo: FractionOfText
    #: The headline: memorized, no boilerplate, in a piece with K = 1 and masked K = 1, neither prompt echo nor a
    #: fact of the prompt, over generated tokens.
    attributable_fraction: FractionOfText
    #: The same by K alone and prompt echo alone: the values that the prompt holds make house style count, too.
    attributable_fraction_unmasked: FractionOfText
    #: The headline's tokens, and those of a near match that are attributable but for a few edits around them, over
    #: generated tokens (docs/methods.md, section 2a).
    near_verbatim_attributable_fraction: FractionOfText
    #: Patients with at least one match, and their share.
    hit_patients: Count
    hit_patients_share: EstimateRange
    #: Patients of whom some generation is empty; of whom some is too short to hold a match (empty ones included).
    empty: Count
    short: Count
    short_share: EstimateRange
    #: Of text: two significant digits, null where 1 to 20 patients stand behind it or behind what it leaves out.
    source_notes_mean: float | None
    #: All notes that hold some piece; and how many hold every piece between them, found greedily.
    source_notes_any: float | None
    source_notes_min: float | None
    stitched_share: float | None
    templated_share: float | None
    multi_patient_share: float | None
    #: Mean length of a region.
    region_tokens: float | None
    region_characters: float | None
    region_words: float | None
    #: Mean length of a piece by K; null where 1 to 20 patients have pieces of either kind.
    piece_length: dict[PieceKind, dict[LengthUnit, float | None]]
    k_distribution: list[SharedPieces]
    sections: list[SectionComposition]
    #: Share of all sections that the ten largest hold (the paper's 80.1%), of the whole percents; null without any.
    largest_sections_share: float | None = None
    copy_forward: list[CopiedPieces]
    #: Null where it was not measured.
    near_verbatim: NearVerbatimResults | None = None
    #: Null where it was not measured.
    other_patients: OtherPatientsResults | None = None
    #: Patients of whom the model refused to answer, asked in a chat, and their share of all it was asked about; null
    #: where refusals were not looked for. All other figures are of the answers that are none.
    refused_patients: Count | None = None
    refused_share: EstimateRange | None = None
    #: Null where refusals were not looked for, and in what is published.
    refusals_evidence: RefusalsEvidence | None = None
    #: Null in what is published.
    evidence: MemorizationEvidence | None = None

    def estimate(self, metric: str) -> EstimateRange | None:
        """Return the figure of a rule's metric; None where it was not measured, `KeyError` where there is no such."""
        if metric == "hit_rate":
            return self.hit_patients_share
        if metric == "other_patient_fraction":
            return None if self.other_patients is None else self.other_patients.fraction.mean
        if metric not in get_args(FractionName):
            raise KeyError(metric)
        fraction: FractionOfText = getattr(self, metric)
        return fraction.mean
