"""Published memorization of a tier and arm, and subgroups, from their classes (docs/results.md, "memorization").

Takes classes alone.
"""

from collections.abc import Sequence
from typing import Final

from clinaudit.audit.ranges.counts import add, common_total, mean_range, share_range, within
from clinaudit.audit.statistics.patient_distribution import THRESHOLDS
from clinaudit.reports.schema.groups import PublishedGroup
from clinaudit.reports.schema.memorization import (
    CopiedPieces,
    FractionBin,
    FractionOfText,
    PublishedGuard,
    PublishedMemorization,
    PublishedNearVerbatim,
    PublishedOtherPatients,
    SectionComposition,
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


def find_patients(coarse: CoarseMemorization) -> CountRange:
    """Return the patients of a tier and arm: the total that all its partitions share."""
    near = coarse.near_verbatim
    partitions: list[Sequence[CountRange]] = [
        *(fraction.bins for fraction in coarse.fractions.values()),
        *(list(cells.values()) for cells in (coarse.hits, coarse.attributable, coarse.lengths)),
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
        partitions += [fraction.bins for fraction in coarse.guard.fractions.values()]
        partitions += [list(c.values()) for c in (coarse.guard.repeating, coarse.guard.ended, coarse.guard.hits)]
    return common_total(partitions)


def find_asked(coarse: CoarseMemorization) -> CountRange:
    """Return the patients whom a tier and arm was asked about, those among them of whom the model refused to answer."""
    return add(coarse.refused.values()) if coarse.refused else find_patients(coarse)


def publish_memorization(coarse: CoarseMemorization) -> PublishedMemorization:
    """Return everything published of one tier and arm."""
    patients = find_patients(coarse)
    lengths, near, refused = coarse.lengths, coarse.near_verbatim, coarse.refused
    too_short = add([lengths["empty"], lengths["short"]])
    return PublishedMemorization(
        patients=patients,
        memorized_fraction=publish_fraction(coarse.fractions["memorized_fraction"], patients),
        memorized_fraction_without_echo=publish_fraction(coarse.fractions["memorized_fraction_without_echo"], patients),
        attributable_fraction=publish_fraction(coarse.fractions["attributable_fraction"], patients),
        attributable_fraction_unmasked=publish_fraction(coarse.fractions["attributable_fraction_unmasked"], patients),
        hit_patients=coarse.hits["any"],
        hit_rate=share_range(coarse.hits["any"], coarse.hits["none"], total=patients),
        empty=lengths["empty"],
        short=within(too_short, patients),
        short_share=share_range(too_short, lengths["long"], total=patients),
        source_notes_mean=coarse.text["source_notes_mean"],
        stitched_share=coarse.text["stitched_share"],
        templated_share=coarse.text["templated_share"],
        multi_patient_share=coarse.text["multi_patient_share"],
        region_tokens=coarse.text["region_tokens"],
        region_characters=coarse.text["region_characters"],
        k_distribution=[SharedPieces(k=k, share=share) for k, share in coarse.k_distribution],
        sections=[
            SectionComposition.model_validate({"section": section, **shares}) for section, shares in coarse.sections
        ],
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
        refused_patients=refused.get("any"),
        refused_share=share_range(refused["any"], refused["none"]) if refused else None,
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
        rate=share_range(any_, none, total=patients),
        others=coarse.others,
    )


def publish_guard(coarse: CoarseGuard, patients: CountRange) -> PublishedGuard:
    """Return what the repetition guard cut; `patients` is the size of the arm."""
    ended = add([coarse.ended["spared"], coarse.ended["cut"]])
    fractions = {name: publish_fraction(fraction, patients) for name, fraction in coarse.fractions.items()}
    hits = coarse.hits
    return PublishedGuard(
        repeating_patients=coarse.repeating["any"],
        repeating_share=share_range(coarse.repeating["any"], coarse.repeating["none"], total=patients),
        ended_patients=within(ended, patients),
        ended_share=share_range(ended, coarse.ended["none"], total=patients),
        spared_patients=coarse.ended["spared"],
        recitation_tokens_cut=coarse.recitation_tokens_cut,
        unguarded_memorized_fraction=fractions.get("unguarded_memorized_fraction"),
        unguarded_attributable_fraction=fractions.get("unguarded_attributable_fraction"),
        unguarded_hit_patients=hits.get("any"),
        unguarded_hit_rate=share_range(hits["any"], hits["none"], total=patients) if hits else None,
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
