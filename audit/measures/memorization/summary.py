"""The summary of verbatim memorization over the generations of one tier and arm (docs/methods.md, section 2).

Owns means, shares and their intervals, and memorized text in bins: pieces by the patients and notes that hold them,
tokens by section, and who is behind each. Knows nothing of how a generation was analysed. Every mean is over
generations (one for each distinct prompt), with a cluster bootstrap over patients. The sections are those of the
paper's Figure 4, the copies those of its Figure 12.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar, get_args

import numpy as np

from clinaudit.audit.measures.memorization.generation_metrics import (
    GenerationMetrics,
    MeasuredGeneration,
    TextLength,
    attributable_part,
    has_match,
    memorized_part,
)
from clinaudit.audit.statistics.intervals import bootstrap_mean_over_patients
from clinaudit.audit.statistics.patient_distribution import bin_fractions, describe_distribution
from clinaudit.reports.schema.memorization import (
    LENGTH_UNITS,
    SECTION_KINDS,
    CopyForwardBin,
    FractionName,
    KBin,
    LengthSummary,
    LengthUnit,
    MemorizationEvidence,
    SectionTokens,
    TextBasis,
)
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.tally.leaves import CountWithPart, Fraction, Inside, OfText, Partition, SharesOfText
from clinaudit.reports.tally.tally import MemorizationTally

Value = Callable[[GenerationMetrics], float]
Key = TypeVar("Key", bound=Hashable)
#: Coarse, so that a bin does not reveal the size of a small group of patients.
#: The paper names those in more than 8,000 patients' notes (5.2).
_K_BINS = ((1, "1"), (10, "2-10"), (100, "11-100"), (1000, "101-1000"), (8000, "1001-8000"), (float("inf"), ">8000"))
_COPY_BINS = (*((notes, str(notes)) for notes in range(1, 6)), (10, "6-10"), (float("inf"), ">10"))
_FRACTIONS: dict[FractionName, Value] = {
    "memorized_fraction": memorized_part,
    "memorized_fraction_without_echo": lambda row: row.share(row.memorized_tokens - row.echo_tokens),
    "attributable_fraction": attributable_part,
    "attributable_fraction_unmasked": lambda row: row.share(row.attributable_tokens_unmasked),
    "near_verbatim_attributable_fraction": lambda row: row.share(row.near_verbatim_attributable_tokens),
}
#: Columns of which the mean over generations with a region is taken.
_NOTE_MEANS = {
    "source_notes_mean": "source_notes",
    "source_notes_any": "source_notes_any",
    "source_notes_min": "source_notes_min",
}


def summarize_memorization(counts: Sequence[MeasuredGeneration], *, match_tokens: int, seed: int) -> MemorizationTally:
    """Return the tally of one tier and arm, of nobody where the model refused all answers.

    `match_tokens` is the length of a match in tokens; `seed` is that of the bootstrap over patients.
    """
    rows = [item.metrics for item in counts]
    evidence = _measure(counts, match_tokens=match_tokens, seed=seed)
    behind, patients = evidence.behind, count_patients(rows)
    hits = count_patients(rows, has_match)
    text = {
        **{name: OfText(getattr(evidence, name).value, (hits,)) for name in _NOTE_MEANS},
        "stitched_share": OfText(evidence.stitched_share.value, (behind["stitched"], behind["unstitched"])),
        "templated_share": OfText(evidence.templated_share.value, (behind["templated"], behind["revealing"])),
        "multi_patient_share": OfText(evidence.multi_patient_share.value, (behind["shared"], behind["single"])),
        **{f"region_{unit}": OfText(length.mean, (hits,)) for unit, length in evidence.region_length.items()},
    }
    return MemorizationTally(
        fractions={name: fraction_by_patient(values_by_patient(rows, value)) for name, value in _FRACTIONS.items()},
        hits=Partition.halves("any", hits, patients, rest="none"),
        attributable=Partition.halves(
            "any", count_patients(rows, lambda row: row.attributable_tokens), patients, rest="none"
        ),
        short=CountWithPart.of(
            count_patients(rows, lambda row: row.tokens < match_tokens),
            count_patients(rows, lambda row: row.tokens == 0),
        ),
        text=text,
        piece_length={
            kind: {unit: OfText(length.mean, (behind["single"], behind["shared"])) for unit, length in lengths.items()}
            for kind, lengths in evidence.piece_length.items()
        },
        k_distribution=SharesOfText.of({row.k: (row.pieces, row.patients) for row in evidence.k_distribution}),
        sections=SharesOfText.of(
            {
                f"{kind} {row.section}": (getattr(row, kind), row.patients[kind])
                for row in evidence.sections
                for kind in SECTION_KINDS
            }
        ),
        copy_forward=SharesOfText.of({row.notes: (row.pieces, row.patients) for row in evidence.copy_forward}),
        evidence=Inside(evidence),
    )


def _measure(counts: Sequence[MeasuredGeneration], *, match_tokens: int, seed: int) -> MemorizationEvidence:
    rows = [item.metrics for item in counts]

    def share(part: Callable[[MeasuredGeneration], int], whole: Callable[[MeasuredGeneration], int]) -> Estimate:
        return ratio_over_patients(((item.metrics.patient_id, part(item), whole(item)) for item in counts), seed=seed)

    lengths = [
        (k, length) for item in counts for (k, _, _), length in zip(item.pieces, item.piece_lengths, strict=False)
    ]
    means: dict[str, Estimate] = {
        name: mean_over_patients(rows, value, seed=seed) for name, value in _FRACTIONS.items()
    }
    with_region = [row for row in rows if row.regions]
    for name, column in _NOTE_MEANS.items():
        counted = ((row.patient_id, getattr(row, column), 1) for row in with_region)
        means[name] = ratio_over_patients(counted, seed=seed)
    spread = describe_distribution(values_by_patient(rows, attributable_part), seed=seed) if rows else None
    return MemorizationEvidence(
        **means,
        generations=len(rows),
        empty=sum(row.tokens == 0 for row in rows),
        shorter_than_ngram=sum(row.tokens < match_tokens for row in rows),
        hit_rate=mean_over_patients(rows, has_match, seed=seed),
        stitched_share=share(lambda item: item.metrics.stitched_regions, lambda item: item.metrics.regions),
        templated_share=share(
            lambda item: sum(count for flag, count in item.flags if not flag.revealing),
            lambda item: item.metrics.memorized_tokens,
        ),
        multi_patient_share=share(lambda item: sum(k > 1 for k, _, _ in item.pieces), lambda item: len(item.pieces)),
        region_length=_summarize_text([length for item in counts for length in item.region_lengths]),
        piece_length={
            "single": _summarize_text([length for k, length in lengths if k == 1]),
            "shared": _summarize_text([length for k, length in lengths if k > 1]),
        },
        k_distribution=[
            KBin(k=name, pieces=pieces, patients=patients)
            for name, pieces, patients in _bin_pieces(
                _K_BINS, ((item.metrics.patient_id, k) for item in counts for k, _, _ in item.pieces)
            )
        ],
        sections=_count_by_section(counts),
        copy_forward=[
            CopyForwardBin(notes=name, pieces=pieces, patients=patients)
            for name, pieces, patients in _bin_pieces(
                _COPY_BINS,
                (
                    (item.metrics.patient_id, notes)
                    for item in counts
                    for k, notes, revealing in item.pieces
                    if k == 1 and revealing
                ),
            )
        ],
        dropped_tokens=sum(item.dropped_tokens for item in counts),
        deciles=[] if spread is None else spread.deciles,
        worst_tenth=None if spread is None else spread.worst_tenth,
        behind=_count_behind(counts),
    )


def count_patients(rows: Iterable[GenerationMetrics], condition: Value = lambda _: True) -> int:
    """Return how many patients have a generation of which the condition is not 0."""
    return len({row.patient_id for row in rows if condition(row)})


def mean_over_patients(rows: Iterable[GenerationMetrics], value: Value, *, seed: int) -> Estimate:
    """Return the mean of a value over generations, with its cluster bootstrap interval over patients."""
    return ratio_over_patients(((row.patient_id, value(row), 1) for row in rows), seed=seed)


def ratio_over_patients(rows: Iterable[tuple[str, float, int]], *, seed: int) -> Estimate:
    """Return the ratio estimate (sum of values over sum of counts) with its cluster bootstrap interval over patients.

    `rows` are (patient, value, count).
    """
    sums: defaultdict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for patient_id, value, count in rows:
        if count:
            sums[patient_id] += value
            counts[patient_id] += count
    if not counts:
        return Estimate(value=None, n=0, reason="there was nothing to count")
    patients = sorted(counts)
    numerators = np.array([sums[patient] for patient in patients], dtype=np.float64)
    denominators = np.array([counts[patient] for patient in patients], dtype=np.int64)
    low, high = bootstrap_mean_over_patients(numerators, denominators, seed=seed)
    total = int(denominators.sum())
    return Estimate(value=float(numerators.sum()) / total, low=low, high=high, n=total)


def values_by_patient(rows: Iterable[GenerationMetrics], value: Value) -> dict[str, list[float]]:
    """Return what `value` makes of each patient's generations, by patient."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        values[row.patient_id].append(value(row))
    return values


