"""Published memorization of a tier and arm, and subgroups, from their classes (docs/results.md, "memorization").

Takes classes alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from clinaudit.audit.ranges.counts import add, common_total, mean_range, ranged, share_of, share_range, within
from clinaudit.audit.statistics.patient_distribution import THRESHOLDS
from clinaudit.reports.schema.groups import PublishedGroup
from clinaudit.reports.schema.memorization import (
    SECTION_KINDS,
    SECTIONS_DRAWN,
    CopiedPieces,
    FractionBin,
    FractionOfText,
    PublishedGuard,
    PublishedMemorization,
    PublishedNearVerbatim,
    PublishedOtherPatients,
    SectionComposition,
    SectionKind,
    ShareAbove,
    SharedPieces,
)
from clinaudit.reports.schema.numbers import CountRange, PublishedEstimate
from clinaudit.reports.suppression.coarse_table import (
    CoarseFraction,
    CoarseGroup,
    CoarseGuard,
    CoarseMemorization,
    CoarseOtherPatients,
)

#: Why there is no mean: the model refused all answers.
_NOBODY: Final = "there was nothing to average"
#: What a whole percent may be off by.
HALF_PERCENT: Final = 0.005


def find_patients(coarse: CoarseMemorization) -> CountRange:
    """Return the patients of a tier and arm: the total that all its partitions share."""
    near = coarse.near_verbatim
    partitions: list[Sequence[CountRange]] = [
        *(fraction.bins for fraction in coarse.fractions.values()),
        *(list(cells.values()) for cells in (coarse.hits, coarse.attributable)),
    ]
    if near is not None:
        partitions += [near.fraction.bins, near.extra_fraction.bins]
        partitions += [list(cells.values()) for cells in (near.patients, near.extra_patients)]
    others = coarse.other_patients
    if others is not None:
        shown = (others.fraction, others.sampled_fraction, others.chance)
        partitions += [fraction.bins for fraction in shown if fraction is not None]
        partitions.append(list(others.patients.values()))
    if coarse.guard is not None:
        partitions += [list(cells.values()) for cells in (coarse.guard.repeating, coarse.guard.ended)]
    return common_total(partitions)


def find_asked(coarse: CoarseMemorization) -> CountRange:
    """Return the patients whom a tier and arm was asked about, those among them of whom the model refused to answer."""
    return find_patients(coarse) if coarse.asked is None else coarse.asked


def publish_memorization(coarse: CoarseMemorization, *, rounding: float = HALF_PERCENT) -> PublishedMemorization:
    """Return everything published of one tier and arm; shares of sections are rounded by `rounding` at most."""
    patients = find_patients(coarse)
    near, refused = coarse.near_verbatim, coarse.refused
    by_field: dict[str, Any] = {name: publish_fraction(of, patients) for name, of in coarse.fractions.items()}
    by_field |= coarse.text
    return PublishedMemorization(
        **by_field,
        patients=patients,
        hit_patients=coarse.hits["any"],
        hit_patients_share=share_range(coarse.hits["any"], coarse.hits["none"], total=patients),
        empty=within(coarse.empty, patients),
        short=within(coarse.short, patients),
        short_share=share_of(within(coarse.short, patients), patients),
        piece_length={kind: dict(lengths) for kind, lengths in coarse.piece_length.items()},
        k_distribution=[SharedPieces(k=k, share=share) for k, share in coarse.k_distribution],
        sections=[
            SectionComposition.model_validate(
                {"section": section, **shares, "templated_share": templated_range(shares, rounding=rounding)}
            )
            for section, shares in coarse.sections
        ],
        largest_sections_share=_largest_sections([shares for _, shares in coarse.sections], rounding=rounding),
        copy_forward=[CopiedPieces(notes=notes, share=share) for notes, share in coarse.copy_forward],
        near_verbatim=None
        if near is None
        else PublishedNearVerbatim(
            window=near.window,
            edit_budget=near.edit_budget,
            fraction=publish_fraction(near.fraction, patients),
            extra_fraction=publish_fraction(near.extra_fraction, patients),
            longest_region=near.longest_region,
        ),
        guard=None if coarse.guard is None else publish_guard(coarse.guard, patients),
        other_patients=None
        if coarse.other_patients is None
        else publish_other_patients(coarse.other_patients, patients),
        refused_patients=refused,
        refused_share=None if refused is None else share_of(refused, find_asked(coarse)),
    )


def publish_other_patients(coarse: CoarseOtherPatients, patients: CountRange) -> PublishedOtherPatients:
    """Return how much of the text is other patients'; `patients` is the size of the arm."""
    any_, none = coarse.patients["any"], coarse.patients["none"]
    return PublishedOtherPatients(
        fraction=publish_fraction(coarse.fraction, patients),
        sampled_fraction=None
        if coarse.sampled_fraction is None
        else publish_fraction(coarse.sampled_fraction, patients),
        chance=None if coarse.chance is None else publish_fraction(coarse.chance, patients),
        patients=any_,
        patients_share=share_range(any_, none, total=patients),
        others=coarse.others,
    )


def templated_range(shares: Mapping[SectionKind, float | None], *, rounding: float) -> PublishedEstimate | None:
    """Return the templated share of one section from its four shares, each rounded by `rounding` at most.

    None unless all four are shown.
    """
    known = {kind: share for kind, share in shares.items() if share is not None}
    if len(known) < len(SECTION_KINDS):
        return None
    if not any(known.values()):
        return PublishedEstimate(reason="there was nothing to count")
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


def publish_guard(coarse: CoarseGuard, patients: CountRange) -> PublishedGuard:
    """Return what the repetition guard cut; `patients` is the size of the arm."""
    ended = add([coarse.ended["spared"], coarse.ended["cut"]])
    return PublishedGuard(
        repeating_patients=coarse.repeating["any"],
        repeating_share=share_range(coarse.repeating["any"], coarse.repeating["none"], total=patients),
        ended_patients=within(ended, patients),
        ended_share=share_range(ended, coarse.ended["none"], total=patients),
        spared_patients=coarse.ended["spared"],
        recitation_tokens_cut=coarse.recitation_tokens_cut,
    )


def publish_fraction(coarse: CoarseFraction, patients: CountRange) -> FractionOfText:
    """Return a fraction's mean, and how the patients are spread over it; `patients` is the size of the arm."""
    above = []
    for threshold in THRESHOLDS:
        higher = [
            count for edge, count in zip(coarse.edges, coarse.bins, strict=True) if edge.low >= threshold and edge.high
        ]
        rest = [
            count
            for edge, count in zip(coarse.edges, coarse.bins, strict=True)
            if edge.low < threshold or not edge.high
        ]
        part, others = add(higher), add(rest)
        above.append(
            ShareAbove(
                threshold=threshold, patients=within(part, patients), share=share_range(part, others, total=patients)
            )
        )
    return FractionOfText(
        mean=mean_range(*coarse.mean, patients) if patients.high else PublishedEstimate(reason=_NOBODY),
        bins=[
            FractionBin(low=edge.low, high=edge.high, patients=count)
            for edge, count in zip(coarse.edges, coarse.bins, strict=True)
        ],
        above=above,
    )


def publish_groups(groups: Sequence[CoarseGroup]) -> list[PublishedGroup]:
    """Return the groups of one tier and arm."""
    return [
        PublishedGroup(
            partition=group.partition,
            group=group.group,
            patients=add([group.affected, group.unaffected]),
            affected=group.affected,
            share=share_range(group.affected, group.unaffected),
        )
        for group in groups
    ]
