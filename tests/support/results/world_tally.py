"""The tally of a world, every field filled: which sum of its counts stands where.

What only the evidence holds is measured of verdicts and of identifiers, which rules and exact reports read, and else
filled with anything. The bootstraps take few resamples, for speed. Knows nothing of how anything is published.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from support.results import random_worlds as shape
from support.results.counted_leaves import CountedLeaves
from support.results.filled_evidence import NOT_FILLED, fill_evidence, fill_record
from support.results.random_worlds import World, add, minus
from support.results.world_membership import tally_membership
from support.results.world_ordinary import tally_ordinary
from support.results.world_people import tally_cohort, tally_corpus, tally_subgroups
from support.results.world_queries import tally_prompts, tally_world_queries
from support.results.world_verdicts import tally_disclosure, tally_judge

from clinaudit.audit.results.gate import evaluation
from clinaudit.audit.results.gate.policy import load_policy
from clinaudit.audit.results.publication.run_verdict import find_outcomes
from clinaudit.audit.results.ranges.results import derive
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.reports.schema.identifiers import DetectorRecall, IdentifierEvidence
from clinaudit.reports.schema.memorization import (
    LENGTH_UNITS,
)
from clinaudit.reports.schema.numbers import Estimate, exact_estimate
from clinaudit.reports.schema.results import TrainingLoss
from clinaudit.reports.tally.classes import ARM_STEP, STEP, Interval
from clinaudit.reports.tally.leaves import Inside, OfText, Setting, SharesOfText
from clinaudit.reports.tally.tally import (
    GuardTally,
    IdentifiersTally,
    IdentifierTally,
    MemorizationTally,
    NearVerbatimTally,
    OtherPatientsTally,
    RefusalsTally,
    StageTally,
    Tally,
    publishable,
)

_RESAMPLES = 4
#: By field of the tally.
_FRACTIONS = {
    "memorized_fraction": "memorized",
    "memorized_fraction_without_echo": "unechoed",
    "attributable_fraction": "attributable",
    "attributable_fraction_unmasked": "unmasked",
    "near_verbatim_attributable_fraction": "near_attributable",
}
#: Tokens of a region, in turn; and of a piece of one patient's notes, and of several's.
_REGION_TOKENS, _PIECE_TOKENS = (31, 38, 44, 52, 56), {"single": 30, "shared": 24}
#: Of a length in tokens.
_PER_TOKEN = {"tokens": 1.0, "characters": 5.0, "words": 0.5}
_MATCH_TOKENS, _EDITS = 30, 3


class CountedWorld(NamedTuple):
    """The tally of a world, and its leaves with the sums of counts behind them."""

    tally: Tally
    leaves: CountedLeaves


def tally_of(world: World, *, resamples: int = _RESAMPLES) -> Tally:
    """Return what the stages of a run would fill of this world, without a verdict."""
    return count_world(world, resamples=resamples).tally


def decide(tally: Tally) -> Tally:
    """Return the tally with the verdict of the policy that ships."""
    published = derive(publishable(tally))
    outcomes = find_outcomes(derive(tally), published)
    return replace(tally, decision=Setting(evaluation.decide(load_policy(), published, outcomes)))


def count_world(world: World, *, resamples: int = _RESAMPLES) -> CountedWorld:
    """Return the tally with its leaves."""
    leaves = CountedLeaves(world)
    memorization: dict[str, dict[Any, MemorizationTally]] = {}
    for tier, arm in itertools.product(world.tiers, shape.ARMS):
        of_tier, patients = memorization.setdefault(tier, {}), world.patients(tier, arm)
        if world.value(patients):
            of_tier[arm] = _memorization(leaves, tier, arm)
        else:
            leaves.nobody(patients)
    tally = Tally(
        completeness=_completeness(leaves),
        corpus=tally_corpus(leaves),
        memorization=memorization,
        disclosure=tally_disclosure(leaves, resamples),
        identifiers=_identifiers(leaves),
        prompts=tally_prompts(leaves),
        queries=tally_world_queries(leaves),
        ordinary=tally_ordinary(leaves),
        membership=tally_membership(leaves),
        cohorts={diagnosis: tally_cohort(leaves, diagnosis) for diagnosis in world.diagnoses},
        subgroups=tally_subgroups(leaves),
        judge=tally_judge(leaves),
        warnings=("Generations were judged by a lexicon.",),
        training=Setting((TrainingLoss(epoch=1.0, train_loss=2.1, validation_loss=2.4, perplexity=11.0),)),
    )
    # A twin, whose counts are others, has other numbers.
    return CountedWorld(fill_evidence(tally, sum(world.counts.values())), leaves)


def _pools(world: World, patients: Mapping[str, int]) -> bool:
    """Whether what is found in pools is published of an arm."""
    return world.value(patients) > ARM_STEP


def _memorization(leaves: CountedLeaves, tier: str, arm: str) -> MemorizationTally:
    world = leaves.world
    place = f"mem/{tier}/{arm}/{{}}".format

    def units(*names: str) -> dict[str, int]:
        return add(*(place(f"{name}/units") for name in names))

    def behind(*names: str) -> list[dict[str, int]]:
        return [add(place(f"{name}/patients")) for name in names]

    patients, short = world.patients(tier, arm), add(place("short"))
    hit, near, extra, attributable, others = (
        world.above(tier, arm, name) for name in ("memorized", "near", "extra", "attributable", "others")
    )
    fractions = {field: leaves.fraction(place(name), patients) for field, name in _FRACTIONS.items()}
    extra_fraction = leaves.fraction(place("extra"), patients)
    regions = world.counts[place("regions")]
    region_mean = float(np.mean(np.resize(_REGION_TOKENS, regions))) if regions else None
    notes = leaves.text(add(place("source_notes")), hit, hit)
    templated = [
        f"{kind}/{section}" for kind in shape.KINDS if kind.startswith("templated") for section in shape.SECTIONS
    ]
    shared, single = units(*(f"k/{k}" for k in shape.K_BINS[1:])), units("k/1")
    pieces = {"single": single, "shared": shared}
    lost, cut = add(place("guard/recitation/sum")), add(place("guard/recitation/patients"))
    guarded = {name: leaves.partition(cells) for name, cells in world.guarded(tier, arm).items()}
    is_public = _pools(world, patients)
    return MemorizationTally(
        fractions=fractions,  # type: ignore[arg-type]
        hits=leaves.halves("any", hit, patients, rest="none"),
        attributable=leaves.halves("any", attributable, patients, rest="none"),
        short=leaves.with_part(short, add(place("empty"))),
        text={
            # Each patient's pieces stand in as many notes as they come from.
            **dict.fromkeys(("source_notes_mean", "source_notes_any", "source_notes_min"), notes),
            "stitched_share": leaves.text(
                units("stitched"), add(place("regions")), *behind("stitched"), *behind("unstitched")
            ),
            "templated_share": leaves.text(
                units(*templated), add(place("memorized/sum")), *behind("templated", "revealing")
            ),
            "multi_patient_share": leaves.text(shared, add(shared, single), *behind("shared", "k/1")),
            **{
                f"region_{unit}": leaves.bent_text(_length(region_mean, unit), add(place("regions")), hit)
                for unit in LENGTH_UNITS
            },
        },
        piece_length={  # type: ignore[arg-type]
            kind: {
                unit: leaves.bent_text(
                    _length(tokens if world.value(pieces[kind]) else None, unit), {}, *behind("k/1", "shared")
                )
                for unit in LENGTH_UNITS
            }
            for kind, tokens in _PIECE_TOKENS.items()
        },
        k_distribution=leaves.shares({name: place(f"k/{name}") for name in shape.K_BINS}),
        sections=_sections(leaves, place),
        copy_forward=leaves.shares({name: place(f"copy/{name}") for name in shape.COPY_BINS}),
        evidence=NOT_FILLED,
        near_verbatim=NearVerbatimTally(
            window=Setting(_MATCH_TOKENS),
            edit_budget=Setting(_EDITS),
            fraction=leaves.fraction(place("near"), patients, sum_of=(fractions["memorized_fraction"], extra_fraction)),
            extra_fraction=extra_fraction,
            patients=leaves.halves("any", near, patients, rest="none"),
            extra_patients=leaves.halves("any", extra, patients, rest="none"),
            longest_region=leaves.text(add(place("longest/sum")), near, near),
            evidence=NOT_FILLED,
        ),
        guard=GuardTally(
            **guarded,
            recitation_tokens_cut=leaves.text(lost, patients, cut, minus(patients, cut))
            if tier in shape.FRAGMENTS
            else OfText(None),
            evidence=NOT_FILLED,
        ),
        other_patients=OtherPatientsTally(
            fraction=leaves.fraction(place("others"), patients),
            sampled_fraction=Inside(leaves.fraction(place("others_sampled"), patients), is_public),
            chance=Inside(leaves.fraction(place("others_chance"), patients), is_public),
            patients=leaves.halves("any", others, patients, rest="none"),
            others=leaves.count(add(place("owners"))),
            evidence=NOT_FILLED,
        ),
        refusals=RefusalsTally(
            asked=leaves.count(add(patients, place("refused"))),
            refused=leaves.count(add(place("refused"))),
            evidence=NOT_FILLED,
        ),
    )


def _sections(leaves: CountedLeaves, place: Callable[[str], str]) -> SharesOfText:
    """Return the shares of each section of which anything is repeated."""
    shown: dict[str, str | None] = {}
    for section in shape.SECTIONS_OF[shape.KINDS[0]]:
        own = {kind: place(f"{kind}/{section}") if section in shape.SECTIONS_OF[kind] else None for kind in shape.KINDS}
        behind = add(*(f"{at}/patients" for at in own.values() if at is not None))
        if leaves.world.value(behind):
            shown |= {f"{kind} {section}": at for kind, at in own.items()}
        else:
            leaves.nobody(behind)
    return leaves.shares(shown)


def _length(tokens: float | None, unit: str) -> float | None:
    return None if tokens is None else tokens * _PER_TOKEN[unit]


def _identifiers(leaves: CountedLeaves) -> IdentifiersTally:
    world = leaves.world

    def figures(place: str, patients: Mapping[str, int]) -> IdentifierTally:
        is_public = _pools(world, patients)
        alone = {kind: leaves.alone(add(f"{place}/{kind}")) for kind in shape.OWNER_KINDS}
        edges = [Interval(low, math.inf if high is None else high) for low, high in shape.RATE_BINS]
        rates = {rate: leaves.rate(f"{place}/{rate}", edges) for rate in shape.RATES}
        return IdentifierTally(
            patients=leaves.count(patients),
            own=alone["own"],
            other=alone["other"],
            sampled=Inside(alone["sampled"], is_public),
            chance=Inside(alone["chance"], is_public),
            verified=leaves.alone(world.having(place)),
            verified_rate=rates["verified"],
            sampled_rate=Inside(rates["sampled"], is_public),
            chance_rate=Inside(rates["chance"], is_public),
            evidence=Inside(_identifier_evidence(world, place, patients)),
        )

    def by_arm(name: str) -> dict[Any, IdentifierTally]:
        places = {arm: f"identifiers/{name}/{arm}" for arm in shape.ARMS}
        return {arm: figures(place, world.identified_places(arm)[place]) for arm, place in places.items()}

    recalls = [(name, 190 - place) for place, name in enumerate(shape.CATEGORIES)]
    return IdentifiersTally(
        tiers={tier: by_arm(tier) for tier in world.tiers},
        categories=Inside({name: by_arm(name) for name in shape.CATEGORIES}, is_public=True),
        # Of planted text, which is the same in every world.
        recall=Setting(
            tuple(
                DetectorRecall(identifier=name, planted=200, found=found, recall=exact_estimate(wilson(found, 200)))
                for name, found in recalls
            )
        ),
        not_tested={"P": "no text", "Q": "no text"},
    )


def _identifier_evidence(world: World, place: str, patients: Mapping[str, int]) -> IdentifierEvidence:
    """Return rates of values that lie in the middle of their bins."""
    whole = world.value(patients)
    rates = {}
    for rate in shape.RATES:
        values = [
            world.counts[f"{place}/{rate}/bin/{k}"] * (low + (high or 22.0)) / 2
            for k, (low, high) in enumerate(shape.RATE_BINS)
        ]
        rates[f"{rate}_per_1000"] = Estimate(
            value=1000 * sum(values) / whole if whole else None, low=0.0, high=9000.0, n=whole
        )
    filled = fill_record(IdentifierEvidence, sum(world.counts.values()))
    return filled.model_copy(update={**rates, "corrected_per_1000": rates["verified_per_1000"]})


def _completeness(leaves: CountedLeaves) -> dict[str, StageTally]:
    """Return what was planned and excluded; nothing failed, and nothing is missing."""
    world = leaves.world
    excluded = {}
    for tier in world.tiers:
        excluded[f"{tier}: {shape.MISSING}"] = add(*(f"total/missing/{tier}/{arm}" for arm in shape.ARMS))
        excluded[f"{tier}: {shape.REFERS}"] = add(
            *(f"pair/{of}/{tier}/own/{shape.REFERS}/{arm}" for of in world.diagnoses for arm in shape.ARMS)
        )
    asked = sum(
        world.value(world.patients(tier, arm)) + world.counts[f"mem/{tier}/{arm}/refused"]
        for tier, arm in itertools.product(world.tiers, shape.ARMS)
    )
    planned = {"priors": asked, "generations": asked, "judgements": world.value(world.asked_verdicts())}
    return {
        stage: StageTally(
            planned=Inside(units),
            missing=leaves.count({}, step=STEP),
            failed=leaves.count({}, step=STEP),
            excluded=Inside(leaves.partition(excluded if stage == "priors" else {}, step=STEP, leaves_out=True)),
        )
        for stage, units in planned.items()
    }