def fraction_by_patient(values: Mapping[str, Sequence[float]], *, sum_of: tuple[Fraction, ...] = ()) -> Fraction:
    """Return the patients by bin and the mean over them, which may be the `sum_of` others; `values` by patient."""
    means = np.array([float(np.mean(own)) for own in values.values()])
    mean = sum(means.tolist()) / len(means) if len(means) else 0.0
    return Fraction.of(bin_fractions(means), mean, sum_of=sum_of)


def _count_behind(counts: Sequence[MeasuredGeneration]) -> dict[TextBasis, int]:
    """Return how many patients are behind each part of the text that a share is made of."""
    behind: dict[TextBasis, set[str]] = {basis: set() for basis in get_args(TextBasis)}
    for item in counts:
        revealing = sum(count for flag, count in item.flags if flag.revealing)
        single = sum(k == 1 for k, _, _ in item.pieces)
        parts: dict[TextBasis, int] = {
            "stitched": item.metrics.stitched_regions,
            "unstitched": item.metrics.regions - item.metrics.stitched_regions,
            "templated": sum(count for _, count in item.flags) - revealing,
            "revealing": revealing,
            "shared": len(item.pieces) - single,
            "single": single,
        }
        for basis, units in parts.items():
            if units:
                behind[basis].add(item.metrics.patient_id)
    return {basis: len(patients) for basis, patients in behind.items()}


