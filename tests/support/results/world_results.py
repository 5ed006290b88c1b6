"""The exact `Results` of a world, every field filled, measured by the program's own code.

Only who is who is made up: `world_memorization.py` and `world_people.py` make patients of counts. The bootstraps take
few resamples, for speed. Knows nothing of what is published.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, cast
from unittest.mock import patch

import numpy as np
from support.results.random_worlds import ARMS, MISSING, OUTCOMES, REFERS, ROWS, VERDICTS, World
from support.results.world_follow_up import measure_follow_up
from support.results.world_guard import measure_guard
from support.results.world_identifiability import BOTH, measure_identifiability
from support.results.world_identifiers import measure_identifiers
from support.results.world_memorization import measure_memorization
from support.results.world_others import measure_others
from support.results.world_people import (
    measure_cohort,
    measure_completeness,
    measure_population,
    measure_prevalence,
    measure_subgroups,
)

from clinaudit.audit.disclosure.error_correction import correct_disclosure
from clinaudit.audit.disclosure.mean_over_diagnoses import MeasuredDiagnosis, mean_over_diagnoses
from clinaudit.audit.disclosure.readings import Reading
from clinaudit.audit.disclosure.train_delta import adjust_holm, measure_disclosure
from clinaudit.audit.gate import evaluation
from clinaudit.audit.gate.policy import load_policy
from clinaudit.audit.judge.scoring.confusion_matrix import FlipOutcomes, confusion_matrix, measure_quality
from clinaudit.audit.judge.scoring.labelled_texts import InjectedText, LabelledSet, LabelledText
from clinaudit.audit.publication.exact_outcomes import find_outcomes
from clinaudit.audit.ranges.results import publish
from clinaudit.audit.statistics import patient_distribution
from clinaudit.audit.statistics.agreement import measure_agreement
from clinaudit.audit.statistics.intervals import bootstrap_mean_over_patients, clopper_pearson
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.reports.exact.corpus import CorpusSummary
from clinaudit.reports.exact.disclosure import (
    DisclosureResults,
    MeanOverDiagnoses,
    MeasuredPair,
)
from clinaudit.reports.exact.memorization import Refusals
from clinaudit.reports.exact.results import Drift, Results
from clinaudit.reports.schema.judge import ANSWER_CELLS, AnswerCounts, JudgeAgreement, MeasuredJudge
from clinaudit.reports.schema.results import TrainingLoss
from clinaudit.reports.suppression.coarse import coarsen

_RESAMPLES, _DRAWS = 4, 8
#: Planted injections, and how many change the verdict: invented texts.
_INJECTIONS, _FLIPS = 59, 3

#: `(5,)` counts by outcome, of patients with and without the diagnosis.
Rows = tuple[tuple[int, ...], tuple[int, ...]]


def measure(world: World) -> Results:
    """Return what a run would write of this world into its evidence, but for the verdict."""
    defaults = bootstrap_mean_over_patients.__kwdefaults__
    with patch.dict(defaults, resamples=_RESAMPLES), patch.object(patient_distribution, "RESAMPLES", _RESAMPLES):
        return _measure(world)


def _measure(world: World) -> Results:
    quality = _judge_quality(world)
    matrix = _as_rows(confusion_matrix(quality))
    prevalences = {diagnosis: measure_prevalence(world, diagnosis) for diagnosis in world.diagnoses}
    tables = {
        (diagnosis, tier): cast("tuple[Rows, Rows]", tuple(_rows(world, "table", diagnosis, tier, arm) for arm in ARMS))
        for diagnosis in world.diagnoses
        for tier in world.tiers
    }
    adjusted = adjust_holm(
        {
            (diagnosis, tier): _measure_pair(*of_pair, prevalences[diagnosis].value).model_copy(
                update={"dropped_sets": _dropped(world, diagnosis, tier), "corrected": _correct(*of_pair, matrix)}
            )
            for (diagnosis, tier), of_pair in tables.items()
        }
    )
    means = {
        tier: _measure_means(
            tuple(tables[diagnosis, tier] for diagnosis in world.diagnoses),
            tuple(prevalences[diagnosis].value for diagnosis in world.diagnoses),
        )
        for tier in world.tiers
    }
    return Results(
        completeness=measure_completeness(world),
        corpus=CorpusSummary(
            counterfactual=True,
            labels="table",
            splits={arm: measure_population(world, arm) for arm in ARMS},
            cohorts={diagnosis: measure_population(world, diagnosis) for diagnosis in world.diagnoses},
            identifiability={arm: measure_identifiability(world, arm) for arm in ARMS},
            follow_up={arm: measure_follow_up(world, arm) for arm in ARMS},
            targets_in_both_splits=world.counts[BOTH],
            warnings=["Some notes have no date."],
        ),
        memorization={
            tier: {
                arm: measure_memorization(world, tier, arm).model_copy(
                    update={
                        "guard": measure_guard(world, tier, arm),
                        "other_patients": measure_others(world, tier, arm),
                        "refusals": _refusals(world, tier, arm),
                    }
                )
                for arm in ARMS
                if world.value(world.patients(tier, arm))
            }
            for tier in world.tiers
        },
        disclosure=DisclosureResults(
            by_diagnosis={
                diagnosis: {tier: adjusted[diagnosis, tier] for tier in world.tiers} for diagnosis in world.diagnoses
            },
            mean=means,
        ),
        identifiers=measure_identifiers(world),
        cohorts={diagnosis: measure_cohort(world, diagnosis) for diagnosis in world.diagnoses},
        subgroups=measure_subgroups(world),
        judge_quality=quality,
        drift=_drift(world),
        warnings=["Generations were judged by a lexicon."],
        training=[TrainingLoss(epoch=1.0, train_loss=2.1, validation_loss=2.4, perplexity=11.0)],
    )


def decide(results: Results) -> Results:
    """Return the results with the verdict of the policy that ships."""
    published = publish(coarsen(results))
    decision = evaluation.decide(load_policy(), published, find_outcomes(results, published))
    return results.model_copy(update={"decision": decision})


def _refusals(world: World, tier: str, arm: str) -> Refusals:
    refused = world.counts[f"mem/{tier}/{arm}/refused"]
    asked = world.value(world.patients(tier, arm)) + refused
    return Refusals(
        generations=asked,
        refused=refused,
        patients=asked,
        refused_patients=refused,
        share=clopper_pearson(refused, asked),
    )


# Disclosure


def _rows(world: World, kind: str, diagnosis: str, tier: str, arm: str) -> Rows:
    place = f"{kind}/{diagnosis}/{tier}/{arm}"
    first, second = (tuple(world.counts[f"{place}/{row}/{outcome}"] for outcome in OUTCOMES) for row in ROWS)
    return first, second


def _readings(train: Rows, nontrain: Rows) -> list[Reading]:
    return [
        Reading(f"{arm}-{row}-{outcome}-{i}", cast("Any", arm), row == "1", cast("Any", outcome))
        for arm, rows in zip(ARMS, (train, nontrain), strict=True)
        for row, cells in zip(ROWS, rows, strict=True)
        for outcome, count in zip(OUTCOMES, cells, strict=True)
        for i in range(count)
    ]


@cache
def _measure_pair(train: Rows, nontrain: Rows, prevalence: float | None) -> MeasuredPair:
    return measure_disclosure(_readings(train, nontrain), prevalence=prevalence, seed=0, resamples=_RESAMPLES)


def _correct(train: Rows, nontrain: Rows, matrix: tuple[tuple[float, ...], ...]) -> Any:
    return correct_disclosure(_readings(train, nontrain), np.array(matrix), seed=0, draws=_DRAWS)


def _as_rows(matrix: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())


def _drift(world: World) -> Drift:
    """Some drift of any size: a twin, whose counts are others, has another."""
    differing = 1 + sum(world.counts.values()) % 31
    return Drift(
        prompts=32,
        patients=32,
        differing=differing,
        differing_patients=differing,
        equal_leading_share=1 - differing / 64,
        tokens=64,
    )


@cache
def _measure_means(tables: tuple[tuple[Rows, Rows], ...], prevalences: tuple[float | None, ...]) -> MeanOverDiagnoses:
    return mean_over_diagnoses(
        {
            f"d{order}": MeasuredDiagnosis(_readings(*arms), _measure_pair(*arms, prevalence), prevalence)
            for order, (arms, prevalence) in enumerate(zip(tables, prevalences, strict=True))
        },
        seed=0,
        resamples=_RESAMPLES,
    )


def _dropped(world: World, diagnosis: str, tier: str) -> dict[str, int]:
    counts = {reason: world.counts[f"pair/{diagnosis}/{tier}/dropped/{reason}"] for reason in (MISSING, REFERS)}
    return {reason: count for reason, count in counts.items() if count}


# The judge


def _judge_quality(world: World) -> MeasuredJudge:
    table = tuple(tuple(world.counts[f"judge/{t}/{v}"] for v in (*VERDICTS, "unjudged")) for t in VERDICTS)
    quality = _measure_judge(table, is_site=bool(world.fixed["judge/site"]))
    agree, disagree, unjudged = (world.counts[f"judges/{kind}"] for kind in ("agree", "disagree", "unjudged"))
    of_both = np.diag([agree - agree // 2, agree // 2, 0, 0])
    of_both[0, 1] = disagree
    agreement = measure_agreement(of_both.astype(np.float64), seed=0, resamples=_RESAMPLES)
    second = JudgeAgreement(
        **dict(agreement),
        second_judge="openai",
        verdicts=agree + disagree + unjudged,
        disagreements=disagree,
        unjudged=unjudged,
    )
    judged = sum(sum(row[:-1]) for row in table)
    answers = {
        "answers": {"unanimous": judged, "refused": sum(row[-1] for row in table)},
        "run_answers": {cell: world.counts[f"judges/{cell}"] for cell in ANSWER_CELLS},
    }
    counted = {
        name: AnswerCounts(answers_each=3, alpha=agreement.alpha, **{**dict.fromkeys(ANSWER_CELLS, 0), **cells})
        for name, cells in answers.items()
    }
    # Of the texts that ship, which are the same in every world, so is how far they agree.
    counted["answers"] = counted["answers"].model_copy(update={"alpha": quality.agreement.alpha})
    return quality.model_copy(update={"second": second, **counted})


@lru_cache
def _measure_judge(table: tuple[tuple[int, ...], ...], *, is_site: bool) -> MeasuredJudge:
    diagnosis = Diagnosis("hiv", "HIV", ("hiv",))
    verdicts: Mapping[str, Any] = {name: name for name in (*VERDICTS, "unjudged")}
    cells = [
        (verdicts[truth], verdicts[verdict])
        for truth, row in zip(VERDICTS, table, strict=True)
        for verdict, count in zip((*VERDICTS, "unjudged"), row, strict=True)
        for _ in range(count)
    ]
    labelled = LabelledSet(
        source="site" if is_site else "shipped",
        digest="0" * 64,
        texts=tuple(LabelledText("", diagnosis, truth) for truth, _ in cells),
        injections=(InjectedText("", "", diagnosis, "positive"),) * _INJECTIONS,
    )
    flips = [FlipOutcomes("positive", "negative" if i < _FLIPS else "positive") for i in range(_INJECTIONS)]
    return measure_quality(labelled, [verdict for _, verdict in cells], flips, judge="lexicon", seed=0)
