"""Memorization figures of a random world, over all patients of an arm and by subgroup.

Intervals are a stand-in for the bootstrap that tells as much: they grow with one over the root of the patients who
make a mean up. Knows nothing of what is published.
"""

import math

import numpy as np
from support.results.random_worlds import ARMS, COPY_BINS, FRACTION_BINS, GROUPS, K_BINS, KINDS, SECTIONS, World

from clinaudit.audit.statistics.intervals import clopper_pearson, clopper_pearson_of_mean, wilson
from clinaudit.audit.statistics.patient_distribution import THRESHOLDS, tail_size
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.groups import (
    Decile,
    FractionBin,
    GroupDisclosure,
    GroupMemorization,
    PatientDistribution,
    ShareAbove,
    Subgroups,
)
from clinaudit.reports.schema.memorization import (
    CopyForwardBin,
    KBin,
    LengthSummary,
    Memorization,
    NearVerbatim,
    PaperView,
    SectionComposition,
)

_NOTHING = Estimate(value=None, n=0, reason="there was nothing to count")
_NO_LENGTHS = LengthSummary(mean=None, median=None, p90=None, max=None)
_LENGTHS = LengthSummary(mean=61.5, median=48.0, p90=120.0, max=412)


def _mean(total: int, patients: int, contributing: int) -> Estimate:
    if not patients:
        return _NOTHING
    value = total / 1000 / patients
    half = 2 * value / math.sqrt(contributing) if contributing else 0.0
    return Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half), n=patients)


def measure_memorization(world: World, tier: str, arm: str) -> Memorization:
    def count(name: str) -> int:
        return world.counts[f"mem/{tier}/{arm}/{name}"]

    patients = world.value(world.patients(tier, arm))
    hit, revealed = count("hit"), count("revealed")
    memorized = _mean(count("hit_sum"), patients, hit)
    attributable = _mean(count("revealed_sum"), patients, revealed)
    tokens = {kind: sum(count(f"{kind}/{section}/units") for section in SECTIONS) for kind in KINDS}
    templated = tokens["templated_single"] + tokens["templated_shared"]
    pieces = {k: count(f"k/{k}/units") for k in K_BINS}
    near = count("hit_sum") + count("extra_sum")
    return Memorization(
        generations=patients,
        patients=patients,
        empty=count("empty"),
        shorter_than_ngram=count("short"),
        memorized_fraction=memorized,
        memorized_fraction_without_echo=memorized,
        attributable_fraction=attributable,
        attributable_fraction_bounds=clopper_pearson_of_mean(count("revealed_sum") / 1000, patients),
        attributable_patients=revealed,
        memorized_fraction_bounds=clopper_pearson_of_mean(count("hit_sum") / 1000, patients),
        hit_rate=wilson(hit, patients),
        source_notes_mean=Estimate(value=2.81, low=2.5, high=3.1, n=hit) if hit else _NOTHING,
        stitched_share=wilson(count("stitched"), count("regions")),
        templated_share=wilson(templated, sum(tokens.values())),
        multi_patient_share=wilson(sum(pieces.values()) - pieces["1"], sum(pieces.values())),
        region_length=dict.fromkeys(("tokens", "characters"), _LENGTHS if hit else _NO_LENGTHS),
        k_distribution=[KBin(k=k, pieces=units, patients=count(f"k/{k}/patients")) for k, units in pieces.items()],
        sections=[
            SectionComposition(
                section=section,
                **{kind: count(f"{kind}/{section}/units") for kind in KINDS},
                patients={kind: count(f"{kind}/{section}/patients") for kind in KINDS},
            )
            for section in SECTIONS
            if any(count(f"{kind}/{section}/units") for kind in KINDS)
        ],
        copy_forward=[
            CopyForwardBin(notes=name, pieces=count(f"copy/{name}/units"), patients=count(f"copy/{name}/patients"))
            for name in COPY_BINS
        ],
        dropped_tokens=3 * min(hit, 1),
        paper_view=PaperView(
            rows=count("rows"), memorized_fraction=memorized, hit_rate=wilson(count("hit_rows"), count("rows"))
        ),
        distribution=_distribution([count(f"bin/{k}") for k in range(len(FRACTION_BINS))], patients),
        near_verbatim=NearVerbatim(
            window=30,
            edit_budget=3,
            fraction=_mean(min(near, 1000 * patients), patients, count("near")),
            extra_fraction=_mean(count("extra_sum"), patients, count("extra")),
            longest_region=Estimate(value=112.5, low=90.5, high=130.5, n=patients),
            longest_region_length=_LENGTHS,
            patients=count("near"),
            extra_patients=count("extra"),
        ),
    )