def _summarize_text(lengths: Sequence[TextLength]) -> dict[LengthUnit, LengthSummary]:
    return {unit: summarize_lengths([getattr(length, unit) for length in lengths]) for unit in LENGTH_UNITS}


def summarize_lengths(lengths: Sequence[int]) -> LengthSummary:
    """Return the distribution of lengths; all null where there are none."""
    if not lengths:
        return LengthSummary(mean=None, median=None, p90=None, max=None)
    median, p90 = np.quantile(lengths, (0.5, 0.9))
    return LengthSummary(mean=float(np.mean(lengths)), median=float(median), p90=float(p90), max=max(lengths))


def _count(keyed: Iterable[tuple[str, Key, int]]) -> dict[Key, tuple[int, int]]:
    """Return the units (pieces, tokens) of each key, and the patients who contribute them; (patient, key, units)."""
    units: Counter[Key] = Counter()
    patients: defaultdict[Key, set[str]] = defaultdict(set)
    for patient_id, key, some in keyed:
        units[key] += some
        patients[key].add(patient_id)
    return {key: (count, len(patients[key])) for key, count in units.items()}


def _bin_pieces(bins: Sequence[tuple[float, str]], counts: Iterable[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """Return each bin's pieces and patients; `counts` are (patient, number), `bins` the largest number of each."""
    found = _count((patient_id, next(name for top, name in bins if number <= top), 1) for patient_id, number in counts)
    return [(name, *found.get(name, (0, 0))) for _, name in bins]


def _count_by_section(counts: Sequence[MeasuredGeneration]) -> list[SectionTokens]:
    """Return the composition by section, the largest first (the paper's Figure 4)."""
    found = _count(
        (
            item.metrics.patient_id,
            (
                flag.section,
                ("revealing" if flag.revealing else "templated") + ("_single" if flag.single_patient else "_shared"),
            ),
            tokens,
        )
        for item in counts
        for flag, tokens in item.flags
    )
    sections = {
        section: {kind: found.get((section, kind), (0, 0)) for kind in SECTION_KINDS}
        for section in sorted({section for section, _ in found})
    }
    return [
        SectionTokens(
            section=section,
            **{kind: tokens for kind, (tokens, _) in kinds.items()},
            patients={kind: patients for kind, (_, patients) in kinds.items()},
        )
        for section, kinds in sorted(sections.items(), key=lambda item: -sum(tokens for tokens, _ in item[1].values()))
    ]
