"""The tally of a world, every field filled: which sum of its counts stands where.

What only the evidence holds is measured of verdicts and of identifiers, which rules and exact reports read, and else
filled with anything. The bootstraps take few resamples, for speed. Knows nothing of how anything is published.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from support.results.counted_leaves import CountedLeaves
from support.results.filled_evidence import fill_record
from support.results.random_worlds import (
    ARMS,
    BOTH,
    CATEGORIES,
    COPY_BINS,
    CORPUS_PARTITIONS,
    FOLLOW_UP_DAYS,
    FRAGMENTS,
    GROUPS,
    K_BINS,
    KINDS,
    MISSING,
    OUTCOMES,
    OWNER_KINDS,
    RATE_BINS,
    RATES,
    REFERS,
    ROWS,
    SECTIONS,
    SECTIONS_OF,
    STYLE,
    UNSURE,
    VERDICTS,
    World,
    add,
    minus,
)

from clinaudit.audit.cohorts.balance import COVARIATES, Flag, measure_balance
from clinaudit.audit.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.disclosure.readings import Reading
from clinaudit.audit.disclosure.train_delta import adjust_holm, measure_disclosure
from clinaudit.audit.gate import evaluation
from clinaudit.audit.gate.policy import load_policy
from clinaudit.audit.population.description import AGES_OF_BAND
from clinaudit.audit.publication.exact_outcomes import find_outcomes, tested_of
from clinaudit.audit.ranges.results import publish
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.reports.schema.cohorts import CohortEvidence
from clinaudit.reports.schema.corpus import FOLLOW_UP_YEARS, FollowUpEvidence, PopulationEvidence
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, MeanOverDiagnoses, MeasuredPair
from clinaudit.reports.schema.groups import PARTITIONS, MeasuredSubgroups
from clinaudit.reports.schema.identifiers import IdentifierEvidence, PublishedRecall
from clinaudit.reports.schema.judge import ANSWER_CELLS, MeasuredJudge
from clinaudit.reports.schema.memorization import (
    LENGTH_UNITS,
    GuardEvidence,
    MemorizationEvidence,
    NearVerbatimEvidence,
    OtherPatientsEvidence,
    RefusalsEvidence,
)
from clinaudit.reports.schema.numbers import Estimate, exact_estimate
from clinaudit.reports.schema.record import Record
from clinaudit.reports.schema.results import DriftEvidence, TrainingLoss
from clinaudit.reports.tally.classes import ARM_STEP, COHORT_STEP, STEP, Interval
from clinaudit.reports.tally.leaves import Count, Inside, OfText, Setting, SharesOfText, StandardizedDifference
from clinaudit.reports.tally.tally import (
    AnswersTally,
    BalanceTally,
    CohortTally,
    CorpusTally,
    DisclosureTally,
    DriftTally,
    FollowUpTally,
    GuardTally,
    IdentifiabilityTally,
    IdentifiersTally,
    IdentifierTally,
    JudgeTally,
    MemorizationTally,
    NearVerbatimTally,
    OtherPatientsTally,
    PairTally,
    PopulationTally,
    RefusalsTally,
    StageTally,
    SubgroupTally,
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
_YEAR_DAYS = 365.25
#: Mean and standard deviation of the covariates.
_COVARIATES = {"age": (52.0, 16.0), "notes": (14.0, 6.0)}
_FLAGS: tuple[Flag, ...] = ("balanced", "imbalanced", "poorly_matched")


class CountedWorld(NamedTuple):
    """The tally of a world, and its leaves with the sums of counts behind them."""

    tally: Tally
    leaves: CountedLeaves


def tally_of(world: World, *, resamples: int = _RESAMPLES) -> Tally:
    """Return what the stages of a run would fill of this world, without a verdict."""
    return count_world(world, resamples=resamples).tally


def decide(tally: Tally) -> Tally:
    """Return the tally with the verdict of the policy that ships."""
    published = publish(publishable(tally))
    outcomes = find_outcomes(tested_of(tally), published)
    return replace(tally, decision=Setting(evaluation.decide(load_policy(), published, outcomes)))


def count_world(world: World, *, resamples: int = _RESAMPLES) -> CountedWorld:
    """Return the tally with its leaves."""
    leaves = CountedLeaves(world)
    memorization: dict[str, dict[Any, MemorizationTally]] = {}
    for tier, arm in itertools.product(world.tiers, ARMS):
        of_tier, patients = memorization.setdefault(tier, {}), world.patients(tier, arm)
        if world.value(patients):
            of_tier[arm] = _memorization(leaves, tier, arm)
        else:
            leaves.nobody(patients)
    tally = Tally(
        completeness=_completeness(leaves),
        corpus=_corpus(leaves),
        memorization=memorization,
        disclosure=_disclosure(leaves, resamples),
        identifiers=_identifiers(leaves),
        cohorts={diagnosis: _cohort(leaves, diagnosis) for diagnosis in world.diagnoses},
        subgroups=_subgroups(leaves),
        judge=_judge(leaves),
        drift=DriftTally("some", Setting(64), _inside(world, DriftEvidence)),
        warnings=("Generations were judged by a lexicon.",),
        training=Setting((TrainingLoss(epoch=1.0, train_loss=2.1, validation_loss=2.4, perplexity=11.0),)),
    )
    return CountedWorld(tally, leaves)


def _inside(world: World, kind: type[Record]) -> Inside[Any]:
    """Return a record of the evidence that a twin, whose counts are others, has filled with other numbers."""
    return Inside(fill_record(kind, sum(world.counts.values())))


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
    templated = [f"{kind}/{section}" for kind in KINDS if kind.startswith("templated") for section in SECTIONS]
    shared, single = units(*(f"k/{k}" for k in K_BINS[1:])), units("k/1")
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
        k_distribution=leaves.shares({name: place(f"k/{name}") for name in K_BINS}),
        sections=_sections(leaves, place),
        copy_forward=leaves.shares({name: place(f"copy/{name}") for name in COPY_BINS}),
        evidence=_inside(world, MemorizationEvidence),
        near_verbatim=NearVerbatimTally(
            window=Setting(_MATCH_TOKENS),
            edit_budget=Setting(_EDITS),
            fraction=leaves.fraction(place("near"), patients, sum_of=(fractions["memorized_fraction"], extra_fraction)),
            extra_fraction=extra_fraction,
            patients=leaves.halves("any", near, patients, rest="none"),
            extra_patients=leaves.halves("any", extra, patients, rest="none"),
            longest_region=leaves.text(add(place("longest/sum")), near, near),
            evidence=_inside(world, NearVerbatimEvidence),
        ),
        guard=GuardTally(
            **guarded,
            recitation_tokens_cut=leaves.text(lost, patients, cut, minus(patients, cut))
            if tier in FRAGMENTS
            else OfText(None),
            evidence=_inside(world, GuardEvidence),
        ),
        other_patients=OtherPatientsTally(
            fraction=leaves.fraction(place("others"), patients),
            sampled_fraction=Inside(leaves.fraction(place("others_sampled"), patients), is_public),
            chance=Inside(leaves.fraction(place("others_chance"), patients), is_public),
            patients=leaves.halves("any", others, patients, rest="none"),
            others=leaves.count(add(place("owners"))),
            evidence=_inside(world, OtherPatientsEvidence),
        ),
        refusals=RefusalsTally(
            asked=leaves.count(add(patients, place("refused"))),
            refused=leaves.count(add(place("refused"))),
            evidence=_inside(world, RefusalsEvidence),
        ),
    )


def _sections(leaves: CountedLeaves, place: Callable[[str], str]) -> SharesOfText:
    """Return the shares of each section of which anything is repeated."""
    shown: dict[str, str | None] = {}
    for section in SECTIONS_OF[KINDS[0]]:
        own = {kind: place(f"{kind}/{section}") if section in SECTIONS_OF[kind] else None for kind in KINDS}
        behind = add(*(f"{at}/patients" for at in own.values() if at is not None))
        if leaves.world.value(behind):
            shown |= {f"{kind} {section}": at for kind, at in own.items()}
        else:
            leaves.nobody(behind)
    return leaves.shares(shown)


def _length(tokens: float | None, unit: str) -> float | None:
    return None if tokens is None else tokens * _PER_TOKEN[unit]


# Disclosure

#: Counts by outcome, of patients with and without the diagnosis.
_Rows = tuple[tuple[int, ...], tuple[int, ...]]


def _disclosure(leaves: CountedLeaves, resamples: int) -> DisclosureTally:
    world = leaves.world
    shares = {diagnosis: _prevalence(world, diagnosis).value for diagnosis in world.diagnoses}
    tables = {pair: _tables(world, *pair) for pair in itertools.product(world.diagnoses, world.tiers)}
    measured = adjust_holm({pair: _measure_pair(*arms, shares[pair[0]], resamples) for pair, arms in tables.items()})
    return DisclosureTally(
        by_diagnosis={
            diagnosis: {tier: _pair(leaves, diagnosis, tier, measured[diagnosis, tier]) for tier in world.tiers}
            for diagnosis in world.diagnoses
        },
        mean={
            tier: Inside(_measure_means(tuple((tables[of, tier], shares[of]) for of in world.diagnoses), resamples))
            for tier in world.tiers
        },
    )


def _pair(leaves: CountedLeaves, diagnosis: str, tier: str, measured: MeasuredPair) -> PairTally:
    world = leaves.world

    def row_of(arm: str, row: str) -> dict[str, Any]:
        cells = {verdict: world.table(diagnosis, tier, arm, row, (verdict,)) for verdict in OUTCOMES}
        cells["undecided"] = add(cells["ambiguous"], cells.pop("not_mentioned"))
        return {verdict: leaves.count(sum_, step=STEP) for verdict, sum_ in cells.items()}

    return PairTally(
        verdicts={
            arm: {status: row_of(arm, row) for row, status in zip(ROWS, DIAGNOSIS_STATUSES, strict=True)}
            for arm in ARMS
        },
        dropped_sets=leaves.partition(
            {reason: add(f"pair/{diagnosis}/{tier}/dropped/{reason}") for reason in (MISSING, REFERS)},
            step=STEP,
            leaves_out=True,
        ),
        evidence=Inside(measured),
    )


def _tables(world: World, diagnosis: str, tier: str) -> tuple[_Rows, _Rows]:
    def rows_of(arm: str) -> Any:
        return tuple(
            tuple(world.counts[f"table/{diagnosis}/{tier}/{arm}/{row}/{of}"] for of in OUTCOMES) for row in ROWS
        )

    return rows_of("train"), rows_of("nontrain")


def _readings(*tables: _Rows) -> list[Reading]:
    return [
        Reading(f"{arm}-{row}-{outcome}-{i}", arm, row == "1", outcome)
        for arm, rows in zip(ARMS, tables, strict=True)
        for row, cells in zip(ROWS, rows, strict=True)
        for outcome, count in zip(OUTCOMES, cells, strict=True)
        for i in range(count)
    ]


@cache
def _measure_pair(train: _Rows, nontrain: _Rows, prevalence: float | None, resamples: int) -> MeasuredPair:
    return measure_disclosure(_readings(train, nontrain), prevalence=prevalence, seed=0, resamples=resamples)


@cache
def _measure_means(
    of_diagnoses: tuple[tuple[tuple[_Rows, _Rows], float | None], ...], resamples: int
) -> MeanOverDiagnoses:
    measured = {
        f"d{order}": MeasuredDiagnosis(_readings(*tables), _measure_pair(*tables, prevalence, resamples), prevalence)
        for order, (tables, prevalence) in enumerate(of_diagnoses)
    }
    return mean_over_diagnoses(measured, seed=0, resamples=resamples)


# Identifiers


def _identifiers(leaves: CountedLeaves) -> IdentifiersTally:
    world = leaves.world

    def figures(place: str, patients: Mapping[str, int]) -> IdentifierTally:
        is_public = _pools(world, patients)
        alone = {kind: leaves.alone(add(f"{place}/{kind}")) for kind in OWNER_KINDS}
        edges = [Interval(low, math.inf if high is None else high) for low, high in RATE_BINS]
        rates = {rate: leaves.rate(f"{place}/{rate}", edges) for rate in RATES}
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
        return {arm: figures(f"identifiers/{name}/{arm}", world.identified(name, arm)) for arm in ARMS}

    recalls = [(name, 190 - place) for place, name in enumerate(CATEGORIES)]
    return IdentifiersTally(
        tiers={tier: by_arm(tier) for tier in world.tiers},
        categories=Inside({name: by_arm(name) for name in CATEGORIES}, is_public=True),
        # Of planted text, which is the same in every world.
        recall=Setting(
            tuple(
                PublishedRecall(identifier=name, planted=200, found=found, recall=exact_estimate(wilson(found, 200)))
                for name, found in recalls
            )
        ),
        not_tested={"P": "no text", "Q": "no text"},
    )


def _identifier_evidence(world: World, place: str, patients: Mapping[str, int]) -> IdentifierEvidence:
    """Return rates of values that lie in the middle of their bins."""
    whole = world.value(patients)
    rates = {}
    for rate in RATES:
        values = [
            world.counts[f"{place}/{rate}/bin/{k}"] * (low + (high or 22.0)) / 2
            for k, (low, high) in enumerate(RATE_BINS)
        ]
        rates[f"{rate}_per_1000"] = Estimate(
            value=1000 * sum(values) / whole if whole else None, low=0.0, high=9000.0, n=whole
        )
    filled = fill_record(IdentifierEvidence, sum(world.counts.values()))
    return filled.model_copy(update={**rates, "corrected_per_1000": rates["verified_per_1000"]})


# People


def _corpus(leaves: CountedLeaves) -> CorpusTally:
    world = leaves.world

    def identifiability(arm: str) -> IdentifiabilityTally:
        cells = {kind: leaves.partition(of) for kind, of in world.identifiable(arm).items()}
        return IdentifiabilityTally(
            tagged={STYLE: cells[STYLE]},
            uniqueness={tier: cells[tier] for tier in world.tiers},
            lengths=cells["length"],
            ids=cells["ids"],
        )

    def follow_up(arm: str) -> FollowUpTally:
        cells = {cell: add(f"follow/{arm}/{cell}") for cell in (*FOLLOW_UP_DAYS, "unknown")}
        edges = {name: Interval(*years) for name, years in FOLLOW_UP_YEARS.items()}
        spans = leaves.with_mean(cells, edges, add(f"follow/{arm}/sum"), scale=_YEAR_DAYS)
        return FollowUpTally(spans, _inside(world, FollowUpEvidence))

    return CorpusTally(
        counterfactual=True,
        labels="table",
        splits={arm: _population(leaves, arm) for arm in ARMS},
        cohorts={diagnosis: _population(leaves, diagnosis) for diagnosis in world.diagnoses},
        identifiability={arm: identifiability(arm) for arm in ARMS},
        follow_up={arm: follow_up(arm) for arm in ARMS},
        targets_in_both_splits=leaves.alone(add(BOTH)),
        warnings=("Some notes have no date.",),
    )


def _population(leaves: CountedLeaves, name: str) -> PopulationTally:
    """Return the description of a split (an arm's name) or of a cohort (a diagnosis)."""
    world, is_split = leaves.world, name in ARMS
    step = ARM_STEP if is_split else COHORT_STEP
    cells = {
        partition: {group: world.population(name, partition, group) for group in groups}
        for partition, groups in GROUPS.items()
        if partition in CORPUS_PARTITIONS
    }
    patients = add(*cells["sex"].values())
    notes, tokens = (add(f"{kind}/{name}") for kind in ("notes", "tokens"))
    whole = world.value(patients)

    def text(part: Mapping[str, int], of: Mapping[str, int]) -> OfText:
        # A cohort's text is a choice of the split's.
        return leaves.text(part, of, world.all_patients(name)) if is_split else OfText(4.0, (1,))

    sex, race = (
        leaves.partition(dict(sorted(cells[kind].items())), step=step, leaves_out=True) for kind in ("sex", "race")
    )
    everyone = world.all_patients(name) if is_split else patients
    return PopulationTally(
        age_bands=leaves.with_mean(cells["age"], AGES_OF_BAND, add(f"age/sum/{name}"), step=step),
        sex=sex,
        race=race,
        notes=Inside(Setting(world.value(notes) if is_split else 4 * whole)),
        tokens=Inside(Setting(world.value(tokens) if is_split else 4000 * whole)),
        text={
            "notes_per_patient": text(notes, everyone),
            "tokens_per_patient": text(tokens, everyone),
            "tokens_per_note": text(tokens, notes),
        },
        practices=Inside(leaves.known(Count.of(1, step=STEP)), is_split),
        practice_patients=Inside(leaves.count(everyone, step=step), is_split),
        is_placed=True,
        evidence=_inside(world, PopulationEvidence),
    )


def _prevalence(world: World, diagnosis: str) -> Estimate:
    """Return the share of d-positives among the train candidates."""
    positive, negative = (world.counts[f"candidates/{diagnosis}/train/{row}"] for row in ROWS)
    return wilson(positive, positive + negative)


def _cohort(leaves: CountedLeaves, diagnosis: str) -> CohortTally:
    world, cell = leaves.world, leaves.world.counts[f"total/cell/{diagnosis}"]
    cells = list(itertools.product(ARMS, ROWS))
    pools = [world.counts[f"candidates/{diagnosis}/{arm}/{row}"] for arm, row in cells]
    balance = measure_balance(
        [_covariates(world, f"{diagnosis}/{arm}/{row}", cell, "") for arm, row in cells],
        [
            _covariates(world, f"{diagnosis}/{arm}/{row}", pool, "_before")
            for (arm, row), pool in zip(cells, pools, strict=True)
        ],
    )
    excluded = {reason: add(f"excluded/{diagnosis}/{reason}") for reason in UNSURE}
    for sum_ in excluded.values():
        if not world.value(sum_):
            leaves.nobody(sum_)
    return CohortTally(
        status=max((row.flag for row in balance), key=_FLAGS.index),
        reason=None,
        matcher="psm",
        candidates=leaves.partition(
            {
                status: add(f"candidates/{diagnosis}/train/{row}")
                for row, status in zip(ROWS, DIAGNOSIS_STATUSES, strict=True)
            }
        ),
        balance=tuple(
            BalanceTally(
                contrast=row.contrast,
                covariate=row.covariate,
                flag=row.flag,
                smd=Inside(StandardizedDifference(row.smd), is_public=not row.few),
                smd_before=Inside(StandardizedDifference(row.smd_before), is_public=not row.few_before),
            )
            for row in balance
        ),
        excluded={reason: leaves.of_both_splits(sum_) for reason, sum_ in excluded.items() if world.value(sum_)},
        evidence=_inside(world, CohortEvidence),
    )


def _covariates(world: World, place: str, size: int, when: str) -> Any:
    """Return age, 1 for female, and number of notes of the members (or candidates) of one cell: `(size, 3)`."""
    columns: dict[str, Any] = {"sex": np.arange(size) < world.counts[f"female{when}/{place}"]}
    profile = ndtri((np.arange(size) + 0.5) / size)
    # Of one spread whatever the size: the SMD is the difference of the shifts.
    profile /= profile.std(ddof=1)
    for covariate, (mean, spread) in _COVARIATES.items():
        columns[covariate] = mean + spread * (profile + world.fixed[f"shift{when}/{place}/{covariate}"])
    return np.column_stack([columns[covariate] for covariate in COVARIATES]).astype(np.float64)


def _subgroups(leaves: CountedLeaves) -> SubgroupTally:
    world = leaves.world

    def groups(tier: str, arm: str, affected: str, *, step: int) -> dict[Any, Any]:
        found = {}
        for partition in PARTITIONS:
            place = f"{partition}/{arm}/{{}}/{tier}/{{}}".format
            cells = {}
            for group in GROUPS[partition]:
                part, asked = add(place(affected, group)), add(place("asked", group))
                whole = asked if affected == "exposed" else world.at_tier(tier, arm, partition, group)
                cells[group] = part, minus(whole, part)
            found[partition] = leaves.groups(cells, step=step)
        return found

    def by_tier(affected: str, *, step: int) -> Any:
        return {tier: {arm: groups(tier, arm, affected, step=step) for arm in ARMS} for tier in world.tiers}

    return SubgroupTally(
        memorization=by_tier("attributable", step=ARM_STEP),
        disclosure=Inside(by_tier("exposed", step=STEP), is_public=len(world.diagnoses) != 1),
        evidence=_inside(world, MeasuredSubgroups),
    )


# The run, and the judge


def _completeness(leaves: CountedLeaves) -> dict[str, StageTally]:
    """Return what was planned and excluded; nothing failed, and nothing is missing."""
    world = leaves.world
    excluded = {}
    for tier in world.tiers:
        excluded[f"{tier}: {MISSING}"] = add(*(f"total/missing/{tier}/{arm}" for arm in ARMS))
        excluded[f"{tier}: {REFERS}"] = add(
            *(f"pair/{of}/{tier}/own/{REFERS}/{arm}" for of in world.diagnoses for arm in ARMS)
        )
    asked = sum(
        world.value(world.patients(tier, arm)) + world.counts[f"mem/{tier}/{arm}/refused"]
        for tier, arm in itertools.product(world.tiers, ARMS)
    )
    planned = {"priors": asked, "generations": asked, "judgements": world.value(world.asked_verdicts())}
    return {
        stage: StageTally(
            planned=Inside(Setting(units)),
            missing=leaves.count({}, step=STEP),
            failed=leaves.count({}, step=STEP),
            excluded=Inside(leaves.partition(excluded if stage == "priors" else {}, step=STEP, leaves_out=True)),
        )
        for stage, units in planned.items()
    }


def _judge(leaves: CountedLeaves) -> JudgeTally:
    world, is_invented = leaves.world, not leaves.world.fixed["judge/site"]
    # A text is read once at each tier.
    step = COHORT_STEP * len(world.tiers)
    rated = add(*(f"judge/{truth}/{verdict}" for truth in VERDICTS for verdict in VERDICTS))
    right, unrated = (
        add(*(f"judge/{of}/{to}" for of, to in pairs))
        for pairs in (zip(VERDICTS, VERDICTS, strict=True), ((of, "unjudged") for of in VERDICTS))
    )
    accuracy = wilson(world.value(right), world.value(rated))

    def answers(cells: Mapping[str, Mapping[str, int]], of_step: int | None) -> AnswersTally:
        return AnswersTally(
            answers_each=Setting(3),
            cells={cell: leaves.count(cells.get(cell, {}), step=of_step) for cell in ANSWER_CELLS},
            alpha=Inside(Setting(exact_estimate(wilson(19, 20))), is_public=of_step is None),
        )

    kinds = {"agreements": "agree", "disagreements": "disagree", "unjudged": "unjudged"}
    return JudgeTally(
        judge="lexicon",
        labels="shipped" if is_invented else "site",
        matrix={
            truth: {
                verdict: leaves.count(add(f"judge/{truth}/{verdict}"), step=None if is_invented else STEP)
                for verdict in (*VERDICTS, "unjudged")
            }
            for truth in VERDICTS
        },
        # Of planted injections: invented texts.
        flip_rate=Setting(exact_estimate(wilson(3, 59))),
        hiding_rate=Setting(exact_estimate(wilson(3, 59))),
        accuracy_by_diagnosis=Inside({"hiv": Setting(exact_estimate(accuracy))}, is_public=is_invented),
        second_judge="openai",
        second=leaves.partition({name: add(f"judges/{kind}") for name, kind in kinds.items()}, step=step),
        answers=Inside(answers({"unanimous": rated, "refused": unrated}, None), is_public=is_invented),
        run_answers=answers({cell: add(f"judges/{cell}") for cell in ANSWER_CELLS}, step),
        evidence=_inside(world, MeasuredJudge),
    )