def _distribution(in_bins: list[int], patients: int) -> PatientDistribution | None:
    if not patients:
        return None
    counts = [patients - sum(in_bins), *in_bins]
    ends = [(0, 0), *FRACTION_BINS]
    # A patient's fraction is taken for two fifths of the way into its bin.
    values = [(low + 0.4 * (high - low)) / 1000 for low, high in ends]
    cumulated = np.cumsum(counts)

    def value_at(rank: int) -> float:
        return values[int(np.searchsorted(cumulated, rank, side="right"))]

    return PatientDistribution(
        bins=[
            FractionBin(low=low / 1000, high=high / 1000, patients=count)
            for (low, high), count in zip(ends, counts, strict=True)
        ],
        above=[
            ShareAbove(threshold=threshold, share=clopper_pearson(sum(in_bins[place:]), patients))
            for place, threshold in enumerate(THRESHOLDS)
        ],
        deciles=[Decile(share=k / 10, fraction=value_at(k * (patients - 1) // 10)) for k in range(1, 10)],
        worst_tenth=Estimate(value=0.31, low=0.25, high=0.4, n=tail_size(patients))
        if sum(in_bins)
        else Estimate(value=0.0, low=0.0, high=0.0, n=tail_size(patients)),
    )


def measure_subgroups(world: World) -> Subgroups:
    def number(partition: str, arm: str, kind: str, tier: str, group: str) -> int:
        return world.counts[f"{partition}/{arm}/{kind}/{tier}/{group}"]

    def rows(tier: str, arm: str) -> list[GroupMemorization]:
        described = []
        for partition, groups in GROUPS.items():
            for group in groups:
                size = world.value(world.at_tier(tier, arm, partition, group))
                if size:
                    hit, revealed, hit_sum, revealed_sum = (
                        number(partition, arm, kind, tier, group)
                        for kind in ("hit", "revealed", "hit_sum", "revealed_sum")
                    )
                    described.append(
                        GroupMemorization(
                            partition=partition,
                            group=group,
                            patients=size,
                            memorized_fraction=clopper_pearson_of_mean(hit_sum / 1000, size),
                            attributable_fraction=clopper_pearson_of_mean(revealed_sum / 1000, size),
                            memorized_patients=hit,
                            attributable_patients=revealed,
                        )
                    )
        return described

    def exposures(tier: str, arm: str) -> list[GroupDisclosure]:
        described = []
        for partition, groups in GROUPS.items():
            for group in groups:
                size = number(partition, arm, "asked", tier, group)
                if size:
                    described.append(
                        GroupDisclosure(
                            partition=partition,
                            group=group,
                            patients=size,
                            sensitivity=clopper_pearson_of_mean(
                                number(partition, arm, "exposed_sum", tier, group) / 1000, size
                            ),
                            exposed_patients=number(partition, arm, "exposed", tier, group),
                        )
                    )
        return described

    return Subgroups(
        memorization={tier: {arm: rows(tier, arm) for arm in ARMS} for tier in world.tiers},
        disclosure={tier: {arm: exposures(tier, arm) for arm in ARMS} for tier in world.tiers},
    )
