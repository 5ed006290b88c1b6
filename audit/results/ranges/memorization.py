"""Memorization of a tier and arm, and subgroups, from their tallies (docs/results.md, "memorization")."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from clinaudit.audit.statistics.counts import common_total, mean_range, ranged, share_of, share_range
from clinaudit.audit.statistics.patient_distribution import THRESHOLDS
from clinaudit.reports.schema.corpus import GroupResults
from clinaudit.reports.schema.corpus import Partition as GroupedBy
from clinaudit.reports.schema.memorization import (
    SECTION_KINDS,
    SECTIONS_DRAWN,
    CopiedPieces,
    FractionBin,
    FractionOfText,
    MemorizationResults,
    NearVerbatimResults,
    OtherPatientsResults,
    SectionComposition,
    SectionKind,
    ShareAbove,
    SharedPieces,
)
from clinaudit.reports.schema.numbers import CountRange, EstimateRange, add
from clinaudit.reports.tally.leaves import Fraction, Groups, SharesOfText
from clinaudit.reports.tally.tally import MemorizationTally, OtherPatientsTally

#: Why there is no mean: the model refused all answers.
_NOBODY: Final = "there was nothing to average"
#: What a whole percent may be off by.
HALF_PERCENT: Final = 0.005


def find_patients(tally: MemorizationTally, *counts: CountRange) -> CountRange:
    """Return the patients of a tier and arm: the total that all its partitions share, and other `counts` of it."""
    near, others = tally.near_verbatim, tally.other_patients
    fractions = list(tally.fractions.values())
    halves = [tally.hits, tally.attributable]
    if near is not None:
        fractions += [near.fraction, near.extra_fraction]
        halves += [near.patients, near.extra_patients]
    if others is not None:
        pools = (others.sampled_fraction.value, others.chance.value)
        fractions += [others.fraction, *(pool for pool in pools if pool is not None)]
        halves.append(others.patients)
    partitions = [*(of.bins for of in fractions), *(list(of.cells.values()) for of in halves)]
    return common_total([*partitions, *([count] for count in counts)])


def find_asked(tally: MemorizationTally) -> CountRange:
    """Return the patients whom a tier and arm was asked about, those among them of whom the model refused to answer."""
    return find_patients(tally) if tally.refusals is None else tally.refusals.asked.range


def derive_memorization(
    tally: MemorizationTally, patients: CountRange | None = None, *, rounding: float = HALF_PERCENT
) -> MemorizationResults:
    """Return the results of one tier and arm; shares of sections are rounded by `rounding` at most.

    `patients` is the size of the arm, where more than this tally counts them.
    """
    patients = patients or find_patients(tally)
    near, refusals, short = tally.near_verbatim, tally.refusals, add([tally.short.range], of=patients)
    by_field: dict[str, Any] = {name: derive_fraction(of, patients) for name, of in tally.fractions.items()}
    by_field |= {name: figure.value for name, figure in tally.text.items()}
    sections = _sections(tally.sections)
    return MemorizationResults(
        **by_field,
        patients=patients,
        hit_patients=tally.hits["any"],
        hit_patients_share=share_range(tally.hits["any"], tally.hits["none"], total=patients),
        empty=add([tally.short.part], of=patients),
        short=short,
        short_share=share_of(short, patients),
        piece_length={
            kind: {unit: figure.value for unit, figure in lengths.items()}
            for kind, lengths in tally.piece_length.items()
        },
        k_distribution=[SharedPieces(k=k, share=share) for k, share in tally.k_distribution.shares.items()],
        sections=[
            SectionComposition.model_validate(
                {"section": section, **shares, "templated_share": templated_range(shares, rounding=rounding)}
            )
            for section, shares in sections
        ],
        largest_sections_share=_largest_sections([shares for _, shares in sections], rounding=rounding),
        copy_forward=[CopiedPieces(notes=notes, share=share) for notes, share in tally.copy_forward.shares.items()],
        near_verbatim=None
        if near is None
        else NearVerbatimResults(
            window=near.window.value,
            edit_budget=near.edit_budget.value,
            fraction=derive_fraction(near.fraction, patients),
            extra_fraction=derive_fraction(near.extra_fraction, patients),
            longest_region=near.longest_region.value,
            evidence=near.evidence.value,
        ),
        other_patients=None if tally.other_patients is None else derive_other_patients(tally.other_patients, patients),
        refused_patients=None if refusals is None else refusals.refused.range,
        refused_share=None if refusals is None else share_of(refusals.refused.range, refusals.asked.range),
        refusals_evidence=None if refusals is None else refusals.evidence.value,
        evidence=tally.evidence.value,
    )


def _sections(tally: SharesOfText) -> list[tuple[str, dict[SectionKind, float | None]]]:
    """Return the shares of each section, the largest first: the exact order would tell of what is not shown."""
    rows: dict[str, dict[SectionKind, float | None]] = {}
    for name, share in tally.shares.items():
        kind, _, section = name.partition(" ")
        rows.setdefault(section, {})[_kind(kind)] = share
    return sorted(rows.items(), key=lambda row: (-sum(share or 0.0 for share in row[1].values()), row[0]))


def _kind(name: str) -> SectionKind:
    return next(kind for kind in SECTION_KINDS if kind == name)


def derive_other_patients(tally: OtherPatientsTally, patients: CountRange) -> OtherPatientsResults:
    """Return how much of the text is other patients'; `patients` is the size of the arm."""
    sampled, chance = (
        None if of.value is None else derive_fraction(of.value, patients)
        for of in (tally.sampled_fraction, tally.chance)
    )
    return OtherPatientsResults(
        fraction=derive_fraction(tally.fraction, patients),
        sampled_fraction=sampled,
        chance=chance,
        patients=tally.patients["any"],
        patients_share=share_range(tally.patients["any"], tally.patients["none"], total=patients),
        others=tally.others.range,
        evidence=tally.evidence.value,
    )


def templated_range(shares: Mapping[SectionKind, float | None], *, rounding: float) -> EstimateRange | None:
    """Return the templated share of one section from its four shares, each rounded by `rounding` at most.

    None unless all four are shown.
    """
    known = {kind: share for kind, share in shares.items() if share is not None}
    if len(known) < len(SECTION_KINDS):
        return None
    if not any(known.values()):
        return EstimateRange(reason="there was nothing to count")
    (least, most), (rest_least, rest_most) = (
        [
            sum(max(0.0, share + sign * rounding) for kind, share in known.items() if kind.startswith(content))
            for sign in (-1, 1)
        ]
        for content in ("templated", "revealing")
    )
    low = least / (least + rest_most) if least + rest_most else 0.0
    high = most / (most + rest_least) if most + rest_least else 1.0
    return ranged(low, high)


def _largest_sections(sections: Sequence[Mapping[SectionKind, float | None]], *, rounding: float) -> float | None:
    """Return the share of all shown that the ten largest sections hold (Figure 4); of rounded ones, rounded."""
    totals = sorted((sum(share or 0.0 for share in shares.values()) for shares in sections), reverse=True)
    if not sum(totals):
        return None
    share = sum(totals[:SECTIONS_DRAWN]) / sum(totals)
    return round(share, 2) if rounding else share


def derive_fraction(tally: Fraction, patients: CountRange) -> FractionOfText:
    """Return a fraction's mean, and how the patients are spread over it; `patients` is the size of the arm."""
    above = []
    for threshold in THRESHOLDS:
        higher = [
            count for edge, count in zip(tally.edges, tally.bins, strict=True) if edge.low >= threshold and edge.high
        ]
        rest = [
            count for edge, count in zip(tally.edges, tally.bins, strict=True) if edge.low < threshold or not edge.high
        ]
        part, others = add(higher, of=patients), add(rest)
        above.append(ShareAbove(threshold=threshold, patients=part, share=share_range(part, others, total=patients)))
    return FractionOfText(
        mean=mean_range(*tally.mean, patients) if patients.high else EstimateRange(reason=_NOBODY),
        bins=[
            FractionBin(low=edge.low, high=edge.high, patients=count)
            for edge, count in zip(tally.edges, tally.bins, strict=True)
        ],
        above=above,
    )


def derive_groups(groups: Mapping[GroupedBy, Groups], size: CountRange | None = None) -> list[GroupResults]:
    """Return the groups of one tier and arm, all of whose patients, `size` where it is known, are in each partition."""
    partitions = [[count for row in of.rows for count in row[1:]] for of in groups.values()]
    total = common_total([*partitions, *([] if size is None else [[size]])])
    return [
        GroupResults(
            partition=partition,
            group=group,
            patients=add([affected, others], of=total),
            affected=affected,
            share=share_range(affected, others),
        )
        for partition, of in groups.items()
        for group, affected, others in of.rows
    ]
